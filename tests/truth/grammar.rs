//! Random scripts over the grammar that the evaluator models.
//!
//! Most of what a script touches is in scope, so that being stopped is news; the rest reaches the made-up home, `/etc`,
//! `/srv` and `/opt` by every road: variables, links, `cd`, globs, loops, functions, traps, wrappers, nested shells.

use fastrand::Rng;

/// The script of a seed: the same for ever.
pub(crate) fn script(seed: u64) -> String {
    let mut author = Author { rng: Rng::with_seed(seed), depth: 0, names: 0, idle: 0 };
    let lines: Vec<String> = (0..author.rng.usize(1..6)).map(|_| author.statement()).collect();
    lines.join("\n")
}

/// Writes one script.
pub(crate) struct Author {
    pub(crate) rng: Rng,
    /// How deep within compound commands.
    pub(crate) depth: usize,
    names: usize,
    /// Above 0: in a branch that most likely does not run.
    pub(crate) idle: u32,
}

/// Operands that lie in scope.
const INSIDE: &[&str] = &[
    "build",
    "./build",
    "build/",
    "dist/app.js",
    "out/*.log",
    "out/one.log",
    "src/old.rs",
    "build/*",
    "build/sub",
    "inner",
    "\"a b\"",
    "a\\ b",
    "\"$REL\"",
    "$REL/sub",
    "${REL}",
    "\"$ABS\"",
    "$ABS/*.log",
    "\"$SPACED\"",
    "/tmp/work/y",
    "/tmp/work/x",
    "\"$PWD/dist\"",
    "./out",
    "{build,dist}",
    "build/?.o",
    "build/[ab].o",
    "out/none",
    "docs",
    "$SLASHED/a.o",
    "'build'",
    "\"${REL:-dist}\"",
    "${UNSET:-dist}",
    "../proj/dist",
    "src/../out",
    "/tmp/work/data",
    "${ABS%/*}/dist",
    "\"${ABS##*/}\"",
    "\"${EMPTY:-build}/a.o\"",
    "$'build'",
    "*/none*",
    "o?t/one.log",
];

/// Operands in scope whose parts lie there too.
const ORDINARY: &[&str] = &[
    "build/sub",
    "./build",
    "/tmp/work/y",
    "$ABS/one.log",
    "\"a b\"",
    "./out/one.log",
    "src/old.rs",
    "\"$REL\"",
];

/// Operands that lie outside.
const OUTSIDE: &[&str] = &[
    "/home/dev/Documents",
    "~/Documents/thesis.txt",
    "\"$HOME/Downloads\"",
    "\"$DOCS\"",
    "$DOCS/*",
    "../other",
    "../other/src/lib.c",
    "docs/",
    "docs/*",
    "/srv/data",
    "/srv/data/index",
    "/opt/tool",
    "/etc/app",
    "/etc/app/app.conf",
    "up/other",
    "/tmp/work/data/",
    "/tmp/work/data/*",
    "\"${UNSET}/etc/app\"",
    "\"$EMPTY/srv/data\"",
    "$EMPTY$DOCS",
    "\"${DOCS%/*}/other\"",
    "~/other",
    "~dev/Downloads",
    "/home/dev/{Documents,Downloads}",
    "build/../../other",
    "\"${UNSET:-$HOME}\"/Downloads",
    "/var/log/app/app.log",
    "/home/*/Downloads",
    "\"$(echo /srv/data)\"",
    "$(printf %s ~/other)",
    "/srv/*/index",
    "../*/src",
    "up/Documents/*",
];

