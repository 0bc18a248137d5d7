//! A random machine: a home, a project, scratch, things of others; a policy over it; and acts.

use std::{
    fs,
    path::{Path, PathBuf},
};

use blastradius::system::System;

use super::dice::Dice;

/// What is done to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Deed {
    /// `rm -rf`
    Remove,
    /// `mv`, out of where it lies into scratch
    Move,
    /// `truncate`
    Truncate,
    /// `mv` of another file over it
    Replace,
}

/// One act.
pub(super) struct Act {
    pub(super) deed: Deed,
    /// As it is spelled: with `..` and links on the way.
    pub(super) path: PathBuf,
    /// For a move, where to; for a replacement, what takes the name.
    pub(super) other: PathBuf,
}

impl Act {
    /// The act as a command.
    pub(super) fn text(&self) -> String {
        let (path, other) = (self.path.display(), self.other.display());
        match self.deed {
            Deed::Remove => format!("rm -rf -- '{path}'"),
            Deed::Move => format!("mv -- '{path}' '{other}'"),
            Deed::Truncate => format!("truncate -s 0 -- '{path}'"),
            Deed::Replace => format!("mv -f -- '{other}' '{path}'"),
        }
    }

    /// Whether there is something to do it to.
    pub(super) fn is_possible(&self) -> bool {
        let Ok(meta) = self.path.symlink_metadata() else { return false };
        match self.deed {
            Deed::Remove | Deed::Move => true,
            Deed::Truncate => meta.is_file() && meta.len() > 0,
            Deed::Replace => meta.is_file() && self.other.exists(),
        }
    }

    /// The object, by the name without links and `..`: the last component is meant as it is.
    pub(super) fn canonical(&self) -> PathBuf {
        let parent = self.path.parent().and_then(|parent| parent.canonicalize().ok());
        match (parent, self.path.file_name()) {
            (Some(parent), Some(name)) => parent.join(name),
            _ => self.path.clone(),
        }
    }
}

const NAMES: &[&str] = &["a", "b", ".c", "build", "data", "keys.pem", "x.log", "dist", "target", "[odd]"];

const LINES: &[&str] = &[
    "allow ./build",
    "allow ./build/**",
    "allow ./**",
    "allow ./a/*",
    "allow ./data/b",
    "allow <repo>/dist/**",
    "allow ./inside/**",
    "allow $TMPDIR/**",
    "deny ./data",
    "deny ./data/**",
    "deny ./*/b",
    "deny ./.c",
    "deny *.pem",
    "deny **/*.pem",
    "deny ./a/**/x.log",
    "deny ./build/b",
    "deny ./inside",
    "deny ./vendor/lib/data",
    "deny $HOME/.config",
    "deny $HOME/[a-c]",
    "# nothing",
];

/// A machine below a directory of its own.
pub(super) struct Arena {
    root: PathBuf,
    cwd: PathBuf,
    objects: Vec<PathBuf>,
    policy: String,
}

impl Arena {
    /// Makes one in `scratch`, in place of the last.
    pub(super) fn make(scratch: &Path, dice: &mut Dice) -> Self {
        let root = scratch.join("arena");
        let _ = fs::remove_dir_all(&root);
        let mut arena =
            Self { cwd: root.join("home/project"), root, objects: Vec::new(), policy: String::new() };
        for dir in [
            "home/Documents",
            "home/.config/tool",
            "home/.cache/pip",
            "home/.npm",
            "home/other",
            "home/project/vendor/lib",
            "tmp",
            "srv/jobs",
        ] {
            arena.directory(dir);
        }
        for file in ["home/.bashrc", "home/.ssh/id", "home/Documents/letter", "srv/jobs/1", "tmp/x"] {
            arena.file(file);
        }
        for tree in ["home/project", "home/other"] {
            arena.repository(tree);
        }
        if dice.once_in(2) {
            arena.repository("home/project/vendor/lib");
        }
        for top in ["home/project", "home/project", "home/project", "home", "srv", "tmp", "tmp", "tmp"] {
            for _ in 0..dice.roll(9) + 3 {
                let depth = dice.roll(3) + 1;
                let names: Vec<&str> = (0..depth).map(|_| *dice.pick(NAMES)).collect();
                let at = format!("{top}/{}", names.join("/"));
                if dice.once_in(3) { arena.directory(&at) } else { arena.file(&at) }
            }
        }
        for (link, target) in [
            ("home/project/out", "../../srv"),
            ("home/project/inside", "build"),
            ("home/docs", "Documents"),
            ("tmp/back", "../home"),
        ] {
            let link = arena.root.join(link);
            if std::os::unix::fs::symlink(target, &link).is_ok() {
                arena.objects.push(link);
            }
        }
        if dice.once_in(5) {
            arena.cwd = arena.root.join("srv/jobs-here");
            fs::create_dir_all(&arena.cwd).expect("made");
            arena.file("srv/jobs-here/made");
        }
        arena.write_policy(dice);
        arena
    }

