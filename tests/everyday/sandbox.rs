//! bubblewrap, with which agents shut in what they run.

use crate::ground::{Ground, Need, can};

/// A sandbox of the project, /tmp of its own and the system to read.
const SANDBOX: &str = "bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --bind \"$PWD\" \"$PWD\" --unshare-all --die-with-parent";

const NEEDS: &[Need] = &[Need::Program("bwrap"), Need::KernelRung("mounting")];

#[test]
fn a_command_in_bubblewrap_makes_and_removes_files() {
    if !can(NEEDS) {
        return;
    }
    let ground = Ground::new();
    ground.before("mkdir -p build/objects; echo object >build/objects/main.o");
    ground.undisturbed(&format!(
        "{SANDBOX} sh -ec 'rm -r build; mkdir dist; echo made >dist/file; echo made >/tmp/file; mv /tmp/file dist/moved; rm dist/file'"
    ));
    assert!(!ground.at("project/build").exists());
    assert_eq!(ground.read("project/dist/moved"), "made\n");
}

#[test]
fn a_command_in_bubblewrap_removes_no_letters() {
    if !can(NEEDS) {
        return;
    }
    let ground = Ground::new();
    ground.before("mkdir build");
    ground.refused(&format!("{SANDBOX} --bind ~/Documents \"$PWD/build\" sh -ec 'rm -r build/2019'"));
}
