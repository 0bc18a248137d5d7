//! What a session meets on strange ground: each fault is provoked, and never ends in an unguarded agent.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output};

use crate::ground::{Ground, roads, stderr, stdout};

fn is_root() -> bool {
    nix::unistd::Uid::effective().is_root()
}

/// Runs a session in namespaces of its own, which need root.
fn unshared(ground: &Ground, flags: &[&str], script: &str) -> Option<Output> {
    if !is_root() {
        return None;
    }
    let mut command = ground.command("unshare");
    command.args(flags).args(["sh", "-c", script, "sh"]).arg(ground.program_for_others());
    Some(command.output().unwrap())
}

#[test]
fn a_policy_that_is_broken_stops_the_start_and_names_its_line() {
    let ground = Ground::new();
    std::fs::write(ground.at("home/project/.blastradius"), "allow ./build/**\nalow ./dist\n").unwrap();
    let output = ground.shell("touch started");
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains(".blastradius:2"), "{}", stderr(&output));
    assert!(!ground.at("home/project/started").exists());
}

#[test]
fn a_policy_that_gives_the_floor_away_stops_the_start() {
    let ground = Ground::new();
    std::fs::write(ground.at("home/project/.blastradius"), "allow /**\n").unwrap();
    let output = ground.shell("touch started");
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains(".blastradius:1"), "{}", stderr(&output));
    assert!(!ground.at("home/project/started").exists());
}

#[test]
fn a_disk_that_fills_up_costs_records_and_no_protection() {
    let ground = Ground::new();
    let script = "mount -t tmpfs -o size=256k tmpfs \"$XDG_STATE_HOME\"
        \"$1\" run -- bash -c 'head -c 1000000 /dev/zero > \"$XDG_STATE_HOME\"/filler; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do rm ~/photos/a.jpg; done; /bin/echo ran; exit 7' 2>told
        code=$?; cat told >&2; exit $code";
    let Some(output) = unshared(&ground, &["--mount"], script) else { return };
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    assert_eq!(stdout(&output), "ran\n");
    assert!(stderr(&output).contains("could not be written"), "{}", stderr(&output));
    ground.assert_whole();
}

#[test]
fn a_disk_that_is_full_stops_the_start_only_if_no_log_can_begin() {
    let ground = Ground::new();
    let script =
        "mount -t tmpfs -o size=64k,nr_inodes=1 tmpfs \"$XDG_STATE_HOME\"; \"$1\" run -- touch started";
    let Some(output) = unshared(&ground, &["--mount"], script) else { return };
    assert_eq!(output.status.code(), Some(125), "{}", stderr(&output));
    assert!(stderr(&output).contains("log cannot be kept"), "{}", stderr(&output));
    assert!(!ground.at("home/project/started").exists());
}

/// Below scratch lie memory, which is scratch too, and photos that are mounted `how`. Whether what the session makes beside them can
/// be removed again; the photos cannot.
fn scratch_comes_and_goes_beside_photos(how: &str) -> Option<bool> {
    let ground = Ground::new();
    let script = format!(
        "set -e; cd \"$TMPDIR\"; mkdir memory photos; mount -t tmpfs none memory; mount --bind ~/photos photos; {how}
         touch memory/file; cd - >/dev/null
         \"$1\" run --require landlock -- bash -c 'cd \"$TMPDIR\"; touch later; rm later && rm scratch memory/file && {roads} rmdir memory x
            for photo in photos/a.jpg photos/2019/b.jpg; do {roads} unlink $photo x; done; ls -d memory'",
        roads = roads().display()
    );
    let output = unshared(&ground, &["--mount"], &script)?;
    ground.assert_whole();
    assert_eq!(stdout(&output), "memory\n", "what is mounted on stays: {}", stderr(&output));
    let (is_later_gone, is_scratch_gone) = (!ground.at("tmp/later").exists(), !ground.keeps("tmp/scratch"));
    assert_eq!(is_later_gone, is_scratch_gone, "{}", stderr(&output));
    Some(is_later_gone)
}

#[test]
fn a_mount_below_scratch_keeps_what_is_made_beside_it_only_where_something_could_be_lost_through_it() {
    let Some(read_only) = scratch_comes_and_goes_beside_photos("mount -o remount,bind,ro photos") else {
        return;
    };
    let Some(writable) = scratch_comes_and_goes_beside_photos("") else { return };
    assert!(read_only && !writable);
}

