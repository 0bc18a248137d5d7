//! Policy files on the real file system, through the program.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::process::Output;

use crate::ground::{Ground, stderr, stdout};

fn ask(ground: &Ground, arguments: &[&str]) -> Output {
    ground.command(env!("CARGO_BIN_EXE_blastradius")).args(arguments).output().unwrap()
}

fn policy(text: &str) -> Ground {
    let ground = Ground::new();
    fs::write(ground.at("home/project/.blastradius"), text).unwrap();
    ground
}

#[test]
fn a_broken_policy_names_its_line_refuses_what_destroys_and_starts_nothing() {
    for line in ["allow /**", "allow /home/**", "allow ~/**", "nonsense"] {
        let ground = policy(&format!("# first\n{line}\n"));
        let checked = ask(&ground, &["check", "--", "rm -rf src"]);
        assert_eq!(checked.status.code(), Some(1), "{line}: {}", stderr(&checked));
        assert!(stderr(&checked).contains(".blastradius:2:"), "{line}: {}", stderr(&checked));
        assert_eq!(ask(&ground, &["check", "--", "ls -l"]).status.code(), Some(0), "{line}");
        let run = ground.run(&[], &["true"]).output().unwrap();
        assert_eq!(run.status.code(), Some(125), "{line}");
        assert!(stderr(&run).contains(".blastradius:2:"), "{line}: {}", stderr(&run));
        for arguments in [&["scope"][..], &["scope", "src"]] {
            let scope = ask(&ground, arguments);
            assert_eq!(scope.status.code(), Some(65), "{line}");
            let (said, file) = (stdout(&scope), ground.at("home/project/.blastradius"));
            assert!(said.contains(&format!("{}:2:", file.display())), "{line}: {said}");
            assert!(said.contains(": found ") && said.contains(", expected "), "{line}: {said}");
        }
    }
}

#[test]
fn trust_does_not_wait_for_a_pipe_or_read_what_never_ends() {
    let pipe = Ground::new();
    let made =
        std::process::Command::new("mkfifo").arg(pipe.at("home/project/.blastradius")).status().unwrap();
    assert!(made.success());
    let endless = Ground::new();
    symlink("/dev/zero", endless.at("home/project/.blastradius")).unwrap();
    for ground in [&pipe, &endless] {
        for arguments in [&["trust"][..], &["scope"], &["check", "--", "rm -rf src"], &["init"]] {
            let output = ask(ground, arguments);
            assert!(!output.status.success(), "{arguments:?}: {}", stderr(&output));
            assert!(stderr(&output).contains(".blastradius"), "{arguments:?}: {}", stderr(&output));
        }
    }
}

#[test]
fn a_policy_file_that_is_a_link_a_strangers_or_no_file_is_an_error() {
    let linked = Ground::new();
    symlink("README", linked.at("home/project/.blastradius")).unwrap();
    let dangling = Ground::new();
    symlink("nowhere", dangling.at("home/project/.blastradius")).unwrap();
    let directory = Ground::new();
    fs::create_dir(directory.at("home/project/.blastradius")).unwrap();
    let huge = policy(&"# x\n".repeat(100_000));
    let mut grounds = vec![
        (linked, "symbolic link"),
        (dangling, "symbolic link"),
        (directory, "cannot be read"),
        (huge, "too large"),
    ];
    let strangers = policy("deny ./src\n");
    // Only root can give a file away.
    if chown(strangers.at("home/project/.blastradius"), Some(4242), None).is_ok() {
        grounds.push((strangers, "user 4242"));
    }
    for (ground, found) in &grounds {
        let checked = ask(ground, &["check", "--", "rm -rf src"]);
        assert_eq!(checked.status.code(), Some(1), "{found}: {}", stderr(&checked));
        assert!(stderr(&checked).contains(found), "{found}: {}", stderr(&checked));
    }
}

