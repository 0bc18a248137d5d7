//! What a page shows as typed.

use std::fs;
use std::path::{Path, PathBuf};

/// A page for people.
pub(crate) struct Page {
    /// Where it is, from the top of the clone.
    pub(crate) name: String,
    text: String,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

impl Page {
    /// The page with this name.
    pub(crate) fn read(name: &str) -> Self {
        let text = fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { name: name.to_owned(), text }
    }

    /// All of them.
    pub(crate) fn all() -> Vec<Self> {
        let mut names: Vec<String> =
            ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(str::to_owned).into();
        for entry in fs::read_dir(root().join("docs")).expect("docs") {
            let name = entry.expect("readable").file_name().into_string().expect("UTF-8");
            if name.ends_with(".md") {
                names.push(format!("docs/{name}"));
            }
        }
        names.sort();
        names.iter().map(|name| Self::read(name)).collect()
    }

    /// The cells of the rows below a table's heading, which begins with `first`.
    pub(crate) fn table(&self, first: &str) -> Vec<Vec<&str>> {
        let rows = self.text.lines().skip_while(|line| !line.starts_with(&format!("| {first} |"))).skip(2);
        let rows = rows.take_while(|line| line.starts_with('|')).map(|row| row.trim_matches('|'));
        rows.map(|row| row.split(" | ").map(str::trim).collect()).collect()
    }

    /// The indented blocks that begin with `$ blastradius`: the command line, and what it prints.
    pub(crate) fn examples(&self) -> Vec<(String, String)> {
        let mut examples: Vec<(String, String)> = Vec::new();
        let mut inside = false;
        for line in self.text.lines() {
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

    /// The lines of indented blocks, and what stands between backquotes: what someone may type. Examples with their output, and fenced
    /// blocks, which hold other things, are left out.
    pub(crate) fn code(&self) -> Vec<&str> {
        let mut found = Vec::new();
        let (mut fenced, mut example, mut prose) = (false, false, true);
        for line in self.text.lines() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
                continue;
            }
            if fenced {
                continue;
            }
            match line.strip_prefix("    ") {
                // An indented line that goes on from prose is no block.
                Some(code) if !prose => {
                    example |= code.starts_with('$');
                    if !example {
                        found.push(code.trim());
                    }
                }
                _ => {
                    example = false;
                    prose = !line.trim().is_empty();
                    found.extend(line.split('`').skip(1).step_by(2));
                }
            }
        }
        found
    }
}
