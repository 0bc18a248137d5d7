//! `run -- bash SCRIPT`, whatever way the script takes to its shell: nothing out of scope is lost, and what is in scope goes.

use crate::ground::{Ground, stderr};

/// What each script does: what it may not, and what it may.
const ACTS: &str = "rm -rf ~/photos ~/.ssh ~/.bashrc; rm -f src/main\n";

fn assert_only_scope_lost(ground: &Ground, way: &str) {
    ground.assert_whole();
    assert!(!ground.keeps("home/project/src/main"), "{way}: the script did not run");
}

#[test]
fn a_script_that_was_written_during_the_session() {
    let ground = Ground::new();
    let script = format!("cat > written.sh <<'END'\n{ACTS}END\nchmod +x written.sh; bash written.sh");
    let output = ground.shell(&script);
    assert!(stderr(&output).contains("landlock"), "{}", stderr(&output));
    assert_only_scope_lost(&ground, "by its shell");
    let ground = Ground::new();
    ground
        .shell(&format!("printf '%s' '#!/bin/bash\n{ACTS}' > written.sh; chmod +x written.sh; ./written.sh"));
    assert_only_scope_lost(&ground, "by its header");
}

#[test]
fn a_script_that_is_edited_between_the_check_and_the_exec() {
    for _ in 0..5 {
        let ground = Ground::new();
        // Harmless when it is looked at; the other content comes while the shell starts, and while it reads.
        let racer = "while :; do cp harmless.sh edited.sh; cp harmful.sh edited.sh; done";
        std::fs::write(ground.at("home/project/harmless.sh"), "true\n").unwrap();
        std::fs::write(ground.at("home/project/harmful.sh"), ACTS).unwrap();
        ground.shell(&format!(
            "cp harmless.sh edited.sh; ({racer}) & racer=$!; for i in $(seq 20); do bash edited.sh; done; \
             kill $racer; wait; bash harmful.sh"
        ));
        assert_only_scope_lost(&ground, "edited");
    }
}

#[test]
fn a_script_that_changes_itself() {
    let ground = Ground::new();
    // bash reads on where it stopped, so what is appended is run.
    ground.shell(&format!(
        "echo 'cat >> itself.sh tail.txt' > itself.sh; printf '%s' '{ACTS}' > tail.txt; bash itself.sh"
    ));
    assert_only_scope_lost(&ground, "appended to itself");
}

#[test]
fn a_script_by_standard_input() {
    let ground = Ground::new();
    let script = ground.at("tmp/script");
    std::fs::write(&script, ACTS).unwrap();
    ground.run(&[], &["bash"]).stdin(std::fs::File::open(&script).unwrap()).output().unwrap();
    assert_only_scope_lost(&ground, "stdin of the agent");
    let ground = Ground::new();
    ground.shell(&format!("printf '%s' '{ACTS}' | bash"));
    assert_only_scope_lost(&ground, "a pipe");
    let ground = Ground::new();
    ground.shell(&format!("bash -s x y <<'END'\n{ACTS}END"));
    assert_only_scope_lost(&ground, "a here-document");
}

#[test]
fn a_script_by_a_fifo() {
    let ground = Ground::new();
    ground.shell(&format!("mkfifo f; (printf '%s' '{ACTS}' > f &); bash f; rm f"));
    assert_only_scope_lost(&ground, "a FIFO");
}

#[test]
fn a_script_by_process_substitution() {
    let ground = Ground::new();
    ground.shell(&format!("bash <(printf '%s' '{ACTS}')"));
    assert_only_scope_lost(&ground, "a process substitution");
    let ground = Ground::new();
    ground.shell(&format!("source <(printf '%s' '{ACTS}')"));
    assert_only_scope_lost(&ground, "a sourced one");
}

#[test]
fn a_script_that_is_certain_to_empty_the_project_is_refused_before_it_starts() {
    let ground = Ground::new();
    std::fs::write(ground.at("home/project/tidy.sh"), "#!/bin/sh\ntouch started\ncd model/bld\nrm -rf *\n")
        .unwrap();
    for start in ["bash tidy.sh", "chmod +x tidy.sh; ./tidy.sh"] {
        let output = ground.shell(start);
        let told = stderr(&output);
        assert!(told.contains("scope-root") && told.contains("home/project/*"), "{told}");
        assert!(
            ground.keeps("home/project/src/main") && !ground.at("home/project/started").exists(),
            "{told}"
        );
    }
}

#[test]
fn a_script_that_empties_a_directory_of_its_own_or_might_empty_the_project_starts() {
    let harmless = [
        // The directory is there.
        "cd src; rm -rf *; touch ../ran\n",
        // It is made first, by something that nobody reads.
        "python3 -c 'import os; os.mkdir(\"made\")'; touch made/x; cd made; rm -rf *; touch ../ran\n",
        // Only if it is told to.
        "if [ \"$1\" = clean ]; then rm -rf ./*; fi; touch ran\n",
        // Only if it is called.
        "clean() { rm -rf ./*; }; touch ran\n",
        "case ${1-} in clean) rm -rf ./* ;; *) touch ran ;; esac\n",
        // Never: it ends before.
        "touch ran; exit 0; rm -rf ./*\n",
    ];
    for script in harmless {
        let ground = Ground::new();
        std::fs::write(ground.at("home/project/tidy.sh"), script).unwrap();
        let output = ground.shell("bash tidy.sh");
        assert!(ground.at("home/project/ran").exists(), "{script}{}", stderr(&output));
        ground.assert_whole();
    }
}

#[test]
fn many_files_that_git_does_not_have_are_refused_where_nothing_is_kept_and_the_sessions_own_go() {
    let ground = Ground::new();
    let git = |arguments: &[&str]| {
        let mut command = ground.command("git");
        assert!(
            command
                .args(["-c", "user.name=a", "-c", "user.email=a@b"])
                .args(arguments)
                .status()
                .unwrap()
                .success()
        );
    };
    std::fs::remove_dir_all(ground.at("home/project/.git")).unwrap();
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "all"]);
    std::fs::create_dir(ground.at("home/project/shots")).unwrap();
    for name in ["home/project/shots/1", "home/project/shots/2", "home/project/shots/3"] {
        ground.write(name);
    }
    let script = "mkdir made; touch made/1 made/2 made/3; rm -rf made; rm -rf shots; rm -r src";
    std::fs::write(ground.at("home/project/script"), script).unwrap();
    let output = ground.run(&["--no-undo"], &["bash", "script"]).output().unwrap();
    let told = stderr(&output);
    assert!(told.contains("untracked-files") && told.contains("/shots"), "{told}");
    assert!(ground.keeps("home/project/shots/2"), "{told}");
    assert!(!ground.at("home/project/made").exists() && !ground.keeps("home/project/src/main"), "{told}");
    // What can be taken back may go.
    let output = ground.shell("rm -rf shots");
    assert!(!ground.at("home/project/shots").exists(), "{}", stderr(&output));
}
