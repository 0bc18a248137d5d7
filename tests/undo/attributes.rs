//! What an object has besides its content, and what git would give back otherwise than it was.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use crate::ground::{Ground, lost, odd_name};

const IDENTITY: &str =
    "git init -q -b main .; git config user.name t; git config user.email t@example.invalid;";

fn content(ground: &Ground, name: &str) -> String {
    std::fs::read_to_string(ground.tree().join(name)).unwrap_or_else(|error| format!("{name}: {error}"))
}

/// Takes everything back, and says what was said.
fn taken_back(ground: &Ground) -> String {
    let said = ground.undo(&["--last", "--yes"]);
    assert_eq!(said.code, Some(0), "{}", said.text);
    said.text
}

#[test]
fn a_file_that_goes_through_a_filter_comes_back_as_it_was_wherever_the_filter_is_named() {
    const NAMED: &[(&str, &str)] = &[
        (".gitattributes", "*.bin filter=up"),
        ("sub/.gitattributes", "*.bin filter=up"),
        ("sub/.gitattributes", "/a.bin -text filter=up"),
        (".gitattributes", "[attr]large filter=up -diff\n*.bin large"),
        (".gitattributes", "\"sub/a*.bin\" filter=up"),
        (".git/info/attributes", "sub/** filter=up"),
    ];
    for (file, line) in NAMED {
        let ground = Ground::new();
        // What this filter gives back is not what went in, as where git-lfs is not installed.
        ground.sh(&format!(
            "{IDENTITY} git config filter.up.clean 'tr a-z A-Z'; git config filter.up.smudge cat
             mkdir sub; printf '{line}\\n' > {file}; echo small letters > sub/a.bin; echo plain > sub/plain
             touch -d yesterday sub/*; git add .; git commit -qm one; git status --short"
        ));
        ground.session("rm sub/a.bin sub/plain");
        assert!(!ground.tree().join("sub/a.bin").exists());
        let said = taken_back(&ground);
        assert_eq!(content(&ground, "sub/a.bin"), "small letters\n", "{file}: {line}\n{said}");
        assert_eq!(content(&ground, "sub/plain"), "plain\n", "{file}: {line}\n{said}");
    }
}

#[test]
fn a_pointer_that_lfs_never_replaced_comes_back_as_the_pointer() {
    let ground = Ground::new();
    let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{:064}\nsize 9\n", 7);
    std::fs::write(ground.tree().join("a.bin"), &pointer).expect("written");
    ground.sh(&format!("{IDENTITY} git add .; git commit -qm one; echo '*.bin filter=lfs diff=lfs merge=lfs -text' > .gitattributes; git add .gitattributes; git commit -qm two"));
    ground.session("rm a.bin");
    taken_back(&ground);
    assert_eq!(content(&ground, "a.bin"), pointer);
}

#[test]
fn what_is_hidden_from_git_comes_back() {
    let ground = Ground::new();
    ground.sh(&format!(
        "{IDENTITY} echo a > assumed; echo s > skipped; touch -d yesterday *; git add .; git commit -qm one
         git update-index --assume-unchanged assumed; git update-index --skip-worktree skipped"
    ));
    let before = ground.picture();
    ground.session("rm assumed skipped");
    assert_eq!(lost(&before, &ground.picture()).len(), 2);
    let said = taken_back(&ground);
    assert_eq!(lost(&before, &ground.picture()), Vec::<String>::new(), "{said}");
}

#[test]
fn a_key_that_nobody_else_may_read_does_not_come_back_open() {
    let ground = Ground::new();
    ground.sh(&format!(
        "umask 022; {IDENTITY} echo k > key; chmod 600 key; echo p > plain; echo t > tool; chmod 700 tool
         touch -d yesterday *; git add .; git commit -qm one"
    ));
    let before = ground.picture();
    ground.session("rm key plain tool");
    let said = taken_back(&ground);
    assert_eq!(lost(&before, &ground.picture()), Vec::<String>::new(), "{said}");
}

#[test]
fn a_mode_a_time_and_an_attribute_alone_come_back_and_what_was_added_goes() {
    let ground = Ground::new();
    ground.sh("echo a > a; chmod 600 a; mkdir d; echo x > d/x; touch -d '2001-02-03 04:05:06.789' a");
    let python = |act: &str| format!("python3 -c 'import os\n{act}'");
    let set =
        ground.command("bash").args(["-c", &python("os.setxattr(\"a\",\"user.note\",b\"1\")")]).status();
    let attributes = set.expect("bash runs").success();
    let before = ground.picture();
    let mut act = "os.chmod(\"a\",0o777); os.utime(\"a\"); os.chmod(\"d\",0o700)".to_owned();
    if attributes {
        act += "; os.removexattr(\"a\",\"user.note\"); os.setxattr(\"d\",\"user.more\",b\"2\")";
    } else {
        println!("not run here: no user attributes on this file system");
    }
    ground.session(&python(&act));
    assert_eq!(lost(&before, &ground.picture()).len(), 2);
    let said = taken_back(&ground);
    assert_eq!(lost(&before, &ground.picture()), Vec::<String>::new(), "{said}");
    if attributes {
        let now = ground.sh(&python("print(os.getxattr(\"a\",\"user.note\"), os.listxattr(\"d\"))"));
        assert_eq!(now.text, "b'1' []\n");
    }
    // An attribute that alone is gone is a loss, too.
    if attributes {
        ground.session(&python("os.removexattr(\"a\",\"user.note\")"));
        taken_back(&ground);
        assert_eq!(ground.sh(&python("print(os.listxattr(\"a\"))")).text, "['user.note']\n");
    }
}

#[test]
fn files_that_share_an_inode_are_emptied_together_and_come_back_together() {
    for (link, loss) in
        [("ln a b", ": > a"), ("ln a b", "rm a b"), ("ln a b", "cp /dev/null a"), ("ln a b", "sed -i d a")]
    {
        let ground = Ground::new();
        ground.sh(&format!("echo one > a; {link}"));
        let before = ground.picture();
        ground.session(loss);
        assert!(!lost(&before, &ground.picture()).is_empty(), "{loss}");
        let said = taken_back(&ground);
        assert_eq!(lost(&before, &ground.picture()), Vec::<String>::new(), "{loss}\n{said}");
        let inode = |name: &str| std::fs::metadata(ground.tree().join(name)).expect("there").ino();
        assert_eq!(inode("a"), inode("b"), "{loss}");
    }
}

#[test]
fn names_of_any_bytes_are_given_back_and_shown_without_their_control_characters() {
    let ground = Ground::new();
    ground.sh(r"echo 1 > ./-rf; mkdir ./-d; echo 2 > ./-d/--; printf 3 > $'e\e[31mvil'; printf 4 > $'new\nline'; printf 5 > ' '");
    std::fs::write(ground.tree().join(odd_name()), "odd").expect("written");
    let before = ground.picture();
    ground.session("rm -rf -- ./* ./-*");
    assert!(ground.picture().is_empty());
    for args in [
        &["--last", "--dry-run"][..],
        &["--last", "--dry-run", "--diff"],
        &["--last", "--to", "out", "--dry-run"],
    ] {
        let shown = ground.undo(args).text;
        assert!(shown.contains("vil") && !shown.contains('\u{1b}'), "{args:?}: {shown:?}");
        assert!(shown.contains(r"new\nline"), "{args:?}: {shown:?}");
    }
    assert!(ground.picture().is_empty(), "so far nothing was written");
    taken_back(&ground);
    assert_eq!(lost(&before, &ground.picture()), Vec::<String>::new());
}

#[test]
fn one_name_that_begins_with_a_dash_can_be_asked_for() {
    let ground = Ground::new();
    ground.sh("echo 1 > ./-rf; echo 2 > other");
    ground.session("rm -f ./-rf other");
    assert_eq!(ground.undo(&["--last", "--yes", "--", "-rf"]).code, Some(0));
    assert!(ground.tree().join("-rf").exists() && !ground.tree().join("other").exists());
}

#[test]
fn what_a_rename_replaced_comes_back_and_an_undo_of_the_undo_has_it_replaced_again() {
    let ground = Ground::new();
    ground.sh("echo one > a; echo two > b; chmod 640 b");
    let before = ground.picture();
    ground.session("mv -f a b");
    taken_back(&ground);
    assert_eq!(lost(&before, &ground.picture()), Vec::<String>::new());
    taken_back(&ground);
    assert_eq!(content(&ground, "b"), "one\n");
    taken_back(&ground);
    assert_eq!(content(&ground, "b"), "two\n");
    let mode = std::fs::metadata(ground.tree().join("b")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn what_is_too_old_goes_and_what_was_forgotten_is_not_offered() {
    let ground = Ground::new();
    ground.sh("echo a > a; mkdir d; echo b > d/b");
    ground.session("rm a d/b");
    assert_eq!(ground.undo(&["--forget", "d"]).code, Some(0));
    let dry = ground.undo(&["--last", "--dry-run"]).text;
    assert!(dry.contains("/a") && !dry.contains("d/b"), "{dry}");
    std::thread::sleep(std::time::Duration::from_millis(1200));
    let aged = |args: &[&str]| {
        let args = [&["undo"], args].concat();
        let output = ground.blastradius(&args).env("BLASTRADIUS_UNDO", "free=0,age=1s").output();
        String::from_utf8_lossy(&output.expect("it runs").stdout).into_owned()
    };
    assert!(aged(&["--gc"]).contains("freed"));
    assert_eq!(aged(&[]), "", "nothing is left to list");
    assert!(!aged(&["--usage"]).is_empty());
}
