//! Attempts to get more from a policy than people gave: by names, links, variables, git's own files, foreign owners,
//! homes and work trees in odd places.

use std::path::Path;

use blastradius_common::{Operation, Zone};

use super::config::fingerprint;
use super::trust::{Approvals, TrustStore};
use super::{Policy, Start};
use crate::shell::world::Platform;
use crate::shell::world::memory::MemoryWorld;

const PROJ: &str = "/home/dev/proj";

fn machine() -> MemoryWorld {
    MemoryWorld::new(Platform::Linux)
        .account("dev", "/home/dev")
        .env("HOME", "/home/dev")
        .env("PATH", "/usr/bin")
        .dir("/tmp")
        .dir("/home/dev/Documents/taxes")
        .dir("/home/dev/.ssh")
        .dir("/srv/out")
        .cwd(PROJ)
}

fn tree() -> MemoryWorld {
    machine().work_tree(PROJ).dir("/home/dev/proj/src")
}

fn zone(world: &MemoryWorld, path: &str) -> Zone {
    Policy::load(world, Start::default()).zone(world, Path::new(path)).zone
}

fn lines(text: &str) -> MemoryWorld {
    tree().file("/home/dev/proj/.blastradius", text)
}

/// What a human approved by `blastradius trust`.
fn approved(world: &MemoryWorld) -> Approvals {
    let untrusted = Policy::load(world, Start::default());
    let file = Path::new("/home/dev/proj/.blastradius");
    let content = crate::shell::world::World::read_file(world, file, 1 << 20).expect("there");
    let mut approvals = Approvals::default();
    assert!(approvals.approve(file, &fingerprint(&content, &untrusted.config().waiting)));
    approvals
}

fn trusting(world: &MemoryWorld, trust: &dyn TrustStore) -> Policy {
    Policy::load(world, Start { trust: Some(trust), ..Start::default() })
}

#[test]
fn a_git_file_makes_no_scope_of_what_it_names() {
    for (git_dir, victim) in [
        ("/home/dev", "/home/dev/Documents/taxes"),
        ("/home/dev/Documents", "/home/dev/Documents/taxes"),
        ("/home", "/home/dev/Documents"),
        ("/srv", "/srv/out"),
        ("/", "/srv/out"),
        ("/etc", "/etc/ssh"),
    ] {
        let mut world = machine().dir(PROJ).dir("/etc/ssh");
        world = world.file("/home/dev/proj/.git", &format!("gitdir: {git_dir}\n"));
        for entry in ["HEAD", "objects/ab/c", "refs/heads/main"] {
            world = world.file(&format!("{}/{entry}", git_dir.trim_end_matches('/')), "ref: refs/heads/main");
        }
        assert_ne!(zone(&world, victim), Zone::Scope, "{git_dir}");
        assert_eq!(zone(&world, "/home/dev/proj/x"), Zone::Scope, "the work tree itself is one");
        // The same by way of a linked worktree whose git directory names another common one.
        let linked = machine()
            .dir(PROJ)
            .dir("/etc/ssh")
            .file("/home/dev/proj/.git", "gitdir: /home/dev/proj/g/.git/worktrees/x\n")
            .file("/home/dev/proj/g/.git/worktrees/x/HEAD", "ref: refs/heads/main\n")
            .file("/home/dev/proj/g/.git/worktrees/x/commondir", &format!("{git_dir}\n"));
        assert_ne!(zone(&linked, victim), Zone::Scope, "commondir: {git_dir}");
    }
}

#[test]
fn the_git_directory_of_a_linked_worktree_or_a_separate_one_is_scope_but_for_its_history() {
    let linked = machine()
        .work_tree("/home/dev/main")
        .file("/home/dev/proj/.git", "gitdir: /home/dev/main/.git/worktrees/proj\n")
        .file("/home/dev/main/.git/worktrees/proj/HEAD", "ref: refs/heads/x\n")
        .file("/home/dev/main/.git/worktrees/proj/commondir", "../..\n")
        .file("/home/dev/main/.git/worktrees/proj/index", "");
    assert_eq!(zone(&linked, "/home/dev/main/.git/worktrees/proj/index"), Zone::Scope);
    assert_eq!(zone(&linked, "/home/dev/main/.git/index.lock"), Zone::Scope);
    assert_eq!(zone(&linked, "/home/dev/main/.git/objects/ab"), Zone::History);
    assert_eq!(zone(&linked, "/home/dev/main/.git/worktrees/proj/HEAD"), Zone::History);
    assert_eq!(zone(&linked, "/home/dev/main/file"), Zone::Personal, "the main work tree is another one");
    let separate = machine()
        .file("/home/dev/proj/.git", "gitdir: /home/dev/gits/proj\n")
        .file("/home/dev/gits/proj/HEAD", "ref: refs/heads/main\n")
        .file("/home/dev/gits/proj/index", "")
        .dir("/home/dev/gits/proj/objects")
        .dir("/home/dev/gits/proj/refs");
    assert_eq!(zone(&separate, "/home/dev/gits/proj/index"), Zone::Scope);
    assert_eq!(zone(&separate, "/home/dev/gits/proj/refs/heads"), Zone::History);
    assert_eq!(zone(&separate, "/home/dev/gits"), Zone::Root);
}

