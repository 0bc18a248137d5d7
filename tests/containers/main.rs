//! The guard in containers that runc makes: as entry point, as a second process, put over a running one from the host or from
//! a pod beside it, and with a person who answers in the container.
//!
//! `BLASTRADIUS_BIN` names the binary; without it, the one beside this test is taken. It needs root. With
//! `BLASTRADIUS_RUNG=kernel`, in a guest, the kernel rung is tried too.

mod container;
mod entry;
mod host;
mod node;
mod person;
mod second;

use container::{Container, Ground};

/// The rung that a container's capabilities lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rung {
    Landlock,
    Kernel,
}

impl Rung {
    /// What `--require` and the guard's first line call it.
    fn name(self) -> &'static str {
        match self {
            Self::Landlock => "landlock",
            Self::Kernel => "kernel",
        }
    }
}

/// The rungs that can be tried here, or none without root.
fn rungs() -> &'static [Rung] {
    if !nix::unistd::geteuid().is_root() {
        println!("not run here: a container takes root");
        return &[];
    }
    if std::env::var("BLASTRADIUS_RUNG").is_ok_and(|rung| rung == "kernel") {
        return &[Rung::Landlock, Rung::Kernel];
    }
    println!("the kernel rung is not tried here: it takes a guest, and BLASTRADIUS_RUNG=kernel");
    &[Rung::Landlock]
}

/// Acts in scope and out of it: by a program that the exec layer knows, and by a copy that it does not know.
const ACTS: &str =
    "rm -rf /srv/data; cp /bin/rm tidy; ./tidy -rf /srv/data; rm -rf build; ./tidy -rf dist; exit 7";

/// A container for the acts, on a rung, as a user.
fn container<'ground>(ground: &'ground Ground, name: &str, rung: Rung, uid: u32) -> Container<'ground> {
    let container = ground.container(name).of(uid);
    match rung {
        Rung::Landlock => container,
        Rung::Kernel => container.with_the_kernel(),
    }
}

/// What lies out of scope is whole, and what lies in scope is gone.
#[track_caller]
fn assert_both(container: &Container, said: &str) {
    assert!(container.keeps("srv/data/photo") && container.keeps("srv/data/2019/photo"), "lost: {said}");
    for gone in ["srv/app/build", "srv/app/dist"] {
        assert!(!container.at(gone).exists(), "{gone} may go: {said}");
    }
}

#[test]
fn without_a_guard_the_acts_destroy_all_of_it() {
    if rungs().is_empty() {
        return;
    }
    let ground = Ground::new();
    let container = ground.container("bare");
    let ended = container.run(&["sh", "-c", ACTS]);
    assert_eq!(ended.code, 7, "{}", ended.said);
    for gone in ["srv/data", "srv/app/build", "srv/app/dist"] {
        assert!(!container.at(gone).exists(), "{gone}: {}", ended.said);
    }
}
