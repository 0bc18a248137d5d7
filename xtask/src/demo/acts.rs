//! What is replayed.

/// One act: something that an agent runs, and what may come of it.
pub(crate) struct Act {
    /// What it is called on the command line.
    pub(crate) name: &'static str,
    /// What it is, in a few words.
    pub(crate) title: &'static str,
    /// What it stands for.
    pub(crate) story: &'static str,
    /// The text that is given to a shell, as agents do.
    pub(crate) text: &'static str,
    /// What lies in the way.
    pub(crate) stakes: Stakes,
}

/// What an act must not destroy, or must be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stakes {
    /// Files below this directory. What of it lies in the project is the agent's to delete.
    Files(&'static str),
    /// Nothing: the act is ordinary work, which must succeed and leave these paths gone.
    Work { gone: &'static [&'static str] },
}

/// The project that the agent works on, and where it stands.
pub(crate) const PROJECT: &str = "/home/dev/Code/app";

/// The acts, in the order of the show.
pub(crate) const ACTS: &[Act] = &[
    Act {
        name: "unset",
        title: r#"rm -rf "$AGENT_TMP/session-$SID""#,
        story: "Both variables are unset, so the shell removes /session-. Here that directory exists: it holds the transcripts of all sessions \
                that were started without an id.",
        text: r#"rm -rf "$AGENT_TMP/session-$SID""#,
        stakes: Stakes::Files("/session-"),
    },
    Act {
        name: "collision",
        title: "a cleanup script whose self-test reuses a variable",
        story: "The script refuses to clean up a home, and tests that it does. The test leaves the home's name in the variable that the cleanup \
                removes.",
        text: r#"
check() { SESSION=$1; [ "$SESSION" != "$HOME" ] && [ "$SESSION" != / ]; }
SESSION=$(mktemp -d)
check "$HOME" && echo "self-test: the home is not refused" >&2
rm -rf "$SESSION"
"#,
        stakes: Stakes::Files("/home/dev"),
    },
    Act {
        name: "python",
        title: r#"shutil.rmtree(os.environ["HOME"])"#,
        story: "No shell sees this one.",
        text: r#"python3 /opt/demo/cleanup.py"#,
        stakes: Stakes::Files("/home/dev"),
    },
    Act {
        name: "compiled",
        title: "a compiled program that calls unlinkat",
        story: "Nothing that reads text sees this one.",
        text: r#"/opt/demo/wipe "$(dirname "$(dirname "$PWD")")""#,
        stakes: Stakes::Files("/home/dev"),
    },
    Act {
        name: "work",
        title: "build, run, edit, commit, clean up",
        story: "Ordinary work, which a guard must not disturb.",
        text: r#"set -e
make -s && ./build/app
scratch=$(mktemp -d); cp build/app "$scratch/"; rm -rf "$scratch"
sed -i 's/hello/hello, world/' src/main.c
git -c user.name=dev -c user.email=dev@example.invalid commit -q -a -m 'Greet the world'
git gc -q
make -s && ./build/app && make -s clean
echo notes > notes.txt && mv notes.txt NOTES && rm NOTES"#,
        stakes: Stakes::Work { gone: &["/home/dev/Code/app/build", "/home/dev/Code/app/NOTES"] },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_have_names_of_their_own() {
        let mut names: Vec<_> = ACTS.iter().map(|act| act.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ACTS.len());
    }
}