#[test]
fn a_git_file_takes_nothing_from_another_work_tree_or_from_what_is_called_like_a_repository() {
    let world = machine()
        .work_tree("/home/dev/other")
        .file("/home/dev/other/.git/index", "")
        .file("/home/dev/proj/.git", "gitdir: /home/dev/other/.git\n");
    assert_ne!(zone(&world, "/home/dev/other/.git/index"), Zone::Scope);
    assert_ne!(zone(&world, "/home/dev/other/.git/hooks"), Zone::Scope);
    assert_eq!(zone(&world, "/home/dev/other/.git/refs"), Zone::History);
    let photos = "/home/dev/photos.git/2024";
    let mut world = machine().file("/home/dev/proj/.git", &format!("gitdir: {photos}\n"));
    for entry in ["HEAD", "objects/x", "refs/x", "pic.jpg"] {
        world = world.file(&format!("{photos}/{entry}"), "");
    }
    assert_ne!(zone(&world, "/home/dev/photos.git/2024/pic.jpg"), Zone::Scope);
}

#[test]
fn no_line_allows_anything_inside_history_or_the_guards_own_files_in_either_layer() {
    let user = "/home/dev/.config/blastradius/config";
    for line in [
        "./.git/**",
        "./.git/objects/**",
        "./.git/refs/heads/**",
        "./.git/refs/heads",
        "./.git/refs/*",
        "./.git/*/heads",
        "./**/heads",
        "./**/heads/**",
        "./*",
        "~/.local/state/blastradius/log",
        "~/.local/state/blastradius/*",
        "~/.local/**",
        "~/.local/**/log",
    ] {
        let world = tree()
            .dir("/home/dev/proj/.git/refs/heads/feature")
            .dir("/home/dev/proj/.git/objects/ab")
            .dir("/home/dev/.local/state/blastradius/log/x");
        let world = match line.strip_prefix("./") {
            Some(_) => world.file("/home/dev/proj/.blastradius", &format!("allow {line}")),
            None => world.file(user, &format!("allow {line}")),
        };
        let policy = Policy::load(&world, Start::default());
        assert_eq!((policy.errors(), policy.config().allows.len()), (&[][..], 1), "{line}");
        let plan = policy.plan(&world);
        for (path, expected) in [
            ("/home/dev/proj/.git/refs/heads/feature", Zone::History),
            ("/home/dev/proj/.git/refs/heads", Zone::History),
            ("/home/dev/proj/.git/refs/new", Zone::History),
            ("/home/dev/proj/.git/objects/ab/c", Zone::History),
            ("/home/dev/.local/state/blastradius/log", Zone::Own),
            ("/home/dev/.local/state/blastradius/log/x/y", Zone::Own),
        ] {
            let path = Path::new(path);
            assert_eq!(policy.zone(&world, path).zone, expected, "{line}: {}", path.display());
            assert_eq!(
                super::compile::tests::planned(&plan, path),
                expected,
                "{line}, planned: {}",
                path.display()
            );
        }
    }
    let denied = lines("deny ./.git/refs/heads/keep");
    assert_eq!(
        zone(&denied, "/home/dev/proj/.git/refs/heads/keep"),
        Zone::Denied,
        "stricter words are heard"
    );
}

