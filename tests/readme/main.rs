//! What the README shows is what the program prints.

use std::path::Path;
use std::process::Command;

/// The indented blocks that begin with `$ blastradius`: the command line, and what it prints.
fn examples(readme: &str) -> Vec<(String, String)> {
    let mut examples: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        match line.strip_prefix("    ") {
            Some(code) if code.starts_with("$ blastradius") => {
                examples.push((code[2..].to_owned(), String::new()));
                inside = true;
            }
            Some(code) if inside => {
                if let Some((_, printed)) = examples.last_mut() {
                    printed.push_str(code);
                    printed.push('\n');
                }
            }
            _ => inside = false,
        }
    }
    examples
}

#[test]
fn each_example_prints_what_the_page_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = std::fs::read_to_string(root.join("README.md")).expect("a README");
    let examples = examples(&readme);
    assert!(!examples.is_empty(), "the page has no example");
    let binary = blastradius_tests::binary();
    let directory = binary.parent().expect("a directory");
    for (command, shown) in examples {
        let path = format!("{}:/usr/bin:/bin", directory.display());
        let done = Command::new("/bin/sh")
            .args(["-c", &command])
            .env_clear()
            .envs([("PATH", path.as_str()), ("HOME", "/nonexistent")])
            .current_dir("/")
            .output()
            .expect("a shell");
        let printed = String::from_utf8_lossy(&done.stderr);
        assert_eq!(printed, shown, "{command}");
    }
}
