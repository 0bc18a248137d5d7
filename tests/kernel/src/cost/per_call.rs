//! A call at depth 8: creating, removing and renaming a file.

use std::{ffi::CString, path::Path, time::Instant};

use super::{Table, Under, places};

/// Calls of each kind in a round.
const CALLS: usize = 2_000;
/// Files of the deletion, unless said otherwise.
const FILES: usize = 20_000;
const UNLINK: usize = 1;

/// Prints the table: `deleted` files for the last line.
pub(super) fn run(deleted: Option<usize>) -> Result<(), String> {
    let (_, scope) = places();
    // Depth 8 from the root of the file system that the scratch directory is.
    let deep = scope.join("1/2/3/4/5/6");
    std::fs::create_dir_all(&deep).expect("made");
    let files = deleted.unwrap_or(FILES);
    let mut guarded = [0.0; 3];
    println!("depth 8, {CALLS} calls a round");
    let table = Table::measure(
        || calls(&deep, CALLS),
        |under: Under<'_>| {
            guarded = under.once(|| calls(&deep, files));
        },
    )?;
    let bare = Under::Nothing.once(|| calls(&deep, files));
    table.print(["create", "unlink", "rename"]);
    println!("to be at most 1.03 unguarded, 1.12 guarded");
    println!(
        "deleting {files} in-scope files at depth 8: {:.2} µs a file, {:.3} of unguarded",
        guarded[UNLINK] / 1e3,
        guarded[UNLINK] / bare[UNLINK]
    );
    Ok(())
}

/// Creates, renames and removes `files` files: nanoseconds per call.
fn calls(directory: &Path, files: usize) -> [f64; 3] {
    // Nothing but the calls is timed: what a program does between them would make the ratios look better.
    let name =
        |prefix: char, n| CString::new(format!("{}/{prefix}{n}", directory.display())).expect("no zero");
    let names: Vec<(CString, CString)> = (0..files).map(|n| (name('f', n), name('g', n))).collect();
    let each = |act: &dyn Fn(*const libc::c_char, *const libc::c_char) -> i32| {
        let begun = Instant::now();
        for (old, new) in &names {
            assert!(act(old.as_ptr(), new.as_ptr()) >= 0, "{}", std::io::Error::last_os_error());
        }
        begun.elapsed().as_nanos() as f64 / files as f64
    };
    // SAFETY: live strings that end in a zero; the descriptor is the one just opened.
    unsafe {
        let create = each(&|old, _| {
            libc::close(libc::open(old, libc::O_CREAT | libc::O_WRONLY | libc::O_EXCL, 0o644))
        });
        let rename = each(&|old, new| libc::rename(old, new));
        let unlink = each(&|_, new| libc::unlink(new));
        [create, unlink, rename]
    }
}