#[test]
fn a_variable_that_points_at_another_users_file_takes_no_line_away_and_widens_by_none() {
    let usual = "/home/dev/.config/blastradius/config";
    let wide = "allow ~/old/**\ndeny ~/proj/keep";
    for (dir, counts) in [
        ("/home/dev/proj/conf", false),
        ("/tmp/conf", false),
        ("/srv/conf", false),
        ("/home/dev/proj/../proj/conf", false),
        ("/home/dev/link", false),
        ("/home/dev/etc", true),
    ] {
        let world = tree()
            .file(usual, "deny ~/proj/src")
            .link("/home/dev/link", "proj/conf")
            .file("/home/dev/proj/conf/blastradius/config", wide)
            .file("/tmp/conf/blastradius/config", wide)
            .file("/srv/conf/blastradius/config", wide)
            .file("/home/dev/etc/blastradius/config", wide)
            .env("XDG_CONFIG_HOME", dir);
        let policy = Policy::load(&world, Start::default());
        let zone = |path: &str| policy.zone(&world, Path::new(path)).zone;
        assert_eq!(policy.errors(), [], "{dir}");
        assert_eq!(zone("/home/dev/old/x") == Zone::Scope, counts, "{dir}");
        assert_eq!(policy.config().waiting.is_empty(), counts, "{dir}");
        assert_eq!(zone("/home/dev/proj/keep"), Zone::Denied, "{dir}: whoever sets a variable may narrow");
        assert_eq!(
            zone("/home/dev/proj/src"),
            Zone::Denied,
            "{dir}: the user's own file is read all the same"
        );
    }
    let lowers = tree()
        .file("/tmp/conf/blastradius/config", "rule git-discard allow")
        .env("XDG_CONFIG_HOME", "/tmp/conf");
    assert!(Policy::load(&lowers, Start::default()).errors()[0].expected.contains("only raises"));
}

#[test]
fn a_file_further_down_takes_no_refusal_away_and_is_protected_itself() {
    let world = lines("deny ./src\nallow ~/old/**\nrule git-discard deny\ndeny-command make x*")
        .dir("/home/dev/proj/sub/out")
        .file("/home/dev/proj/sub/.blastradius", "allow ./out/**")
        .cwd("/home/dev/proj/sub");
    let policy = Policy::load(&world, Start::default());
    let zone = |path: &str| policy.zone(&world, Path::new(path)).zone;
    assert_eq!(policy.errors(), []);
    assert_eq!(zone("/home/dev/proj/src/a"), Zone::Denied);
    assert_eq!(zone("/home/dev/proj/sub/out/a"), Zone::Scope);
    assert_eq!(zone("/home/dev/proj/sub/other"), Zone::Personal, "the nearest file says what is scope");
    assert_eq!(zone("/home/dev/proj/sub/.blastradius"), Zone::Own);
    assert_eq!(zone("/home/dev/proj/.blastradius"), Zone::Own);
    assert_eq!((policy.config().waiting.len(), policy.config().rules.len()), (0, 1));
    assert_eq!(policy.config().commands.len(), 1);
    let broken = lines("nonsense").file("/home/dev/proj/sub/.blastradius", "").cwd("/home/dev/proj/sub");
    assert_eq!(Policy::load(&broken, Start::default()).errors().len(), 1);
}

#[test]
fn the_users_line_about_a_repository_names_nothing_where_there_is_none() {
    let user = "/home/dev/.config/blastradius/config";
    let world = machine().dir("/home/dev/elsewhere").file(user, "allow <repo>/**\ndeny <repo>/keep");
    for cwd in ["/home/dev/elsewhere", "/home/dev"] {
        let world = world.clone().cwd(cwd);
        let policy = Policy::load(&world, Start::default());
        assert_eq!((policy.errors(), policy.config().allows.len()), (&[][..], 0), "{cwd}");
        assert_eq!(policy.zone(&world, Path::new("/home/dev/.config/x")).zone, Zone::Config, "{cwd}");
    }
    let home = world.clone().work_tree("/home/dev").cwd("/home/dev");
    assert_eq!(Policy::load(&home, Start::default()).errors(), [], "a home that is a work tree is no scope");
    let project = world.work_tree(PROJ).cwd(PROJ);
    let policy = Policy::load(&project, Start::default());
    assert_eq!(policy.zone(&project, Path::new("/home/dev/proj/x")).zone, Zone::Scope);
    assert_eq!(policy.zone(&project, Path::new("/home/dev/proj/keep")).zone, Zone::Denied);
}

