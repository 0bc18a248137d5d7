//! The guard over a process that is started in a container that runs already.

use crate::{ACTS, Ground, assert_both, container, rungs};

#[test]
fn a_second_process_is_guarded_and_the_first_is_not() {
    for &rung in rungs() {
        let ground = Ground::new();
        let container = container(&ground, "second", rung, 0);
        container.start(&["sleep", "100000"]);
        let guard = ["blastradius", "run", "--require", rung.name(), "--", "sh", "-c", ACTS];
        let ended = container.exec(&guard);
        assert_eq!(ended.code, 7, "{}", ended.said);
        assert!(ended.said.contains(&format!("blastradius: {} rung (", rung.name())), "{}", ended.said);
        assert_both(&container, &ended.said);
        let ended = container.exec(&["rm", "-r", "/srv/data"]);
        assert!(ended.code == 0 && !container.at("srv/data").exists(), "{}", ended.said);
    }
}
