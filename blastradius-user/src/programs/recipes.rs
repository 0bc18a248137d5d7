//! Recipes that a name stands for: Makefile targets, package scripts, justfile recipes, and what `cargo clean` removes.
//!
//! Where the file can be read, its lines are handed to a shell as text that stands in a file; where it cannot, nothing
//! is said: the commands are judged when they run.

use std::rc::Rc;

use crate::policy::effect::Base;
use crate::programs::options::{Grammar, flag, optional, value};
use crate::programs::verbs::word;
use crate::programs::{Call, Dialect, Input, Machine, Program, Surroundings, acts, git, inline, packages};
use crate::shell::value::{Abstract, Field};

mod justfile;
mod makefile;

/// The programs of this family.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("make", make),
    ("gmake", make),
    ("just", just),
    ("cmake", cmake),
    ("cargo", cargo),
    ("npm", node_scripts),
    ("pnpm", node_scripts),
    ("yarn", node_scripts),
    ("bun", node_scripts),
    ("npm-run-all", npm_run_all),
    ("run-s", npm_run_all),
    ("run-p", npm_run_all),
    ("composer", composer),
];

/// The file `name` in the directory in which a program runs.
fn file_in(base: &Base, name: &str) -> Option<Field> {
    match base {
        Base::Known(directory) => Some(Field::literal(&directory.join(name).to_string_lossy())),
        Base::OneOf(_) | Base::Unknown(_) => None,
    }
}

/// Where the text of a recipe runs.
fn surroundings(base: &Base, file: &Field) -> Surroundings {
    Surroundings { cwd: Some(base.clone()), script: Some(Rc::clone(&file.source)), ..Surroundings::default() }
}

static MAKE: Grammar = Grammar::new(&[
    value("C", "directory"),
    value("f", "file|makefile"),
    value("I", "include-dir"),
    value("o", "old-file|assume-old"),
    value("W", "what-if|new-file|assume-new"),
    value("", "eval"),
    optional("j", "jobs"),
    optional("l", "load-average"),
    optional("O", "output-sync"),
    optional("", "debug"),
    flag("n", "just-print|dry-run|recon"),
    flag("q", "question"),
    flag("t", "touch"),
    flag("p", "print-data-base"),
    flag("h", "help"),
    flag("v", "version"),
    flag("BbdeEikLmrRsSw", "always-make|environment-overrides|ignore-errors|keep-going|silent|quiet"),
]);

/// make(1): the recipes of the targets that are asked for and of what they depend on.
fn make(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = MAKE.read(call.args);
    if parsed.has_any(&["n", "question", "touch", "help", "version"]) {
        return;
    }
    let mut base = machine.cwd();
    for directory in parsed.values("directory") {
        base = git::enter(&base, directory);
    }
    let given = parsed.value("file").map(|file| word(file).into_owned());
    let names = match &given {
        Some(name) => vec![name.as_str()],
        // The order in which GNU make looks for them.
        None => vec!["GNUmakefile", "makefile", "Makefile"],
    };
    let (file, text) = match (given.as_deref(), machine.stdin()) {
        (Some("-" | "/dev/stdin"), Input::Text(text)) => (Field::literal("-"), text),
        _ => {
            let files: Vec<Field> = names.iter().filter_map(|name| file_in(&base, name)).collect();
            let read = files.iter().find_map(|file| Some((file.clone(), machine.read_file(file)?)));
            read.unwrap_or_else(|| (Field::literal("--eval"), Abstract::default()))
        }
    };
    let Some(text) = text.as_known() else { return };
    let mut whole = String::new();
    for line in parsed.values("eval").filter_map(Field::as_known) {
        whole.push_str(&line);
        whole.push('\n');
    }
    whole.push_str(&text);
    let text = whole;
    let mut makefile = makefile::Makefile::read(&text);
    let mut targets = Vec::new();
    for operand in &parsed.operands {
        match crate::programs::words::assignment(operand) {
            Some((name, value)) => makefile.set(&name, value),
            None => targets.push(word(operand).into_owned()),
        }
    }
    for text in makefile.read_time(machine) {
        machine.run_text(&text, Dialect::Posix, Vec::new(), surroundings(&base, &file));
    }
    for line in makefile.recipes(&targets, machine) {
        machine.run_text(&line, Dialect::Posix, Vec::new(), surroundings(&base, &file));
    }
}