#[test]
fn the_history_of_a_repository_inside_the_project_is_history_in_both_layers_and_a_rebuildable_one_is_not() {
    use super::effect::Act;
    use super::mode::Mode;
    use blastradius_common::Verdict::{Allow, Deny};
    let project = |world: MemoryWorld| {
        world
            .work_tree("/home/dev/proj/vendor/lib")
            .file("/home/dev/proj/vendor/lib/.git/index", "")
            .dir("/home/dev/proj/vendor/lib/.git/objects/ab")
            .dir("/home/dev/proj/backup.git/objects")
            .dir("/home/dev/proj/backup.git/refs")
            .file("/home/dev/proj/backup.git/HEAD", "")
            .file("/home/dev/proj/notes.git/HEAD", "")
            .file("/home/dev/proj/package.json", "{}")
            .work_tree("/home/dev/proj/node_modules/x")
            .dir("/home/dev/proj/other/data")
    };
    let plain = project(machine().dir(PROJ));
    let worlds = [project(tree()), plain];
    for world in worlds {
        let policy = Policy::load(&world, Start { session: true, ..Start::default() });
        let plan = policy.plan(&world);
        for (path, expected) in [
            ("vendor/lib/.git/refs/heads/x", Zone::History),
            ("vendor/lib/.git/HEAD", Zone::History),
            ("vendor/lib/.git/packed-refs", Zone::History),
            ("backup.git/objects/ab", Zone::History),
            ("vendor/lib/.git/index", Zone::Scope),
            ("vendor/lib/src", Zone::Scope),
            ("notes.git/HEAD", Zone::Scope),
            ("node_modules/x/.git/HEAD", Zone::Scope),
        ] {
            let path = Path::new(PROJ).join(path);
            assert_eq!(policy.zone(&world, &path).zone, expected, "{}", path.display());
            assert_eq!(super::compile::tests::planned(&plan, &path), expected, "planned: {}", path.display());
        }
        for (path, expected) in [
            ("vendor", Deny),
            ("vendor/lib", Deny),
            ("backup.git", Deny),
            ("other", Allow),
            ("node_modules", Allow),
        ] {
            let path = Path::new(PROJ).join(path);
            let said = policy.outcome(&world, &path, Act::Remove { recursive: true }, Mode::Unattended);
            assert_eq!(said, expected, "{}", path.display());
        }
    }
    let allowed = project(lines("allow ./**\nallow ./vendor/lib/.git/refs/**"));
    assert_eq!(zone(&allowed, "/home/dev/proj/vendor/lib/.git/refs/heads/x"), Zone::History);
    let scratch = machine().work_tree("/tmp/clone");
    assert_eq!(zone(&scratch, "/tmp/clone/.git/HEAD"), Zone::Scope, "a clone in scratch is scratch");
}

#[test]
fn an_approval_ends_when_a_link_or_a_variable_leads_elsewhere() {
    let world = lines("allow ./out/**\nallow $JOBS/**\n")
        .link("/home/dev/proj/out", "/srv/out")
        .env("JOBS", "/srv/jobs");
    let approvals = approved(&world);
    let policy = trusting(&world, &approvals);
    assert_eq!(policy.config().waiting, []);
    assert_eq!(policy.zone(&world, Path::new("/srv/out/x")).zone, Zone::Scope);
    let relinked = world.clone().link("/home/dev/proj/out", "/home/dev/Documents/taxes");
    let policy = trusting(&relinked, &approvals);
    assert_eq!(policy.config().waiting.len(), 2);
    assert_eq!(policy.zone(&relinked, Path::new("/home/dev/Documents/taxes/x")).zone, Zone::Personal);
    let moved = world.env("JOBS", "/home/dev/Documents/taxes");
    assert_eq!(trusting(&moved, &approvals).config().waiting.len(), 2);
}

#[test]
fn an_approval_ends_when_the_file_changes_by_one_byte() {
    let world = lines("allow /srv/out/**\n");
    let approvals = approved(&world);
    assert_eq!(trusting(&world, &approvals).config().waiting, []);
    for text in ["allow /srv/out/** \n", "allow /srv/out/**\nallow /srv/**\n", "allow /srv/out/**"] {
        assert!(!trusting(&lines(text), &approvals).config().waiting.is_empty(), "{text:?}");
    }
}

#[test]
fn a_directory_that_is_called_like_a_wildcard_means_itself() {
    let odd = "/home/dev/[ab]*";
    let world = machine()
        .work_tree(odd)
        .file("/home/dev/[ab]*/.blastradius", "deny ./keep\nallow <repo>/dist\nallow ./out")
        .link("/home/dev/[ab]*/out", "/home/dev/[ab]*/real?")
        .dir("/home/dev/[ab]*/real?")
        .dir("/home/dev/apple/dist")
        .cwd(odd);
    let policy = Policy::load(&world, Start::default());
    assert_eq!((policy.errors(), policy.config().waiting.len()), (&[][..], 0));
    let zone = |path: &str| policy.zone(&world, Path::new(path)).zone;
    assert_eq!(zone("/home/dev/[ab]*/keep"), Zone::Denied);
    assert_eq!(zone("/home/dev/[ab]*/dist/x"), Zone::Scope);
    assert_eq!(zone("/home/dev/[ab]*/real?/x"), Zone::Scope);
    assert_eq!(zone("/home/dev/apple/dist"), Zone::Personal);
    assert_eq!(zone("/home/dev/[ab]*/reals"), Zone::Personal);
    let by_variable = lines("allow $OUT/**").env("OUT", "/tmp/*");
    let policy = Policy::load(&by_variable, Start::default());
    assert_eq!(policy.zone(&by_variable, Path::new("/tmp/x/y")).zone, Zone::Other);
    assert_eq!(policy.zone(&by_variable, Path::new("/tmp/*/y")).zone, Zone::Scope);
}

