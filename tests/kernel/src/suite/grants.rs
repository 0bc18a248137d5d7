//! A person's yes: what it lets pass, for whom, how long.

use std::{
    io::{Read as _, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use blastradius::guard::kernel::Role;
use blastradius_common::{Id, Operation, grant::Cover};

use crate::{
    Test,
    calls::{DONE, Outcome, REFUSED, unlink, wait},
    world::{Machine, World},
};

pub(crate) const TESTS: &[Test] = &[
    Test { name: "a grant lets the approved program do the approved act, and no other", body: exact },
    Test { name: "a grant on a directory lets what is below it go", body: tree },
    Test { name: "a grant for one operation is none for another", body: operation },
    Test {
        name: "what the approved program starts has the grant, and who started it has not",
        body: inherited,
    },
    Test { name: "a grant is taken up once, and by the approved binary alone", body: once },
    Test { name: "no grant lifts what is denied or a floor", body: never },
    Test { name: "what is lent to git lets git do it, and no program that it starts", body: lent },
    Test { name: "the kernel side tells members from others", body: membership },
];

const REMOVE: Cover = Cover(0).with(Operation::Remove);

/// What a guarded process executes, and under which grant.
struct Exec<'a> {
    program: PathBuf,
    words: Vec<String>,
    /// What is granted, to an exec of which binary.
    granted: Option<(&'a [(&'a str, Cover)], &'a Path)>,
}

fn identified(world: &World, objects: &[(&str, Cover)]) -> Vec<(Id, Cover)> {
    let grants = world.session.grants();
    let identify = |(path, cover): &(&str, Cover)| {
        (grants.identify(Path::new("/"), &world.path(path)).expect("it is there"), *cover)
    };
    objects.iter().map(identify).collect()
}

/// Starts a guarded process, grants, lets it execute, and returns its exit code.
fn run(world: &World, exec: Exec<'_>) -> i32 {
    let list =
        |objects: &[(&str, Cover)]| world.session.grants().list(&identified(world, objects)).expect("listed");
    let granted = exec.granted.map(|(objects, binary)| (list(objects), binary));
    run_with(world, &exec, granted)
}

/// The same with a grant that is listed already.
fn run_with(world: &World, exec: &Exec<'_>, granted: Option<(u32, &Path)>) -> i32 {
    let (mut ready, go) = std::io::pipe().expect("a pipe");
    let child = world.spawn_guarded(|| {
        let _ = ready.read(&mut [0]);
        let error = Command::new(&exec.program).args(&exec.words).exec();
        Outcome::from_errno(error.raw_os_error().unwrap_or(libc::EIO))
    });
    if let Some((grant, binary)) = granted {
        let grants = world.session.grants();
        let binary = grants.identify_program(Path::new("/"), binary).expect("a program");
        grants.expect(grant, child, child, binary).expect("a member");
    }
    (&go).write_all(&[1]).expect("it waits");
    wait(child).errno()
}

fn act() -> PathBuf {
    std::env::current_exe().expect("/proc is there")
}

fn busybox() -> PathBuf {
    Path::new("/bin/sh").canonicalize().expect("there is a shell")
}

fn text(path: PathBuf) -> String {
    path.to_str().expect("the scratch directory has a plain name").to_owned()
}

