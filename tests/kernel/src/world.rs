//! A made-up machine in a scratch directory: things to protect, a scope, and a session over both.

use std::{
    cell::RefCell,
    fs,
    path::{Path, PathBuf},
};

use blastradius::{
    guard::kernel::{EventStream, Kernel, KernelRefusal, Rung, Session, lacking},
    policy::plan::{Mark, NameMark, Plan},
};
use blastradius_common::Zone;

use crate::calls::{Outcome, outcome, run_and_exit, wait};

/// What the tests share: the machine's programs, loaded once.
pub(crate) struct Machine {
    kernel: RefCell<Kernel>,
    events: RefCell<EventStream>,
    scratch: PathBuf,
}

impl Machine {
    /// Loads the programs.
    pub(crate) fn start() -> Result<Self, String> {
        let mut kernel = Kernel::load().map_err(|error| error.to_string())?;
        let events = RefCell::new(kernel.take_events());
        println!("rung: {}", kernel.rung().name());
        println!("{:?}", kernel.caveats());
        let scratch =
            std::env::var_os("BLASTRADIUS_SCRATCH").map_or_else(|| "/scratch".into(), PathBuf::from);
        Ok(Self { kernel: RefCell::new(kernel), events, scratch })
    }

    /// The rung that was reached.
    pub(crate) fn rung(&self) -> Rung {
        self.kernel.borrow().rung()
    }

    /// Whether this kernel lets changes of owner be judged.
    pub(crate) fn judges_owners(&self) -> bool {
        self.enforces(lacking::OWNERS)
    }

    /// Whether this kernel lets the walk go on beyond a directory that only names are said of.
    pub(crate) fn follows_moves(&self) -> bool {
        self.enforces(lacking::MOVES)
    }

    fn enforces(&self, what: &str) -> bool {
        !self.kernel.borrow().caveats().unenforced.iter().any(|caveat| caveat == what)
    }

    /// A new directory of its own for a test.
    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        let directory = self.scratch.join(name);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).expect("the scratch directory is writable");
        directory.canonicalize().expect("it was just made")
    }

    /// A world with the default marks.
    pub(crate) fn world(&self, name: &str) -> World {
        self.world_with(name, |_, _| {})
    }

    /// A world whose plan `change` completes, after its files were made.
    pub(crate) fn world_with(&self, name: &str, change: impl FnOnce(&Path, &mut Plan)) -> World {
        let root = self.directory(name);
        for directory in ["kept/directory", "scope/directory", "home/.config", "home/docs", "scope/denied"] {
            fs::create_dir_all(root.join(directory)).expect("made");
        }
        for file in [
            "kept/file",
            "kept/other",
            "scope/file",
            "scope/other",
            "home/.bashrc",
            "home/docs/letter",
            "scope/denied/file",
        ] {
            fs::write(root.join(file), "precious\n").expect("made");
        }
        let mut plan = Plan::default();
        plan.marks.push(mark(&root.join("scope"), Some(Zone::Root), Some(Zone::Scope), None));
        plan.marks.push(mark(
            &root.join("home"),
            Some(Zone::Floor),
            Some(Zone::Personal),
            Some(Zone::Config),
        ));
        plan.marks.push(mark(&root.join("scope/denied"), Some(Zone::Denied), Some(Zone::Denied), None));
        change(&root, &mut plan);
        let session = self.session(&plan);
        World { root, session }
    }

    /// A session under a plan.
    pub(crate) fn session(&self, plan: &Plan) -> Session {
        self.kernel.borrow_mut().start_session(plan).expect("the session starts")
    }

    /// A session over what `change` marks.
    pub(crate) fn session_with(&self, change: impl FnOnce(&mut Plan)) -> Session {
        let mut plan = Plan::default();
        change(&mut plan);
        self.kernel.borrow_mut().start_session(&plan).expect("the session starts")
    }

    /// The refusals that are there.
    pub(crate) fn refusals(&self) -> Vec<KernelRefusal> {
        let mut events = self.events.borrow_mut();
        std::iter::from_fn(|| events.try_next().expect("records are well formed")).collect()
    }
}

/// A mark for a plan.
pub(crate) fn mark(path: &Path, own: Option<Zone>, below: Option<Zone>, dots: Option<Zone>) -> Mark {
    Mark { path: path.to_owned(), own, below, dots, origin: "test".to_owned() }
}

/// A name mark for a plan.
pub(crate) fn name_mark(parent: &Path, name: &str, zone: Zone) -> NameMark {
    NameMark { parent: parent.to_owned(), name: name.into(), zone, origin: "test".to_owned() }
}

/// Things to protect, a scope, and a session.
pub(crate) struct World {
    /// The directory of this world.
    pub(crate) root: PathBuf,
    /// Its session.
    pub(crate) session: Session,
}

impl World {
    /// A path in this world.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Whether the path is still there.
    pub(crate) fn has(&self, relative: &str) -> bool {
        self.path(relative).symlink_metadata().is_ok()
    }

    /// Runs `act` in a child that is born guarded, and returns what it returned.
    pub(crate) fn guarded(&self, act: impl FnOnce() -> Outcome) -> Outcome {
        wait(self.spawn_guarded(act))
    }

    /// Starts a guarded child.
    pub(crate) fn spawn_guarded(&self, act: impl FnOnce() -> Outcome) -> libc::pid_t {
        spawn_in(&self.session, act)
    }
}

/// Starts a child that is born in the session.
pub(crate) fn spawn_in(session: &Session, act: impl FnOnce() -> Outcome) -> libc::pid_t {
    session.arm_next_fork().expect("armed");
    // SAFETY: the test program has one thread when it forks.
    match unsafe { libc::fork() } {
        -1 => panic!("fork: {:?}", outcome(-1)),
        0 => run_and_exit(act),
        child => child,
    }
}