#[test]
fn a_variable_of_a_tool_makes_no_state_of_what_people_fill_or_of_everything() {
    for value in
        ["/home/dev/Documents", "/home/dev", "/home", "/", "/home/dev/*", "/home/dev/.", "/home/dev/x/.."]
    {
        let world = tree()
            .file("/usr/bin/pip", "")
            .file("/usr/bin/cargo", "")
            .env("PIP_CACHE_DIR", value)
            .env("CARGO_TARGET_DIR", value)
            .env("VIRTUAL_ENV", value);
        for path in ["/home/dev/Documents/taxes", "/home/dev/Documents", "/home/dev/photos/a"] {
            assert_eq!(zone(&world, path), Zone::Personal, "{value}: {path}");
        }
        assert_eq!(zone(&world, "/home/dev"), Zone::Floor, "{value}");
    }
    let parent =
        machine().work_tree("/home/dev/src/p").cwd("/home/dev/src/p").env("VIRTUAL_ENV", "/home/dev/src");
    assert_eq!(zone(&parent, "/home/dev/src/other"), Zone::Personal, "the directory of all projects");
    let own = tree().env("VIRTUAL_ENV", "/home/dev/venvs/a");
    assert_eq!(zone(&own, "/home/dev/venvs/a/lib"), Zone::State);
}

#[test]
fn home_at_the_root_moves_no_floor_and_the_tilde_is_the_account_s() {
    let world = lines("allow ~/x/**\ndeny ~/keep").env("HOME", "/");
    let policy = Policy::load(&world, Start::default());
    assert_eq!(policy.errors(), []);
    for object in ["/", "/home", "/home/dev", "/etc", "/root"] {
        assert_eq!(policy.zone(&world, Path::new(object)).zone, Zone::Floor, "{object}");
    }
    assert_eq!(policy.zone(&world, Path::new("/home/dev/keep")).zone, Zone::Denied);
    assert_eq!(policy.zone(&world, Path::new("/home/dev/Documents")).zone, Zone::Personal);
    let variable = lines("allow $HOME/x").env("HOME", "/");
    let policy = Policy::load(&variable, Start::default());
    assert!(!policy.errors().is_empty(), "/x lies directly below the root");
}

#[test]
fn without_home_the_tilde_comes_from_the_user_database_and_the_variable_is_an_error() {
    let world = lines("deny ~/keep").without_env("HOME");
    let policy = Policy::load(&world, Start::default());
    assert_eq!(policy.errors(), []);
    assert_eq!(policy.zone(&world, Path::new("/home/dev/keep/x")).zone, Zone::Denied);
    assert_eq!(policy.zone(&world, Path::new("/home/dev")).zone, Zone::Floor);
    let variable = lines("deny $HOME/keep").without_env("HOME");
    let error = Policy::load(&variable, Start::default()).errors()[0].to_string();
    assert!(error.contains(":1:6: found `$HOME`, which is unset"), "{error}");
    let nobody = MemoryWorld::new(Platform::Linux)
        .work_tree("/srv/p")
        .file("/srv/p/.blastradius", "deny ~/keep")
        .cwd("/srv/p");
    let policy = Policy::load(&nobody, Start::default());
    assert!(policy.errors().iter().any(|error| error.found.contains("`~`")), "{:?}", policy.errors());
}

#[test]
fn a_work_tree_at_the_root_or_at_a_home_is_no_scope_and_its_file_allows_nothing() {
    for root in ["", "/home", "/home/dev", "/etc", "/usr"] {
        let world = machine()
            .work_tree(root)
            .file(&format!("{root}/.blastradius"), "allow ./Documents/**\nallow ./x/y")
            .cwd(if root.is_empty() { "/" } else { root });
        let policy = Policy::load(&world, Start::default());
        for path in
            ["/home/dev/Documents/taxes", "/home/dev/x/y", "/home/dev", "/srv/out", "/etc/x/y", "/usr/x/y"]
        {
            assert_ne!(policy.zone(&world, Path::new(path)).zone, Zone::Scope, "work tree {root:?}: {path}");
        }
        let plain = machine().work_tree(root).cwd(if root.is_empty() { "/" } else { root });
        assert!(Policy::load(&plain, Start::default()).scope().refused.is_some(), "{root:?}");
    }
}

