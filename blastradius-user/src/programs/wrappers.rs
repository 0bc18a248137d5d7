//! Programs that run another program: each is one row of a table.
//!
//! A row says how the wrapper's own options are read, what stands between them and the command, and what the command
//! finds changed. What does not fit a row has a file of its own.

use std::rc::Rc;

use crate::policy::effect::Base;
use crate::programs::options::{Grammar, Parsed, flag, optional, value};
use crate::programs::{Call, Dialect, Machine, Program, Surroundings, acts, shells, table, words};
use crate::shell::value::Field;

/// One wrapper.
#[derive(Clone, Copy)]
struct Wrapper {
    name: &'static str,
    grammar: Grammar,
    /// What stands between the options and the command.
    before: Before,
    /// The command's form.
    form: Form,
    /// `NAME=value` words in front of the command set variables.
    assignments: bool,
    /// The option whose value is the working directory of the command.
    directory: &'static str,
    /// The option that makes it print, attach or signal instead of run a command.
    instead: &'static str,
    /// The option whose value is a file that is written anew.
    output: &'static str,
    /// Options whose values are texts that a shell runs besides the command.
    texts: &'static [&'static str],
    /// The command is a package's, and its name may carry a version: `rimraf@5`.
    package: bool,
}

/// Operands of a wrapper in front of the command.
#[derive(Clone, Copy)]
enum Before {
    /// So many words.
    Words(usize),
    /// A word, where it looks so.
    Where(fn(&str) -> bool),
    /// One of these subcommands, with options of its own behind it.
    Verb(&'static [&'static str]),
    /// One of these subcommands, and a name: a profile, a directory.
    NamedVerb(&'static [&'static str]),
}

