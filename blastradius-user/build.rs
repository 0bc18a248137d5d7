//! Builds the kernel side and hands the object to the library.
//!
//! eBPF needs another compiler and target than the rest, so this runs cargo once more, in a target directory of its own.
//! It does nothing without the feature `kernel` or for another system than Linux. `BLASTRADIUS_EBPF_OBJECT=PATH` takes an
//! object that was built elsewhere.

use std::{
    env, fs,
    ops::Range,
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
    println!("cargo:rustc-env=BLASTRADIUS_EBPF_OBJECT_PACKED={}", packed(&object).display());
}

/// The object without what a loader does not need, compressed: it would be a sixth of the program.
fn packed(object: &Path) -> PathBuf {
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("ebpf.lz4");
    let packed = fs::read(object).map(|mut content| {
        without_debug_sections(&mut content);
        lz4_flex::compress_prepend_size(&content)
    });
    match packed.and_then(|packed| fs::write(&output, packed)) {
        Ok(()) => output,
        Err(error) => give_up(&format!("cannot pack {}: {error}", object.display())),
    }
}

/// Clears the sections that are for a debugger, two thirds of the object, in place: the linker has made BTF of them, and
/// BTF is all that is loaded. Not every system has a `strip` that knows eBPF. What is no 64-bit little-endian ELF file
/// stays as it is.
fn without_debug_sections(content: &mut [u8]) {
    let debug = debug_sections(content).unwrap_or_default();
    for Section { header, body } in debug {
        content[body].fill(0);
        // sh_type becomes SHT_NULL: "other members of the section header have undefined values" (elf(5)).
        content[header + 4..header + 8].fill(0);
    }
}

struct Section {
    /// Where its header begins.
    header: usize,
    /// Where its content lies.
    body: Range<usize>,
}

/// The sections `.debug_*` and `.rel.debug_*`; `None` if the content is cut short.
fn debug_sections(content: &[u8]) -> Option<Vec<Section>> {
    let number = |at: usize, size: usize| {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(content.get(at..at.checked_add(size)?)?);
        usize::try_from(u64::from_le_bytes(bytes)).ok()
    };
    if !content.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    // The fields of Elf64_Ehdr and Elf64_Shdr, by their offsets.
    let (table, size, count, names) =
        (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?, number(0x3e, 2)?);
    let header = |index: usize| table.checked_add(index.checked_mul(size)?);
    let body = |header: usize| {
        let start = number(header + 0x18, 8)?;
        let end = start.checked_add(number(header + 0x20, 8)?)?;
        content.get(start..end).map(|_| start..end)
    };
    let names = content.get(body(header(names)?)?)?;
    let mut found = Vec::new();
    for index in 0..count {
        let header = header(index)?;
        let name = names.get(number(header, 4)?..)?;
        if name.starts_with(b".debug_") || name.starts_with(b".rel.debug_") {
            found.push(Section { header, body: body(header)? });
        }
    }
    Some(found)
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
    let Ok(entries) = fs::read_dir(directory) else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libcore-"))
}

fn nightly_has_source() -> bool {
    let output = Command::new("rustup").args(["run", "nightly", "rustc", "--print", "sysroot"]).output();
    let Ok(output) = output else { return false };
    let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    output.status.success() && sysroot.join("lib/rustlib/src/rust/library/core").is_dir()
}
