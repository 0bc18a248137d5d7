//! Archivers: tar(1), zip(1), 7z, rar, cpio(1), and compressors that replace what they compress.

use crate::policy::effect::{Act, Follow, Selection};
use crate::programs::landing::overlays;
use crate::programs::options::{Grammar, Parsed, flag, optional, value};
use crate::programs::wrappers::directory_base;
use crate::programs::{Call, Dialect, Machine, Program, Surroundings, acts, words};
use crate::shell::value::Field;

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("tar", tar),
    ("bsdtar", tar),
    ("zip", zip),
    ("unzip", unzip),
    ("7z", seven_zip),
    ("7za", seven_zip),
    ("7zr", seven_zip),
    ("7zz", seven_zip),
    ("rar", rar),
    ("cpio", cpio),
    ("gzip", compress),
    ("gunzip", compress),
    ("bzip2", compress),
    ("bunzip2", compress),
    ("xz", compress),
    ("unxz", compress),
    ("lzma", compress),
    ("zstd", zstd),
    ("unzstd", zstd),
];

/// tar(1) of GNU; bsdtar's long names are a subset, save for those at the end.
static TAR: Grammar = Grammar::new(&[
    flag("c", "create"),
    flag("x", "extract|get"),
    flag("t", "list"),
    flag("r", "append"),
    flag("u", "update"),
    flag("A", "catenate|concatenate"),
    flag("d", "diff|compare"),
    flag("", "delete"),
    flag("", "test-label"),
    value("f", "file"),
    value("C", "directory|cd"),
    flag("", "remove-files"),
    flag("O", "to-stdout"),
    flag("k", "keep-old-files"),
    flag("", "skip-old-files"),
    flag("P", "absolute-names|absolute-paths"),
    flag("", "recursive-unlink"),
    value("I", "use-compress-program|use-compress-prog"),
    value("", "to-command"),
    value("F", "info-script|new-volume-script"),
    value("", "checkpoint-action"),
    value("", "rsh-command|rmt-command"),
    value("TX", "files-from|exclude-from"),
    value(
        "bgLNVKH",
        "blocking-factor|listed-incremental|tape-length|newer|after-date|label|starting-file|format",
    ),
    value(
        "",
        "exclude|exclude-tag|exclude-ignore|transform|xform|strip-components|owner|group|mode|mtime|sort|suffix",
    ),
    value(
        "",
        "level|newer-mtime|hole-detection|sparse-version|warning|quoting-style|pax-option|owner-map|group-map",
    ),
    value(
        "",
        "uid|gid|uname|gname|options|passphrase|include|record-size|volno-file|xattrs-include|xattrs-exclude",
    ),
    optional("", "checkpoint|backup|atime-preserve|occurrence|totals|index-file|one-top-level"),
    flag(
        "ajJzZvpmohilnsSwWBEGMRU",
        "auto-compress|bzip2|xz|gzip|compress|verbose|zstd|lzip|lzma|lzop|unlink-first|overwrite",
    ),
]);

fn tar(call: &Call<'_>, machine: &mut dyn Machine) {
    let rewritten = with_dash(call.args);
    let parsed = TAR.read(rewritten.as_deref().unwrap_or(call.args));
    if parsed.informs() {
        return;
    }
    run_helpers(machine, &parsed);
    let archive = parsed.value("file").filter(|file| !is(file, "-"));
    if parsed.has("create") {
        if let Some(archive) = archive {
            acts::truncate(machine, archive);
            acts::creates(machine, archive);
        }
    } else if let Some(archive) = archive.filter(|_| parsed.has("delete")) {
        // Members go from an archive that is written in place.
        acts::path(machine, Act::Replace, archive, Follow::Last);
    }
    if parsed.has("remove-files") && parsed.has_any(&["create", "append", "update"]) {
        remove_members(machine, &parsed);
    }
    let keeps =
        parsed.has_any(&["keep-old-files", "skip-old-files", "to-stdout", "to-command", "one-top-level"]);
    if parsed.has("extract") && !keeps {
        let here = Field::literal(if parsed.has("absolute-names") { "/" } else { "." });
        overlays(machine, parsed.value("directory").unwrap_or(&here));
    }
}