#[test]
fn a_glob_is_as_broad_as_the_directory_is_full() {
    let ground = Ground::new();
    let dir = ground.at("home/project/src/many");
    fs::create_dir_all(&dir).unwrap();
    let glob = "rm -f src/many/*.log";
    for index in 0..100 {
        fs::write(dir.join(format!("{index}.log")), "").unwrap();
    }
    let narrow = ask(&ground, &["check", "--unattended", "--", glob]);
    assert!(!stderr(&narrow).contains("glob-breadth"), "100 entries: {}", stderr(&narrow));
    fs::write(dir.join("one-more.log"), "").unwrap();
    let broad = ask(&ground, &["check", "--unattended", "--", glob]);
    assert!(broad.status.code() == Some(1) && stderr(&broad).contains("glob-breadth"), "{}", stderr(&broad));
    let asked = ask(&ground, &["check", "--", glob]);
    assert!(
        !stderr(&asked).contains("glob-breadth"),
        "it binds only where nobody answers: {}",
        stderr(&asked)
    );
    let root = ask(&ground, &["check", "--unattended", "--", "rm -rf ./*"]);
    assert!(root.status.code() == Some(1) && stderr(&root).contains("glob-breadth"), "{}", stderr(&root));
}

#[test]
fn approval_is_a_humans_and_is_given_on_a_terminal_outside_a_session() {
    let ground = policy("allow /srv/x/**\n");
    let piped = ask(&ground, &["trust"]);
    assert!(!piped.status.success() && stderr(&piped).contains("terminal"), "{}", stderr(&piped));
    let mut inside = ground.command(env!("CARGO_BIN_EXE_blastradius"));
    let inside = inside.arg("trust").env("BLASTRADIUS_SESSION", "x").output().unwrap();
    assert!(!inside.status.success() && stderr(&inside).contains("session"), "{}", stderr(&inside));
    let nothing = policy("allow ./src/**\n");
    let nothing = ask(&nothing, &["trust"]);
    assert!(
        nothing.status.success() && stdout(&nothing).contains("nothing to approve"),
        "{}",
        stderr(&nothing)
    );
}

#[test]
fn scope_tells_the_zone_the_line_and_each_layers_word() {
    let ground = policy("deny ./src\nallow ./**\nallow /srv/x/**\n");
    let whole = stdout(&ask(&ground, &["scope"]));
    for part in [".blastradius:1: deny ./src", ".blastradius:2: allow ./**", "waiting", "floor"] {
        assert!(whole.contains(part), "{part}: {whole}");
    }
    let path = stdout(&ask(&ground, &["scope", "src/main"]));
    for part in ["zone      denied (.blastradius:1: deny ./src)", "remove    text deny", "syscall refused"] {
        assert!(path.contains(part), "{part}: {path}");
    }
}

#[test]
fn home_at_the_root_and_no_home_move_no_floor() {
    let ground = Ground::new();
    for home in [Some("/"), None] {
        for text in ["rm -rf /", "rm -rf /usr", "rm -rf ~", "rm -rf /root", "rm -rf \"$HOME\"/*"] {
            let mut command = ground.command(env!("CARGO_BIN_EXE_blastradius"));
            command.args(["check", "--", text]).env_remove("HOME");
            if let Some(home) = home {
                command.env("HOME", home);
            }
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(1), "HOME={home:?} {text}: {}", stderr(&output));
            let unset = home.is_none() && text.contains("$HOME");
            assert!(!unset || stderr(&output).contains("empty-variable-expansion"), "{}", stderr(&output));
        }
    }
}

#[test]
fn a_file_that_is_allowed_by_name_can_be_written_and_the_start_says_that_it_stays() {
    let ground = policy("allow ./README\n");
    let output = ground.shell("echo new >README; rm README");
    let said = stderr(&output);
    assert!(said.contains("allowed files and directories themselves stay"), "{said}");
    assert!(!said.contains("undo does not cover"), "{said}");
    assert_eq!(fs::read_to_string(ground.at("home/project/README")).unwrap(), "new\n", "{said}");
    let whole = policy("allow <repo>/**\n").shell("rm README");
    assert!(whole.status.success() && !stderr(&whole).contains("themselves stay"), "{}", stderr(&whole));
}