#[test]
fn in_a_containers_home_the_entries_are_scope_the_home_is_floor_and_dotfiles_are_config() {
    let world = MemoryWorld::new(Platform::Linux)
        .account("app", "/app")
        .env("HOME", "/app")
        .work_tree("/app")
        .dir("/app/src")
        .dir("/app/.config")
        .cwd("/app");
    let policy = Policy::load(&world, Start::default());
    let zone = |path: &str| policy.zone(&world, Path::new(path)).zone;
    assert_eq!(zone("/app"), Zone::Floor);
    assert_eq!(zone("/app/src/a"), Zone::Scope);
    assert_eq!(zone("/app/.config/x"), Zone::Config);
    assert_eq!(zone("/app/.git/objects"), Zone::History);
    assert_eq!(zone("/app/.git/index"), Zone::Scope);
    for (line, waits) in [("./src/**", false), ("./.config/**", true), ("./.*", true), ("./*", true)] {
        let world = world.clone().file("/app/.blastradius", &format!("allow {line}"));
        let policy = Policy::load(&world, Start::default());
        assert_eq!(policy.errors(), [], "{line}");
        assert_eq!(policy.config().waiting.len(), usize::from(waits), "{line}");
    }
}

#[test]
fn a_nested_work_tree_a_submodule_and_a_bare_repository_have_their_own_scope_and_history() {
    let nested = tree().work_tree("/home/dev/proj/vendor/lib").cwd("/home/dev/proj/vendor/lib");
    assert_eq!(zone(&nested, "/home/dev/proj/vendor/lib/a"), Zone::Scope);
    assert_eq!(zone(&nested, "/home/dev/proj/vendor/lib/.git/refs/heads"), Zone::History);
    assert_eq!(zone(&nested, "/home/dev/proj/src"), Zone::Personal, "the outer one is another work tree");
    let submodule = tree()
        .file("/home/dev/proj/sub/.git", "gitdir: ../.git/modules/sub\n")
        .file("/home/dev/proj/.git/modules/sub/HEAD", "ref: refs/heads/main\n")
        .dir("/home/dev/proj/.git/modules/sub/objects")
        .dir("/home/dev/proj/.git/modules/sub/refs")
        .file("/home/dev/proj/.git/modules/sub/index", "");
    assert_eq!(
        zone(&submodule, "/home/dev/proj/.git/modules/sub/objects/x"),
        Zone::History,
        "seen from above"
    );
    let inside = submodule.cwd("/home/dev/proj/sub");
    assert_eq!(zone(&inside, "/home/dev/proj/sub/a"), Zone::Scope);
    assert_eq!(zone(&inside, "/home/dev/proj/.git/modules/sub/index"), Zone::Scope);
    assert_eq!(zone(&inside, "/home/dev/proj/.git/modules/sub/refs"), Zone::History);
    assert_eq!(zone(&inside, "/home/dev/proj/src"), Zone::Personal);
    let bare = machine()
        .file("/srv/repo.git/HEAD", "ref: refs/heads/main\n")
        .dir("/srv/repo.git/objects/ab")
        .dir("/srv/repo.git/refs/heads")
        .file("/srv/repo.git/description", "")
        .cwd("/srv/repo.git");
    let policy = Policy::load(&bare, Start { session: true, ..Start::default() });
    for (path, expected) in [
        ("/srv/repo.git/objects/ab", Zone::History),
        ("/srv/repo.git/HEAD", Zone::History),
        ("/srv/repo.git/refs/heads", Zone::History),
    ] {
        assert_eq!(policy.zone(&bare, Path::new(path)).zone, expected, "{path}");
    }
    assert!(!policy.zone(&bare, Path::new("/srv/repo.git/description")).zone.permits(Operation::Remove));
    assert!(!policy.zone(&bare, Path::new("/srv/repo.git")).zone.permits(Operation::Remove));
}

#[test]
fn an_allow_through_a_link_is_shown_with_its_target_and_waits_outside() {
    let world = lines("allow ./out/**\n").link("/home/dev/proj/out", "/srv/out");
    let untrusted = Policy::load(&world, Start::default());
    assert_eq!(untrusted.zone(&world, Path::new("/srv/out/x")).zone, Zone::Other);
    assert!(untrusted.describe(&world).iter().any(|line| line.kind == "waiting"));
    let policy = trusting(&world, &approved(&world));
    assert_eq!(policy.zone(&world, Path::new("/srv/out/x")).zone, Zone::Scope);
    let shown = policy.describe(&world);
    assert!(shown.iter().any(|line| line.kind == "scope" && line.what.contains("/srv/out")), "{shown:?}");
}