/// Conditions that fold to true, fold to false, or ask the file system, with what they most likely are.
const CONDITIONS: &[(&str, bool)] = &[
    ("true", true),
    ("false", false),
    ("[ -n \"$REL\" ]", true),
    ("[ -z \"$REL\" ]", false),
    ("[ -n \"$UNSET\" ]", false),
    ("[ -d src ]", true),
    ("[ -d none ]", false),
    ("test -e README.md", true),
    ("[[ $REL == b* ]]", true),
    ("[[ -f src/lib.rs ]]", true),
    ("[ \"$REL\" = build ]", true),
    ("((1 < 2))", true),
    ("((2 < 1))", false),
    ("! false", true),
    ("[[ $ABS =~ proj ]]", true),
    ("[ -n \"$EMPTY\" ]", false),
    ("grep -q x /dev/null", false),
    ("[[ -z $EMPTY && -d src ]]", true),
];

/// Directories in scope, with what can be destroyed from there.
const PLACES_INSIDE: &[(&str, &str)] = &[
    ("build", "sub"),
    ("build", "*.o"),
    ("build", "../dist"),
    ("out", "one.log"),
    ("src", "old.rs"),
    ("/tmp/work", "x"),
    ("inner", "./a.o"),
    ("\"$ABS\"", "two.log"),
    ("./build/sub", "../a.o"),
    ("build/..", "dist"),
];

/// Directories from which what lies outside is destroyed.
const PLACES_OUTSIDE: &[(&str, &str)] = &[
    ("..", "Downloads"),
    ("docs", "thesis.txt"),
    ("/srv/data", "index"),
    ("/srv/data", "*"),
    ("~/Documents", "./thesis.txt"),
    ("$HOME", "other"),
    ("up", "other/src"),
    ("/tmp/work/data", "db"),
    ("\"$DOCS\"", "*.txt"),
    ("src", "../../other"),
];

