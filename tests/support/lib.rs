//! What the tests share: the cases and the machines that they describe.

pub mod cases;
pub mod counting;
pub mod fixture;
pub mod hostile;
pub mod incidents;

/// The binary under test: `BLASTRADIUS_BIN`, or the one that cargo built beside the tests.
///
/// # Panics
/// If there is none: a test of nothing must not pass.
pub fn binary() -> std::path::PathBuf {
    if let Some(path) = std::env::var_os("BLASTRADIUS_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().expect("the path of this test");
    // target/PROFILE/deps/TEST-HASH
    let profile = test.ancestors().nth(2).expect("a test lies in target/PROFILE/deps");
    let binary = profile.join("blastradius");
    assert!(
        binary.exists(),
        "{} is missing: cargo build -p blastradius-user, or set BLASTRADIUS_BIN",
        binary.display()
    );
    binary
}
