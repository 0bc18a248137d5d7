//! Which test runs a command that a page shows?

/// Who says that it works.
pub(crate) enum By {
    /// Something with this name in this file.
    Test(&'static str, &'static str),
    /// Nobody here: it is for another system, and why.
    Elsewhere(#[expect(dead_code, reason = "for who reads the table")] &'static str),
}

use By::{Elsewhere, Test};

const STEPS: &str = "xtask/src/test/steps.rs";

/// Each beginning of a command; the first that fits counts.
pub(crate) const ACCOUNTED: &[(&str, By)] = &[
    ("cargo xtask", Test("xtask/src/main.rs", "fn each_task_that_a_page_shows_is_understood")),
    (
        concat!("sudo apt install ./target/package/blastradius_", env!("CARGO_PKG_VERSION"), "_amd64.deb"),
        Test("tests/packages/debian.rs", "fn the_debian_package_works_on_a_fresh_debian_and_leaves_nothing"),
    ),
    (
        concat!(
            "pip install target/package/blastradius_guard-",
            env!("CARGO_PKG_VERSION"),
            "-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl"
        ),
        Test("tests/packages/wheel.rs", "fn the_wheel_works_in_a_fresh_environment"),
    ),
    (
        concat!(
            "npm install --global ./target/package/blastradius-guard-",
            env!("CARGO_PKG_VERSION"),
            ".tgz"
        ),
        Test("tests/packages/npm.rs", "fn the_npm_package_works_in_a_fresh_prefix"),
    ),
    (
        "cargo install --locked --path blastradius-user --no-default-features",
        Test(STEPS, "without the kernel side"),
    ),
    (
        "cargo install --locked --path blastradius-user",
        Test("tests/packages/source.rs", "fn the_source_archive_installs_offline"),
    ),
    (
        "cargo build --release --locked --package blastradius-user",
        Test("tests/packages/source.rs", "fn the_source_archive_installs_offline"),
    ),
    (
        "cargo install --locked --path packaging/otlp",
        Test("packaging/otlp/tests/collector.rs", "fn each_record_is_sent_once"),
    ),
    ("cargo test -p blastradius-user --lib", Test(STEPS, "unit and integration tests")),
    ("cargo test", Test(STEPS, "unit and integration tests")),
    ("cargo deny", Elsewhere("its database comes over the network")),
    (
        "sudo blastradius",
        Test("tests/readme/main.rs", "fn each_command_of_ours_that_a_page_shows_is_in_the_help"),
    ),
    (
        "sudo ./target/release/blastradius",
        Test("tests/readme/main.rs", "fn each_command_of_ours_that_a_page_shows_is_in_the_help"),
    ),
    (
        "sudo -E blastradius",
        Test("tests/readme/main.rs", "fn each_command_of_ours_that_a_page_shows_is_in_the_help"),
    ),
    (
        "kubectl apply -k packaging/kubernetes",
        Elsewhere("a cluster; tests/containers/node.rs has runc do what it asks for"),
    ),
    ("kubectl exec", Elsewhere("no instruction: what it starts is spoken of")),
    ("docker ", Elsewhere("a machine with a container engine")),
    ("git ", Elsewhere("no instruction: what git does is spoken of")),
];
