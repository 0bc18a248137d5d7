//! Questions: who is asked, who may answer, and what an answer covers.

use std::fs;
use std::time::{Duration, Instant};

use crate::ground::{CONTENT, Ground, stderr, stdout};
use crate::refusals::{feed, work_tree};
use crate::terminal::Terminal;

const CHANGED: &str = "uncommitted\n";

/// A work tree with something to lose.
fn changed() -> Ground {
    let ground = work_tree();
    fs::write(ground.at("home/project/README"), CHANGED).unwrap();
    ground
}

fn readme(ground: &Ground) -> String {
    fs::read_to_string(ground.at("home/project/README")).unwrap()
}

fn told(ground: &Ground) -> String {
    fs::read_to_string(ground.at("home/project/told")).unwrap_or_default()
}

/// The number that the last refusal offers.
fn offered(text: &str) -> String {
    let at = text.rfind("blastradius approve ").unwrap_or_else(|| panic!("nothing is offered: {text}"));
    text[at..].split_whitespace().nth(2).unwrap().to_owned()
}

/// Starts an agent that leaves the terminal alone and throws the changes away, and answers with `keys`.
fn answer(ground: &Ground, keys: &str) -> Terminal {
    let mut terminal = Terminal::open(ground);
    terminal.send("$GUARDED bash -c 'git reset -q --hard' </dev/null >told 2>&1\n");
    terminal.expect("git reset -q --hard");
    terminal.expect("allow this once? [y/N]");
    terminal.send(keys);
    terminal.expect("READY> ");
    terminal
}

#[test]
fn a_yes_at_the_terminal_lets_exactly_this_command_pass() {
    let ground = changed();
    let mut terminal = answer(&ground, "y");
    assert_eq!(readme(&ground), CONTENT, "{}", told(&ground));
    terminal.send("echo status=$?\n");
    terminal.expect("status=0");
    assert!(ground.log().iter().any(|record| record["event"] == "approved"), "{:?}", ground.log());
    fs::write(ground.at("home/project/README"), CHANGED).unwrap();
    terminal.send("$GUARDED bash -c 'git reset -q --hard' </dev/null >told 2>&1\n");
    terminal.expect("allow this once? [y/N]");
    terminal.send("n");
    terminal.expect("READY> ");
    assert_eq!(readme(&ground), CHANGED);
}

#[test]
fn a_no_is_told_to_the_agent() {
    let ground = changed();
    answer(&ground, "n");
    assert_eq!(readme(&ground), CHANGED);
    assert!(told(&ground).contains("a person was asked and said no"), "{}", told(&ground));
}

#[test]
fn a_question_that_is_broken_off_is_a_no() {
    let ground = changed();
    answer(&ground, "\x03");
    assert_eq!(readme(&ground), CHANGED);
    assert!(told(&ground).contains("broke the question off"), "{}", told(&ground));
}

#[test]
fn a_question_that_nobody_answers_is_a_no() {
    let ground = changed();
    let mut terminal = Terminal::open(&ground);
    terminal
        .send("${GUARDED%--} --answer-within 1s -- bash -c 'git reset -q --hard' </dev/null >told 2>&1\n");
    terminal.expect("allow this once? [y/N] (1 s)");
    terminal.expect("no answer");
    terminal.expect("READY> ");
    assert_eq!(readme(&ground), CHANGED);
    assert!(told(&ground).contains("did not answer in time"), "{}", told(&ground));
}

#[test]
fn what_was_typed_before_the_question_is_no_answer() {
    let ground = changed();
    let mut terminal = Terminal::open(&ground);
    terminal.send("$GUARDED bash -c 'sleep 1; git reset -q --hard' </dev/null >told 2>&1\nyyyy\n");
    terminal.expect("allow this once? [y/N]");
    terminal.send("n");
    terminal.expect("READY> ");
    assert_eq!(readme(&ground), CHANGED);
}

#[test]
fn an_agent_that_has_the_terminal_is_not_disturbed_and_hears_how_to_be_approved() {
    let ground = changed();
    let mut terminal = Terminal::open(&ground);
    terminal.send("$GUARDED bash -c 'git reset -q --hard'; echo over\n");
    terminal.expect("BLOCKED");
    terminal.expect("blastradius approve ");
    terminal.expect("over");
    assert_eq!(readme(&ground), CHANGED);
}

/// Takes the whole screen and every key, has a command refused meanwhile, and leaves at `q`.
const FULL_SCREEN: &str = "import fcntl, os, signal, struct, subprocess, termios, tty
before = termios.tcgetattr(0)
tty.setraw(0)
def resized(*_):
    rows, columns = struct.unpack('hhhh', fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8)))[:2]
    os.write(1, b'SIZE %dx%d.' % (rows, columns))
