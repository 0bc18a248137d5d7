//! The judge on the machine of the corpus, effect by effect, with both outcomes.

use std::path::PathBuf;
use std::rc::Rc;

use blastradius_common::{RuleId, Verdict};

use crate::policy::effect::{Act, Base, Discard, Effect, Follow, Located, PathTarget, Selection};
use crate::policy::mode::{Asker, Backing, Mode, Surface};
use crate::policy::{Policy, Start};
use crate::shell::value::{Abstract, Cause, Field, Glob, Hole, Piece};
use crate::shell::world::memory::MemoryWorld;
use crate::shell::world::{Platform, Tracking};

use super::*;

const REMOVE: Act = Act::Remove { recursive: true };
const UNLINK: Act = Act::Remove { recursive: false };
const PROJ: &str = "/home/dev/proj";

fn world() -> MemoryWorld {
    let mut world = MemoryWorld::new(Platform::Linux)
        .user(1000, "dev")
        .account("dev", "/home/dev")
        .account("root", "/root")
        .env("HOME", "/home/dev")
        .env("PATH", "/usr/bin")
        .work_tree(PROJ)
        .work_tree("/home/dev/Code/project")
        .cwd(PROJ)
        .dir("/home/user")
        .dir("/home/dev/.cache/pip")
        .dir("/home/dev/.ssh")
        .file("/usr/bin/pip", "")
        .file("/etc/passwd", "")
        .file("/etc/hosts", "")
        .dir("/etc/ssh")
        .dir("/var/log/nginx")
        .dir("/usr/local/bin")
        .dir("/tmp")
        .link("/home/dev/proj/link", "/etc")
        .file("/home/dev/proj/target/CACHEDIR.TAG", "");
    for dir in ["Documents", "Downloads", "Desktop", "Code/project/dist"] {
        world = world.dir(&format!("/home/dev/{dir}"));
    }
    for dir in [
        "build",
        "dist",
        "target",
        "node_modules",
        "src",
        "tests",
        "docs",
        ".venv",
        "__pycache__",
        "vendor/lib",
    ] {
        world = world.dir(&format!("{PROJ}/{dir}"));
    }
    for file in ["build/a.o", "src/lib.rs", "README.md", "app.log", "notes.txt", "package.json"] {
        world = world.file(&format!("{PROJ}/{file}"), "");
    }
    for (path, tracking) in [
        ("src/lib.rs", Tracking::Modified),
        ("notes.txt", Tracking::Untracked),
        ("build/", Tracking::Ignored),
        ("target/", Tracking::Ignored),
    ] {
        world = world.tracked(PROJ, path, tracking);
    }
    world
}

const INTERACTIVE: Asker = Asker { mode: Mode::Interactive, surface: Surface::Text };
const UNATTENDED: Asker = Asker { mode: Mode::Unattended, surface: Surface::Text };

fn located(effect: Effect) -> Located {
    Located { effect, segment: "rm x".into(), program: "rm".into(), conditional: false, elsewhere: None }
}

fn target(operand: Field) -> PathTarget {
    PathTarget {
        operand,
        base: Base::Known(Rc::new(PROJ.into())),
        follow: Follow::Never,
        selection: Selection::default(),
    }
}

fn path(act: Act, operand: Field) -> Located {
    located(Effect::Path { act, target: target(operand) })
}

/// What is done to what: the world's current work tree is `proj`.
fn findings_in(world: &MemoryWorld, effect: Located, asker: Asker) -> Vec<Finding> {
    let policy = Policy::load(world, Start::default());
    judge(&[effect], &policy, world, asker)
}

fn worst(findings: &[Finding]) -> (Verdict, Option<RuleId>) {
    findings.first().map_or((Verdict::Allow, None), |finding| (finding.verdict, Some(finding.rule)))
}

fn on(act: Act, operand: &str) -> (Verdict, Option<RuleId>) {
    worst(&findings_in(&world(), path(act, Field::literal(operand)), INTERACTIVE))
}

fn verdict(act: Act, operand: &str) -> Verdict {
    on(act, operand).0
}

fn pieces(pieces: Vec<Piece>) -> Field {
    Field { text: Abstract { pieces: pieces.into() }, glob: None, source: "\"$X\"".into(), tilde: false }
}

fn unset(name: &str) -> Piece {
    Piece::Nothing(Rc::new(Cause::Unset(name.into())))
}

fn text(text: &str) -> Piece {
    Piece::Text(text.into())
}

fn hole(cause: Cause, maybe_empty: bool, component: bool) -> Piece {
    Piece::Hole(Hole { cause: Rc::new(cause), maybe_empty, component, born: false })
}

fn output(maybe_empty: bool) -> Piece {
    hole(Cause::CommandOutput("cat dir.txt".into()), maybe_empty, false)
}

