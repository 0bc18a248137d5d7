//! Which family reads which program.

use super::Program;

/// The family that reads calls of `name` (without directory), if any.
pub fn lookup(name: &str) -> Option<Program> {
    let _ = name;
    None
}

/// Whether destroying is what this program is for: its name in text that cannot be parsed is reason to refuse.
pub fn is_destructive(name: &str) -> bool {
    let _ = name;
    false
}
