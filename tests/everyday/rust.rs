//! cargo, with a crate that needs no other.

use crate::ground::{Ground, Need, can};

#[test]
fn cargo_builds_builds_again_and_cleans() {
    if !can(&[Need::Program("cargo"), Need::Program("cc")]) {
        return;
    }
    let ground = Ground::new();
    ground.write(
        "project/Cargo.toml",
        "[package]\nname = \"small\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[workspace]\n",
    );
    ground.write("project/src/main.rs", "fn main() {\n    println!(\"small\");\n}\n");
    // What an earlier build has left is not the session's.
    ground.before("cargo build --offline --quiet");
    ground.undisturbed(
        "sed -i s/small/smaller/ src/main.rs; cargo build --offline --quiet; target/debug/small | grep -x smaller
         cargo test --offline --quiet; cargo clean --quiet --package small; cargo build --offline --quiet --release
         cargo clean --quiet; [ ! -e target ]; cargo build --offline --quiet; target/debug/small | grep -x smaller",
    );
}