/// just(1): the lines of the recipes that are asked for.
fn just(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("f", "justfile"),
        value("d", "working-directory"),
        value("", "set|shell|dotenv-path|color"),
        flag("n", "dry-run"),
        flag("l", "list"),
        flag("s", "show"),
        flag("", "summary|choose|evaluate|dump|fmt|init|edit"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    if parsed.informs() || parsed.has_any(&["dry-run", "list", "show", "summary"]) {
        return;
    }
    let base = machine.cwd();
    let given = parsed.value("justfile").map(|file| word(file).into_owned());
    let names = given.as_deref().map_or_else(|| vec!["justfile", "Justfile", ".justfile"], |name| vec![name]);
    let files: Vec<Field> = names.iter().filter_map(|name| file_in(&base, name)).collect();
    let read = files.iter().find_map(|file| Some((file.clone(), machine.read_file(file)?)));
    let Some((file, text)) = read else { return };
    let Some(text) = text.as_known() else { return };
    for line in justfile::lines(&text, &parsed.operands, machine) {
        machine.run_text(&line, Dialect::Posix, Vec::new(), surroundings(&base, &file));
    }
}

/// cmake(1): `-E` stands in for the system's own tools.
fn cmake(call: &Call<'_>, machine: &mut dyn Machine) {
    const TOOLS: &[(&str, &[&str])] = &[
        ("rm", &["rm"]),
        ("remove", &["rm", "-f"]),
        ("remove_directory", &["rm", "-rf"]),
        ("rename", &["mv"]),
        ("copy", &["cp"]),
        ("copy_if_different", &["cp"]),
        ("copy_directory", &["cp", "-rT"]),
        ("tar", &["tar"]),
        ("env", &["env"]),
        ("time", &["time"]),
        ("chdir", &["env", "-C"]),
    ];
    let [option, verb, args @ ..] = call.args else { return };
    let tool = TOOLS.iter().find(|(name, _)| word(option) == "-E" && word(verb) == *name);
    if let Some((_, argv)) = tool {
        let argv = argv.iter().map(|name| Field::literal(name)).chain(args.iter().cloned()).collect();
        machine.run_argv(argv, Surroundings::default());
    }
}

/// cargo-clean(1): the target directory goes; where it lies, options and variables say.
fn cargo(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("", "target-dir"),
        value("", "manifest-path"),
        value("p", "package"),
        value("", "target|profile|config|color"),
        value("C", ""),
        value("Z", ""),
        flag("n", "dry-run"),
        flag("rvq", "release|doc|frozen|locked|offline|verbose|quiet"),
    ]);
    // `cargo +nightly clean` names a toolchain first.
    let args: Vec<Field> = call.args.iter().filter(|arg| !word(arg).starts_with('+')).cloned().collect();
    let parsed = GRAMMAR.read(&args);
    if parsed.operands.first().is_none_or(|verb| word(verb) != "clean") {
        return packages::manage(call, machine);
    }
    // With `-p` only what belongs to one package goes.
    if parsed.informs() || parsed.has_any(&["dry-run", "package"]) {
        return;
    }
    let set = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"].iter().find_map(|name| machine.variable(name));
    let directory = match (parsed.value("target-dir"), set) {
        (Some(given), _) => given.clone(),
        (None, Some(text)) => Field { text, glob: None, source: "$CARGO_TARGET_DIR".into(), tilde: false },
        (None, None) => Field::literal("target"),
    };
    acts::remove(machine, &directory, true);
}

/// Scripts of `package.json` that run when its dependencies are installed.
const INSTALL_HOOKS: &[&str] =
    &["preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare"];

/// Programs of packages that remove or carry commands: `yarn rimraf dist`.
const PACKAGE_PROGRAMS: &[&str] = &[
    "rimraf",
    "del-cli",
    "del",
    "trash",
    "trash-cli",
    "shx",
    "cross-env",
    "concurrently",
    "nodemon",
    "dotenv",
    "env-cmd",
    "tsx",
    "ts-node",
    "node",
    "prisma",
    "sequelize",
    "sequelize-cli",
    "typeorm",
    "knex",
    "cdk",
    "sls",
    "serverless",
    "wrangler",
    "vercel",
    "netlify",
    "firebase",
    "supabase",
];

