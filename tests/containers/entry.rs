//! The guard as a container's entry point: its first process.

use crate::{ACTS, Ground, Rung, assert_both, container, rungs};

/// root, and somebody whom the container's user database does not have.
const USERS: &[u32] = &[0, 4321];

/// What a container's configuration says in front of its command.
fn guarded(rung: Rung, script: &str) -> [&str; 8] {
    ["blastradius", "run", "--require", rung.name(), "--", "sh", "-c", script]
}

#[test]
fn an_entry_point_keeps_what_lies_out_of_scope_whoever_it_runs_as() {
    for &rung in rungs() {
        // Without capabilities of its own, a user other than root does not get those of the container.
        for &uid in if rung == Rung::Kernel { &USERS[..1] } else { USERS } {
            let ground = Ground::new();
            let container = container(&ground, "entry", rung, uid);
            let ended = container.run(&guarded(rung, ACTS));
            let said = &ended.said;
            assert_eq!(ended.code, 7, "{rung:?}, {uid}: {said}");
            assert!(said.contains(&format!("blastradius: {} rung (", rung.name())), "{said}");
            assert!(said.contains("resolved  /srv/data"), "the refusal can be read: {said}");
            assert_both(&container, said);
        }
    }
}

#[test]
fn an_entry_point_ends_as_its_agent_ends() {
    if rungs().is_empty() {
        return;
    }
    let ground = Ground::new();
    let container = ground.container("ends");
    for (script, code) in
        [("exit 0", 0), ("exit 42", 42), ("kill -TERM $$", 128 + 15), ("kill -KILL $$", 128 + 9)]
    {
        let ended = container.run(&guarded(Rung::Landlock, script));
        assert_eq!(ended.code, code, "{script}: {}", ended.said);
    }
    let ended = container.run(&["blastradius", "run", "--", "no-such-agent"]);
    assert_eq!(ended.code, 127, "{}", ended.said);
}

/// A grandchild outlives its parent, is adopted, and is waited for by whoever adopts it.
const ORPHAN: &str = "
orphan=$(sh -c 'sleep 1 >&2 & echo $!')
set -- $(cat /proc/$orphan/stat)
echo adopted by $4
while [ -e /proc/$orphan ] && [ $((tries += 1)) -lt 200 ]; do sleep 0.1; done
[ -e /proc/$orphan ] && cat /proc/$orphan/status
echo zombies: $(grep -l '^State:[[:space:]]*Z' /proc/[0-9]*/status)
";

#[test]
fn an_entry_point_reaps_orphans() {
    if rungs().is_empty() {
        return;
    }
    let ground = Ground::new();
    let ended = ground.container("orphan").run(&guarded(Rung::Landlock, ORPHAN));
    assert_eq!(ended.code, 0, "{}", ended.said);
    let adopted = ended.said.contains("adopted by ") && !ended.said.contains("State:");
    assert!(adopted && ended.said.contains("zombies:\n"), "{}", ended.said);
}
