//! A person at a terminal in the container lets a path go for good.

use std::fs;

use crate::{
    Rung,
    container::{AGENT, Container, Ended, Ground, eventually},
    rungs,
};

const OLD: &str = "srv/data/2019/photo";
const PATH: &str = "srv/data/photo";
const REMOVE: &str = "rm /srv/data/photo";
const POLICY: &str = "srv/app/.blastradius";
/// An `allow` line of a file replaces the default scope.
const LINES: &str = "allow <repo>/**\nallow /srv/data/2019/**\n";

/// A session that starts now removes a path, and is refused its neighbour.
#[track_caller]
fn assert_goes_in_a_new_session(container: &Container, rung: Rung, path: &str, neighbour: &str) {
    let script = format!("rm /{path} && ! rm /{neighbour}");
    let ended = container.exec(&["blastradius", "run", "--require", rung.name(), "--", "sh", "-c", &script]);
    assert!(ended.code == 0 && !container.at(path).exists(), "{}", ended.said);
    assert!(container.keeps(neighbour), "{}", ended.said);
}

#[test]
fn an_allow_line_counts_once_a_person_trusts_it() {
    if rungs().is_empty() {
        return;
    }
    let ground = Ground::new();
    let container = crate::container(&ground, "trust", Rung::Landlock, 0);
    container.start(&["sleep", "100000"]);
    fs::write(container.at(POLICY), LINES).expect("a file");
    let stays = |why: &str| {
        let ended = container.exec(&["blastradius", "run", "--", "rm", "/srv/data/2019/photo"]);
        assert!(ended.code != 0 && container.keeps(OLD), "{why}: {}", ended.said);
    };
    stays("nobody has seen the line");
    let ended = container.exec_at_terminal("blastradius trust", "n\n");
    assert_eq!(ended.code, 1, "{}", ended.said);
    stays("a person said no");
    let ended = container.exec_at_terminal("blastradius trust", "y\n");
    assert!(ended.code == 0 && ended.said.contains("/srv/data/2019/**"), "{}", ended.said);
    assert_goes_in_a_new_session(&container, Rung::Landlock, OLD, PATH);
}

/// The number that a refusal offers. Of what the kernel refused the guard may tell when the program has ended.
fn offered(container: &Container) -> String {
    let offer = || {
        let said = container.said();
        let (_, after) = said.split_once("blastradius approve ")?;
        after.split_whitespace().next().map(str::to_owned)
    };
    eventually("an offer", || Ok(offer().is_some()));
    offer().expect("it was there")
}

#[test]
fn always_writes_a_line_that_a_person_has_read_and_the_next_session_heeds_it() {
    if !rungs().contains(&Rung::Kernel) {
        return;
    }
    let ground = Ground::new();
    let container = crate::container(&ground, "always", Rung::Kernel, 0);
    container.start(&["blastradius", "run", "--require", "kernel", "--", "sh", "-c", AGENT]);
    let Ended { code, said } = container.has_done(REMOVE);
    assert!(code != 0 && container.keeps(PATH), "{said}");
    let always = format!("blastradius approve {} --always", offered(&container));
    for answers in ["n\n", "y\nn\n"] {
        let ended = container.exec_at_terminal(&always, answers);
        assert!(ended.code != 0 && !container.at(POLICY).exists(), "{answers:?}: {}", ended.said);
        let Ended { code, said } = container.has_done(REMOVE);
        assert!(code != 0 && container.keeps(PATH), "{answers:?}: {said}");
    }
    let ended = container.exec_at_terminal(&always, "y\ny\n");
    assert_eq!(ended.code, 0, "{}", ended.said);
    let written = fs::read_to_string(container.at(POLICY)).expect("the policy");
    assert!(written.lines().any(|line| line == "allow /srv/data/photo"), "{written}");
    assert!(written.lines().any(|line| line == "allow <repo>/**"), "the default scope stays: {written}");
    let Ended { code, said } = container.has_done(REMOVE);
    assert!(code == 0 && !container.at(PATH).exists(), "{said}");
    container.write(PATH);
    assert_goes_in_a_new_session(&container, Rung::Kernel, PATH, OLD);
}