fn glob(base: &str, pattern: &str, matches: &[&str]) -> Field {
    let matches: Vec<String> = matches.iter().map(|name| (*name).to_owned()).collect();
    let count = matches.len();
    Field {
        glob: Some(Rc::new(Glob { base: base.into(), pattern: pattern.into(), matches, count })),
        ..Field::literal(pattern)
    }
}

fn glob_verdict(base: &str, pattern: &str, matches: &[&str]) -> Verdict {
    worst(&findings_in(&world(), path(REMOVE, glob(base, pattern, matches)), INTERACTIVE)).0
}

#[test]
fn floor_objects_are_refused_and_artefacts_pass() {
    for operand in [
        "/",
        "/etc",
        "/srv",
        "/anything",
        "/usr/bin",
        "/var/tmp",
        "/home",
        "/home/dev",
        "/home/user",
        "/home/alice",
        "..",
        "./build/../../",
        "/tmp",
        "/etc/..",
        "/root",
        "link/",
    ] {
        assert_eq!(on(REMOVE, operand), (Verdict::Deny, Some(RuleId::FloorPath)), "{operand}");
    }
    for operand in [
        "build",
        "./build",
        "node_modules",
        "src",
        "~",
        "/tmp/x",
        "/var/tmp/build",
        "/dev/shm/job",
        "link",
        "no-such",
        "/home/dev/proj/build",
        "README.md",
        "target",
        ".git/index.lock",
        "vendor",
        "/home/dev/.cache/pip",
    ] {
        assert_eq!(verdict(REMOVE, operand), Verdict::Allow, "{operand}");
    }
}

#[test]
fn what_lies_outside_scope_is_asked_about() {
    for operand in [
        "/home/dev/Documents",
        "/home/dev/.ssh",
        "/home/dev/.cache",
        "/opt/app/old",
        "/etc/nginx",
        "/var/log/nginx",
        "/srv/www",
        "../other",
        "/home/dev/Code/project/dist",
        "/home/user/x",
        "/workspace/outside/output",
    ] {
        assert_eq!(on(REMOVE, operand), (Verdict::Confirm, Some(RuleId::OutOfScope)), "{operand}");
    }
    assert_eq!(on(REMOVE, "."), (Verdict::Confirm, Some(RuleId::ScopeRoot)));
    assert_eq!(on(REMOVE, PROJ), (Verdict::Confirm, Some(RuleId::ScopeRoot)));
}

#[test]
fn what_starts_the_system_is_refused_and_its_neighbours_are_asked_about() {
    assert_eq!(on(UNLINK, "/etc/passwd"), (Verdict::Deny, Some(RuleId::CriticalFile)));
    assert_eq!(on(REMOVE, "/etc/ssh").0, Verdict::Deny);
    assert_eq!(on(UNLINK, "/etc/passwd.bak").0, Verdict::Confirm);
    assert_eq!(on(REMOVE, "/lib/modules").0, Verdict::Deny);
}

#[test]
fn history_is_asked_about_and_the_rest_of_the_git_directory_is_not() {
    for operand in
        [".git", ".git/objects", ".git/refs", ".git/packed-refs", "backup.git/objects", "vendor/lib/.git"]
    {
        assert_eq!(on(REMOVE, operand), (Verdict::Confirm, Some(RuleId::GitHistory)), "{operand}");
    }
    for operand in [".git/index.lock", ".git/hooks/pre-commit", ".gitignore", "node_modules/x/.git"] {
        assert_eq!(verdict(REMOVE, operand), Verdict::Allow, "{operand}");
    }
}

#[test]
fn unset_variables_that_move_the_operand_are_refused_with_their_names() {
    let operand = pieces(vec![unset("AGENT_TMP"), text("/session-"), unset("SID")]);
    let findings = findings_in(&world(), path(REMOVE, operand), INTERACTIVE);
    assert_eq!(worst(&findings), (Verdict::Deny, Some(RuleId::EmptyVariableExpansion)));
    assert_eq!(findings[0].resolved, Some(PathBuf::from("/session-")));
    assert!(
        findings[0].reasons[0].starts_with("AGENT_TMP is unset")
            && findings[0].reasons[1].starts_with("SID is unset")
    );
    for moved in [
        vec![unset("X")],
        vec![unset("X"), text("/")],
        vec![unset("X"), text("/a/b/c")],
        vec![text("/tmp/"), unset("X")],
    ] {
        let findings = findings_in(&world(), path(REMOVE, pieces(moved.clone())), INTERACTIVE);
        assert_eq!(worst(&findings), (Verdict::Deny, Some(RuleId::EmptyVariableExpansion)), "{moved:?}");
    }
    for kept in [
        vec![unset("X"), text("build")],
        vec![text("build/x"), unset("X")],
        vec![text("build/"), unset("X"), text("/a")],
    ] {
        let findings = findings_in(&world(), path(REMOVE, pieces(kept.clone())), INTERACTIVE);
        assert_eq!(worst(&findings), (Verdict::Allow, None), "{kept:?}");
    }
    let lost = findings_in(&world(), path(REMOVE, pieces(vec![text("build/"), unset("X")])), INTERACTIVE);
    assert_eq!(worst(&lost), (Verdict::Confirm, Some(RuleId::EmptyVariableExpansion)));
}