#[test]
fn the_first_process_of_a_container_reaps_and_repeats_the_status() {
    let ground = Ground::new();
    // The session is pid 1: orphans of the agent come to it, and a death by signal can only be told as a status.
    let script = "exec \"$1\" run -- bash -c '(setsid sleep 0.2 &); rm ~/photos/a.jpg; rm src/main; [ \"$(ps -o pid= -C blastradius | head -1)\" -eq 1 ] && exit 5'";
    let flags = ["--pid", "--fork", "--mount-proc", "--kill-child"];
    let Some(output) = unshared(&ground, &flags, script) else { return };
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(!ground.keeps("home/project/src/main"));
    ground.assert_whole();
    let Some(output) = unshared(&ground, &flags, "exec \"$1\" run -- bash -c 'kill -9 $$'") else { return };
    assert_eq!(output.status.code(), Some(137), "{}", stderr(&output));
}

#[test]
fn a_bare_environment_as_of_a_service_is_enough() {
    let ground = Ground::new();
    let mut command =
        ground.run(&[], &["/bin/sh", "-c", "rm -f ~root/.nothing; rm \"$KEPT\"; rm src/main; exit 3"]);
    command.env_clear().env("XDG_STATE_HOME", ground.at("state")).env("KEPT", ground.at("home/photos/a.jpg"));
    command.env("INVOCATION_ID", "0123456789abcdef0123456789abcdef");
    // A service is a session leader without a terminal.
    // SAFETY: setsid is async-signal-safe.
    unsafe { command.pre_exec(|| nix::unistd::setsid().map(drop).map_err(Into::into)) };
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(!ground.keeps("home/project/src/main"));
    ground.assert_whole();
}

#[test]
fn without_a_place_for_the_log_nothing_starts() {
    let ground = Ground::new();
    let mut command = ground.run(&[], &["/usr/bin/touch", "started"]);
    let output = command.env_clear().output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("XDG_STATE_HOME"), "{}", stderr(&output));
    assert!(!ground.at("home/project/started").exists());
}

#[test]
fn no_new_privs_from_outside_changes_nothing() {
    let ground = Ground::new();
    let mut command =
        ground.run(&[], &["sh", "-c", "rm ~/photos/a.jpg; rm src/main; grep NoNewPrivs /proc/self/status"]);
    // SAFETY: prctl is async-signal-safe and takes numbers.
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            Ok(())
        })
    };
    let output = command.output().unwrap();
    assert!(stdout(&output).contains("NoNewPrivs:\t1"), "{}{}", stdout(&output), stderr(&output));
    assert!(!ground.keeps("home/project/src/main"));
    ground.assert_whole();
    // As root nothing needs it, so a set-uid program in the session gains what it would without us.
    let output = ground.shell("grep NoNewPrivs /proc/self/status");
    assert_eq!(stdout(&output).contains("NoNewPrivs:\t0"), is_root(), "{}", stdout(&output));
}

#[test]
fn under_sudo_the_agent_is_the_caller_again() {
    if !is_root() {
        return;
    }
    let ground = Ground::new();
    let mut command = ground.run(&[], &["sh", "-c", "id -u; id -g; echo $HOME"]);
    let output = command.env("SUDO_UID", "65534").env("SUDO_GID", "65534").output().unwrap();
    assert!(stdout(&output).starts_with("65534\n65534\n"), "{}{}", stdout(&output), stderr(&output));
}

