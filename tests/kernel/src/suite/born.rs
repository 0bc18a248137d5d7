//! What the session made, it may remove, wherever it is; what was there before, it may not.

use std::path::Path;

use crate::{
    Test,
    calls::{
        DONE, Outcome, REFUSED, create, drop_caches, link, mkdir, mknod, open, open_fd, outcome, rename,
        rmdir, symlink, unlink,
    },
    world::Machine,
};

pub(crate) const TESTS: &[Test] = &[
    Test { name: "every kind of object that the session made may go", body: kinds },
    Test { name: "a file made without a name and linked later may go", body: without_a_name },
    Test { name: "a failed creation does not make anything born", body: failed },
    Test { name: "an existing file opened with O_CREAT is not born, cached or not", body: opened },
    Test { name: "a link to what was there before may go, what it links may not", body: links },
    Test { name: "a born directory does not make what is moved into it removable", body: moved_in },
    Test { name: "born objects stay born when the caches are dropped", body: caches },
    Test { name: "what one session made is not another's to remove", body: other_session },
];

fn kinds(machine: &Machine) {
    let world = machine.world("born");
    let make_and_remove = |make: &dyn Fn(&Path) -> Outcome, remove: &dyn Fn(&Path) -> Outcome| {
        let path = world.path("kept/made");
        assert_eq!(world.guarded(|| make(&path)), DONE);
        assert_eq!(world.guarded(|| remove(&path)), DONE);
        assert!(!world.has("kept/made"));
    };
    make_and_remove(&|path| create(path), &|path| unlink(path));
    make_and_remove(&|path| mkdir(path), &|path| rmdir(path));
    make_and_remove(&|path| symlink("/etc", path), &|path| unlink(path));
    make_and_remove(&|path| mknod(path, libc::S_IFIFO), &|path| unlink(path));
    make_and_remove(&|path| mknod(path, libc::S_IFREG), &|path| unlink(path));
    make_and_remove(&|path| mknod(path, libc::S_IFSOCK), &|path| unlink(path));
    make_and_remove(&|path| mknod(path, libc::S_IFCHR), &|path| unlink(path));
    let bind = |path: &Path| match std::os::unix::net::UnixListener::bind(path) {
        Ok(_) => DONE,
        Err(error) => Outcome::from_errno(error.raw_os_error().unwrap_or(libc::EIO)),
    };
    make_and_remove(&bind, &|path| unlink(path));
}

fn without_a_name(machine: &Machine) {
    let world = machine.world("tmpfile");
    let made = world.guarded(|| {
        let fd = match open_fd(world.path("kept"), libc::O_TMPFILE | libc::O_RDWR) {
            Ok(fd) => fd,
            Err(outcome) => return outcome,
        };
        let (old, new) =
            (format!("/proc/self/fd/{fd}\0"), format!("{}\0", world.path("kept/named").display()));
        let here = libc::AT_FDCWD;
        // SAFETY: both strings end in a zero.
        let linked = unsafe {
            libc::linkat(here, old.as_ptr().cast(), here, new.as_ptr().cast(), libc::AT_SYMLINK_FOLLOW)
        };
        outcome(linked.into())
    });
    if made == Outcome::from_errno(libc::EOPNOTSUPP) {
        println!("        this file system has no O_TMPFILE");
        return;
    }
    assert_eq!(made, DONE);
    assert_eq!(world.guarded(|| unlink(world.path("kept/named"))), DONE);
}

fn failed(machine: &Machine) {
    let world = machine.world("failed");
    drop_caches();
    let exists = Outcome::from_errno(libc::EEXIST);
    let outcome = world.guarded(|| {
        assert_eq!(mkdir(world.path("kept/directory")), exists);
        assert_eq!(symlink("x", world.path("kept/file")), exists);
        assert_eq!(mknod(world.path("kept/other"), libc::S_IFIFO), exists);
        assert_eq!(rmdir(world.path("kept/directory")), REFUSED);
        assert_eq!(unlink(world.path("kept/file")), REFUSED);
        unlink(world.path("kept/other"))
    });
    assert_eq!(outcome, REFUSED);
}

fn opened(machine: &Machine) {
    let world = machine.world("opened");
    let outcome = world.guarded(|| {
        assert_eq!(open(world.path("kept/file"), libc::O_CREAT | libc::O_RDWR), DONE);
        unlink(world.path("kept/file"))
    });
    assert_eq!(outcome, REFUSED);
    drop_caches();
    let outcome = world.guarded(|| {
        assert_eq!(open(world.path("kept/other"), libc::O_CREAT | libc::O_RDWR), DONE);
        unlink(world.path("kept/other"))
    });
    assert_eq!(outcome, REFUSED, "not in the dentry cache");
}

fn links(machine: &Machine) {
    let world = machine.world("links");
    let outcome = world.guarded(|| {
        assert_eq!(create(world.path("kept/mine")), DONE);
        assert_eq!(link(world.path("kept/mine"), world.path("kept/mine-too")), DONE);
        assert_eq!(unlink(world.path("kept/mine")), DONE);
        unlink(world.path("kept/mine-too"))
    });
    assert_eq!(outcome, DONE);
    let outcome = world.guarded(|| {
        assert_eq!(link(world.path("kept/file"), world.path("kept/linked")), DONE);
        assert_eq!(unlink(world.path("kept/linked")), DONE);
        unlink(world.path("kept/file"))
    });
    assert_eq!(outcome, REFUSED);
    assert!(world.has("kept/file"));
}

fn moved_in(machine: &Machine) {
    let world = machine.world("moved-in");
    let outcome = world.guarded(|| {
        assert_eq!(mkdir(world.path("kept/mine")), DONE);
        assert_eq!(create(world.path("kept/mine/file")), DONE);
        assert_eq!(rename(world.path("kept/file"), world.path("kept/mine/stolen")), REFUSED);
        assert_eq!(unlink(world.path("kept/mine/file")), DONE);
        rmdir(world.path("kept/mine"))
    });
    assert_eq!(outcome, DONE);
    assert!(world.has("kept/file"));
}

fn caches(machine: &Machine) {
    let world = machine.world("caches");
    let path = |kind: &str, n: usize| world.path(&format!("kept/{kind}{n}"));
    let outcome = world.guarded(|| {
        for n in 0..50 {
            assert_eq!(create(path("file", n)), DONE);
            assert_eq!(mkdir(path("directory", n)), DONE);
            assert_eq!(symlink("x", path("link", n)), DONE);
        }
        drop_caches();
        for n in 0..50 {
            assert_eq!(unlink(path("file", n)), DONE, "file {n}");
            assert_eq!(rmdir(path("directory", n)), DONE, "directory {n}");
            assert_eq!(unlink(path("link", n)), DONE, "link {n}");
        }
        DONE
    });
    assert_eq!(outcome, DONE);
}

fn other_session(machine: &Machine) {
    let world = machine.world("two-sessions");
    let other = machine.world("another-session");
    assert_eq!(world.guarded(|| create(world.path("kept/mine"))), DONE);
    assert_eq!(other.guarded(|| unlink(world.path("kept/mine"))), REFUSED);
    assert_eq!(other.guarded(|| unlink(world.path("scope/file"))), REFUSED, "nor is its scope");
    assert_eq!(world.guarded(|| unlink(world.path("kept/mine"))), DONE);
}