#[test]
fn what_is_known_only_at_run_time_is_asked_about_and_refused_where_it_may_vanish_in_front_of_a_slash() {
    let verdict =
        |parts: Vec<Piece>| worst(&findings_in(&world(), path(REMOVE, pieces(parts)), INTERACTIVE)).0;
    assert_eq!(verdict(vec![output(true)]), Verdict::Confirm);
    assert_eq!(verdict(vec![output(true), text("/*")]), Verdict::Deny);
    assert_eq!(verdict(vec![output(true), text("/")]), Verdict::Deny);
    assert_eq!(verdict(vec![output(true), text("/build")]), Verdict::Confirm);
    assert_eq!(verdict(vec![output(false), text("/*")]), Verdict::Confirm);
    let guarded = || hole(Cause::Unset("X".into()), false, false);
    assert_eq!(verdict(vec![guarded(), text("/*")]), Verdict::Allow);
    assert_eq!(verdict(vec![guarded()]), Verdict::Allow);
    let born = Piece::Hole(Hole {
        cause: Rc::new(Cause::CommandOutput("mktemp -d".into())),
        maybe_empty: true,
        component: false,
        born: true,
    });
    assert_eq!(verdict(vec![born]), Verdict::Allow);
}

#[test]
fn an_unknown_entry_is_judged_by_its_directory() {
    let entry = |prefix: &str| {
        let parts = vec![text(prefix), hole(Cause::Input("name".into()), false, true)];
        worst(&findings_in(&world(), path(REMOVE, pieces(parts)), INTERACTIVE)).0
    };
    assert_eq!(entry("build/"), Verdict::Allow);
    assert_eq!(entry("/tmp/job-"), Verdict::Allow);
    assert_eq!(entry("/tmp/"), Verdict::Allow);
    assert_eq!(entry("/home/"), Verdict::Deny);
    assert_eq!(entry("./"), Verdict::Confirm);
    assert_eq!(entry("/opt/"), Verdict::Deny);
    assert_eq!(entry("/opt/app/"), Verdict::Confirm);
    let may_be_empty = |prefix: &str| {
        worst(&findings_in(&world(), path(REMOVE, pieces(vec![text(prefix), output(true)])), INTERACTIVE)).0
    };
    assert_eq!(may_be_empty("/home/dev/"), Verdict::Deny);
    assert_eq!(may_be_empty("/tmp/"), Verdict::Confirm);
    assert_eq!(may_be_empty("build/"), Verdict::Allow);
}

#[test]
fn wildcards_are_judged_by_what_they_range_over() {
    for (base, pattern) in [
        ("/", "*"),
        ("/", "*/bin"),
        ("/home", "*"),
        ("/home", "*/Documents"),
        ("/usr", "*"),
        ("/home/dev", "*"),
        ("/home/dev", ".*"),
        ("/home/dev", "**"),
        ("/home/dev/proj/link", "*"),
        ("/etc", "*"),
    ] {
        assert_eq!(glob_verdict(base, pattern, &[]), Verdict::Deny, "{base} {pattern}");
    }
    for (base, pattern) in [
        ("/tmp", "*"),
        ("/var/log", "*"),
        ("/var/log", "*.gz"),
        ("/home/dev/Documents", "*"),
        (PROJ, "*"),
        (PROJ, ".*"),
        ("/data/y/z", "*"),
    ] {
        assert_eq!(glob_verdict(base, pattern, &[]), Verdict::Confirm, "{base} {pattern}");
    }
    for (base, pattern) in [
        (PROJ, "*.log"),
        (PROJ, "*.egg-info"),
        (PROJ, "*/node_modules"),
        (PROJ, "**/*.o"),
        ("/tmp", "build-*"),
        ("/home/dev/proj/build", "*"),
        ("/home/dev/proj/node_modules", "*"),
        ("/tmp/x/y", "*"),
    ] {
        assert_eq!(glob_verdict(base, pattern, &[]), Verdict::Allow, "{base} {pattern}");
    }
    assert_eq!(glob_verdict(PROJ, ".git*", &[".git", ".gitignore"]), Verdict::Confirm);
}