fn is(field: &Field, text: &str) -> bool {
    field.as_known().as_deref() == Some(text)
}

/// A first word that is longer is no cluster of letters.
const MAX_LETTERS: usize = 32;

/// `tar czf a.tgz x`: the first word holds letters without a dash, and their arguments follow in order (tar(1),
/// "Option styles").
fn with_dash(args: &[Field]) -> Option<Vec<Field>> {
    let (first, rest) = args.split_first()?;
    let letters = first.as_known()?;
    if letters.is_empty()
        || letters.len() > MAX_LETTERS
        || letters.starts_with('-')
        || !letters.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        return None;
    }
    let mut rest = rest.iter();
    let mut rewritten = Vec::with_capacity(args.len() + letters.len());
    for letter in letters.chars() {
        let dashed = Field { source: first.source.clone(), ..Field::literal(&format!("-{letter}")) };
        let takes = "fCITXFbgLNVKH".contains(letter);
        rewritten.push(dashed);
        if takes {
            rewritten.extend(rest.next().cloned());
        }
    }
    rewritten.extend(rest.cloned());
    Some(rewritten)
}

/// Options whose value is a command that tar runs.
fn run_helpers(machine: &mut dyn Machine, parsed: &Parsed<'_>) {
    for option in ["use-compress-program", "to-command", "info-script", "rsh-command"] {
        for text in parsed.values(option) {
            machine.run_text(&text.text, Dialect::Posix, Vec::new(), Surroundings::default());
        }
    }
    const EXEC: &str = "exec=";
    for action in parsed.values("checkpoint-action") {
        if words::lead(&action.text).starts_with(EXEC) {
            let text = words::without_prefix(action, EXEC.len()).text;
            machine.run_text(&text, Dialect::Posix, Vec::new(), Surroundings::default());
        }
    }
}

/// Each member is read in the directory that the `-C` in front of it names.
fn remove_members(machine: &mut dyn Machine, parsed: &Parsed<'_>) {
    for (place, member) in parsed.operands.iter().enumerate() {
        let mut base = machine.cwd();
        let earlier =
            parsed.options.iter().filter(|seen| seen.after_operands <= place && seen.option.is("C"));
        for directory in earlier.filter_map(|seen| seen.value.as_ref()) {
            base = match (acts::location(directory, &base), directory_base(machine, directory)) {
                (Some(path), _) => crate::policy::effect::Base::Known(std::rc::Rc::new(path)),
                (None, unknown) => unknown,
            };
        }
        let act = Act::Remove { recursive: true };
        acts::at(machine, act, member, base, Follow::Never, Selection::default());
    }
}

/// zip(1) of Info-ZIP.
static ZIP: Grammar = Grammar::new(&[
    flag("m", "move"),
    flag("d", "delete"),
    flag("T", "test"),
    value("", "unzip-command"),
    value("bntOPsxi", "temp-path|suffixes|from-date|output-file|password|split-size|exclude|include"),
    flag(
        "rjquv0123456789yXDeFfglLkoAcwzJSh@",
        "recurse-paths|junk-paths|quiet|update|freshen|symlinks|latest-time",
    ),
]);

fn zip(call: &Call<'_>, machine: &mut dyn Machine) {
    // `-TT COMMAND` and `-dd`, `-ic` are options of two letters; only the first of them runs something.
    let mut args = Vec::with_capacity(call.args.len());
    let mut rest = call.args.iter();
    while let Some(word) = rest.next() {
        if is(word, "-TT") {
            if let Some(text) = rest.next() {
                machine.run_text(&text.text, Dialect::Posix, Vec::new(), Surroundings::default());
            }
        } else {
            args.push(word.clone());
        }
    }
    let parsed = ZIP.read(&args);
    if let Some(text) = parsed.value("unzip-command") {
        machine.run_text(&text.text, Dialect::Posix, Vec::new(), Surroundings::default());
    }
    let Some((archive, members)) = parsed.operands.split_first() else { return };
    if parsed.informs() {
        return;
    }
    if parsed.has("move") && !parsed.has("delete") {
        for member in members {
            acts::remove(machine, member, parsed.has("r"));
        }
    }
    acts::creates(machine, archive);
}

