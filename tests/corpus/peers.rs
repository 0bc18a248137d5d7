//! What switched other guards off must not switch this one off, and what they refused for no reason must pass.

use blastradius::analysis::{Report, Subject, analyze};
use blastradius::policy::mode::{Asker, Mode, Surface};
use blastradius::policy::{Policy, Start};
use blastradius::programs::Dialect;
use blastradius::shell::world::memory::MemoryWorld;
use blastradius_tests::cases::{self, Answer};
use blastradius_tests::fixture;

fn judged(command: &str, change: impl FnOnce(MemoryWorld) -> MemoryWorld) -> Report {
    let world = change(fixture::world(&cases::plain("")));
    let policy = Policy::load(&world, Start::default());
    let subject = Subject::Text { text: command.as_bytes().to_vec(), dialect: Dialect::Bash };
    analyze(&subject, &world, &policy, Asker { mode: Mode::Interactive, surface: Surface::Text })
}

fn answer(command: &str) -> Answer {
    Answer::of(judged(command, |world| world).verdict)
}

#[test]
fn a_work_tree_of_another_user_and_a_path_without_git_disarm_nothing() {
    let changes: [fn(MemoryWorld) -> MemoryWorld; 2] =
        [|world| world.owner("/home/dev/proj", 4242), |world| world.env("PATH", "/nonexistent")];
    for change in changes {
        for (command, expected) in [
            ("rm -rf ~", Answer::Deny),
            ("git reset --hard", Answer::Confirm),
            ("git clean -fdx", Answer::Confirm),
            ("rm -rf .git", Answer::Confirm),
            ("rm -rf build", Answer::Allow),
        ] {
            assert_eq!(Answer::of(judged(command, change).verdict), expected, "{command}");
        }
    }
}

#[test]
fn many_commands_and_deep_nesting_hide_nothing() {
    let many = "true; ".repeat(30_000);
    assert_eq!(answer(&format!("{many}rm -rf /etc")), Answer::Deny);
    for depth in [20, 170, 1000] {
        let nested = format!("{}rm -rf /etc{}", "( ".repeat(depth), " )".repeat(depth));
        assert_eq!(answer(&nested), Answer::Deny, "{depth} deep");
    }
    assert_eq!(answer(&format!("{}rm -rf build{}", "( ".repeat(20), " )".repeat(20))), Answer::Allow);
}

#[test]
fn size_alone_neither_hides_nor_condemns() {
    let padding = " ".repeat(200_000);
    assert_eq!(answer(&format!("rm -rf{padding}/etc")), Answer::Deny);
    assert_eq!(answer(&format!("echo '{}'\nrm -rf /etc", "x".repeat(200_000))), Answer::Deny);
    assert_eq!(
        answer(&format!("cat > notes.md <<'EOF'\n{}EOF\n", "a line of text\n".repeat(8_000))),
        Answer::Allow
    );
    assert_eq!(answer(&format!("echo '{}'", "x".repeat(100_000))), Answer::Allow);
}

#[test]
fn a_word_in_front_or_in_another_argument_disarms_no_rule() {
    for command in [
        "FOO=1 rm -rf /",
        "LC_ALL=C FOO='a b' rm -rf ~",
        "mkfs.ext4 -L lsblk /dev/sdb1",
        "dd if=/dev/zero of=/dev/sda 2>> /var/log/lsblk.log",
        "rm -rf /etc # --dry-run --help",
        "rm -rf /etc -- --help",
        "echo lsblk; rm -rf /etc",
    ] {
        assert_eq!(answer(command), Answer::Deny, "{command}");
    }
}

#[test]
fn several_lines_and_a_leading_dot_are_no_offence() {
    for command in
        ["rm -rf ./build", "cd build\nmake\nrm -f a.o\n", "set -e\n\nnpm ci\nnpm test\n", "ls\n# done\n"]
    {
        assert_eq!(answer(command), Answer::Allow, "{command}");
    }
}
