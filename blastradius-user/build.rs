//! Builds the kernel side and hands the object to the library.
//!
//! eBPF needs another compiler and target than the rest, so this runs cargo once more, in a target directory of its own.
//! It does nothing without the feature `kernel` or for another system than Linux. `BLASTRADIUS_EBPF_OBJECT=PATH` takes an
//! object that was built elsewhere.

use std::{
    env,
    path::{Path, PathBuf},
    process::{self, Command},
};

/// The linker version that the recipe is proved with.
const BPF_LINKER: &str = "bpf-linker-0.10.3";
const TARGET: &str = "bpfel-unknown-none";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var("PROFILE").as_deref() == Ok("release") {
        link_for_a_fast_start();
    }
    for name in ["BLASTRADIUS_EBPF_OBJECT", "BLASTRADIUS_BPF_LINKER", "BLASTRADIUS_BPF_RUSTC"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let wanted = env::var_os("CARGO_FEATURE_KERNEL").is_some();
    if !wanted || env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let object = match env::var_os("BLASTRADIUS_EBPF_OBJECT") {
        Some(given) => {
            let given = PathBuf::from(given);
            println!("cargo:rerun-if-changed={}", given.display());
            given
        }
        None => build(),
    };
    println!("cargo:rustc-env=BLASTRADIUS_EBPF_OBJECT_BUILT={}", object.display());
}

/// A guard that is started for every command must start like `/bin/true`. Most of what a start costs is memory that is
/// touched: a position-independent program has every pointer of its tables written at its start, a hundred pages of
/// them, and each shared library is mapped and bound. So a release has a fixed address, and libgcc in it.
fn link_for_a_fast_start() {
    let is = |name: &str, wanted: &str| env::var(name).as_deref() == Ok(wanted);
    if !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    println!("cargo:rustc-link-arg-bins=-no-pie");
    // For another architecture the host's compiler knows nothing of where its library lies.
    if env::var("HOST") != env::var("TARGET") {
        return;
    }
    let found = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output();
    let path =
        found.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    // The compiler answers with the bare name when it has no such file: libgcc stays shared.
    if let Some(directory) = Path::new(&path).parent().filter(|directory| directory.is_absolute()) {
        println!("cargo:rustc-link-search=native={}", directory.display());
        println!("cargo:rustc-link-lib=static=gcc_eh");
    }
}

/// Says in one line what is missing, and ends the build.
fn give_up(what: &str) -> ! {
    println!("cargo:warning={what}");
    eprintln!("error: {what}");
    process::exit(1)
}

fn build() -> PathBuf {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let workspace = manifest.parent().expect("the package lies in a workspace");
    let source = workspace.join("blastradius-ebpf");
    for watched in
        [&source.join("src"), &source.join("Cargo.toml"), &workspace.join("blastradius-common/src")]
    {
        println!("cargo:rerun-if-changed={}", watched.display());
    }
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("ebpf");
    let linker = find_linker();
    let compiler = find_compiler();

    let mut cargo = Command::new(&compiler.cargo);
    cargo.current_dir(&source).args(["build", "--release", "--locked", "--quiet", "--target", TARGET]);
    cargo.arg("--target-dir").arg(&output);
    cargo.arg("--config").arg(format!("target.{TARGET}.linker={:?}", linker.display().to_string()));
    // BTF-defined maps need debug information and BTF in the object.
    cargo.arg("--config").arg(format!("target.{TARGET}.rustflags=[\"-Cdebuginfo=2\",\"-Clink-arg=--btf\"]"));
    cargo.args(&compiler.arguments);
    // Flags and wrappers of the outer build are for another compiler.
    for name in [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTUP_TOOLCHAIN",
    ] {
        cargo.env_remove(name);
    }
    for (name, value) in &compiler.environment {
        cargo.env(name, value);
    }
    match cargo.status() {
        Ok(status) if status.success() => output.join(TARGET).join("release/blastradius-ebpf"),
        Ok(status) => give_up(&format!("building the eBPF object with {} failed: {status}", compiler.name)),
        Err(error) => give_up(&format!("cannot run {}: {error}", compiler.cargo)),
    }
}

fn find_linker() -> PathBuf {
    if let Some(given) = env::var_os("BLASTRADIUS_BPF_LINKER") {
        return given.into();
    }
    let on_path = env::var_os("PATH").and_then(|path| {
        env::split_paths(&path).map(|dir| dir.join("bpf-linker")).find(|file| file.is_file())
    });
    let cache = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let cached = cache.map(|cache| cache.join("blastradius/tools").join(BPF_LINKER).join("bin/bpf-linker"));
    match on_path.or(cached.filter(|file| file.is_file())) {
        Some(linker) => linker,
        None => give_up(
            "no bpf-linker: `cargo xtask setup` installs it, or `cargo install bpf-linker@0.10.3`, or set BLASTRADIUS_BPF_LINKER",
        ),
    }
}

/// A compiler that can make eBPF.
struct Compiler {
    name: &'static str,
    cargo: String,
    arguments: Vec<&'static str>,
    environment: Vec<(&'static str, String)>,
}

fn find_compiler() -> Compiler {
    if let Ok(rustc) = env::var("BLASTRADIUS_BPF_RUSTC") {
        return with_prebuilt_core("BLASTRADIUS_BPF_RUSTC", rustc);
    }
    if has_prebuilt_core(Path::new("/usr/bin/rustc")) {
        return with_prebuilt_core("Debian's rustc", "/usr/bin/rustc".to_owned());
    }
    if nightly_has_source() {
        return Compiler {
            name: "rustup's nightly",
            cargo: "cargo".to_owned(),
            arguments: vec!["-Zbuild-std=core"],
            environment: vec![("RUSTUP_TOOLCHAIN", "nightly".to_owned())],
        };
    }
    give_up(
        "no compiler for eBPF: install Debian's rustc-web and libstd-rust-web-dev-bpf, or `rustup toolchain install nightly -c rust-src`",
    )
}

fn with_prebuilt_core(name: &'static str, rustc: String) -> Compiler {
    let environment = vec![("RUSTC", rustc), ("RUSTC_BOOTSTRAP", "1".to_owned())];
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    Compiler { name, cargo, arguments: Vec::new(), environment }
}

/// Whether the compiler's library directory for the target holds a `core`.
fn has_prebuilt_core(rustc: &Path) -> bool {
    let output = Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output();
    let Ok(output) = output else { return false };
    let directory = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let Ok(entries) = std::fs::read_dir(directory) else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libcore-"))
}

fn nightly_has_source() -> bool {
    let output = Command::new("rustup").args(["run", "nightly", "rustc", "--print", "sysroot"]).output();
    let Ok(output) = output else { return false };
    let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    output.status.success() && sysroot.join("lib/rustlib/src/rust/library/core").is_dir()
}