/// Verbs that run a script of their own name.
const SCRIPT_VERBS: &[&str] = &["test", "start", "stop", "restart"];

static NODE: Grammar = Grammar::new(&[
    value("C", "prefix|dir|cwd"),
    value("w", "workspace|filter"),
    value("e", "eval"),
    value("", "registry|loglevel|userconfig"),
    flag("s", "silent"),
    flag("", "if-present|ignore-scripts|workspaces|recursive|dry-run"),
])
.in_order()
.exact();

/// `npm run NAME`, `yarn NAME`, …: the script of that name in `package.json`, with what runs before and after it.
fn node_scripts(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = NODE.read(call.args);
    if call.name == "bun"
        && let Some(code) = parsed.value("eval")
    {
        return inline::javascript(&code.text.clone(), parsed.rest, machine);
    }
    let mut base = machine.cwd();
    for directory in parsed.values("C") {
        base = git::enter(&base, directory);
    }
    let Some((verb, rest)) = parsed.rest.split_first() else { return };
    // npm reads its own options wherever they stand, up to `--`.
    let own = rest.iter().take_while(|arg| word(arg) != "--").count();
    let (rest, prefix) = if call.name == "npm" { without_prefix(rest, own) } else { (rest.to_vec(), None) };
    if let Some(prefix) = prefix {
        base = git::enter(&base, &prefix);
    }
    let rest = rest.as_slice();
    let verb = word(verb).into_owned();
    let (script, args) = match verb.as_str() {
        "run" | "run-script" | "rum" | "urn" => {
            let skipped = rest.iter().take_while(|arg| word(arg).starts_with('-')).count();
            match rest.get(skipped..).and_then(<[Field]>::split_first) {
                Some((name, args)) => (word(name).into_owned(), args),
                None => return,
            }
        }
        "t" | "tst" => ("test".to_owned(), rest),
        verb if SCRIPT_VERBS.contains(&verb) => (verb.to_owned(), rest),
        // yarn, pnpm and bun run a script whose name is no verb of theirs.
        verb if call.name != "npm" => (verb.to_owned(), rest),
        "install" | "i" | "ci" | "add" if call.name == "npm" => {
            // Without a package it is the project's own dependencies, and the project's own hooks run.
            if rest.iter().all(|arg| word(arg).starts_with('-')) && !parsed.has("ignore-scripts") {
                for hook in INSTALL_HOOKS {
                    run_hook(machine, &base, hook);
                }
            }
            return packages::manage(call, machine);
        }
        _ => return packages::manage(call, machine),
    };
    if !run_script(machine, &base, &script, args) {
        if call.name == "bun" && script.ends_with(['s', 'x']) && script.contains('.') {
            return inline::javascript_file(&Field::literal(&script), args, machine);
        }
        // yarn and pnpm run a package's program by its name.
        if call.name != "npm" && PACKAGE_PROGRAMS.contains(&script.as_str()) {
            let argv = [&[Field::literal(&script)], args].concat();
            return machine.run_argv(argv, Surroundings { cwd: Some(base), ..Surroundings::default() });
        }
        packages::manage(call, machine);
    }
}

/// The words without `--prefix DIR` among the first `own`, and that directory.
fn without_prefix(words: &[Field], own: usize) -> (Vec<Field>, Option<Field>) {
    let given = words[..own].iter().position(|arg| {
        let known = word(arg);
        known == "--prefix" || known == "-C" || known.starts_with("--prefix=")
    });
    let Some(at) = given else { return (words.to_vec(), None) };
    let glued = word(&words[at]).starts_with("--prefix=");
    let directory = if glued {
        Some(crate::programs::words::without_prefix(&words[at], "--prefix=".len()))
    } else {
        words.get(at + 1).cloned()
    };
    let behind = words.get(at + if glued { 1 } else { 2 }..).unwrap_or_default();
    ([&words[..at], behind].concat(), directory)
}