    fn write_policy(&mut self, dice: &mut Dice) {
        if dice.once_in(4) {
            return;
        }
        let lines: Vec<&str> = (0..dice.roll(4) + 1).map(|_| *dice.pick(LINES)).collect();
        self.policy = lines.join("\n");
        fs::write(self.cwd.join(".blastradius"), &self.policy).expect("written");
        self.objects.push(self.cwd.join(".blastradius"));
    }

    fn directory(&mut self, path: &str) {
        let path = self.root.join(path);
        if fs::create_dir_all(&path).is_ok() {
            self.objects.push(path);
        }
    }

    fn file(&mut self, path: &str) {
        let path = self.root.join(path);
        let parent = path.parent().expect("below the root");
        if fs::create_dir_all(parent).is_ok() && !path.exists() && fs::write(&path, "precious\n").is_ok() {
            self.objects.push(parent.to_owned());
            self.objects.push(path);
        }
    }

    fn repository(&mut self, at: &str) {
        for dir in ["objects/ab", "refs/heads", "logs", "hooks"] {
            self.directory(&format!("{at}/.git/{dir}"));
        }
        let head = self.root.join(at).join(".git/HEAD");
        fs::write(&head, "ref: refs/heads/main\n").expect("written");
        self.objects.push(head);
        for file in
            ["config", "index", "objects/ab/c", "refs/heads/main", "packed-refs", "hooks/x", "ORIG_HEAD"]
        {
            self.file(&format!("{at}/.git/{file}"));
        }
        self.objects.push(self.root.join(at));
    }

    /// The machine as the session sees it.
    pub(super) fn system(&self) -> System {
        let env = [("HOME", "home"), ("TMPDIR", "tmp")]
            .map(|(name, path)| (name.into(), self.root.join(path).into_os_string()));
        let path = ("PATH".into(), "/usr/bin:/bin".into());
        System::of_process(env.into_iter().chain([path]), self.cwd.clone(), 0, None)
    }

    pub(super) fn cwd(&self) -> &Path {
        &self.cwd
    }

    pub(super) fn policy_text(&self) -> String {
        let lines = self.policy.lines().map(|line| format!("    {line}"));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Acts, each on an object of its own choice; what an earlier one removed, a later one finds gone.
    pub(super) fn acts(&self, dice: &mut Dice, count: usize) -> Vec<Act> {
        let act = |index: usize, dice: &mut Dice| {
            let object = dice.pick(&self.objects);
            let deed = *dice.pick(&[Deed::Remove, Deed::Remove, Deed::Move, Deed::Truncate, Deed::Replace]);
            let other = match deed {
                Deed::Replace => {
                    let source = self.root.join(format!("tmp/source-{index}"));
                    fs::write(&source, "new\n").expect("written");
                    source
                }
                _ => self.root.join(format!("tmp/moved-{index}")),
            };
            Act { deed, path: self.spelled(object, dice), other }
        };
        (0..count).map(|index| act(index, dice)).collect()
    }

    /// The object's path, now and then by a way around.
    fn spelled(&self, object: &Path, dice: &mut Dice) -> PathBuf {
        let around = [
            ("home/project/out", "srv"),
            ("home/docs", "home/Documents"),
            ("tmp/back", "home"),
            ("home/project/../project", "home/project"),
            ("home/project/inside", "home/project/build"),
        ];
        if dice.once_in(4)
            && let Some((by, _, rest)) = around.iter().find_map(|(by, to)| {
                let rest = object.strip_prefix(self.root.join(to)).ok()?;
                (!rest.as_os_str().is_empty()).then_some((by, to, rest))
            })
        {
            return self.root.join(by).join(rest);
        }
        object.to_owned()
    }
}