/// What a container's security module does: this process and what it starts may not receive what seccomp traps.
fn forbid_receiving() -> std::io::Result<()> {
    // SECCOMP_IOCTL_NOTIF_RECV, the second argument of ioctl(2); as x86-64 and arm64 lay `struct seccomp_data` out, the low half
    // of argument N lies at 16 + 8 * N.
    const RECEIVE: u32 = 0xc050_2100;
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IS: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let op = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut filter = [
        op(LOAD, 0, 0, 0),
        op(IS, 0, 3, libc::SYS_ioctl as u32),
        op(LOAD, 0, 0, 24),
        op(IS, 0, 1, RECEIVE),
        op(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EACCES as u32),
        op(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: plain numbers, and a pointer to a program that lives until the call has returned and is copied by it.
    let loaded = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    if loaded { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[test]
fn execs_that_cannot_be_received_end_the_session_with_a_reason_and_start_nothing() {
    let ground = Ground::new();
    let mut command = ground.run(&[], &["touch", "started"]);
    // SAFETY: only two system calls between fork and exec.
    unsafe { command.pre_exec(forbid_receiving) };
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{}", stderr(&output));
    assert!(stderr(&output).contains("execs cannot be received"), "{}", stderr(&output));
    assert!(!ground.at("home/project/started").exists());
    // The very same start, when nothing forbids it.
    assert!(ground.run(&[], &["touch", "started"]).status().unwrap().success());
    assert!(ground.at("home/project/started").exists());
}

#[test]
fn what_root_keeps_for_another_user_is_that_users_who_can_read_and_restore_it() {
    let ground = Ground::for_others();
    std::fs::write(ground.at("home/project/notes"), "nobody else has them\n").unwrap();
    let script = "set -e; home=$HOME; umask 022
        echo root:x:0:0::/root:/bin/sh > passwd; echo dev:x:4321:4321::$home:/bin/sh >> passwd
        mount --bind passwd /etc/passwd
        chmod 755 .. ../..; chown -R 4321:4321 \"$home\"; unset XDG_STATE_HOME
        export HOME=$TMPDIR; chown 0:0 \"$TMPDIR\"; chmod 700 \"$TMPDIR\"
        \"$1\" run --user dev -- sh -c 'rm notes; rm ~/photos/a.jpg || true'
        test ! -e notes
        find \"$home\" -user 0 -print
        dev() { HOME=$home setpriv --reuid 4321 --regid 4321 --clear-groups \"$@\"; }
        dev \"$1\" log --json | grep -c '\"refused\"'
        dev \"$1\" undo --last --yes >&2
        cat notes";
    let Some(output) = unshared(&ground, &["--mount"], script) else { return };
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let said = stdout(&output);
    let (refused, notes) = said.split_once('\n').unwrap_or_default();
    assert!(
        refused.parse::<u32>().is_ok_and(|count| count > 0),
        "nothing of root's, and a refusal: {said}{told}"
    );
    assert_eq!(notes, "nobody else has them\n", "{told}");
    ground.assert_whole();
}

#[test]
fn a_guard_that_is_killed_under_load_leaves_no_unguarded_exec_and_no_unguarded_removal() {
    let ground = Ground::new();
    // Workers that start programs and try to remove for as long as they live; each success is a line.
    let worker = "while :; do /bin/echo started >> started; /bin/rm -f ~/photos/a.jpg; rm -f ~/.bashrc; done";
    let script = format!(
        "echo $PPID > guard.new; mv guard.new guard; for i in 1 2 3 4; do ({worker}) 2>/dev/null & done; \
                          exec 3< <(:); while [ ! -e enough ]; do read -t 0.1 <> <(:) ; done; kill $(jobs -p)"
    );
    let mut command = ground.run(&[], &["bash", "-c", &script]);
    let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    let wait_for = |what: &dyn Fn() -> bool| {
        let start = std::time::Instant::now();
        while !what() {
            assert!(start.elapsed() < std::time::Duration::from_secs(60), "waited in vain");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    let lines =
        || std::fs::read_to_string(ground.at("home/project/started")).unwrap_or_default().lines().count();
    wait_for(&|| lines() > 20);
    let guard: i32 =
        std::fs::read_to_string(ground.at("home/project/guard")).unwrap().trim().parse().unwrap();
    // SAFETY: takes numbers; the pid is that of our own grandchild, which the agent has just named.
    unsafe { libc::kill(guard, libc::SIGKILL) };
    std::thread::sleep(std::time::Duration::from_millis(500));
    let after = lines();
    std::thread::sleep(std::time::Duration::from_millis(1000));
    assert_eq!(lines(), after, "a program was started without a guard");
    ground.assert_whole();
    std::fs::write(ground.at("home/project/enough"), "").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(125));
}

/// A tool that is needed here: without it the test would show nothing.
#[test]
fn the_tools_of_these_tests_are_there() {
    for tool in ["unshare", "ps", "bash", "script"] {
        let found = Command::new("sh").args(["-c", &format!("command -v {tool}")]).output().unwrap();
        assert!(found.status.success(), "{tool} is missing");
    }
}
