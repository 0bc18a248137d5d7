//! Random scripts over the grammar that the evaluator models.
//!
//! Most of what a script touches is in scope, so that being stopped is news; the rest reaches the made-up home, `/etc`,
//! `/srv` and `/opt` by every road: variables, links, `cd`, globs, loops, functions, traps, wrappers, nested shells.

use fastrand::Rng;

/// The script of a seed: the same for ever.
pub(crate) fn script(seed: u64) -> String {
    let mut author = Author { rng: Rng::with_seed(seed), depth: 0, names: 0 };
    let lines: Vec<String> = (0..author.rng.usize(1..6)).map(|_| author.statement()).collect();
    lines.join("\n")
}

struct Author {
    rng: Rng,
    depth: usize,
    names: usize,
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

/// Conditions that fold to true, fold to false, or ask the file system.
const CONDITIONS: &[&str] = &[
    "true",
    "false",
    "[ -n \"$REL\" ]",
    "[ -z \"$REL\" ]",
    "[ -n \"$UNSET\" ]",
    "[ -d build ]",
    "[ -d none ]",
    "test -e out/one.log",
    "[[ $REL == b* ]]",
    "[[ -f src/lib.rs ]]",
    "[ \"$REL\" = build ]",
    "((1 < 2))",
    "((2 < 1))",
    "! false",
    "[[ $ABS =~ proj ]]",
    "[ -n \"$EMPTY\" ]",
    "grep -q x /dev/null",
    "[[ -z $EMPTY && -d out ]]",
];

impl Author {
    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.rng.usize(0..words.len())]
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(0..100) < percent
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("V{}", self.names)
    }

    fn operand(&mut self) -> String {
        if self.chance(93) { self.pick(INSIDE).to_owned() } else { self.pick(OUTSIDE).to_owned() }
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
        let target = if self.chance(95) {
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
            7 => String::from("mkdir -p out/deep/er && rm -rf out/deep"),
            _ => format!("sed -i s/x/y/ {target}"),
        }
    }

    fn assignment(&mut self) -> String {
        let name = self.name();
        let value = self.operand();
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
        let inside = self.chance(92);
        let dir = if inside {
            self.pick(&["build", "out", "src", "/tmp/work", "inner", "\"$ABS\"", "./build/sub", "build/.."])
        } else {
            self.pick(&[
                "..",
                "docs",
                "/srv/data",
                "~/Documents",
                "$HOME",
                "up",
                "/tmp/work/data",
                "\"$DOCS\"",
            ])
        };
        let target = self.pick(&["sub", "*.o", "one.log", "x", "../dist", "./a.o", "../out/two.log"]);
        let target = if inside { target } else { self.pick(&["thesis.txt", "Downloads", "index", "other"]) };
        let act = self.destroy(target);
        match self.rng.u32(0..5) {
            0 => format!("(cd {dir} && {act})"),
            1 => format!("cd {dir} && {act}; cd /home/dev/proj"),
            2 => format!("cd {dir} || exit 1\n{act}\ncd - > /dev/null"),
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
        let condition = self.pick(CONDITIONS);
        let (yes, no) = (self.block(), self.block());
        match self.rng.u32(0..5) {
            0 => format!("if {condition}; then\n{yes}\nelse\n{no}\nfi"),
            1 => format!("if {condition}; then\n{yes}\nfi"),
            2 => format!("{condition} && {{ {yes}\n}}"),
            3 => format!("{condition} || {{ {no}\n}}"),
            _ => format!("case $REL in b*) {yes}\n;; *) {no}\n;; esac"),
        }
    }

    fn repetition(&mut self) -> String {
        let name = self.name();
        let (first, second) = (self.operand(), self.operand());
        let act = self.destroy(&format!("\"${name}\""));
        match self.rng.u32(0..5) {
            0 => format!("for {name} in {first} {second}; do {act}; done"),
            1 => format!("for {name} in out/*.log; do {act}; done"),
            2 => format!("{name}=({first} {second}); rm -rf \"${{{name}[@]}}\""),
            3 => format!("set -- {first} {second}; rm -rf \"$@\""),
            _ => String::from("i=0; while [ $i -lt 2 ]; do rm -rf \"out/$i\"; i=$((i+1)); done"),
        }
    }

    fn function(&mut self) -> String {
        let name = self.name();
        let operand = self.operand();
        let body = match self.rng.u32(0..3) {
            0 => self.destroy("\"$1\""),
            1 => format!("local d=$1; {}", self.destroy("\"$d\"")),
            _ => format!("cd build && {}; cd ..", self.destroy("\"$1\"")),
        };
        format!("f{name}() {{ {body}; }}\nf{name} {operand}")
    }

    fn nested(&mut self) -> String {
        let operand = self.operand();
        let act = self.destroy("\"$1\"");
        match self.rng.u32(0..8) {
            0 => format!("sh -c '{act}' sh {operand}"),
            1 => format!("bash -c 'rm -rf \"$0\"' {operand}"),
            2 => String::from("eval \"rm -rf $REL\""),
            3 => String::from("echo 'rm -rf dist' | sh"),
            4 => String::from("bash <<EOF\nrm -rf $REL/sub\nEOF"),
            5 => String::from("bash <<'EOF'\nrm -rf \"$REL\"/sub\nEOF"),
            6 => format!("trap 'rm -rf {}' EXIT", self.pick(&["out/one.log", "\"$REL\"", "/tmp/work/x"])),
            _ => String::from("T=$(mktemp -d) && rm -rf \"$T\""),
        }
    }

    fn link(&mut self) -> String {
        let target = if self.chance(85) {
            self.pick(&["build", "/tmp/work", "out"])
        } else {
            self.pick(&["/srv/data", "..", "$DOCS"])
        };
        let name = format!("out/l{}", self.names);
        self.names += 1;
        let reach = self.pick(&["", "", "/", "/*"]);
        format!("ln -s {target} {name}; rm -rf {name}{reach}")
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

    fn simple(&mut self) -> String {
        let operands = self.operands();
        match self.rng.u32(0..4) {
            0 => self.write(),
            1 => self.harmless(),
            _ => self.destroy(&operands),
        }
    }

    fn statement(&mut self) -> String {
        match self.rng.u32(0..20) {
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