#[test]
fn the_tilde_and_glob_rules_bind_where_nobody_can_answer() {
    let tilde =
        Field { tilde: true, source: "~/.cache/pip".into(), ..Field::literal("/home/dev/.cache/pip") };
    assert_eq!(worst(&findings_in(&world(), path(REMOVE, tilde.clone()), INTERACTIVE)).0, Verdict::Allow);
    assert_eq!(
        worst(&findings_in(&world(), path(REMOVE, tilde), UNATTENDED)).1,
        Some(RuleId::TildeAmbiguous)
    );
    let rule = |field: Field| worst(&findings_in(&world(), path(REMOVE, field), UNATTENDED)).1;
    assert_eq!(rule(glob(PROJ, "core.*", &[])), Some(RuleId::GlobNoMatch));
    assert_eq!(rule(glob(PROJ, "*.log", &["app.log"])), Some(RuleId::GlobBreadth));
    assert_eq!(rule(glob("/home/dev/proj/build", "*.o", &["build/a.o"])), None);
}

#[test]
fn a_filter_narrows_what_find_takes() {
    let find = |root: &str, selection: Selection| {
        let target = PathTarget { selection, ..target(Field::literal(root)) };
        worst(&findings_in(&world(), located(Effect::Path { act: REMOVE, target }), INTERACTIVE)).0
    };
    let by_name = |name: &str| Selection {
        filter: format!("-name '{name}'"),
        narrow_by_name: true,
        names: vec![name.into()],
        ..Selection::default()
    };
    let by_other = || Selection { filter: "-type f".into(), narrow_by_other: true, ..Selection::default() };
    assert_eq!(find(".", Selection::default()), Verdict::Confirm);
    assert_eq!(find(".", by_name("*.pyc")), Verdict::Allow);
    assert_eq!(find(".", by_other()), Verdict::Confirm);
    assert_eq!(find(".", by_name(".git")), Verdict::Confirm);
    assert_eq!(find("/home/dev", by_name("*.pyc")), Verdict::Confirm);
    assert_eq!(find("/home/dev", by_other()), Verdict::Deny);
    assert_eq!(find("/", by_name("*.log")), Verdict::Deny);
    assert_eq!(find("/tmp", by_name("x-*")), Verdict::Allow);
    assert_eq!(find("build", Selection { contents_only: true, ..Selection::default() }), Verdict::Allow);
    assert_eq!(find(".git", Selection::default()), Verdict::Confirm);
}

#[test]
fn overwriting_is_judged_by_what_is_lost() {
    for (act, operand) in [
        (Act::Replace, "/etc/passwd"),
        (Act::Truncate, "/etc/shadow"),
        (Act::Replace, "/bin"),
        (Act::Replace, "/dev/null"),
        (Act::Truncate, "/f"),
        (Act::Device, "/dev/sda"),
        (Act::Truncate, "/dev/mem"),
        (Act::Truncate, "/proc/sysrq-trigger"),
    ] {
        assert_eq!(verdict(act, operand), Verdict::Deny, "{act:?} {operand}");
    }
    for (act, operand) in [
        (Act::Replace, "/etc/motd"),
        (Act::Truncate, "/var/log/syslog"),
        (Act::Append, "/etc/hosts"),
        (Act::Replace, "/workspace/outside/output"),
        (Act::Truncate, "/home/dev/.ssh"),
        (Act::Truncate, ".git/HEAD"),
    ] {
        assert_eq!(verdict(act, operand), Verdict::Confirm, "{act:?} {operand}");
    }
    for (act, operand) in [
        (Act::Truncate, "app.log"),
        (Act::Replace, "README.md"),
        (Act::Truncate, "/dev/null"),
        (Act::Append, "/home/dev/.bashrc"),
        (Act::Truncate, "/home/dev/new.txt"),
        (Act::Replace, "/usr/local/bin/new"),
        (Act::Truncate, "/tmp/x"),
        (Act::Append, "/dev/stderr"),
        (Act::Device, "disk.img"),
        (Act::Replace, "/home/dev/.gitconfig"),
    ] {
        assert_eq!(verdict(act, operand), Verdict::Allow, "{act:?} {operand}");
    }
    let dd = Located { program: "dd".into(), ..path(Act::Device, Field::literal("/home/dev/notes.txt")) };
    assert_eq!(worst(&findings_in(&world(), dd, INTERACTIVE)).0, Verdict::Confirm);
}

#[test]
fn metadata_of_trees_is_judged_and_of_single_files_seldom() {
    let tree = Act::Metadata { recursive: true };
    let single = Act::Metadata { recursive: false };
    for operand in ["/", "/etc", "/home/dev", "/usr", "/var"] {
        assert_eq!(on(tree, operand), (Verdict::Deny, Some(RuleId::RecursiveMetadata)), "{operand}");
    }
    assert_eq!(verdict(tree, "/opt/app"), Verdict::Confirm);
    assert_eq!(verdict(tree, "build"), Verdict::Allow);
    assert_eq!(verdict(single, "/etc/passwd"), Verdict::Confirm);
    assert_eq!(verdict(single, "/root/.ssh/x"), Verdict::Allow);
    assert_eq!(verdict(single, "/var/log/x"), Verdict::Allow);
}