/// The form in which a wrapper is given its command.
#[derive(Clone, Copy)]
enum Form {
    /// The words that are left are an argv.
    Argv,
    /// The words that are left are joined and read by a shell, unless this option is given.
    JoinedUnless(&'static str),
    /// The same, only if this option is given.
    JoinedWith(&'static str),
    /// Each word that is left is a text of its own.
    Texts,
    /// This option's value is the text; the words that are left are an argv if it is not given.
    Option(&'static str),
}

const fn wrapper(name: &'static str, grammar: Grammar) -> Wrapper {
    Wrapper {
        name,
        grammar: grammar.in_order(),
        before: Before::Words(0),
        form: Form::Argv,
        assignments: false,
        directory: "",
        instead: "",
        output: "",
        texts: &[],
        package: false,
    }
}

/// A shell that is given text with `-c`.
const OTHER_SHELL: Grammar = Grammar::new(&[value("c", "command|commands")]);

/// A wrapper whose options take no arguments, or only such as are glued to them with `=`.
const fn plain(name: &'static str) -> Wrapper {
    wrapper(name, Grammar::new(&[]).exact())
}

/// `TOOL VERB [options] [--] COMMAND`.
const fn verb(name: &'static str, verbs: &'static [&'static str], grammar: Grammar) -> Wrapper {
    Wrapper { before: Before::Verb(verbs), ..wrapper(name, grammar) }
}

/// `npx PACKAGE[@VERSION] ARGUMENTS`.
const fn package(name: &'static str) -> Wrapper {
    Wrapper { package: true, ..wrapper(name, PACKAGE_RUNNER) }
}

/// `npm exec PACKAGE[@VERSION] ARGUMENTS`.
const fn package_verb(name: &'static str, verbs: &'static [&'static str]) -> Wrapper {
    Wrapper { before: Before::Verb(verbs), ..package(name) }
}

impl Wrapper {
    const fn skip(self, words: usize) -> Self {
        Self { before: Before::Words(words), ..self }
    }
    const fn skip_where(self, matches: fn(&str) -> bool) -> Self {
        Self { before: Before::Where(matches), ..self }
    }
    const fn named_verb(self, verbs: &'static [&'static str]) -> Self {
        Self { before: Before::NamedVerb(verbs), ..self }
    }
    const fn form(self, form: Form) -> Self {
        Self { form, ..self }
    }
    const fn with_assignments(self) -> Self {
        Self { assignments: true, ..self }
    }
    const fn directory(self, option: &'static str) -> Self {
        Self { directory: option, ..self }
    }
    const fn instead(self, option: &'static str) -> Self {
        Self { instead: option, ..self }
    }
    const fn output(self, option: &'static str) -> Self {
        Self { output: option, ..self }
    }
    const fn texts(self, options: &'static [&'static str]) -> Self {
        Self { texts: options, ..self }
    }
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_run(word: &str) -> bool {
    word == "run"
}

fn is_architecture(word: &str) -> bool {
    [
        "linux32", "linux64", "uname26", "i386", "i486", "i586", "i686", "x86_64", "amd64", "aarch64", "arm",
        "armv7l",
    ]
    .contains(&word)
}

const NONE: Grammar = Grammar::new(&[]);
const TRACER: Grammar = Grammar::new(&[
    value("o", "output"),
    value(
        "abeEIOPsSuXAFlwn",
        "trace|status|signal|abbrev|verbose|read|write|fault|inject|columns|string-limit",
    ),
    value("p", "attach"),
    flag("cCdfhikqrtTvVxyzZDL", "follow-forks|summary|quiet|no-abbrev"),
]);
const PACKAGE_RUNNER: Grammar = Grammar::new(&[
    value("p", "package|from|with|python|node-arg|index-url|spec"),
    value("c", "call"),
    flag("yqn", "yes|no|quiet|no-install|ignore-existing|bun|isolated|silent|shell-mode"),
])
.exact();
const RUN: Grammar = Grammar::new(&[
    value("p", "package|with|python|project|env-file|extra|group|directory|env|profile|config|tag"),
    value("n", "name|environment|with-requirements|index-url|prefix"),
    flag("qv", "quiet|isolated|no-sync|frozen|locked|no-capture-output|live-stream|no-dev"),
])
.exact();

/// The table. Grammar: each program's manual page.
const WRAPPERS: &[Wrapper] = &[
    // Priority, limits, time.
    wrapper("nice", Grammar::new(&[value("n", "adjustment")]).numeric()),
    plain("nohup"),
    wrapper("timeout", Grammar::new(&[
        value("k", "kill-after"),
        value("s", "signal"),
        flag("f", "foreground"),
        flag("pv", "preserve-status|verbose"),
    ]))
    .skip(1),
    wrapper("time", Grammar::new(&[value("f", "format"), value("o", "output"), flag("apqvV", "append|portability|verbose")]))
        .output("output"),
    wrapper("stdbuf", Grammar::new(&[value("i", "input"), value("o", "output"), value("e", "error")])),
    wrapper("setsid", Grammar::new(&[flag("cfw", "ctty|fork|wait")])),
    wrapper("ionice", Grammar::new(&[value("c", "class"), value("n", "classdata"), value("pPu", "pid"), flag("t", "ignore")]))
        .instead("pid"),
    wrapper("chrt", Grammar::new(&[
        value("T", "sched-runtime"),
        value("P", "sched-period"),
        value("D", "sched-deadline"),
        flag("abdefiormRGv", "all-tasks|batch|deadline|ext|fifo|idle|other|rr|max|reset-on-fork|verbose"),
        flag("p", "pid"),
    ]))
    .skip_where(is_number)
    .instead("pid"),
    wrapper("taskset", Grammar::new(&[flag("a", "all-tasks"), flag("c", "cpu-list"), flag("p", "pid")]))
        .skip(1)
        .instead("pid"),
    wrapper("prlimit", Grammar::new(&[value("p", "pid"), value("o", "output"), flag("v", "raw|noheadings|verbose")])).instead("pid"),
    wrapper("choom", Grammar::new(&[value("n", "adjust"), value("p", "pid")])).instead("pid"),
    wrapper("cpulimit", Grammar::new(&[value("lcpPe", "limit|pid|path|exe"), flag("zivbqmfr", "")])),
    wrapper("numactl", Grammar::new(&[
        value("imNCpP", "interleave|membind|cpunodebind|physcpubind|preferred|weighted-interleave"),
        flag("albsHxwE", "localalloc|all|balancing|show|hardware"),
    ])),
    wrapper("uclampset", Grammar::new(&[value("mM", ""), value("p", "pid"), flag("asRv", "")])).instead("pid"),
    wrapper("trickle", Grammar::new(&[value("duwlntLP", ""), flag("sv", "")])),
    wrapper("softlimit", Grammar::new(&[value("adfloprmstc", "")])),
    wrapper("setarch", Grammar::new(&[value("p", "pid"), flag("BFILRSTXZv3", "")])).skip_where(is_architecture),
    wrapper("linux32", NONE),
    wrapper("linux64", NONE),
    wrapper("arch", Grammar::new(&[value("de", ""), flag("", "x86_64|arm64|arm64e|i386|32|64")]).single_dash()),
    plain("eatmydata"),
    wrapper("faketime", Grammar::new(&[value("p", "pid"), flag("mf", "date-prog|exclude-monotonic")])).skip(1),
    wrapper("caffeinate", Grammar::new(&[flag("dimsu", ""), value("tw", "")])),
    wrapper("systemd-inhibit", Grammar::new(&[value("", "what|who|why|mode"), flag("", "list|no-pager|no-legend")])),
    wrapper("systemd-cat", Grammar::new(&[value("tp", "identifier|priority|stderr-priority|level-prefix")])),
    wrapper("cgexec", Grammar::new(&[value("g", ""), flag("r", "sticky")])),
    // Sessions, terminals, displays.
    wrapper("unbuffer", Grammar::new(&[flag("p", "")])),
    wrapper("xvfb-run", Grammar::new(&[
        value("e", "error-file"),
        value("f", "auth-file"),
        value("n", "server-num"),
        value("p", "xauth-protocol"),
        value("s", "server-args"),
        value("w", "wait"),
        flag("al", "auto-servernum|listen-tcp|auto-display"),
    ])),
    wrapper("dbus-run-session", Grammar::new(&[value("", "config-file|dbus-daemon")])),
    wrapper("dbus-launch", Grammar::new(&[value("", "config-file|autolaunch"), flag("", "exit-with-session|sh-syntax")])),
    wrapper("rlwrap", Grammar::new(&[value("bCDfgHIlmMOPqsStwz", ""), flag("aAceEhiknNoprRuUvWX", "")])),
    wrapper("dtach", Grammar::new(&[value("er", ""), flag("EzAncN", "")])).skip(1),
    wrapper("abduco", Grammar::new(&[value("e", ""), flag("rnAacfp", "")])).skip(1),
    wrapper("ts", NONE),
    // Network wrappers run their command here.
    wrapper("proxychains", Grammar::new(&[flag("q", ""), value("f", "")])),
    wrapper("proxychains4", Grammar::new(&[flag("q", ""), value("f", "")])),
    wrapper("torsocks", Grammar::new(&[value("uPap", "user|pass|address|port"), flag("diq", "")])),
    wrapper("torify", NONE),
    wrapper("tsocks", NONE),
    wrapper("sshpass", Grammar::new(&[value("fdpP", ""), flag("evh", "")])),
    wrapper("aws-vault", Grammar::new(&[value("dm", "duration|mfa-token|region|prompt"), flag("nj", "no-session|json|server")]))
        .named_verb(&["exec"]),
    wrapper("chamber", Grammar::new(&[value("b", "backend")])).named_verb(&["exec"]),
    // Users and groups, for daemons.
    wrapper("setpriv", Grammar::new(&[
        value("", "ambient-caps|inh-caps|bounding-set|ruid|euid|rgid|egid|reuid|regid|groups|securebits|pdeathsig"),
        value("", "selinux-label|apparmor-profile|landlock-access|landlock-rule|seccomp-filter|ptracer"),
        flag("d", "dump|clear-groups|keep-groups|init-groups|list-caps|no-new-privs|nnp|reset-env"),
    ])),
    wrapper("chpst", Grammar::new(&[value("uUebnlLmdopfcr/", ""), flag("vP012", "")])),
    wrapper("setuidgid", NONE).skip(1),
    wrapper("s6-setuidgid", NONE).skip(1),
    wrapper("gosu", NONE).skip(1),
    wrapper("su-exec", NONE).skip(1),
    wrapper("envdir", NONE).skip(1),
    wrapper("envuidgid", NONE).skip(1),
    wrapper("s6-envdir", NONE).skip(1),
    wrapper("pgrphack", NONE),
    wrapper("setlock", Grammar::new(&[flag("nNxX", "")])).skip(1),
    plain("with-contenv"),
    wrapper("tini", Grammar::new(&[value("pe", ""), flag("svwgh", "")])),
    plain("dumb-init"),
    plain("catatonit"),
    wrapper("daemonize", Grammar::new(&[value("ceolpuE", ""), flag("av", "")])),
    wrapper("daemon", Grammar::new(&[value("nXPFeEUuCMLAarOolD", "name|user|chdir|env|output|stdout|stderr"), flag("fiBNdvV", "")])),
    // Tracers, profilers, checkers.
    wrapper("strace", TRACER).output("output"),
    wrapper("ltrace", TRACER).output("output"),
    wrapper("gdb", Grammar::new(&[
        value("xdDsceptb", "command|ex|eval-command|iex|directory|symbols|core|exec|pid|tty|cd"),
        flag("nqhvw", "args|batch|quiet|nx|nh|silent|return-child-result"),
    ])
    .single_dash()),
    plain("valgrind"),
    wrapper("heaptrack", Grammar::new(&[value("op", "output|pid"), flag("rd", "raw|debug")])),
    verb("rr", &["record"], Grammar::new(&[value("on", "")])),
    verb("perf", &["stat", "record", "trace", "mem", "c2c", "kvm"], Grammar::new(&[
        value("eopFcgtCGIr", "event|output|pid|freq|call-graph|repeat|interval-print|cpu"),
        flag("avdDsBAig", "all-cpus|verbose|detailed|null|no-inherit"),
    ])),
    wrapper("hyperfine", Grammar::new(&[
        value("s", "setup"),
        value("p", "prepare"),
        value("C", "conclude"),
        value("c", "cleanup"),
        value("wmMrPDLSun", "warmup|min-runs|max-runs|runs|parameter-list|parameter-scan|shell|style|export-json"),
        flag("NI", "ignore-failure|show-output"),
    ]))
    .texts(&["setup", "prepare", "conclude", "cleanup"])
    .form(Form::Texts),
    // Retrying, watching, quieting.
    wrapper("watch", Grammar::new(&[
        value("nqs", "interval|equexit|shotsdir"),
        optional("d", "differences"),
        flag("bcCefgprtw", "beep|color|no-color|errexit|follow|chgexit|precise|no-rerun|no-title|no-wrap"),
        flag("x", "exec"),
    ]))
    .form(Form::JoinedUnless("exec")),
    wrapper("entr", Grammar::new(&[flag("acdnprxz", ""), flag("s", "")])).form(Form::JoinedWith("s")),
    wrapper("watchexec", Grammar::new(&[
        value("weisdfo", "watch|exts|ignore|signal|debounce|filter|on-busy-update|shell|workdir"),
        flag("crpqv", "clear|restart|postpone"),
        flag("n", "no-shell"),
    ]))
    .form(Form::JoinedUnless("no-shell")),
    wrapper("nodemon", Grammar::new(&[
        value("x", "exec"),
        value("weid", "watch|ext|ignore|delay|config|signal|cwd"),
        flag("LCVqI", "legacy-watch|verbose|quiet|no-colors|on-change-only"),
    ]))
    .texts(&["exec"]),
    wrapper("concurrently", Grammar::new(&[
        value("ncplm", "names|prefix-colors|prefix|prefix-length|max-processes|restart-tries|success|name-separator"),
        flag("krsgi", "kill-others|kill-others-on-fail|raw|no-color|group|handle-input|timings|passthrough-arguments"),
    ]))
    .form(Form::Texts),
    verb("cargo", &["watch"], Grammar::new(&[value("s", "shell"), value("xwiCE", "exec|watch|ignore|workdir|env|delay")]))
        .form(Form::Option("shell")),
    verb("pm2", &["start"], Grammar::new(&[value("nilo", "name|instances|interpreter|cwd|cron|max-memory-restart")]))
        .form(Form::Texts),
    // Shells whose language is not read, but simple commands are written in it as everywhere.
    wrapper("nu", OTHER_SHELL).form(Form::Option("command")),
    wrapper("xonsh", OTHER_SHELL).form(Form::Option("command")),
    wrapper("elvish", OTHER_SHELL).form(Form::Option("command")),
    wrapper("rc", OTHER_SHELL).form(Form::Option("command")),
    plain("chronic"),
    plain("cronic"),
    wrapper("ifne", Grammar::new(&[flag("n", "")])),
    wrapper("pee", Grammar::new(&[flag("", "ignore-sigpipe|no-ignore-sigpipe")])).form(Form::Texts),
    wrapper("retry", Grammar::new(&[value("tdmM", "times|delay|until|while|tries")])),
    wrapper("mpirun", Grammar::new(&[value("nHx", "np|host|hostfile")])),
    wrapper("noglob", NONE),
    wrapper("nocorrect", NONE),
    wrapper("wsl", Grammar::new(&[value("du", "distribution|user|cd"), flag("e", "exec")])),
    wrapper("flatpak-spawn", Grammar::new(&[value("", "directory|env|forward-fd"), flag("v", "host|watch-bus|clear-env")])),
    wrapper("distrobox-host-exec", NONE),
    plain("firejail"),
    wrapper("fakeroot", Grammar::new(&[value("lsib", "lib|faked|fd-base"), flag("u", "unknown-is-real")])),
    plain("fakechroot"),
    wrapper("sandbox-exec", Grammar::new(&[value("fpnD", "")])),
    wrapper("run-one", NONE),
    wrapper("chaperone", NONE),
    // Environments of languages and secrets.
    package("npx").form(Form::Option("call")),
    package("pnpx").form(Form::Option("call")),
    package("bunx"),
    package("uvx"),
    package_verb("pipx", &["run"]),
    package_verb("npm", &["exec", "x"]).form(Form::Option("call")),
    package_verb("pnpm", &["dlx", "exec"]),
    package_verb("yarn", &["dlx", "exec"]),
    package_verb("bun", &["x"]),
    verb("uv", &["run"], RUN),
    verb("poetry", &["run"], RUN),
    verb("pipenv", &["run"], RUN),
    verb("pdm", &["run"], RUN),
    verb("hatch", &["run"], RUN),
    verb("rye", &["run"], RUN),
    verb("pixi", &["run"], RUN),
    verb("bundle", &["exec"], RUN),
    verb("conda", &["run"], RUN),
    verb("mamba", &["run"], RUN),
    verb("micromamba", &["run"], RUN),
    verb("volta", &["run"], RUN),
    verb("rbenv", &["exec"], NONE),
    verb("pyenv", &["exec"], NONE),
    verb("nodenv", &["exec"], NONE),
    verb("mise", &["exec", "x"], Grammar::new(&[value("c", "command"), value("C", "cd"), flag("", "raw")]))
        .form(Form::Option("command"))
        .directory("cd"),
    verb("asdf", &["exec"], NONE),
    wrapper("direnv", NONE).named_verb(&["exec"]),
    verb("op", &["run"], Grammar::new(&[value("", "env-file|account"), flag("", "no-masking")]).exact()),
    verb("doppler", &["run"], Grammar::new(&[value("pct", "project|config|token"), value("", "command")]).exact()).form(Form::Option("command")),
    verb("infisical", &["run"], Grammar::new(&[value("", "env|path"), value("", "command")]).exact()).form(Form::Option("command")),
    wrapper("dotenv", Grammar::new(&[value("ef", "file"), flag("o", "")])).skip_where(is_run),
    verb("dotenvx", &["run"], Grammar::new(&[value("f", "env-file")])),
    wrapper("nix-shell", Grammar::new(&[
        value("pAEIi", "packages|attr|expr|keep|arg|argstr"),
        value("", "run|command"),
        flag("", "pure|impure"),
    ]))
    .form(Form::Option("run")),
    wrapper("env-cmd", Grammar::new(&[value("fr", "file")])),
    wrapper("cross-env", NONE).with_assignments(),
];

const fn programs() -> [(&'static str, Program); WRAPPERS.len()] {
    let mut programs = [("", wrapped as Program); WRAPPERS.len()];
    let mut place = 0;
    while place < WRAPPERS.len() {
        programs[place].0 = WRAPPERS[place].name;
        place += 1;
    }
    programs
}

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &programs();

fn wrapped(call: &Call<'_>, machine: &mut dyn Machine) {
    let name = table::canonical(call.name);
    let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) else { return };
    let parsed = wrapper.grammar.read(call.args);
    if parsed.informs() || parsed.has(wrapper.instead) {
        return;
    }
    let Some(rest) = skip(wrapper, parsed.rest) else { return };
    // Options of a subcommand are read once more behind it.
    let behind =
        matches!(wrapper.before, Before::Verb(_) | Before::NamedVerb(_)).then(|| wrapper.grammar.read(rest));
    let rest = behind.as_ref().map_or(rest, |behind| behind.rest);
    let parsed = behind.as_ref().unwrap_or(&parsed);
    if let Some(file) = parsed.value(wrapper.output) {
        acts::truncate(machine, file);
    }
    let (surroundings, command) = surroundings(wrapper, machine, parsed, rest);
    for text in wrapper.texts.iter().flat_map(|option| parsed.values(option)) {
        machine.run_text(&text.text, Dialect::Posix, Vec::new(), surroundings.clone());
    }
    hand_over(wrapper, machine, parsed, command, surroundings);
}

/// The words behind what stands in front of the command; `None` if the subcommand is another one.
fn skip<'a>(wrapper: &Wrapper, rest: &'a [Field]) -> Option<&'a [Field]> {
    let first = rest.first().and_then(Field::as_known);
    let first = first.as_deref();
    let words = match wrapper.before {
        Before::Words(words) => words,
        Before::Where(matches) => usize::from(first.is_some_and(matches)),
        Before::Verb(verbs) if first.is_some_and(|first| verbs.contains(&first)) => 1,
        Before::NamedVerb(verbs) if first.is_some_and(|first| verbs.contains(&first)) => 2,
        Before::Verb(_) | Before::NamedVerb(_) => return None,
    };
    let rest = rest.get(words..)?;
    let introduced = rest.first().and_then(Field::as_known).as_deref() == Some("--");
    Some(if introduced { &rest[1..] } else { rest })
}

fn surroundings<'a>(
    wrapper: &Wrapper,
    machine: &dyn Machine,
    parsed: &Parsed<'_>,
    rest: &'a [Field],
) -> (Surroundings, &'a [Field]) {
    let mut surroundings = Surroundings::default();
    if let Some(directory) = parsed.value(wrapper.directory) {
        surroundings.cwd = Some(directory_base(machine, directory));
    }
    let mut command = rest;
    while wrapper.assignments
        && let Some((first, others)) = command.split_first()
        && let Some((name, value)) = words::assignment(first)
    {
        surroundings.vars.push((name, Some(value)));
        command = others;
    }
    (surroundings, command)
}

/// The directory that an option names, as a place to read relative operands in.
pub fn directory_base(machine: &dyn Machine, directory: &Field) -> Base {
    acts::location(directory, &machine.cwd())
        .map_or_else(|| Base::Unknown(Rc::clone(&directory.source)), |path| Base::Known(Rc::new(path)))
}

fn hand_over(
    wrapper: &Wrapper,
    machine: &mut dyn Machine,
    parsed: &Parsed<'_>,
    command: &[Field],
    surroundings: Surroundings,
) {
    let joined = match wrapper.form {
        Form::Argv | Form::Texts | Form::Option(_) => false,
        Form::JoinedUnless(option) => !parsed.has(option),
        Form::JoinedWith(option) => parsed.has(option),
    };
    if let Form::Option(option) = wrapper.form
        && let Some(text) = parsed.value(option)
    {
        machine.run_text(&text.text, Dialect::Posix, Vec::new(), surroundings);
        return;
    }
    if matches!(wrapper.form, Form::Texts) {
        for text in command {
            machine.run_text(&text.text, Dialect::Posix, Vec::new(), surroundings.clone());
        }
    } else if joined {
        if !command.is_empty() {
            machine.run_text(&words::joined(command), Dialect::Posix, Vec::new(), surroundings);
        }
    } else {
        let mut argv = command.to_vec();
        if wrapper.package
            && let Some(name) = argv.first_mut()
        {
            *name = without_version(name);
        }
        run(machine, argv, surroundings);
    }
}

/// `@scope/rimraf@5` runs `rimraf`.
fn without_version(name: &Field) -> Field {
    let Some(known) = name.as_known() else { return name.clone() };
    let unversioned = match known.rfind('@') {
        Some(at) if at > 0 => &known[..at],
        _ => &known,
    };
    let bare = if unversioned.starts_with('@') {
        unversioned.rsplit('/').next().unwrap_or(unversioned)
    } else {
        unversioned
    };
    Field { source: Rc::clone(&name.source), ..Field::literal(bare) }
}

/// Runs what is left of an argv, if anything is.
pub fn run(machine: &mut dyn Machine, argv: Vec<Field>, surroundings: Surroundings) {
    if !argv.is_empty() {
        machine.run_argv(argv, surroundings);
    }
}

/// Programs whose command is not simply what is left of their argv.
pub const SPECIAL: &[(&str, Program)] = &[
    ("env", env),
    ("flock", flock),
    ("busybox", multicall),
    ("toybox", multicall),
    ("coreutils", multicall),
    ("nix", nix),
    ("run-parts", run_parts),
    ("start-stop-daemon", start_stop_daemon),
    ("at", at),
    ("batch", at),
    ("capsh", capsh),
    ("gdb", debugger),
    ("lldb", debugger),
];

/// env(1) of coreutils; `P`, `L` and `U` are FreeBSD's.
static ENV: Grammar = Grammar::new(&[
    flag("i", "ignore-environment"),
    flag("0", "null"),
    value("u", "unset"),
    value("C", "chdir"),
    value("S", "split-string"),
    value("a", "argv0"),
    value("PLU", ""),
    flag("v", "debug"),
    optional("", "block-signal|default-signal|ignore-signal"),
    flag("", "list-signal-handling"),
])
.in_order();

fn env(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = ENV.read(call.args);
    if parsed.informs() {
        return;
    }
    let mut surroundings = Surroundings {
        clear_env: parsed.has("ignore-environment") || parsed.rest.first().is_some_and(is_dash),
        ..Surroundings::default()
    };
    if let Some(directory) = parsed.value("chdir") {
        surroundings.cwd = Some(directory_base(machine, directory));
    }
    for name in parsed.values("unset").filter_map(Field::as_known) {
        surroundings.vars.push((name.into_owned(), None));
    }
    let mut command = if parsed.rest.first().is_some_and(is_dash) { &parsed.rest[1..] } else { parsed.rest };
    while let Some((first, others)) = command.split_first()
        && let Some((name, value)) = words::assignment(first)
    {
        surroundings.vars.push((name, Some(value)));
        command = others;
    }
    if let Some(text) = parsed.value("split-string") {
        // -S splits much as a shell does, quotes and ${NAME} included; the words behind are taken as they are.
        let mut whole = text.text.clone();
        for word in command {
            whole.push_text(" ");
            whole.push(&words::quoted(&word.text));
        }
        let mut split = machine_text("env ");
        split.push(&whole);
        machine.run_text(&split, Dialect::Posix, Vec::new(), surroundings);
    } else {
        run(machine, command.to_vec(), surroundings);
    }
}

fn machine_text(text: &str) -> crate::shell::value::Abstract {
    crate::shell::value::Abstract::known(text)
}

fn is_dash(word: &Field) -> bool {
    word.as_known().as_deref() == Some("-")
}

static FLOCK: Grammar = Grammar::new(&[
    flag("sexunoFv", "shared|exclusive|unlock|nonblock|close|no-fork|verbose|fcntl"),
    value("wE", "timeout|conflict-exit-code|wait"),
    value("c", "command"),
])
.in_order();

/// `flock FILE COMMAND…` or `flock FILE -c TEXT` (flock(1)).
fn flock(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = FLOCK.read(call.args);
    let Some((file, rest)) = parsed.rest.split_first() else { return };
    if parsed.informs() {
        return;
    }
    acts::creates(machine, file);
    let behind = FLOCK.read(rest);
    match behind.value("command").or_else(|| parsed.value("command")) {
        Some(text) => machine.run_text(&text.text, Dialect::Posix, Vec::new(), Surroundings::default()),
        None => run(machine, behind.rest.to_vec(), Surroundings::default()),
    }
}

/// `busybox APPLET ARGUMENTS`, and GNU's `coreutils --coreutils-prog=APPLET ARGUMENTS`.
fn multicall(call: &Call<'_>, machine: &mut dyn Machine) {
    const APPLET: &str = "--coreutils-prog=";
    if let Some((first, rest)) = call.args.split_first()
        && words::lead(&first.text).starts_with(APPLET)
    {
        let argv = [&[words::without_prefix(first, APPLET.len())], rest].concat();
        run(machine, argv, Surroundings::default());
        return;
    }
    let lists = call.args.first().is_some_and(|first| words::lead(&first.text).starts_with("--"));
    if !lists {
        run(machine, call.args.to_vec(), Surroundings::default());
    }
}

/// `nix shell … -c COMMAND` and `nix develop … --command COMMAND`.
fn nix(call: &Call<'_>, machine: &mut dyn Machine) {
    let verb = call.args.first().and_then(Field::as_known);
    if !matches!(verb.as_deref(), Some("shell" | "develop" | "run" | "env")) {
        return;
    }
    let introduces = |word: &Field| matches!(word.as_known().as_deref(), Some("-c" | "--command"));
    if let Some(place) = call.args.iter().position(introduces) {
        run(machine, call.args[place + 1..].to_vec(), Surroundings::default());
    }
}

static RUN_PARTS: Grammar = Grammar::new(&[
    flag("", "test"),
    flag("", "list"),
    flag("v", "verbose|report|reverse|lsbsysinit|new-session|exit-on-error"),
    value("a", "arg"),
    value("u", "umask|regex"),
]);

/// Entries of a directory of scripts that are read.
const MAX_SCRIPTS: usize = 64;

/// run-parts(8): every script of a directory.
fn run_parts(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = RUN_PARTS.read(call.args);
    let ([directory], false) =
        (parsed.operands.as_slice(), parsed.informs() || parsed.has_any(&["test", "list"]))
    else {
        return;
    };
    let location = acts::location(directory, &machine.cwd());
    let entries = location.and_then(|path| machine.world().read_dir(&path, MAX_SCRIPTS)).unwrap_or_default();
    for (name, _) in entries {
        let script = words::child(directory, &name.to_string_lossy());
        let arguments: Vec<Field> = parsed.values("arg").cloned().collect();
        let argv = [std::slice::from_ref(&script), arguments.as_slice()].concat();
        shells::run_script(machine, &script, &argv, Dialect::Posix, "");
    }
}

static START_STOP_DAEMON: Grammar = Grammar::new(&[
    flag("S", "start"),
    flag("K", "stop"),
    flag("T", "status"),
    flag("t", "test"),
    value("x", "exec"),
    value("a", "startas"),
    value("d", "chdir"),
    value("r", "chroot"),
    value(
        "pnuscgNPIkReO",
        "pidfile|name|user|signal|chuid|group|nicelevel|procsched|iosched|umask|retry|env|output|ppid|pid",
    ),
    flag("bmqoCvH", "background|make-pidfile|quiet|oknodo|no-close|verbose|remove-pidfile|notify-await"),
])
.in_order();

fn start_stop_daemon(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = START_STOP_DAEMON.read(call.args);
    if parsed.informs() || parsed.has("test") || !parsed.has("start") {
        return;
    }
    let Some(program) = parsed.value("startas").or_else(|| parsed.value("exec")) else { return };
    let cwd = parsed.value("chdir").map(|directory| directory_base(machine, directory));
    let argv = [std::slice::from_ref(program), parsed.rest].concat();
    machine.run_argv(argv, Surroundings { cwd, ..Surroundings::default() });
}

static AT: Grammar = Grammar::new(&[
    value("f", ""),
    value("qt", ""),
    flag("l", ""),
    flag("rdc", ""),
    flag("mMbv", ""),
    flag("V", ""),
]);

/// at(1) and batch(1): a shell reads the text later.
fn at(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = AT.read(call.args);
    if parsed.informs() || parsed.has_any(&["l", "r", "V"]) {
        return;
    }
    match parsed.value("f") {
        Some(file) => shells::run_script(machine, file, &[], Dialect::Posix, ""),
        None => shells::run_stdin(machine, Dialect::Posix, Vec::new(), Surroundings::default()),
    }
}

/// gdb(1), lldb(1): commands that hand the rest of the line to a shell.
fn debugger(call: &Call<'_>, machine: &mut dyn Machine) {
    const EX: &[&str] = &["-ex", "--ex", "-iex", "--iex", "-eval-command", "--eval-command", "-o", "-O"];
    const SHELLS: &[&str] = &["shell ", "!", "platform shell ", "make "];
    for pair in call.args.windows(2) {
        let lead = words::lead(&pair[1].text);
        let shell = SHELLS.iter().find(|shell| lead.starts_with(**shell));
        if let (true, Some(shell)) = (pair[0].as_known().is_some_and(|option| EX.contains(&&*option)), shell)
        {
            let text = words::without_prefix(&pair[1], shell.len()).text;
            machine.run_text(&text, Dialect::Posix, Vec::new(), Surroundings::default());
        }
    }
}

/// capsh(1): what follows `--` are the arguments of a shell.
fn capsh(call: &Call<'_>, machine: &mut dyn Machine) {
    let introduces = |word: &Field| matches!(word.as_known().as_deref(), Some("--" | "=="));
    if let Some(place) = call.args.iter().position(introduces) {
        let argv = [&[Field::literal("bash")], &call.args[place + 1..]].concat();
        run(machine, argv, Surroundings::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    #[track_caller]
    fn runs(line: &str, expected: &[&str]) {
        let name = line.split(' ').next().unwrap_or_default();
        let program = table::lookup(name).expect("in the table");
        let recorder = Recorder::default().call(program, line);
        let mut ran = recorder.ran();
        ran.extend(recorder.sourced());
        assert_eq!(ran, expected, "{line}");
    }

    #[test]
    fn every_row_finds_its_command() {
        for line in [
            "nice -n 19 rm -rf x",
            "nice -19 rm -rf x",
            "nice --adjustment=5 rm -rf x",
            "nohup rm -rf x",
            "timeout 5 rm -rf x",
            "timeout -k 5s --signal KILL 10m rm -rf x",
            "time -f %e -p rm -rf x",
            "stdbuf -o0 -eL rm -rf x",
            "setsid --fork rm -rf x",
            "ionice -c3 rm -rf x",
            "ionice -c 2 -n 7 rm -rf x",
            "chrt -f 99 rm -rf x",
            "chrt --idle 0 rm -rf x",
            "taskset -c 0-3 rm -rf x",
            "caffeinate -t 60 rm -rf x",
            "unbuffer rm -rf x",
            "setpriv --reuid 0 rm -rf x",
            "systemd-inhibit --what=idle rm -rf x",
            "xvfb-run -a rm -rf x",
            "proxychains -q rm -rf x",
            "strace -f -e trace=file rm -rf x",
            "valgrind --leak-check=full rm -rf x",
            "uv run --with y rm -rf x",
            "poetry run rm -rf x",
            "bundle exec rm -rf x",
            "conda run -n env rm -rf x",
            "direnv exec . rm -rf x",
            "aws-vault exec prod -- rm -rf x",
            "op run -- rm -rf x",
            "dotenv -e .env -- rm -rf x",
            "gosu root rm -rf x",
            "fakeroot -- rm -rf x",
            "mise exec -- rm -rf x",
            "busybox rm -rf x",
            "coreutils --coreutils-prog=rm -rf x",
            "env A=b rm -rf x",
            "env -i -u B rm -rf x",
            "env - rm -rf x",
            "flock /tmp/l rm -rf x",
            "flock -n /tmp/l rm -rf x",
            "watch -x rm -rf x",
            "watch -n 5 rm -rf x",
            "flock /tmp/l -c 'rm -rf x'",
            "nix-shell -p y --run 'rm -rf x'",
            "nix shell y -c rm -rf x",
            "hyperfine -w 3 'rm -rf x'",
            "entr -s 'rm -rf x'",
            "start-stop-daemon --start --exec rm -- -rf x",
            "gdb -batch -ex run --args rm -rf x",
            "gdb -batch -ex 'shell rm -rf x'",
            "hyperfine --prepare 'rm -rf x'",
            "nodemon --exec 'rm -rf x'",
            "concurrently 'rm -rf x'",
        ] {
            runs(line, &["rm -rf x"]);
        }
        runs("capsh --user=root -- -c 'rm -rf x'", &["bash -c rm -rf x"]);
    }

    #[test]
    fn a_package_runner_runs_the_package_without_its_version() {
        runs("npx -y rimraf@5 dist", &["rimraf dist"]);
        runs("npx --yes @scope/rimraf@5 dist", &["rimraf dist"]);
        runs("npm exec -- rimraf dist", &["rimraf dist"]);
        runs("pnpm dlx rimraf dist", &["rimraf dist"]);
        runs("npx -c 'rimraf dist'", &["rimraf dist"]);
    }

    #[test]
    fn what_runs_no_command_is_left_alone() {
        for line in [
            "nice --help",
            "ionice -p 12",
            "taskset -p 12",
            "uv pip install x",
            "npm install",
            "env",
            "busybox --list",
            "run-parts --test d",
            "at -l",
            "start-stop-daemon --stop --exec rm",
        ] {
            runs(line, &[]);
        }
    }

    #[test]
    fn env_changes_what_the_command_finds() {
        let recorder = Recorder::default().call(env, "env -i -u A -C /d B=c rm x");
        let surroundings = &recorder.argvs[0].surroundings;
        assert!(surroundings.clear_env);
        assert_eq!(surroundings.cwd, Some(Base::Known(Rc::new("/d".into()))));
        assert_eq!(surroundings.vars.len(), 2);
        runs("env -S 'rm -rf x' 'a b'", &["env rm -rf x 'a b'"]);
    }

    #[test]
    fn later_is_as_final_as_now() {
        let text = crate::programs::Input::Text(crate::shell::value::Abstract::known(
            "rm -rf ~
",
        ));
        assert_eq!(
            Recorder::default().stdin(text).call(at, "at now").sourced(),
            ["rm -rf ~
"]
        );
        assert_eq!(Recorder::default().file("job", "rm x").call(at, "at -f job now").sourced(), ["rm x"]);
    }

    #[test]
    fn run_parts_reads_every_script() {
        let recorder =
            Recorder::default().file("d/a", "rm x").file("d/b", "rm y").call(run_parts, "run-parts d");
        assert_eq!(recorder.sourced(), ["rm x [d/a]", "rm y [d/b]"]);
    }
}