/// npm-run-all: each operand is a script, or a pattern of names with `*` for what holds no colon and `**` for anything.
fn npm_run_all(call: &Call<'_>, machine: &mut dyn Machine) {
    let base = machine.cwd();
    let Some((_, scripts)) = package_scripts(machine, &base) else { return };
    for operand in call.args.iter().map(word).filter(|arg| !arg.starts_with('-')) {
        // `'build -- --watch'`: a name, and what its script is given.
        let pattern = operand.split_whitespace().next().unwrap_or_default();
        let lead = pattern.split('*').next().unwrap_or_default();
        let is_meant = |name: &str| {
            if lead.len() == pattern.len() {
                return name == pattern;
            }
            name.strip_prefix(lead).is_some_and(|rest| pattern.ends_with("**") || !rest.contains(':'))
        };
        for (name, _) in scripts.iter().filter(|(name, _)| is_meant(name)) {
            run_script(machine, &base, name, &[]);
        }
    }
}

/// A file of settings in a directory, and what it holds.
fn json_in(machine: &mut dyn Machine, base: &Base, name: &str) -> Option<(Field, serde_json::Value)> {
    let file = file_in(base, name)?;
    let text = machine.read_file(&file)?;
    let value = serde_json::from_str(&text.as_known()?).ok()?;
    Some((file, value))
}

/// `composer run NAME`, `composer NAME`: the scripts of `composer.json`.
fn composer(call: &Call<'_>, machine: &mut dyn Machine) {
    let mut words = call.args.iter().map(word).filter(|arg| !arg.starts_with('-'));
    let name = match words.next().as_deref() {
        Some("run" | "run-script") => words.next().map(|name| name.into_owned()),
        other => other.map(str::to_owned),
    };
    let base = machine.cwd();
    let project = json_in(machine, &base, "composer.json");
    let scripts = project.as_ref().and_then(|(file, project)| Some((file, project.get("scripts")?)));
    if let (Some(name), Some((file, scripts))) = (name, scripts) {
        let mut texts = Vec::new();
        composer_texts(scripts, &name, &mut Vec::new(), &mut texts);
        if !texts.is_empty() {
            for text in texts {
                machine.run_text(
                    &Abstract::known(text),
                    Dialect::Posix,
                    Vec::new(),
                    surroundings(&base, file),
                );
            }
            return;
        }
    }
    packages::manage(call, machine);
}

/// The texts that a script of composer stands for. `@name` is another one, `@php` the interpreter, `Class::method` no text.
fn composer_texts<'s>(
    scripts: &'s serde_json::Value,
    name: &'s str,
    seen: &mut Vec<&'s str>,
    texts: &mut Vec<&'s str>,
) {
    const MOST: usize = 100;
    if seen.len() >= MOST || seen.contains(&name) {
        return;
    }
    seen.push(name);
    let lines = match scripts.get(name) {
        Some(serde_json::Value::String(line)) => vec![line.as_str()],
        Some(serde_json::Value::Array(lines)) => lines.iter().filter_map(serde_json::Value::as_str).collect(),
        _ => return,
    };
    for line in lines {
        match line.strip_prefix('@').map(|rest| (rest, rest.split(' ').next().unwrap_or_default())) {
            Some((text, "php" | "composer")) => texts.push(text),
            Some((_, "putenv")) => {}
            Some((_, other)) => composer_texts(scripts, other, seen, texts),
            None if line.contains("::") && !line.contains(' ') => {}
            None => texts.push(line),
        }
    }
}

/// `deno task NAME`: the tasks of `deno.json`, else the scripts of `package.json`.
pub(crate) fn deno_task(args: &[Field], machine: &mut dyn Machine) {
    let Some(name) = args.iter().map(word).find(|arg| !arg.starts_with('-')) else { return };
    let base = machine.cwd();
    for file in ["deno.json", "deno.jsonc"] {
        let Some((file, project)) = json_in(machine, &base, file) else { continue };
        let task = project.get("tasks").and_then(|tasks| tasks.get(&*name));
        let text = task.and_then(|task| task.as_str().or_else(|| task.get("command")?.as_str()));
        if let Some(text) = text {
            return machine.run_text(
                &Abstract::known(text),
                Dialect::Posix,
                Vec::new(),
                surroundings(&base, &file),
            );
        }
    }
    run_script(machine, &base, &name, &[]);
}