#[test]
fn git_discards_only_where_there_is_something_to_lose() {
    let git = |discard: Discard, base: &str| {
        let base = Base::Known(Rc::new(base.into()));
        worst(&findings_in(
            &world(),
            located(Effect::Git { discard, base, what: "git x".into() }),
            INTERACTIVE,
        ))
        .0
    };
    let clean = |paths: Vec<Field>| Discard::Untracked {
        paths,
        ignored: false,
        only_ignored: false,
        directories: true,
    };
    assert_eq!(git(Discard::WorkTree(vec![]), PROJ), Verdict::Confirm);
    assert_eq!(git(Discard::WorkTree(vec![Field::literal("src/lib.rs")]), PROJ), Verdict::Confirm);
    assert_eq!(git(Discard::WorkTree(vec![Field::literal("README.md")]), PROJ), Verdict::Allow);
    assert_eq!(git(Discard::WorkTree(vec![]), "/home/dev/Code/project"), Verdict::Allow);
    assert_eq!(git(Discard::WorkTree(vec![]), "/home"), Verdict::Confirm);
    assert_eq!(git(clean(vec![]), PROJ), Verdict::Confirm);
    assert_eq!(git(clean(vec![Field::literal("docs")]), PROJ), Verdict::Allow);
    assert_eq!(git(clean(vec![Field::literal("not-there")]), PROJ), Verdict::Confirm);
    assert_eq!(git(clean(vec![]), "/"), Verdict::Deny);
    assert_eq!(git(Discard::Stash, PROJ), Verdict::Confirm);
}

/// What is said of removing the work tree `beside` that is linked to the project.
fn removing_linked_tree(world: &MemoryWorld, forced: bool, asker: Asker) -> (Verdict, Option<RuleId>) {
    let base = Base::Known(Rc::new(PROJ.into()));
    let discard = Discard::Worktree { tree: Field::literal("../beside"), forced };
    let effect = Effect::Git { discard, base, what: "git worktree remove".into() };
    worst(&findings_in(world, located(effect), asker))
}

#[test]
fn a_linked_work_tree_is_asked_about_only_where_force_would_lose_something() {
    let clean = || world().linked(PROJ, "/home/dev/beside", "beside");
    let on = |world: &MemoryWorld, forced| removing_linked_tree(world, forced, INTERACTIVE).0;
    assert_eq!((on(&clean(), false), on(&clean(), true)), (Verdict::Allow, Verdict::Allow));
    let built = clean().tracked("/home/dev/beside", "target/", Tracking::Ignored);
    assert_eq!(on(&built, true), Verdict::Allow, "git does not mind what is ignored either");
    for tracking in [Tracking::Modified, Tracking::Untracked] {
        let dirty = clean().tracked("/home/dev/beside", "notes", tracking);
        assert_eq!(on(&dirty, false), Verdict::Allow, "git refuses by itself");
        assert_eq!(on(&dirty, true), Verdict::Confirm);
    }
    let strange = world().dir("/home/dev/beside");
    assert_eq!(on(&strange, true), Verdict::Confirm, "what cannot be looked at");
}

#[test]
fn git_does_not_begin_what_a_mute_rung_would_stop_halfway() {
    let world = world().linked(PROJ, "/home/dev/beside", "beside");
    let asker = |backing| Asker { mode: Mode::Unattended, surface: Surface::Exec { backing } };
    for forced in [false, true] {
        let on = |backing| removing_linked_tree(&world, forced, asker(backing));
        assert_eq!(on(Backing::Mute), (Verdict::Deny, Some(RuleId::OutOfScope)));
        assert_eq!(on(Backing::Telling).0, Verdict::Allow, "it can be lent to git");
        assert_eq!(on(Backing::Nothing).0, Verdict::Allow);
    }
    let inside = self::world().linked(PROJ, "/home/dev/proj/beside", "beside");
    let base = Base::Known(Rc::new(PROJ.into()));
    let discard = Discard::Worktree { tree: Field::literal("beside"), forced: false };
    let effect = located(Effect::Git { discard, base, what: "git worktree remove".into() });
    assert!(findings_in(&inside, effect, asker(Backing::Mute)).is_empty());
}

#[test]
fn a_push_is_the_affair_of_the_repository_that_receives_it() {
    let pushed = |base: Base| {
        let discard = Discard::Pushed(Field::literal("../remote.git"));
        located(Effect::Git { discard, base, what: "git receive-pack".into() })
    };
    let elsewhere = Located { elsewhere: Some("box".into()), ..pushed(Base::Unknown("$X".into())) };
    for effect in [pushed(Base::Known(Rc::new(PROJ.into()))), elsewhere] {
        assert!(findings_in(&world().bare("/home/dev/remote.git"), effect, UNATTENDED).is_empty());
    }
}