static UNZIP: Grammar = Grammar::new(&[
    flag("o", ""),
    flag("n", ""),
    flag("l", ""),
    flag("t", ""),
    flag("p", ""),
    flag("Z", ""),
    flag("v", ""),
    value("d", ""),
    value("PIx", ""),
    flag("qjaCLVKXfuzDMb:^", ""),
]);

fn unzip(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = UNZIP.read(call.args);
    let extracts = !parsed.has_any(&["l", "t", "p", "Z", "v", "n"]) && !parsed.operands.is_empty();
    if extracts {
        let here = Field::literal(".");
        overlays(machine, parsed.value("d").unwrap_or(&here));
    }
}

/// 7z: `7z VERB [-switches] ARCHIVE FILES…`; switches are one word each.
fn seven_zip(call: &Call<'_>, machine: &mut dyn Machine) {
    let is_switch = |word: &&Field| words::lead(&word.text).starts_with('-');
    let switches: Vec<_> = call.args.iter().filter(is_switch).filter_map(Field::as_known).collect();
    let operands: Vec<&Field> = call.args.iter().filter(|word| !is_switch(word)).collect();
    let Some((verb, rest)) = operands.split_first() else { return };
    let Some((archive, members)) = rest.split_first() else { return };
    match verb.as_known().as_deref() {
        Some("a" | "u") => {
            if switches.iter().any(|switch| &**switch == "-sdel") {
                for member in members {
                    acts::remove(machine, member, true);
                }
            }
            acts::creates(machine, archive);
        }
        Some("d") => acts::path(machine, Act::Replace, archive, Follow::Last),
        Some("x" | "e") => {
            let into = call.args.iter().find(|word| words::lead(&word.text).starts_with("-o"));
            let into = into.map_or_else(|| Field::literal("."), |word| words::without_prefix(word, 2));
            overlays(machine, &into);
        }
        _ => {}
    }
}

/// rar: `rar m` moves into the archive, `-df` and `-dw` delete afterwards.
fn rar(call: &Call<'_>, machine: &mut dyn Machine) {
    let is_switch = |word: &&Field| words::lead(&word.text).starts_with('-');
    let deletes =
        call.args.iter().filter_map(Field::as_known).any(|word| matches!(&*word, "-df" | "-dw" | "-dr"));
    let operands: Vec<&Field> = call.args.iter().filter(|word| !is_switch(word)).collect();
    let [verb, _archive, members @ ..] = operands.as_slice() else { return };
    let moves = matches!(verb.as_known().as_deref(), Some("m" | "mf"));
    if moves || deletes {
        for member in members {
            acts::remove(machine, member, true);
        }
    }
}

static CPIO: Grammar = Grammar::new(&[
    flag("i", "extract"),
    flag("p", "pass-through"),
    flag("o", "create"),
    flag("t", "list"),
    value("D", "directory"),
    value("FIOCEHMR", "file|block-size|pattern-file|format|message|owner|rsh-command|io-size"),
    flag("u", "unconditional"),
    flag(
        "0AaBcdfkLlmnrSsVvb",
        "null|append|make-directories|preserve-modification-time|quiet|no-absolute-filenames",
    ),
]);

/// cpio(1) overwrites older files as it unpacks.
fn cpio(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = CPIO.read(call.args);
    if parsed.informs() || parsed.has("list") {
        return;
    }
    let here = Field::literal(".");
    if parsed.has("extract") {
        overlays(machine, parsed.value("directory").unwrap_or(&here));
    } else if let (true, Some(target)) = (parsed.has("pass-through"), parsed.operands.last()) {
        overlays(machine, target);
    }
}

static COMPRESS: Grammar = Grammar::new(&[
    flag("r", "recursive"),
    flag("c", "stdout|to-stdout"),
    flag("k", "keep"),
    flag("l", "list"),
    flag("t", "test"),
    value("S", "suffix"),
    value("bTMFC", "threads|format|check|memlimit|files|files0"),
    flag(
        "dfnNqvzae123456789hLVs0",
        "decompress|uncompress|force|no-name|name|quiet|verbose|fast|best|extreme|compress",
    ),
]);