/// Runs one script of `package.json`, without what runs before and after it.
fn run_hook(machine: &mut dyn Machine, base: &Base, name: &str) {
    let Some((file, scripts)) = package_scripts(machine, base) else { return };
    for (_, script) in scripts.iter().filter(|(known, _)| known == name) {
        machine.run_text(&Abstract::known(script), Dialect::Posix, Vec::new(), surroundings(base, &file));
    }
}

/// Runs a script of `package.json`. Returns whether there is one.
fn run_script(machine: &mut dyn Machine, base: &Base, name: &str, args: &[Field]) -> bool {
    let Some((file, scripts)) = package_scripts(machine, base) else { return false };
    let get = |name: &str| scripts.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str());
    if get(name).is_none() {
        return false;
    }
    for (step, name) in [format!("pre{name}"), name.to_owned(), format!("post{name}")].iter().enumerate() {
        let Some(script) = get(name) else { continue };
        let mut text = Abstract::known(script);
        // What is given behind the name is appended to the script itself.
        for arg in args.iter().filter(|arg| step == 1 && word(arg) != "--") {
            text.push_text(" ");
            text.push(&quoted(arg));
        }
        machine.run_text(&text, Dialect::Posix, Vec::new(), surroundings(base, &file));
    }
    true
}

/// The `package.json` in a directory, and its scripts.
fn package_scripts(machine: &mut dyn Machine, base: &Base) -> Option<(Field, Vec<(String, String)>)> {
    let (file, package) = json_in(machine, base, "package.json")?;
    let scripts = package.get("scripts")?.as_object()?;
    let text =
        |(name, script): (&String, &serde_json::Value)| Some((name.clone(), script.as_str()?.to_owned()));
    Some((file, scripts.iter().filter_map(text).collect()))
}

