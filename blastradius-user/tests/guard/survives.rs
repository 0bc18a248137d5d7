//! What programs do, and what survives.

use crate::ground::{Ground, stderr, stdout};

#[test]
fn python_may_empty_the_project_and_not_the_home() {
    let ground = Ground::new();
    // Spelled so that no reader of the text could know: the rung alone must hold.
    let script = "import os, shutil
rm = next(getattr(shutil, name) for name in dir(shutil) if name.startswith('rmt'))
rm('src')
rm(os.environ['HO' + 'ME'], ignore_errors=True)
";
    let output = ground.run(&[], &["python3", "-c", script]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!ground.at("home/project/src").exists());
    ground.assert_whole();
}

#[test]
fn a_build_that_makes_and_cleans_is_not_disturbed() {
    let ground = Ground::new();
    let output = ground.shell(
        "set -e; mkdir -p build/obj; for i in 1 2 3; do echo $i > build/obj/$i.o; done; cat build/obj/*.o > build/out; \
         sed -i s/worth/well/ README; mv build/out out; rm -rf build; d=$(mktemp -d); touch $d/x; rm -r $d; \
         echo 0 > /proc/self/oom_score_adj; : > /dev/null; grep -q well README; rm out",
    );
    assert!(output.status.success(), "{}", stderr(&output));
    ground.assert_whole();
}

#[test]
fn git_works_in_the_work_tree() {
    let ground = Ground::new();
    std::fs::remove_dir_all(ground.at("home/project/.git")).unwrap();
    assert!(ground.command("git").args(["init", "-q"]).status().unwrap().success());
    let output = ground.shell(
        "set -e; git config user.name x; git config user.email x@y; git add -A; git commit -qm one; \
         git checkout -q -b other; git mv README LIESMICH; git commit -qm two; git checkout -q -; git merge -q other; git branch -q -d other; \
         git stash -q || true; git gc -q; git status --short",
    );
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(ground.keeps("home/project/LIESMICH"));
}

#[test]
fn settings_can_be_edited_in_place_and_an_agents_own_saved_by_rename() {
    let ground = Ground::new();
    let output = ground.shell(
        "set -e; echo edited > ~/.bashrc; echo new > ~/.claude/settings.tmp; mv ~/.claude/settings.tmp ~/.claude/settings; \
         cat ~/.bashrc ~/.claude/settings",
    );
    assert_eq!(stdout(&output), "edited\nnew\n", "{}", stderr(&output));
}

#[test]
fn a_deep_tree_is_protected_and_in_scope_it_can_go() {
    let ground = Ground::new();
    let deep = "d/".repeat(200);
    for dir in ["home/photos", "home/project/src"] {
        std::fs::create_dir_all(ground.at(&format!("{dir}/{deep}"))).unwrap();
        ground.write(&format!("{dir}/{deep}file"));
    }
    let output = ground.shell("rm -rf src/d; rm -rf ../photos/d; true");
    assert!(output.status.success());
    assert!(!ground.at("home/project/src/d").exists());
    assert!(ground.keeps(&format!("home/photos/{deep}file")));
}

#[test]
fn a_path_longer_than_the_kernel_takes_is_protected_and_in_scope_it_can_go() {
    let ground = Ground::new();
    let make = "import os\nfor i in range(60):\n  os.mkdir('n' * 100); os.chdir('n' * 100)\nopen('file', 'w').close()\n";
    for dir in ["home/photos", "home/project/src"] {
        let status =
            ground.command("python3").args(["-c", make]).current_dir(ground.at(dir)).status().unwrap();
        assert!(status.success());
    }
    let count = "n=0; while cd n* 2>/dev/null; do n=$((n+1)); done; ls | grep -c file; echo $n";
    let output = ground.shell(&format!("rm -rf src/n*; rm -rf ../photos/n*; ls src; cd ../photos; {count}"));
    assert_eq!(stdout(&output), "main\n1\n60\n", "{}", stderr(&output));
}

#[test]
fn a_script_from_stdin_a_fifo_or_a_substitution_loses_nothing() {
    let ground = Ground::new();
    let script = ground.at("tmp/script");
    std::fs::write(&script, "rm -rf ~/photos ~/.ssh\n").unwrap();
    let mut command = ground.run(&[], &["bash"]);
    command.stdin(std::fs::File::open(&script).unwrap()).output().unwrap();
    ground.shell("bash <(echo 'rm -rf ~/photos ~/.ssh')");
    ground.shell("mkfifo f; (echo 'rm -rf ~/photos ~/.ssh' > f &); bash f; rm f");
    ground.shell("echo 'rm -rf ~/photos' > s.sh; (sleep 0.1; echo 'rm -rf ~/.ssh' > s.sh) & bash s.sh; wait; bash s.sh");
    ground.assert_whole();
}