/// `act unlink FILE…` as separate runs of one shell, so that the grant is inherited, or as one.
fn remove<'a>(world: &World, path: &str, granted: &'a [(&'a str, Cover)], binary: &'a Path) -> i32 {
    let words = vec!["act".to_owned(), "unlink".to_owned(), text(world.path(path))];
    run(world, Exec { program: act(), words, granted: (!granted.is_empty()).then_some((granted, binary)) })
}

fn exact(machine: &Machine) {
    let world = machine.world("grant-exact");
    let own = act();
    assert_ne!(remove(&world, "kept/other", &[("kept/file", REMOVE)], &own), 0, "another object");
    assert!(world.has("kept/other"));
    assert_eq!(remove(&world, "kept/file", &[("kept/file", REMOVE)], &own), 0);
    assert!(!world.has("kept/file"));
}

fn tree(machine: &Machine) {
    let world = machine.world("grant-tree");
    std::fs::create_dir_all(world.path("kept/directory/a/b")).expect("made");
    std::fs::write(world.path("kept/directory/a/b/file"), "precious\n").expect("made");
    let script =
        format!("rm -r {}; rm {}", text(world.path("kept/directory")), text(world.path("kept/file")));
    let cover = REMOVE.with_below(Operation::Remove);
    let granted: &[(&str, Cover)] = &[("kept/directory", cover)];
    let shell = busybox();
    let words = vec!["-c".to_owned(), script];
    let code = run(&world, Exec { program: "/bin/sh".into(), words, granted: Some((granted, &shell)) });
    assert_ne!(code, 0, "the file beside it is not covered");
    assert!(!world.has("kept/directory") && world.has("kept/file"));
}

fn operation(machine: &Machine) {
    let world = machine.world("grant-operation");
    let truncate = Cover::default().with(Operation::Truncate);
    assert_ne!(remove(&world, "kept/file", &[("kept/file", truncate)], &act()), 0);
    assert!(world.has("kept/file"));
}

fn inherited(machine: &Machine) {
    let world = machine.world("grant-inherited");
    // The shell is approved; it forks, executes another binary, and that removes.
    let script = format!("{} act unlink {}; true", text(act()), text(world.path("kept/file")));
    let granted: &[(&str, Cover)] = &[("kept/file", REMOVE), ("kept/other", REMOVE)];
    let shell = busybox();
    let words = vec!["-c".to_owned(), script];
    assert_eq!(run(&world, Exec { program: "/bin/sh".into(), words, granted: Some((granted, &shell)) }), 0);
    assert!(!world.has("kept/file"));
    // The grant is still listed, and nobody else carries it.
    assert_eq!(world.guarded(|| unlink(world.path("kept/other"))), REFUSED);
}

fn once(machine: &Machine) {
    let world = machine.world("grant-once");
    let granted: &[(&str, Cover)] = &[("kept/file", REMOVE), ("kept/other", REMOVE)];
    assert_ne!(remove(&world, "kept/file", granted, &busybox()), 0, "approved was another binary");
    assert!(world.has("kept/file"));
    assert_eq!(remove(&world, "kept/file", granted, &act()), 0);
    assert_ne!(remove(&world, "kept/other", &[], &act()), 0, "the next one asks again");
    assert!(world.has("kept/other"));
}

fn never(machine: &Machine) {
    let world = machine.world("grant-never");
    let tree = REMOVE.with_below(Operation::Remove);
    let granted: &[(&str, Cover)] = &[("scope/denied/file", REMOVE), ("scope/denied", tree), ("home", tree)];
    assert_ne!(remove(&world, "scope/denied/file", granted, &act()), 0);
    assert!(world.has("scope/denied/file"));
    let emptied = vec!["-c".to_owned(), format!("rm -rf {}", text(world.path("home")))];
    let shell = busybox();
    run(&world, Exec { program: "/bin/sh".into(), words: emptied, granted: Some((granted, &shell)) });
    assert!(world.has("home"), "a floor object");
    assert!(!world.has("home/docs/letter"), "what is personal in it was approved");
}

fn lent(machine: &Machine) {
    let world = machine.world("grant-lent");
    let git = world.root.join("git");
    std::fs::copy(act(), &git).expect("copied");
    world.session.give_role(&git, Role::Git).expect("given");
    let by_itself = vec!["act".to_owned(), "unlink".to_owned(), text(world.path("kept/other"))];
    assert_ne!(
        run(&world, Exec { program: git.clone(), words: by_itself, granted: None }),
        0,
        "nothing was lent"
    );
    assert!(world.has("kept/other"));
    // It sleeps in the shell and in what that starts, and is awake again in git.
    let unlink = |by: &Path, what: &str| format!("{} act unlink {}", text(by.into()), text(world.path(what)));
    let script = format!("{}; {}; true", unlink(&act(), "kept/file"), unlink(&git, "kept/other"));
    let words = vec!["-c".to_owned(), script];
    let granted: &[(&str, Cover)] = &[("kept", Cover(0).with_below(Operation::Remove))];
    let objects: Vec<_> = identified(&world, granted);
    let grants = world.session.grants();
    let number = grants.lend(&objects).expect("lent");
    assert_eq!(grants.lend(&objects).expect("lent"), number, "the same objects take up one number");
    run_with(&world, &Exec { program: "/bin/sh".into(), words, granted: None }, Some((number, &busybox())));
    assert!(world.has("kept/file") && !world.has("kept/other"));
}

fn membership(machine: &Machine) {
    let world = machine.world("grant-members");
    let (mut ready, go) = std::io::pipe().expect("a pipe");
    let child = world.spawn_guarded(|| {
        let _ = ready.read(&mut [0]);
        DONE
    });
    let grants = world.session.grants();
    let member = grants.member(child, child).expect("it is there").expect("a member");
    assert_eq!((member.session, member.grant()), (world.session.id(), 0));
    // SAFETY: takes nothing.
    let own = unsafe { libc::getpid() };
    assert_eq!(grants.member(own, own).expect("it is there"), None);
    assert_eq!(grants.member(1, 1).expect("it is there"), None);
    (&go).write_all(&[1]).expect("it waits");
    assert_eq!(wait(child), DONE);
    assert!(grants.member(child, child).is_err(), "who has gone is not known");
}
