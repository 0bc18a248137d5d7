//! rename in all its meanings.

use blastradius_common::Zone;

use crate::{
    Test,
    calls::{DONE, Outcome, REFUSED, create, link, mkdir, rename, rename_with, unlink},
    world::{Machine, World, mark, name_mark},
};

pub(crate) const TESTS: &[Test] = &[
    Test { name: "nothing is renamed away from out of scope", body: away },
    Test { name: "nothing out of scope is renamed over", body: over },
    Test { name: "an exchange is refused both ways", body: exchange },
    Test { name: "a whiteout is refused", body: whiteout },
    Test { name: "in scope everything may be renamed", body: in_scope },
    Test { name: "two names of one object may be renamed onto each other", body: onto_itself },
    Test { name: "a scope root keeps its name", body: scope_root },
    Test { name: "dotfiles of a home may be saved atomically, and not moved out or removed", body: dotfiles },
    Test { name: "a born file that takes over a place is no longer born", body: not_laundered },
    Test { name: "a protected name stays protected when its file is replaced", body: names },
    Test { name: "a directory that leaves scope takes none of it along", body: takes_nothing_along },
];

fn refuses(world: &World, act: impl FnOnce() -> Outcome) {
    assert_eq!(world.guarded(act), REFUSED);
}

fn away(machine: &Machine) {
    let world = machine.world("away");
    refuses(&world, || rename(world.path("kept/file"), world.path("scope/stolen")));
    refuses(&world, || rename(world.path("kept/file"), world.path("kept/renamed")));
    refuses(&world, || rename(world.path("kept/directory"), world.path("scope/stolen")));
    refuses(&world, || rename(world.path("home/docs/letter"), world.path("scope/stolen")));
    refuses(&world, || rename(world.path("scope/denied/file"), world.path("scope/stolen")));
    assert!(world.has("kept/file") && world.has("kept/directory") && world.has("home/docs/letter"));
    assert!(world.has("scope/denied/file") && !world.has("scope/stolen"));
}

fn over(machine: &Machine) {
    let world = machine.world("over");
    refuses(&world, || rename(world.path("scope/file"), world.path("kept/file")));
    refuses(&world, || rename(world.path("scope/directory"), world.path("kept/directory")));
    refuses(&world, || rename(world.path("scope/file"), world.path("home/docs/letter")));
    assert_eq!(std::fs::read(world.path("kept/file")).expect("there"), b"precious\n");
}

fn exchange(machine: &Machine) {
    let world = machine.world("exchange");
    let swap = |a: &str, b: &str| rename_with(world.path(a), world.path(b), libc::RENAME_EXCHANGE);
    refuses(&world, || swap("scope/file", "kept/file"));
    refuses(&world, || swap("kept/file", "scope/file"));
    refuses(&world, || swap("kept/file", "kept/other"));
    assert_eq!(world.guarded(|| swap("scope/file", "scope/other")), DONE);
}

fn whiteout(machine: &Machine) {
    let world = machine.world("whiteout");
    refuses(&world, || rename_with(world.path("kept/file"), world.path("kept/moved"), libc::RENAME_WHITEOUT));
    assert!(world.has("kept/file"));
}

fn in_scope(machine: &Machine) {
    let world = machine.world("rename-in-scope");
    assert_eq!(world.guarded(|| rename(world.path("scope/file"), world.path("scope/other"))), DONE);
    assert_eq!(world.guarded(|| rename(world.path("scope/other"), world.path("kept/given"))), DONE);
    assert_eq!(world.guarded(|| rename(world.path("scope/directory"), world.path("scope/renamed"))), DONE);
}

fn onto_itself(machine: &Machine) {
    let world = machine.world("itself");
    assert_eq!(link(world.path("kept/file"), world.path("kept/second")), DONE);
    assert_eq!(world.guarded(|| rename(world.path("kept/file"), world.path("kept/second"))), DONE);
    assert!(world.has("kept/file") && world.has("kept/second"));
}

fn scope_root(machine: &Machine) {
    let world = machine.world("moved-root");
    refuses(&world, || rename(world.path("scope"), world.path("elsewhere")));
    refuses(&world, || rename(world.path("home"), world.path("elsewhere")));
    assert!(world.has("scope/file") && world.has("home/.bashrc"));
}