signal.signal(signal.SIGWINCH, resized)
os.write(1, b'\\x1b[?1049hFULL.')
done = subprocess.run(['bash'], input=b'git reset -q --hard', capture_output=True)
os.write(1, b'TOLD %d.' % (b'approve ' in done.stderr))
while (key := os.read(0, 1)) != b'q':
    os.write(1, b'KEY %d.' % key[0])
termios.tcsetattr(0, termios.TCSADRAIN, before)
os.write(1, b'\\x1b[?1049lLEFT.')
";

#[test]
fn a_full_screen_program_has_terminal_keys_and_size_to_itself() {
    let ground = changed();
    fs::write(ground.at("tmp/full.py"), FULL_SCREEN).unwrap();
    let mut terminal = Terminal::open(&ground);
    terminal.send("$GUARDED python3 \"$TMPDIR\"/full.py\n");
    terminal.expect("FULL.");
    let mut seen = terminal.expect("TOLD 1.");
    // Ctrl-C and Ctrl-Z are keys like others here.
    terminal.send("\x03\x1a");
    seen += &terminal.expect("KEY 3.");
    seen += &terminal.expect("KEY 26.");
    terminal.resize(41, 97);
    seen += &terminal.expect("SIZE 41x97.");
    terminal.send("q");
    seen += &terminal.expect("LEFT.");
    assert!(!seen.contains("blastradius"), "the guard wrote onto the screen: {seen}");
    assert_eq!(readme(&ground), CHANGED);
    terminal.expect("READY> ");
}

/// A session that waits for lines of a script: its agent, and what it has been told.
struct Session {
    child: std::process::Child,
    ground: Ground,
}

impl Session {
    fn start() -> Self {
        let ground = changed();
        let mut command = ground.run(&["--no-undo"], &["bash"]);
        command.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
        Self { child: command.spawn().unwrap(), ground }
    }