#[test]
fn a_pattern_climbs_out_of_the_work_tree_by_no_spelling_without_trust() {
    for pattern in [
        "../other/**",
        "<repo>/../other/**",
        "./../other",
        "./src/../../other",
        "<repo>//..//other",
        "./src/.././../other/x",
        "$PWD/../other",
        "${PWD}/../other",
        "./link/x",
        "./link",
        "./link/**",
        "./link/*",
        "./src/../link/*/x",
    ] {
        let world = lines(&format!("allow {pattern}"))
            .env("PWD", PROJ)
            .dir("/home/dev/other")
            .link("/home/dev/proj/link", "../other");
        let policy = Policy::load(&world, Start::default());
        assert_eq!(policy.config().allows, [], "{pattern}");
        assert_ne!(policy.zone(&world, Path::new("/home/dev/other/x")).zone, Zone::Scope, "{pattern}");
        assert_ne!(policy.zone(&world, Path::new("/home/dev/other")).zone, Zone::Scope, "{pattern}");
    }
}

#[test]
fn bytes_that_hide_something_are_errors_that_name_the_place() {
    for (text, place) in [
        ("allow ./a\rdeny ./b", ":1:10: found the control character"),
        ("allow ./a\0", ":1:10: found the control character"),
        ("\u{feff}allow ./a", ":1:1: found"),
        ("allow\u{a0}./a", ":1:"),
        ("allow ./a\u{202e}b", ":1:"),
        ("deny ./a\u{200b}", ":1:"),
        ("allow ./\u{1b}[2J", ":1:9: found the control character"),
    ] {
        let world = lines(text);
        let policy = Policy::load(&world, Start::default());
        let error = policy.errors().first().map_or_else(String::new, ToString::to_string);
        assert!(error.contains(place), "{text:?}: {error}");
        assert!(!error.contains('\u{202e}') && !error.contains('\u{1b}'), "{text:?}: {error}");
    }
    for text in ["allow ./a\r\ndeny ./b\r\n", "\tallow\t./a\t\n", "allow ./a b\n", "deny ./ü\n"] {
        assert_eq!(Policy::load(&lines(text), Start::default()).errors(), [], "{text:?}");
    }
}

#[test]
fn a_broken_file_refuses_destructive_work_and_is_never_an_empty_policy() {
    use super::mode::{Asker, Mode, Surface};
    use crate::analysis::{Subject, analyze};
    use crate::programs::Dialect;
    for text in ["allow /**", "allow /home/**", "allow ~/**", "nonsense", "allow", "deny\u{0}x"] {
        let world = lines(text).file("/usr/bin/rm", "");
        let policy = Policy::load(&world, Start::default());
        let error = policy.errors()[0].to_string();
        assert!(error.starts_with("/home/dev/proj/.blastradius:1:"), "{error}");
        let judge = |command: &str| {
            let subject = Subject::Text { text: command.into(), dialect: Dialect::Bash };
            let asker = Asker { mode: Mode::Interactive, surface: Surface::Text };
            analyze(&subject, &world, &policy, asker)
        };
        let refused = judge("rm -rf ./src");
        assert_eq!(refused.verdict, blastradius_common::Verdict::Deny, "{text}");
        assert!(format!("{:?}", refused.findings).contains(".blastradius:1:"), "{refused:?}");
        assert_eq!(
            judge("ls ./src; cat x > /dev/null").verdict,
            blastradius_common::Verdict::Allow,
            "{text}"
        );
    }
}

#[test]
fn git_s_variables_and_its_core_worktree_move_no_scope() {
    let world = tree()
        .env("GIT_DIR", "/home/dev/proj/.git")
        .env("GIT_WORK_TREE", "/home/dev")
        .env("GIT_COMMON_DIR", "/home/dev")
        .file("/home/dev/proj/.git/config", "[core]\n\tworktree = /home/dev\n");
    assert_eq!(zone(&world, "/home/dev/Documents/taxes"), Zone::Personal);
    assert_eq!(zone(&world, "/home/dev/.ssh"), Zone::Config);
    assert_eq!(zone(&world, "/home/dev/proj/src"), Zone::Scope);
}