#[test]
fn many_untracked_files_are_asked_about_and_rebuildable_ones_are_not() {
    let mut world = world().tracked(PROJ, "results/", Tracking::Untracked);
    for at in 0..30 {
        world =
            world.file(&format!("{PROJ}/results/{at}.csv"), "").file(&format!("{PROJ}/build/{at}.csv"), "");
    }
    let verdict =
        |operand: &str| worst(&findings_in(&world, path(REMOVE, Field::literal(operand)), INTERACTIVE));
    assert_eq!(verdict("results"), (Verdict::Confirm, Some(RuleId::UntrackedFiles)));
    assert_eq!(verdict("build"), (Verdict::Allow, None));
    assert_eq!(verdict("results/1.csv"), (Verdict::Allow, None));
}

#[test]
fn many_files_that_git_cannot_be_asked_about_are_taken_for_untracked() {
    let mut world = world().dir(&format!("{PROJ}/few"));
    for at in 0..30 {
        world =
            world.file(&format!("{PROJ}/results/{at}.csv"), "").file(&format!("{PROJ}/build/{at}.csv"), "");
    }
    let verdict = |world: &MemoryWorld, operand: &str| {
        worst(&findings_in(world, path(REMOVE, Field::literal(operand)), INTERACTIVE))
    };
    assert_eq!(verdict(&world, "results"), (Verdict::Allow, None), "git has them all");
    let world = world.unreadable_by_git(PROJ);
    assert_eq!(verdict(&world, "results"), (Verdict::Confirm, Some(RuleId::UntrackedFiles)));
    assert_eq!(verdict(&world, "few"), (Verdict::Allow, None));
    assert_eq!(verdict(&world, "build"), (Verdict::Allow, None));
    assert_eq!(verdict(&world, "results/1.csv"), (Verdict::Allow, None));
}

#[test]
fn mounts_below_the_target_are_named() {
    let world =
        world().mount("/home/dev/proj/rootfs/proc", "proc", 9).mount("/home/dev/proj/nas", "nfs4", 10);
    let on = |operand: &str| worst(&findings_in(&world, path(REMOVE, Field::literal(operand)), INTERACTIVE));
    assert_eq!(on("rootfs"), (Verdict::Deny, Some(RuleId::MountBelow)));
    assert_eq!(on("nas"), (Verdict::Deny, Some(RuleId::FloorPath)));
    assert_eq!(on("nas/old"), (Verdict::Confirm, Some(RuleId::OutOfScope)));
    assert_eq!(on("build"), (Verdict::Allow, None));
}

#[test]
fn another_machine_is_judged_by_its_paths_alone() {
    let remote = |act, operand: &str| {
        let effect = Located { elsewhere: Some("ssh host".into()), ..path(act, Field::literal(operand)) };
        worst(&findings_in(&world(), effect, INTERACTIVE))
    };
    assert_eq!(remote(REMOVE, "/home"), (Verdict::Deny, Some(RuleId::FloorPath)));
    assert_eq!(remote(REMOVE, "/sdcard").0, Verdict::Confirm);
    assert_eq!(remote(REMOVE, "/data").0, Verdict::Confirm);
    assert_eq!(remote(REMOVE, "/tmp/build-1").0, Verdict::Allow);
}

#[test]
fn modes_turn_questions_into_refusals_and_a_human_is_told_of_refusals_only() {
    let documents = || path(REMOVE, Field::literal("/home/dev/Documents"));
    assert_eq!(worst(&findings_in(&world(), documents(), UNATTENDED)).0, Verdict::Deny);
    let human = Asker { mode: Mode::Interactive, surface: Surface::Human };
    assert_eq!(worst(&findings_in(&world(), documents(), human)).0, Verdict::Allow);
    assert_eq!(worst(&findings_in(&world(), path(REMOVE, Field::literal("/")), human)).0, Verdict::Deny);
    let thing = || {
        located(Effect::Thing {
            rule: RuleId::PackageSource,
            verdict: None,
            what: "installs from git".into(),
            object: "".into(),
        })
    };
    assert_eq!(worst(&findings_in(&world(), thing(), INTERACTIVE)).0, Verdict::Warn);
    let strict = Asker { mode: Mode::Strict, surface: Surface::Text };
    assert_eq!(worst(&findings_in(&world(), thing(), strict)).0, Verdict::Deny);
}

#[test]
fn inside_a_proved_run_the_kernel_judges_removals_and_the_exec_layer_what_no_hook_sees() {
    let asker = Asker { mode: Mode::Unattended, surface: Surface::Exec { backing: Backing::Telling } };
    let on = |effect: Located| worst(&findings_in(&world(), effect, asker)).0;
    assert_eq!(on(path(REMOVE, Field::literal("/home/dev/Documents"))), Verdict::Allow);
    assert_eq!(on(path(REMOVE, Field::literal("/home/dev"))), Verdict::Deny);
    // Each object lies in scope, so that no hook would object to all of them.
    assert_eq!(on(path(REMOVE, Field::literal("."))), Verdict::Deny);
    let reset = Effect::Git {
        discard: Discard::WorkTree(vec![]),
        base: Base::Known(Rc::new(PROJ.into())),
        what: "git reset --hard".into(),
    };
    assert_eq!(on(located(reset)), Verdict::Deny);
}

