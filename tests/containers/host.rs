//! A running container comes under guard from the host.

use std::{
    fs,
    process::{Child, Command, Stdio},
};

use crate::{
    Rung,
    container::{AGENT, Container, Ended, Ground, eventually},
    rungs,
};

/// `blastradius attach`, as the host's root. It ends with the container's first process.
fn attach(ground: &Ground, container: &Container) -> Child {
    let said = fs::File::create(ground.path("attach.said")).expect("a file");
    let mut command = Command::new(blastradius_tests::binary());
    command.args(["attach", "--pid", &container.pid().to_string()]);
    command.env("XDG_STATE_HOME", ground.path("state"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
    let mut child = command.spawn().expect("the program runs");
    let said = || fs::read_to_string(ground.path("attach.said"));
    eventually("attached", || {
        let ended = child.try_wait()?;
        assert!(ended.is_none(), "{ended:?}: {}", said()?);
        Ok(said()?.contains("are guarded"))
    });
    child
}

#[test]
fn a_running_container_is_guarded_from_the_host_and_its_neighbour_is_not() {
    if !rungs().contains(&Rung::Kernel) {
        return;
    }
    let ground = Ground::new();
    let (container, neighbour) = (ground.container("attached"), ground.container("neighbour"));
    for container in [&container, &neighbour] {
        container.start(&["sh", "-c", AGENT]);
        let Ended { code, said } = container.has_done("rm /srv/data/2019/photo");
        assert!(code == 0 && !container.at("srv/data/2019/photo").exists(), "before: {said}");
    }
    let mut guard = attach(&ground, &container);
    let Ended { code, said } = container.has_done("rm -rf /srv/data");
    assert!(code != 0 && container.keeps("srv/data/photo"), "{said}");
    let Ended { code, said } = container.has_done("rm -rf build dist");
    assert!(code == 0 && !container.at("srv/app/build").exists(), "in scope: {said}");
    let Ended { code, said } = neighbour.has_done("rm -rf /srv/data");
    assert!(code == 0 && !neighbour.at("srv/data").exists(), "the neighbour: {said}");
    // No descendant of the first process, so nothing of this guard's.
    let ended = container.exec(&["rm", "/srv/data/photo"]);
    assert!(ended.code == 0 && !container.at("srv/data/photo").exists(), "{}", ended.said);
    container.stop();
    let status = guard.wait().expect("it is our child");
    let said = fs::read_to_string(ground.path("attach.said")).expect("what it said");
    assert!(status.success() && said.contains("kernel rung"), "{status}: {said}");
}