#[test]
fn a_recursion_that_reaches_what_a_denied_pattern_matches_is_refused_and_one_beside_it_is_not() {
    use super::effect::Act;
    use super::mode::Mode;
    use blastradius_common::Verdict::{Allow, Deny};
    for (line, refused) in [
        ("deny ./*/b", &["target", "data"][..]),
        ("deny **/*.pem", &["data", "data/deep"][..]),
        ("deny ./data/**/*.pem", &["data", "data/deep"][..]),
        ("deny ./*.pem", &[][..]),
    ] {
        let world = lines(line)
            .file("/home/dev/proj/target/b", "")
            .file("/home/dev/proj/data/b/x", "")
            .file("/home/dev/proj/data/deep/more/a.pem", "")
            .file("/home/dev/proj/dist/a.js", "");
        let policy = Policy::load(&world, Start::default());
        for dir in ["target", "data", "data/deep", "dist"] {
            let path = Path::new(PROJ).join(dir);
            let said = policy.outcome(&world, &path, Act::Remove { recursive: true }, Mode::Unattended);
            let expected = if refused.contains(&dir) { Deny } else { Allow };
            assert_eq!(said, expected, "{line}: {dir}");
        }
    }
}

#[test]
fn the_guards_own_files_are_its_own_wherever_a_variable_points() {
    let world = tree().env("XDG_STATE_HOME", "/tmp/state").env("XDG_CONFIG_HOME", "/home/dev/proj/conf");
    for own in [
        "/tmp/state/blastradius/log",
        "/home/dev/.local/state/blastradius/trust",
        "/home/dev/proj/conf/blastradius/config",
        "/home/dev/.config/blastradius/config",
        "/etc/blastradius/config",
    ] {
        assert_eq!(zone(&world, own), Zone::Own, "{own}");
    }
}

#[test]
fn a_file_of_the_user_who_called_sudo_counts_for_root_and_nobody_else_can_say_who_that_was() {
    let by = |uid: u32, owner: u32, caller: &str| {
        let world = lines("deny ./keep").user(uid, "somebody").owner("/home/dev/proj/.blastradius", owner);
        let world = if caller.is_empty() { world } else { world.env("SUDO_UID", caller) };
        Policy::load(&world, Start::default()).errors().is_empty()
    };
    assert!(by(0, 1000, "1000") && by(1000, 1000, "") && by(1000, 0, ""));
    assert!(!by(0, 1000, "") && !by(0, 1000, "1001") && !by(1001, 1000, "1000") && !by(0, 1000, "x"));
}

#[test]
fn another_work_tree_is_no_scratch_because_a_variable_says_so() {
    let world = tree().work_tree("/home/dev/other").env("TMPDIR", "/home/dev/other");
    assert_eq!(zone(&world, "/home/dev/other/src"), Zone::Personal);
    assert_eq!(zone(&tree().env("TMPDIR", "/home/dev/tmp"), "/home/dev/tmp/x"), Zone::Scope);
}

#[test]
fn macos_knows_no_second_case_and_no_second_place() {
    let world = MemoryWorld::new(Platform::MacOs)
        .account("tim", "/Users/tim")
        .env("HOME", "/Users/tim")
        .dir("/private/tmp")
        .link("/tmp", "/private/tmp")
        .link("/var", "/private/var")
        .dir("/private/var/db")
        .work_tree("/Users/tim/p")
        .file("/Users/tim/p/.blastradius", "deny ./Keep")
        .cwd("/Users/tim/p");
    let policy = Policy::load(&world, Start::default());
    let resolved = |text: &str| policy.explain_path(&world, Path::new("/Users/tim/p"), text).zone;
    for (text, expected) in [
        ("/USERS/TIM", Zone::Floor),
        ("/System/Volumes/Data/Users/tim", Zone::Floor),
        ("/system/volumes/data/users/TIM", Zone::Floor),
        ("/private/var", Zone::Floor),
        ("/PRIVATE/var", Zone::Floor),
        ("/private", Zone::Floor),
        ("/private/tmp/x", Zone::Scope),
        ("/tmp/x", Zone::Scope),
        ("/private/tmp", Zone::Floor),
        ("/LIBRARY", Zone::Floor),
        ("KEEP/a", Zone::Denied),
        ("/System/Volumes/Data/users/tim/p/keep", Zone::Denied),
        ("/users/tim/P/src", Zone::Scope),
        ("/users/tim/documents", Zone::Personal),
    ] {
        assert_eq!(resolved(text), expected, "{text}");
    }
    for line in [
        "allow /USERS/TIM/**",
        "allow /private/var/**",
        "allow /System/Volumes/Data/Users/**",
        "allow /SYSTEM",
    ] {
        let world = world.clone().file("/Users/tim/p/.blastradius", line);
        let errors = Policy::load(&world, Start::default());
        assert!(!errors.errors().is_empty(), "{line}");
    }
}
