//! Job control: a shell on a terminal starts the session, and does not notice.

use std::time::Duration;

use crate::ground::Ground;
use crate::terminal::Terminal;

/// Lets the shell get from its echo into what follows. A key in between meets dash while it forks: a vfork that is stopped
/// before its exec holds up its parent, and a Ctrl-C is remembered and not acted on, with us or without.
fn settle() {
    std::thread::sleep(Duration::from_millis(500));
}

#[test]
fn ctrl_c_ends_the_agent_and_the_shell_sees_it() {
    let ground = Ground::new();
    let mut terminal = Terminal::open(&ground);
    terminal.send("$GUARDED sh -c 'echo up''and; sleep 30'\n");
    terminal.expect("upand");
    settle();
    terminal.send("\x03");
    terminal.expect("READY> ");
    terminal.send("echo status=$?\n");
    terminal.expect("status=130");
}

#[test]
fn ctrl_z_stops_the_session_and_fg_continues_it() {
    let ground = Ground::new();
    let mut terminal = Terminal::open(&ground);
    terminal.send("$GUARDED sh -c 'echo up''and; read x; echo got=$x; exit 4'\n");
    terminal.expect("upand");
    settle();
    terminal.send("\x1a");
    terminal.expect("Stopped");
    terminal.expect("READY> ");
    terminal.send("fg\n");
    terminal.expect("GUARDED");
    terminal.send("hello\n");
    terminal.expect("got=hello");
    terminal.expect("READY> ");
    terminal.send("echo status=$?\n");
    terminal.expect("status=4");
}

#[test]
fn a_pipeline_around_the_session_has_the_terminal() {
    let ground = Ground::new();
    let mut terminal = Terminal::open(&ground);
    terminal.send("$GUARDED sh -c 'echo one; read x < /dev/tty; echo $x' | sed s/^/out:/\n");
    terminal.expect("blastradius");
    terminal.send("two\n");
    terminal.expect("out:one");
    terminal.expect("out:two");
}

#[test]
fn a_shell_in_the_session_has_job_control_of_its_own() {
    let ground = Ground::new();
    let mut terminal = Terminal::open(&ground);
    terminal.send("PS1='INN''ER> ' $GUARDED bash --norc --noprofile -i\n");
    terminal.expect("INNER> ");
    terminal.send("sh -c 'echo at''work; sleep 30'\n");
    terminal.expect("atwork");
    settle();
    terminal.send("\x1a");
    terminal.expect("Stopped");
    terminal.send("kill %1; rm ~/photos/a.jpg; exit 6\n");
    terminal.expect("READY> ");
    terminal.send("echo status=$?\n");
    terminal.expect("status=6");
    ground.assert_whole();
}

#[test]
fn a_session_in_the_background_reads_the_terminal_only_in_the_foreground() {
    let ground = Ground::new();
    let mut terminal = Terminal::open(&ground);
    terminal.send("$GUARDED sh -c 'read x; echo got=$x' &\n");
    terminal.expect("READY> ");
    terminal.send("until jobs | grep Stopped; do sleep 0.1; done\n");
    terminal.expect("Stopped  ");
    terminal.send("fg\n");
    terminal.expect("GUARDED");
    terminal.send("late\n");
    terminal.expect("got=late");
}

#[test]
fn the_window_size_is_the_terminals_own() {
    let ground = Ground::new();
    let mut terminal = Terminal::open(&ground);
    terminal.send("stty rows 33 cols 77; $GUARDED stty size\n");
    terminal.expect("33 77");
}