    /// Runs a line in the session and returns what it wrote.
    fn line(&mut self, line: &str) -> String {
        use std::io::Write as _;
        let done = self.ground.at("home/project/done");
        let _ = fs::remove_file(&done);
        let text = format!("({line}) >told 2>&1; echo $? > done.new; mv done.new done\n");
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
        let start = Instant::now();
        while !done.exists() {
            assert!(start.elapsed() < Duration::from_secs(60), "{line} does not end: {}", told(&self.ground));
            std::thread::sleep(Duration::from_millis(10));
        }
        told(&self.ground)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Approves a number from a terminal outside the session.
fn approve(ground: &Ground, number: &str) {
    let mut terminal = Terminal::open(ground);
    terminal.send(&format!("{} approve {number}\n", env!("CARGO_BIN_EXE_blastradius")));
    terminal.expect("allow exactly this, once? [y/N]");
    terminal.send("y\n");
    terminal.expect("approved");
}

#[test]
fn an_approval_from_outside_lets_it_pass_once() {
    let mut session = Session::start();
    let number = offered(&session.line("git reset -q --hard"));
    assert_eq!(readme(&session.ground), CHANGED);
    approve(&session.ground, &number);
    let other = session.line("git checkout -q -f HEAD");
    assert_ne!(offered(&other), number, "another command is another question");
    assert_eq!(readme(&session.ground), CHANGED);
    assert_eq!(session.line("git reset -q --hard"), "");
    assert_eq!(readme(&session.ground), CONTENT);
    fs::write(session.ground.at("home/project/README"), CHANGED).unwrap();
    assert_ne!(offered(&session.line("git reset -q --hard")), number, "the next one asks again");
    assert_eq!(readme(&session.ground), CHANGED);
}

#[test]
fn nobody_inside_the_session_can_answer() {
    let mut session = Session::start();
    let number = offered(&session.line("git reset -q --hard"));
    let program = env!("CARGO_BIN_EXE_blastradius");
    let roads = [
        // A terminal of its own, with a person made of text.
        format!("python3 -c \"import pty; pty.spawn(['{program}', 'approve', '{number}'])\" < <(sleep 1; echo y; sleep 1)"),
        // The same as an orphan in a session of its own, without the variable that says where it is.
        format!("(env -u BLASTRADIUS_SESSION setsid script -qec '{program} approve {number}' /dev/null < <(sleep 1; echo y; sleep 1) & ); sleep 3"),
        // Without our program.
        format!("python3 -c \"
import socket, os
name = next(word for line in open('/proc/net/unix') for word in line.split() if word == '@blastradius/' + os.environ['BLASTRADIUS_SESSION'])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        s = socket.socket(socket.AF_UNIX); s.connect('\\0' + name[1:])
        s.sendall(b'{{\\\"want\\\":\\\"approve\\\",\\\"id\\\":\\\"{number}\\\"}}\\n'); print(s.recv(500), flush=True)
    os._exit(0)
os.wait()
import time; time.sleep(2)
\""),
    ];
    for road in roads {
        let said = session.line(&road);
        assert!(said.contains("inside"), "{road}: {said}");
        session.line("git reset -q --hard");
        assert_eq!(readme(&session.ground), CHANGED, "{road}");
    }
}

#[test]
fn nothing_in_a_session_types_for_a_person() {
    let ground = Ground::new();
    let script = "import fcntl, pty, termios, os
master, slave = pty.openpty()
pid = os.fork()
if pid == 0:
    os.setsid(); fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    try:
        fcntl.ioctl(slave, termios.TIOCSTI, b'y'); os._exit(0)
    except OSError as error:
        os._exit(error.errno)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";
    let output = ground.run(&[], &["python3", "-c", script]).output().unwrap();
    assert_eq!(stdout(&output).trim(), libc::EPERM.to_string(), "{}", stderr(&output));
}

#[test]
fn a_pause_answers_questions_and_no_refusal() {
    let mut session = Session::start();
    session.line("git reset -q --hard");
    assert_eq!(readme(&session.ground), CHANGED);
    let start = session.ground.log().first().unwrap()["session"].as_str().unwrap().to_owned();
    let mut terminal = Terminal::open(&session.ground);
    let program = env!("CARGO_BIN_EXE_blastradius");
    terminal.send(&format!("{program} approve --session {start} --pause 10m\n"));
    terminal.expect("[y/N]");
    terminal.send("y\n");
    terminal.expect("READY> ");
    session.line("git reset -q --hard");
    assert_eq!(readme(&session.ground), CONTENT);
    let refused = session.line("rm -rf ~");
    assert!(refused.contains("floor-path"), "{refused}");
    session.ground.assert_whole();
}

#[test]
fn a_rung_that_cannot_carry_a_yes_says_so_and_offers_nothing() {
    let ground = Ground::new();
    // The exec layer asks about the whole of a scope, and the ruleset refuses its root whoever says yes.
    let output = feed(&ground, &[], "cd ..; rm -rf project 2>&1\n");
    let text = stdout(&output);
    assert!(text.contains("cannot carry a yes"), "{text}{}", stderr(&output));
    assert!(!text.contains("blastradius approve"), "{text}");
    assert!(ground.keeps("home/project/README"));
}

#[test]
fn why_is_answered_by_the_guard_where_the_log_is_out_of_reach() {
    let ground = work_tree();
    let program = env!("CARGO_BIN_EXE_blastradius");
    let script = format!("rm -rf .git 2>/dev/null\nHOME=/nowhere XDG_STATE_HOME=/nowhere {program} why\n");
    let output = feed(&ground, &[], &script);
    assert!(stdout(&output).contains("git-history"), "{}{}", stdout(&output), stderr(&output));
}

#[test]
fn what_a_person_lets_go_is_kept_before_it_starts() {
    let ground = changed();
    // A line of one's own is followed: it is asked about, although it could be taken back.
    fs::write(ground.at("home/project/.blastradius"), "rule git-discard confirm\n").unwrap();
    let mut terminal = Terminal::open(&ground);
    terminal.send("export BLASTRADIUS_UNDO=free=0; GUARDED=${GUARDED/--no-undo/}\n");
    terminal.expect("READY> ");
    // Not there when the session starts: only what is kept before the command has it.
    terminal.send("$GUARDED bash -c 'echo later >README; git reset -q --hard' </dev/null >told 2>&1\n");
    terminal.expect("allow this once? [y/N]");
    terminal.send("y");
    terminal.expect("READY> ");
    assert_eq!(readme(&ground), CONTENT, "{}", told(&ground));
    let told = told(&ground);
    let line = told
        .lines()
        .rfind(|line| line.contains("before `git reset -q --hard`"))
        .unwrap_or_else(|| panic!("{told}"));
    let id = line.rsplit(' ').next().unwrap();
    let mut undo = ground.command(env!("CARGO_BIN_EXE_blastradius"));
    let output = undo.args(["undo", id, "--yes"]).output().unwrap();
    assert_eq!(readme(&ground), "later\n", "{}{}", stdout(&output), stderr(&output));
}