#[test]
fn what_a_mute_rung_would_refuse_is_refused_with_a_reason_and_nothing_else() {
    let asker = Asker { mode: Mode::Unattended, surface: Surface::Exec { backing: Backing::Mute } };
    let world = world().file("/home/dev/Documents/a.txt", "a").file("/home/dev/.config/tool/log", "l");
    let on = |act: Act, name: &str| worst(&findings_in(&world, path(act, Field::literal(name)), asker));
    assert_eq!(on(REMOVE, "/home/dev/Documents/a.txt"), (Verdict::Deny, Some(RuleId::OutOfScope)));
    assert_eq!(on(Act::Truncate, "/home/dev/Documents/a.txt").0, Verdict::Deny);
    assert_eq!(on(REMOVE, "/home/dev/.config/tool/log").0, Verdict::Deny);
    // An edit of settings, and what is not there, would pass the rung as well.
    assert_eq!(on(Act::Truncate, "/home/dev/.config/tool/log").0, Verdict::Allow);
    assert_eq!(on(REMOVE, "/home/dev/Documents/absent.txt").0, Verdict::Allow);
    assert_eq!(on(REMOVE, "/tmp/x").0, Verdict::Allow);
}

#[test]
fn a_hook_says_that_a_variable_is_not_visible_to_it() {
    let operand = || pieces(vec![unset("OUT"), text("/x")]);
    let hook = Asker { mode: Mode::Interactive, surface: Surface::Hook };
    assert!(findings_in(&world(), path(REMOVE, operand()), hook)[0].reasons[0].contains("not visible here"));
    assert!(findings_in(&world(), path(REMOVE, operand()), INTERACTIVE)[0].reasons[0].contains("is unset"));
}

#[test]
fn a_tmpfs_inside_the_project_may_be_emptied_and_not_removed() {
    let world = world().mount("/home/dev/proj/data", "tmpfs", 9).file("/home/dev/proj/data/x", "");
    let contents = Selection { contents_only: true, ..Selection::default() };
    let find = PathTarget { selection: contents, ..target(Field::literal("data")) };
    let on = |effect: Located| worst(&findings_in(&world, effect, INTERACTIVE)).0;
    assert_eq!(on(located(Effect::Path { act: REMOVE, target: find })), Verdict::Allow);
    assert_eq!(on(path(REMOVE, glob("/home/dev/proj/data", "*", &["data/x"]))), Verdict::Allow);
    assert_eq!(on(path(REMOVE, Field::literal("data"))), Verdict::Deny);
}

#[test]
fn a_tmpfs_that_is_mounted_elsewhere_too_is_not_the_projects() {
    let world = world()
        .mount("/run/shared", "tmpfs", 9)
        .mount("/home/dev/proj/data", "tmpfs", 9)
        .file("/home/dev/proj/data/x", "");
    let on =
        |operand: &str| worst(&findings_in(&world, path(REMOVE, Field::literal(operand)), INTERACTIVE)).1;
    assert_eq!(on("data/x"), Some(RuleId::OutOfScope));
    assert_eq!(on("app.log"), None);
}

#[test]
fn a_broken_policy_file_refuses_destructive_work_and_nothing_else() {
    let world = world().file("/home/dev/proj/.blastradius", "allow /");
    let on = |effect: Located| worst(&findings_in(&world, effect, INTERACTIVE));
    assert_eq!(on(path(REMOVE, Field::literal("build"))), (Verdict::Deny, Some(RuleId::PolicyError)));
    assert_eq!(on(path(Act::Append, Field::literal("app.log"))), (Verdict::Allow, None));
    assert_eq!(on(path(Act::Truncate, Field::literal("/dev/null"))), (Verdict::Allow, None));
}

#[test]
fn a_refusal_for_a_broken_policy_file_names_the_object_and_the_file() {
    let world = world()
        .file("/home/dev/proj/.blastradius", "allow /")
        .dir("/srv/real")
        .link("/home/dev/proj/linked", "/srv/real");
    let resolved = |effect: Located| {
        let findings = findings_in(&world, effect, INTERACTIVE);
        let finding = findings.iter().find(|finding| finding.rule == RuleId::PolicyError).expect("refused");
        let advice = finding.advice.as_deref().expect("something to do");
        assert!(advice.starts_with("cat /home/dev/proj/.blastradius "), "{advice}");
        finding.resolved.clone()
    };
    let at = |path: &str| Some(PathBuf::from(path));
    assert_eq!(resolved(path(REMOVE, Field::literal("build"))), at("/home/dev/proj/build"));
    assert_eq!(resolved(path(REMOVE, Field::literal("linked/x"))), at("/srv/real/x"));
    assert_eq!(resolved(path(REMOVE, glob(PROJ, "*.o", &["a.o"]))), at("/home/dev/proj/*.o"));
    // What is known only at run time has no path.
    assert_eq!(resolved(path(REMOVE, pieces(vec![output(true)]))), None);
}

