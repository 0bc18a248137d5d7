//! Where do we keep what must outlive a process?

use std::path::PathBuf;

/// Our directory for logs, copies and the state of installed hooks, by this process's environment: `$XDG_STATE_HOME` (XDG
/// Base Directory Specification), else `~/.local/state`. `None`: neither variable holds an absolute path.
pub(crate) fn directory() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state =
        absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("blastradius"))
}