fn dotfiles(machine: &Machine) {
    let world = machine.world("dotfiles");
    let save = || {
        assert_eq!(create(world.path("home/.bashrc.new")), DONE);
        rename(world.path("home/.bashrc.new"), world.path("home/.bashrc"))
    };
    assert_eq!(world.guarded(save), DONE);
    refuses(&world, || rename(world.path("home/.bashrc"), world.path("scope/stolen")));
    refuses(&world, || rename(world.path("home/.bashrc"), world.path("home/docs/stolen")));
    refuses(&world, || unlink(world.path("home/.bashrc")));
    assert!(world.has("home/.bashrc"));
}

fn not_laundered(machine: &Machine) {
    let world = machine.world("laundered");
    let replaced = world.guarded(|| {
        assert_eq!(create(world.path("home/.new")), DONE);
        assert_eq!(rename(world.path("home/.new"), world.path("home/.bashrc")), DONE);
        unlink(world.path("home/.bashrc"))
    });
    assert_eq!(replaced, REFUSED);
    let kept = world.guarded(|| {
        assert_eq!(create(world.path("home/.new")), DONE);
        assert_eq!(rename(world.path("home/.new"), world.path("home/.renamed")), DONE);
        unlink(world.path("home/.renamed"))
    });
    assert_eq!(kept, DONE, "a new name of its own");
}

fn names(machine: &Machine) {
    let world = machine.world_with("names", |root, plan| {
        let git = root.join("scope/.git");
        std::fs::create_dir_all(git.join("objects/ab")).expect("made");
        for file in ["HEAD", "index", "objects/ab/cd"] {
            std::fs::write(git.join(file), "ref").expect("made");
        }
        for name in ["HEAD", "objects"] {
            plan.names.push(name_mark(&git, name, Zone::History));
        }
        plan.marks.push(mark(&git.join("HEAD"), Some(Zone::History), None, None));
        plan.names.push(name_mark(&root.join("scope"), "vault", Zone::Denied));
    });
    let git = |name: &str| world.path("scope/.git").join(name);
    refuses(&world, || unlink(git("HEAD")));
    refuses(&world, || unlink(git("objects/ab/cd")));
    refuses(&world, || rename(git("index"), git("HEAD")));
    assert_eq!(world.guarded(|| unlink(git("index"))), DONE, "another name of that directory");
    // From outside the session: a new inode, without a mark of its own.
    std::fs::write(git("HEAD.lock"), "new").expect("made");
    std::fs::rename(git("HEAD.lock"), git("HEAD")).expect("renamed");
    refuses(&world, || unlink(git("HEAD")));
    assert_eq!(std::fs::read(git("HEAD")).expect("there"), b"new");
    // A name that appears later.
    assert_eq!(mkdir(world.path("scope/vault")), DONE);
    assert_eq!(create(world.path("scope/vault/key")), DONE);
    refuses(&world, || unlink(world.path("scope/vault/key")));
    assert!(world.has("scope/vault/key"));
}

fn takes_nothing_along(machine: &Machine) {
    let world = machine.world_with("takes-nothing-along", |root, plan| {
        for git in [root.join("scope/lib/.git"), root.join("scope/other-lib/.git")] {
            std::fs::create_dir_all(git.join("hooks")).expect("made");
            for file in ["HEAD", "index", "hooks/x"] {
                std::fs::write(git.join(file), "ref").expect("made");
            }
            plan.names.push(name_mark(&git, "HEAD", Zone::History));
        }
    });
    let is_gone = |path: &str| world.guarded(|| unlink(world.path(path))) == DONE;
    assert!(is_gone("scope/lib/.git/hooks/x"), "as long as it lies there");
    let away =
        |from: &str, to: &str| assert_eq!(world.guarded(|| rename(world.path(from), world.path(to))), DONE);
    away("scope/lib/.git", "kept/git");
    away("scope/other-lib", "kept/lib");
    for kept in [
        "kept/git/index",
        "kept/git/HEAD",
        "kept/lib/.git/index",
        "kept/lib/.git/hooks/x",
        "kept/lib/.git/HEAD",
    ] {
        // A protected name is protected everywhere; what lies beside it, where the kernel lets the walk go on.
        let stays = machine.follows_moves() || kept.ends_with("HEAD");
        assert_eq!((is_gone(kept), world.has(kept)), (!stays, stays), "{kept}");
    }
    if machine.follows_moves() {
        refuses(&world, || rename(world.path("kept/git/index"), world.path("kept/git/renamed")));
        refuses(&world, || rename(world.path("kept/lib/.git/index"), world.path("scope/index")));
    }
}