/// An argument as a word of shell text.
fn quoted(arg: &Field) -> Abstract {
    match arg.as_known() {
        Some(known) => Abstract::known(&format!("'{}'", known.replace('\'', r"'\''"))),
        None => {
            let mut text = Abstract::known("\"");
            text.push(&arg.text);
            text.push_text("\"");
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    const MAKEFILE: &str = "OUT := build\nDEST = $(OUT)/x\nall: lib\n\techo all\nlib:\n\t@mkdir -p $(OUT)\n\
                            clean: wipe\n\t-rm -rf $(DEST) $(NONE)\nwipe:\n\trm -f *.o \\\n\t  *.a\n.PHONY: clean\n";

    fn sourced(program: Program, line: &str) -> Vec<String> {
        let recorder = Recorder::default()
            .file("Makefile", MAKEFILE)
            .file("justfile", "set shell := [\"sh\"]\nbuild:\n    cargo build\n\nclean target='x':\n    @rm -rf {{target}} out\n")
            .file(
                "package.json",
                r#"{"scripts": {"clean": "rimraf dist", "preclean": "echo pre", "test": "node x.js", "build": "tsc"}}"#,
            );
        let recorder = recorder.call(program, line);
        recorder.sourced().into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn targets_run_their_recipes_and_what_they_depend_on() {
        assert_eq!(sourced(make, "make clean"), ["rm -f *.o *.a", "rm -rf build/x "]);
        assert_eq!(sourced(make, "make"), ["mkdir -p build", "echo all"]);
        assert_eq!(sourced(make, "make -j4 OUT=/etc clean"), ["rm -f *.o *.a", "rm -rf /etc/x "]);
        assert_eq!(sourced(make, "make -C elsewhere clean"), [""; 0]);
        assert_eq!(sourced(make, "make -n clean"), [""; 0]);
        assert_eq!(sourced(make, "make nothing"), [""; 0]);
    }

    #[test]
    fn package_scripts_run_with_their_arguments() {
        assert_eq!(sourced(node_scripts, "npm run clean"), ["echo pre", "rimraf dist"]);
        assert_eq!(
            sourced(node_scripts, "npm run -s clean -- --glob 'a b'"),
            ["echo pre", "rimraf dist '--glob' 'a b'"]
        );
        assert_eq!(sourced(node_scripts, "npm test"), ["node x.js"]);
        assert_eq!(sourced(node_scripts, "yarn clean"), ["echo pre", "rimraf dist"]);
        assert_eq!(sourced(node_scripts, "pnpm build"), ["tsc"]);
        assert_eq!(sourced(node_scripts, "npm run"), [""; 0]);
        assert_eq!(sourced(node_scripts, "npm run absent"), [""; 0]);
    }

    #[test]
    fn options_of_npm_stand_anywhere_and_other_runners_are_read() {
        let scripts =
            r#"{"scripts": {"wipe": "rm -rf out", "wipe:a": "rm a", "wipe:b": "rm b", "wipe:b:c": "rm c"}}"#;
        let ran = |program: Program, line: &str| {
            let recorder =
                Recorder::default().file("sub/package.json", scripts).file("package.json", scripts).file(
                    "composer.json",
                    r#"{"scripts": {"clean": ["@wipe", "A::b", "@php x.php"], "wipe": "rm -rf out"}}"#,
                );
            recorder.call(program, line).sourced().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(ran(node_scripts, "npm run wipe --prefix sub"), ["rm -rf out"]);
        assert_eq!(ran(node_scripts, "npm run wipe --prefix=none"), [""; 0]);
        assert_eq!(ran(node_scripts, "npm run wipe -- --prefix sub"), ["rm -rf out '--prefix' 'sub'"]);
        assert_eq!(ran(npm_run_all, "npm-run-all -s wipe"), ["rm -rf out"]);
        assert_eq!(ran(npm_run_all, "run-p 'wipe:*'"), ["rm a", "rm b"]);
        assert_eq!(ran(npm_run_all, "run-s 'wipe:**'"), ["rm a", "rm b", "rm c"]);
        assert_eq!(ran(composer, "composer run-script clean"), ["rm -rf out", "php x.php"]);
        assert_eq!(ran(composer, "composer wipe"), ["rm -rf out"]);
        assert_eq!(ran(composer, "composer install"), [""; 0]);
    }

    #[test]
    fn package_managers_still_manage() {
        assert_eq!(
            Recorder::default().call(node_scripts, "npm publish").told(),
            ["[outward-action default] "]
        );
        assert_eq!(Recorder::default().call(cargo, "cargo publish").told(), ["[outward-action default] "]);
        assert!(Recorder::default().call(node_scripts, "npm install").is_harmless());
        assert!(Recorder::default().call(node_scripts, "yarn add x").is_harmless());
    }

    #[test]
    fn cmake_stands_in_for_the_tools_of_the_system() {
        let ran = |line: &str| {
            let recorder = Recorder::default().call(cmake, line);
            recorder.ran().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(ran("cmake -E remove_directory build"), ["rm -rf build"]);
        assert_eq!(ran("cmake -E env X=1 rm x"), ["env X=1 rm x"]);
        assert_eq!(ran("cmake -E touch x"), [""; 0]);
        assert_eq!(ran("cmake --build build --target clean"), [""; 0]);
    }

    #[test]
    fn just_runs_the_lines_of_a_recipe() {
        assert_eq!(sourced(just, "just"), ["cargo build"]);
        assert_eq!(sourced(just, "just clean"), ["rm -rf x out"]);
        assert_eq!(sourced(just, "just --list"), [""; 0]);
    }

    #[test]
    fn cargo_clean_removes_the_target_directory() {
        let told = |line: &str| Recorder::default().call(cargo, line).told();
        assert_eq!(told("cargo clean"), ["remove-tree target"]);
        assert_eq!(told("cargo +nightly clean --release"), ["remove-tree target"]);
        assert_eq!(told("cargo clean --target-dir /x"), ["remove-tree /x"]);
        assert_eq!(
            Recorder::default().env("CARGO_TARGET_DIR", "").call(cargo, "cargo clean").told(),
            ["remove-tree "]
        );
        assert!(
            told("cargo clean -p x").is_empty()
                && told("cargo build").is_empty()
                && told("cargo clean -n").is_empty()
        );
    }

    #[test]
    fn bun_runs_code() {
        let told = Recorder::default().call(node_scripts, "bun -e 'fs.rmSync(\"/etc\")'").told();
        assert_eq!(told, ["remove /etc"]);
    }
}