impl Author {
    pub(crate) fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.rng.usize(0..words.len())]
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(0..100) < percent
    }

    pub(crate) fn name(&mut self) -> String {
        self.names += 1;
        format!("V{}", self.names)
    }

    /// Whether the next act reaches out of scope. What does not run must not try to: being stopped for it is right.
    pub(crate) fn strays(&mut self) -> bool {
        self.idle == 0 && self.chance(7)
    }

    fn operand(&mut self) -> String {
        if self.strays() { self.pick(OUTSIDE).to_owned() } else { self.pick(INSIDE).to_owned() }
    }

    /// An operand that goes through a variable or an argument: outside scope one that means the same in quotes.
    fn value(&mut self) -> String {
        if !self.strays() {
            return self.pick(INSIDE).to_owned();
        }
        loop {
            let value = self.pick(OUTSIDE);
            if !value.contains(['*', '{', '?']) || value.contains('$') && !value.contains('*') {
                return value.to_owned();
            }
        }
    }

    fn operands(&mut self) -> String {
        let many = if self.chance(20) { 2 } else { 1 };
        let words: Vec<String> = (0..many).map(|_| self.operand()).collect();
        words.join(" ")
    }

    /// One destructive simple command on `target`.
    fn destroy(&mut self, target: &str) -> String {
        match self.rng.u32(0..22) {
            0..=8 => format!("rm -rf {target}"),
            9 => format!("rm -r -f -- {target}"),
            10 => format!("rm --recursive --force {target}"),
            11 => format!("command rm -rf {target}"),
            12 => format!("\\rm -fr {target}"),
            13 => format!("env X=1 rm -rf {target}"),
            14 => format!("nice -n 5 rm -rf {target}"),
            15 => format!("timeout 5 rm -rf {target}"),
            16 => format!("find {target} -delete"),
            17 => format!("find {target} -type f -exec rm -f {{}} +; rm -rf {target}"),
            18 => format!("printf '%s\\n' {target} | xargs rm -rf"),
            19 => format!("/bin/rm -rf {target}"),
            20 => format!("nohup rm -rf {target}"),
            _ => format!("xargs rm -rf <<< {target}"),
        }
    }

    /// A command that makes, moves, copies or overwrites.
    fn write(&mut self) -> String {
        let target = if !self.strays() {
            self.pick(&[
                "out/one.log",
                "dist/app.js",
                "build/a.o",
                "out/new",
                "/tmp/work/y",
                "/tmp/new",
                "\"$ABS/two.log\"",
            ])
        } else {
            self.pick(&[
                "/srv/data/index",
                "docs/thesis.txt",
                "\"$DOCS/thesis.txt\"",
                "/etc/app/app.conf",
                "../other/src/lib.c",
            ])
        };
        match self.rng.u32(0..9) {
            0 => format!("echo x > {target}"),
            1 => format!("echo x >> {target}"),
            2 => format!("cp README.md {target}"),
            3 => format!("cp src/lib.rs out/copy && mv -f out/copy {target}"),
            4 => format!("truncate -s 0 {target}"),
            5 => format!("echo y | tee {target}"),
            6 => format!(": > {target}"),
            7 => "mkdir -p out/deep/er && rm -rf out/deep".to_owned(),
            _ => format!("sed -i s/x/y/ {target}"),
        }
    }

    fn assignment(&mut self) -> String {
        let name = self.name();
        let value = self.value();
        let target = match self.rng.u32(0..7) {
            0 => format!("\"${name}\""),
            1 => format!("${name}"),
            2 => format!("\"${{{name}}}\""),
            3 => format!("\"${{{name}:?}}\""),
            4 => format!("${{{name}%/}}"),
            5 => format!("\"${{{name}:-dist}}\""),
            _ => format!("${{{name}}}"),
        };
        let set = match self.rng.u32(0..6) {
            0 => format!("export {name}={value}"),
            1 => format!("{name}=$(echo {value})"),
            2 => format!("{name}={value}; {name}=${name}"),
            3 => format!("declare {name}={value}"),
            4 => format!("read -r {name} <<< {value}"),
            _ => format!("{name}={value}"),
        };
        let act = self.destroy(&target);
        format!("{set}\n{act}")
    }

    fn change_directory(&mut self) -> String {
        let places = if self.strays() { PLACES_OUTSIDE } else { PLACES_INSIDE };
        let (dir, target) = places[self.rng.usize(0..places.len())];
        let act = self.destroy(target);
        match self.rng.u32(0..5) {
            0 => format!("(cd {dir} && {act})"),
            1 => format!("cd {dir} && {act}; cd /home/dev/proj"),
            2 => format!("( cd {dir} || exit 1\n{act}\ncd - > /dev/null )"),
            3 => format!("pushd {dir} > /dev/null && {{ {act}; popd > /dev/null; }}"),
            _ => format!("( set -e; cd {dir}; {act} )"),
        }
    }

    fn block(&mut self) -> String {
        self.depth += 1;
        let body = if self.depth > 2 { self.simple() } else { self.statement() };
        self.depth -= 1;
        body
    }

    fn conditional(&mut self) -> String {
        let (condition, likely) = CONDITIONS[self.rng.usize(0..CONDITIONS.len())];
        let (yes, no) = (self.branch(likely), self.branch(!likely));
        match self.rng.u32(0..5) {
            0 => format!("if {condition}; then\n{yes}\nelse\n{no}\nfi"),
            1 => format!("if {condition}; then\n{yes}\nfi"),
            2 => format!("{condition} && {{ {yes}\n}}"),
            3 => format!("{condition} || {{ {no}\n}}"),
            _ if likely => format!("case $REL in b*) {yes}\n;; *) {no}\n;; esac"),
            _ => format!("case $REL in d*) {yes}\n;; *) {no}\n;; esac"),
        }
    }

    /// A block that most likely runs, or does not.
    fn branch(&mut self, runs: bool) -> String {
        self.idle += u32::from(!runs);
        let block = self.block();
        self.idle -= u32::from(!runs);
        block
    }

    fn repetition(&mut self) -> String {
        let name = self.name();
        let (first, second) = (self.value(), self.value());
        let act = self.destroy(&format!("\"${name}\""));
        match self.rng.u32(0..5) {
            0 => format!("for {name} in {first} {second}; do {act}; done"),
            1 => format!("for {name} in out/*.log; do {act}; done"),
            2 => format!("{name}=({first} {second}); rm -rf \"${{{name}[@]}}\""),
            3 => format!("set -- {first} {second}; rm -rf \"$@\""),
            _ => "i=0; while [ $i -lt 2 ]; do rm -rf \"out/$i\"; i=$((i+1)); done".to_owned(),
        }
    }

    fn function(&mut self) -> String {
        let name = self.name();
        let operand = self.value();
        let body = match self.rng.u32(0..3) {
            0 => self.destroy("\"$1\""),
            1 => format!("local d=$1; {}", self.destroy("\"$d\"")),
            // From another directory a relative operand is another object.
            _ => format!("( cd src && {} )", self.destroy("\"../$1\"")),
        };
        format!("f{name}() {{ {body}; }}\nf{name} {operand}")
    }

    fn nested(&mut self) -> String {
        let operand = self.value();
        match self.rng.u32(0..8) {
            0 => format!("sh -c 'rm -rf \"$1\"' sh {operand}"),
            1 => format!("bash -c 'rm -rf \"$0\"' {operand}"),
            2 => "eval \"rm -rf $REL\"".to_owned(),
            3 => "echo 'rm -rf dist' | sh".to_owned(),
            4 => "bash <<EOF\nrm -rf $REL/sub\nEOF".to_owned(),
            5 => "bash <<'EOF'\nrm -rf \"$REL\"/sub\nEOF".to_owned(),
            6 => format!("trap 'rm -rf {}' EXIT", self.pick(&["out/one.log", "\"$REL\"", "/tmp/work/x"])),
            _ => "T=$(mktemp -d) && rm -rf \"$T\"".to_owned(),
        }
    }

    fn link(&mut self) -> String {
        let target = if !self.strays() {
            self.pick(&["build", "/tmp/work", "out"])
        } else {
            return self.link_out();
        };
        let name = format!("out/l{}", self.names);
        self.names += 1;
        let reach = self.pick(&["", "", "/", "/*"]);
        format!("ln -s {target} {name}; rm -rf {name}{reach}")
    }

    /// A link that leads out of scope, and what is destroyed through it.
    fn link_out(&mut self) -> String {
        let name = format!("/tmp/l{}", self.names);
        self.names += 1;
        let target = self.pick(&["/srv/data", "/home/dev/other", "$DOCS"]);
        format!("ln -s {target} {name}; rm -rf {name}/*")
    }

    /// Listings and their readers: `find -exec`, `while read`, `xargs`.
    fn listing(&mut self) -> String {
        let (name, operand, value) = (self.name(), self.value(), self.value());
        let inside = self.pick(ORDINARY);
        let act = self.destroy(&format!("\"${name}\""));
        match self.rng.u32(0..7) {
            0 => format!("find {operand} -exec rm -rf {{}} +"),
            1 => format!("find {inside} -maxdepth 1 -name '*.o' -exec rm -f {{}} \\;"),
            2 => format!("find {operand} -type f -print0 | xargs -0 rm -f"),
            3 => format!("while read -r {name}; do {act}; done <<EOF\n{value}\nEOF"),
            4 => format!("printf '%s\\n' {operand} {value} | while IFS= read -r {name}; do {act}; done"),
            5 => format!("ls -d {operand} | while read -r {name}; do {act}; done"),
            _ => format!("while read -r {name}; do {act}; done <<< {value}"),
        }
    }

    /// Values that are cut, replaced and put together before they are used.
    fn expansion(&mut self) -> String {
        let name = self.name();
        let whole = self.chance(50);
        let operand = if whole { self.value() } else { self.pick(ORDINARY).to_owned() };
        let used = match (whole, self.rng.u32(0..4)) {
            (true, 0) => format!("${{{name}#./}}"),
            (true, 1) => format!("${{{name}%%/}}"),
            (true, 2) => format!("${{{name}:0:60}}"),
            (true, _) => format!("${{{name}:+${name}}}"),
            (false, 0) => format!("${{{name}##*/}}"),
            (false, 1) => format!("${{{name}%/*}}/none"),
            (false, 2) => format!("${{{name}/old/lib}}"),
            (false, _) => format!("${{{name}-dist}}/a.o"),
        };
        let quoted = if self.chance(70) { format!("\"{used}\"") } else { used };
        let act = self.destroy(&quoted);
        format!("{name}={operand}\n{act}")
    }

    /// Chains of moves and copies, whose last link destroys what came from somewhere else.
    fn chain(&mut self) -> String {
        let source = self.value();
        let name = self.name();
        match self.rng.u32(0..6) {
            0 => format!("mkdir -p out/{name} && mv {source} out/{name}/ && rm -rf out/{name}"),
            1 => format!("mv {source} /tmp/{name}; rm -rf /tmp/{name}"),
            2 => format!("cp -r {source} /tmp/{name} && rm -rf /tmp/{name}"),
            3 => format!("mv {source} /tmp/{name} && mv /tmp/{name} /tmp/{name}b; rm -rf /tmp/{name}b"),
            4 => "for f in out/*.log; do mv \"$f\" \"${f%.log}.txt\"; done".to_owned(),
            _ => format!("cp README.md out/{name}; mv out/{name} {source}"),
        }
    }

    /// What runs later, or only if nothing fails: traps, `set -e`, functions in functions, arrays that grow.
    fn deferred(&mut self) -> String {
        let (name, first, second) = (self.name(), self.value(), self.value());
        let act = self.destroy(&format!("\"${name}\""));
        match self.rng.u32(0..8) {
            0 => format!("( {name}={first}; trap '{act}' EXIT; {name}={second} )"),
            1 => format!("( set -e; {name}={first}; [ -d src ]; {act} )"),
            2 => format!("g{name}() {{ {name}={first}; }}; f{name}() {{ g{name}; {act}; }}; f{name}"),
            3 => format!("f{name}() {{ local {name}={first}; h{name}; }}; h{name}() {{ {act}; }}; f{name}"),
            4 => format!("A{name}=({first}); A{name}+=({second}); rm -rf \"${{A{name}[@]}}\""),
            5 => format!("A{name}=({first} {second}); rm -rf \"${{A{name}[1]}}\""),
            6 => format!(
                "f{name}() {{ [ -n \"$1\" ] || return 1; rm -rf \"$1\"; }}; f{name} {first} && f{name} {second}"
            ),
            _ => format!("case {first} in */sub|docs) {name}={second};; *) {name}=dist;; esac; {act}"),
        }
    }

    fn harmless(&mut self) -> String {
        self.pick(&[
            "echo rm -rf /srv/data",
            "printf '%s\\n' 'rm -rf ~'",
            "true # rm -rf /home/dev/Documents",
            "cat <<'EOF' > /dev/null\nrm -rf /etc/app\nEOF",
            "ls -la .. > /dev/null",
            "X=/srv/data; echo \"$X\"",
            "grep -r 'rm -rf' src > /dev/null",
            "set -u",
            "mkdir -p out/new/dir",
            "touch out/t && rm out/t",
            "test -d /srv/data && echo there",
            ": \"${REL:?}\"",
        ])
        .to_owned()
    }

    pub(crate) fn simple(&mut self) -> String {
        let operands = self.operands();
        match self.rng.u32(0..4) {
            0 => self.write(),
            1 => self.harmless(),
            _ => self.destroy(&operands),
        }
    }

    fn statement(&mut self) -> String {
        match self.rng.u32(0..38) {
            26..=37 => self.rarer(),
            20..=21 => self.listing(),
            22 => self.expansion(),
            23..=24 => self.deferred(),
            25 => self.chain(),
            0..=4 => self.simple(),
            5..=7 => self.assignment(),
            8..=9 => self.change_directory(),
            10..=11 => self.conditional(),
            12..=13 => self.repetition(),
            14 => self.function(),
            15..=16 => self.nested(),
            17 => self.link(),
            _ => self.harmless(),
        }
    }
}