#[test]
fn configured_rules_move_defaults_and_never_critical_cases() {
    let config = "/home/dev/.config/blastradius/config";
    let world =
        world().file(config, "rule out-of-scope deny\nrule git-discard allow\nrule recursive-metadata warn");
    let on = |effect: Located| worst(&findings_in(&world, effect, INTERACTIVE)).0;
    assert_eq!(on(path(REMOVE, Field::literal("/home/dev/Documents"))), Verdict::Deny);
    let reset = Effect::Git {
        discard: Discard::WorkTree(vec![]),
        base: Base::Known(Rc::new(PROJ.into())),
        what: "git reset --hard".into(),
    };
    assert_eq!(on(located(reset)), Verdict::Allow);
    let tree = Act::Metadata { recursive: true };
    assert_eq!(on(path(tree, Field::literal("/opt/app"))), Verdict::Warn);
    assert_eq!(on(path(tree, Field::literal("/etc"))), Verdict::Deny);
}

#[test]
fn command_lines_match_whole_commands() {
    let world = world()
        .file("/home/dev/proj/.blastradius", "deny-command terraform destroy*\nconfirm-command make deploy");
    let policy = Policy::load(&world, Start::default());
    let on =
        |command: &str| judge_command(command, command, &policy, INTERACTIVE).map(|finding| finding.verdict);
    assert_eq!(on("terraform destroy -auto-approve"), Some(Verdict::Deny));
    assert_eq!(on("make deploy"), Some(Verdict::Confirm));
    assert_eq!(on("echo terraform destroy"), None);
    assert_eq!(on("make deploy-docs"), None);
}

#[test]
fn macos_has_its_own_floor_in_any_case() {
    let world = MemoryWorld::new(Platform::MacOs)
        .user(501, "tim")
        .account("tim", "/Users/tim")
        .env("HOME", "/Users/tim")
        .work_tree("/Users/tim/proj")
        .dir("/Users/tim/proj/build")
        .cwd("/Users/tim/proj");
    let on = |operand: &str| {
        let target = PathTarget {
            base: Base::Known(Rc::new("/Users/tim/proj".into())),
            ..target(Field::literal(operand))
        };
        worst(&findings_in(&world, located(Effect::Path { act: REMOVE, target }), INTERACTIVE)).0
    };
    for operand in [
        "/users/TIM",
        "/Applications",
        "/private",
        "/Library",
        "/Users/tim/Library",
        "/system",
        "/private/etc",
        "/users/ann",
    ] {
        assert_eq!(on(operand), Verdict::Deny, "{operand}");
    }
    for operand in
        ["/Users/tim/Documents", "/Users/tim/Library/Caches/x", "/usr/local/x", "/private/var/db/x"]
    {
        assert_eq!(on(operand), Verdict::Confirm, "{operand}");
    }
    for operand in [
        "build",
        "/users/tim/PROJ/build",
        "/private/tmp/x",
        "/var/folders/ab/xyz/T/tmp.1",
        "/private/var/folders/ab/x/T/y",
    ] {
        assert_eq!(on(operand), Verdict::Allow, "{operand}");
    }
}

#[test]
fn very_long_operands_are_answered_without_squaring_their_length() {
    // A quarter of a million components: looked up one by one against every mark, each as long as the rest, they would
    // take minutes.
    for part in ["a/", "target/", "../", "./"] {
        let long = part.repeat(250_000);
        let on = |operand: &str| {
            worst(&findings_in(&world(), path(REMOVE, Field::literal(operand)), INTERACTIVE)).0
        };
        let expected = if part == "../" {
            Verdict::Deny
        } else if part == "./" {
            Verdict::Confirm
        } else {
            Verdict::Allow
        };
        assert_eq!(on(&long), expected, "{part}");
    }
}

#[test]
fn what_is_advised_instead_may_be_done_under_the_policy_in_force() {
    let advised = |lines: &str| {
        let world = world().file(&format!("{PROJ}/.blastradius"), lines);
        let policy = Policy::load(&world, Start::default());
        assert!(policy.errors().is_empty(), "{:?}", policy.errors());
        advice::for_rule(&policy, RuleId::FloorPath, "rm -rf /", None).unwrap_or_default()
    };
    assert!(advised("# nothing\n").starts_with("rm -rf ./build "));
    assert!(advised("deny ./build\n").starts_with("rm -rf /tmp/NAME "));
    assert!(advised("allow ./dist\n").starts_with("ls -la "));
}
