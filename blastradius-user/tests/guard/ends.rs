//! How a session starts and ends, seen by whoever started it.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::ground::{Ground, stderr, stdout};
use crate::refusals::feed;

#[test]
fn exit_statuses_pass_through() {
    let ground = Ground::new();
    for code in [0, 1, 3, 42, 125, 126, 127, 255] {
        let output = ground.shell(&format!("exit {code}"));
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    }
}

#[test]
fn a_death_by_signal_is_repeated() {
    let ground = Ground::new();
    for signal in
        [libc::SIGTERM, libc::SIGKILL, libc::SIGINT, libc::SIGSEGV, libc::SIGPIPE, libc::SIGRTMIN() + 1]
    {
        let output = ground.shell(&format!("kill -{signal} $$"));
        assert_eq!(output.status.signal(), Some(signal), "{}", stderr(&output));
    }
}

#[test]
fn a_missing_program_is_127_and_one_that_may_not_run_126() {
    let ground = Ground::new();
    for (program, code, word) in [
        ("no-such-program", 127, "no such program"),
        ("./missing", 127, "no such program"),
        ("./README", 126, "not executable"),
        ("/", 126, "not executable"),
    ] {
        let output = ground.run(&[], &[program]).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{program}");
        assert!(stderr(&output).contains(word), "{program}: {}", stderr(&output));
    }
}

#[test]
fn a_script_without_a_header_is_run_by_the_shell_and_one_with_a_missing_interpreter_is_127() {
    let ground = Ground::new();
    let script = |name: &str, text: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::write(ground.at(name), text).unwrap();
        std::fs::set_permissions(ground.at(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    script("home/project/plain", "echo \"plain $1\"\n");
    script("home/project/lost", "#!/no/such/interpreter\n");
    assert_eq!(stdout(&ground.run(&[], &["./plain", "x"]).output().unwrap()), "plain x\n");
    assert_eq!(ground.run(&[], &["./lost"]).output().unwrap().status.code(), Some(127));
}

#[test]
fn a_rung_that_is_not_there_stops_the_start_with_its_reason() {
    let ground = Ground::new();
    let output = ground.run(&["--require", "kernel"], &["touch", "started"]).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("kernel: "), "{}", stderr(&output));
    assert!(!ground.at("home/project/started").exists());
}

#[test]
fn the_start_line_names_the_rung_and_what_it_does_not_cover() {
    let ground = Ground::new();
    let output = ground.shell("true");
    let text = stderr(&output);
    assert!(text.starts_with("blastradius: landlock rung (ABI "), "{text}");
    assert!(text.contains("Not covered: ") && text.contains("chmod and chown"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn a_log_that_cannot_be_kept_stops_the_start() {
    let ground = Ground::new();
    ground.write("state/blastradius");
    let output = ground.shell("touch started");
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("state/blastradius"), "{}", stderr(&output));
    assert!(!ground.at("home/project/started").exists());
}

#[test]
fn the_log_tells_start_and_end_and_the_session_cannot_remove_it() {
    let ground = Ground::new();
    let script =
        "rm -rf \"$XDG_STATE_HOME\"/blastradius; : > \"$XDG_STATE_HOME\"/blastradius/*.jsonl; exit 5";
    let output = feed(&ground, &[], script);
    assert_eq!(output.status.code(), Some(5));
    let log = ground.log();
    assert_eq!(log.first().map(|record| &record["event"]), Some(&"start".into()));
    assert_eq!(
        log.last().map(|record| (&record["event"], &record["status"])),
        Some((&"end".into(), &5.into()))
    );
}

#[test]
fn a_session_without_any_standard_stream_runs() {
    let ground = Ground::new();
    let mut command = ground.run(&[], &["sh", "-c", "exit 9"]);
    // SAFETY: close(2) is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            for fd in 0..3 {
                libc::close(fd);
            }
            Ok(())
        });
    }
    assert_eq!(command.status().unwrap().code(), Some(9));
}

#[test]
fn a_reader_sees_the_end_when_the_agent_closes_its_output() {
    let ground = Ground::new();
    let mut child = ground
        .run(&[], &["sh", "-c", "echo done; exec >&- 2>&-; sleep 60"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let text = std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    assert_eq!(text, "done\n");
    assert!(child.try_wait().unwrap().is_none(), "the guard kept the output open until the agent had ended");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_the_agent_leaves_running_stays_guarded_and_can_start_programs() {
    let ground = Ground::new();
    let output = ground
        .shell("(setsid sh -c 'sleep 0.5; rm ~/photos/a.jpg; /bin/echo late > late' >/dev/null 2>&1 &)");
    assert!(output.status.success());
    assert!(!ground.at("home/project/late").exists(), "the session did not end before what it left");
    let late = || std::fs::read_to_string(ground.at("home/project/late")).is_ok_and(|text| text == "late\n");
    let start = Instant::now();
    while !late() && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(late(), "what was left running could not start a program");
    ground.assert_whole();
}

#[test]
fn a_signal_to_the_session_reaches_the_agent() {
    let ground = Ground::new();
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGUSR1] {
        let script = format!("trap 'exit 33' {signal}; echo ready; while :; do sleep 0.05; done");
        let mut command = ground.run(&[], &["bash", "-c", &script]);
        // Under nohup(1) the signal would be ignored from the start, and bash traps no such signal.
        // SAFETY: one system call between fork and exec.
        unsafe {
            command.pre_exec(move || {
                libc::signal(signal, libc::SIG_DFL);
                Ok(())
            });
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line)
            .unwrap();
        // SAFETY: takes numbers; the child has not been waited for.
        unsafe { libc::kill(child.id() as i32, signal) };
        assert_eq!(child.wait().unwrap().code(), Some(33), "signal {signal}");
    }
}

#[test]
fn an_unprivileged_user_is_guarded_too_and_hears_that_sudo_is_not() {
    use std::os::unix::fs::{PermissionsExt as _, chown};
    const NOBODY: u32 = 65534;
    let ground = Ground::for_others();
    let mut open = vec![ground.at("")];
    while let Some(path) = open.pop() {
        let root = nix::unistd::Uid::effective().is_root();
        if root {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        if path.is_dir() {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    let mut command = ground.command(ground.program_for_others());
    command.args(["run", "--", "sh", "-c", "rm ~/photos/a.jpg; rm src/main && id -u"]);
    if nix::unistd::Uid::effective().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("no sudo"), "{}", stderr(&output));
    assert_ne!(stdout(&output).trim(), "0");
    ground.assert_whole();
}

#[test]
fn root_can_start_the_agent_as_another_user_and_others_cannot() {
    let ground = Ground::new();
    let output = ground.run(&["--user", "nobody"], &["sh", "-c", "id -u; echo $LOGNAME"]).output().unwrap();
    if nix::unistd::Uid::effective().is_root() {
        assert_eq!(stdout(&output), "65534\nnobody\n", "{}", stderr(&output));
    } else {
        assert_eq!(output.status.code(), Some(125));
        assert!(stderr(&output).contains("only root"), "{}", stderr(&output));
    }
    let output = ground.run(&["--user", "no-such-user"], &["true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{}", stderr(&output));
}