/// A compressor replaces a file by its compressed form, from which it can be had back. A whole tree of them is another
/// matter: nothing finds its files any more.
fn compress(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = COMPRESS.read(call.args);
    let keeps = parsed.has_any(&["stdout", "keep", "list", "test"]);
    if parsed.informs() || keeps || !parsed.has("recursive") {
        return;
    }
    for operand in &parsed.operands {
        acts::path(machine, Act::Move, operand, Follow::Never);
    }
}

static ZSTD: Grammar = Grammar::new(&[
    flag("", "rm"),
    flag("r", ""),
    flag("c", "stdout"),
    value("oDMT", "output-dir-flat|output-dir-mirror|filelist|threads|memory"),
    flag("dfkqvltzh0123456789", "decompress|force|keep|quiet|verbose|list|test|ultra|long|compress"),
]);

fn zstd(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = ZSTD.read(call.args);
    if parsed.informs() || parsed.has("stdout") || !parsed.has("rm") {
        return;
    }
    for operand in &parsed.operands {
        acts::path(machine, Act::Move, operand, Follow::Never);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn told(program: Program, line: &str) -> Vec<String> {
        Recorder::default().call(program, line).told()
    }

    #[test]
    fn creating_overwrites_the_archive() {
        for line in
            ["tar czf a.tgz x", "tar -czf a.tgz x", "tar -c -z -f a.tgz x", "tar --create --file=a.tgz x"]
        {
            assert_eq!(told(tar, line), ["truncate a.tgz"], "{line}");
        }
        assert!(told(tar, "tar cf - x").is_empty());
        assert!(told(tar, "tar tzf a.tgz").is_empty());
    }

    #[test]
    fn members_may_be_removed() {
        assert_eq!(
            told(tar, "tar --remove-files -cf a.tar x y"),
            ["truncate a.tar", "remove-tree x", "remove-tree y"]
        );
        let recorder = Recorder::default().call(tar, "tar -C / --remove-files -cf /tmp/a.tar home");
        let crate::policy::effect::Effect::Path { target, .. } = &recorder.effects[1] else {
            panic!("a path")
        };
        assert_eq!(target.base, crate::policy::effect::Base::Known(std::rc::Rc::new("/".into())));
        assert!(told(tar, "tar --remove-files -tf a.tar x").is_empty());
    }

    #[test]
    fn unpacking_over_a_system_root_is_told() {
        assert_eq!(told(tar, "tar -C / -xf a.tar"), ["replace / (what the source holds) contents"]);
        assert_eq!(told(tar, "tar xPf a.tar"), ["replace / (what the source holds) contents"]);
        assert!(told(tar, "tar xzf a.tgz -C /tmp/rel").is_empty());
        assert!(told(tar, "tar xkf a.tgz -C /").is_empty());
        assert_eq!(told(unzip, "unzip -o a.zip -d /etc"), ["replace /etc (what the source holds) contents"]);
    }

    #[test]
    fn helpers_of_tar_are_commands() {
        for line in [
            "tar cf a -I 'rm -rf x' y",
            "tar xf a --to-command='rm -rf x'",
            "tar cf a --checkpoint=1 --checkpoint-action=exec='rm -rf x' y",
        ] {
            assert_eq!(Recorder::default().call(tar, line).sourced(), ["rm -rf x"], "{line}");
        }
    }

    #[test]
    fn other_archivers_move_files_in() {
        assert_eq!(told(zip, "zip -rm a.zip d"), ["remove-tree d"]);
        assert!(told(zip, "zip -r a.zip d").is_empty());
        assert_eq!(told(seven_zip, "7z a -sdel a.7z d"), ["remove-tree d"]);
        assert!(told(seven_zip, "7z a a.7z d").is_empty());
        assert_eq!(told(rar, "rar m a.rar d"), ["remove-tree d"]);
        assert_eq!(Recorder::default().call(zip, "zip a b -T -TT 'rm -rf x'").sourced(), ["rm -rf x"]);
    }

    #[test]
    fn compressing_one_file_loses_nothing_and_a_tree_is_told() {
        assert!(told(compress, "gzip a").is_empty());
        assert!(told(compress, "gzip -rk /etc").is_empty());
        assert_eq!(told(compress, "gzip -r /etc"), ["move /etc"]);
        assert_eq!(told(zstd, "zstd --rm a"), ["move a"]);
    }
}
