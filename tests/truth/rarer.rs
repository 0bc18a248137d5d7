//! The rarer half of the grammar: splitting, aliases, overridden commands, options of the shell, maps, indirection,
//! files that carry names or code, redirections that clobber.

use super::grammar::Author;

/// Names without anything that a shell would read, in scope.
const PLAIN_INSIDE: &[&str] = &[
    "build/sub",
    "out/one.log",
    "/tmp/work/y",
    "dist",
    "src/old.rs",
    "./build",
    "inner",
    "docs",
    "/home/dev/proj/out",
];

/// The same, outside.
const PLAIN_OUTSIDE: &[&str] = &[
    "/srv/data",
    "/opt/tool",
    "/etc/app",
    "../other",
    "/home/dev/Downloads",
    "docs/thesis.txt",
    "/tmp/work/data/index",
    "up/other/src",
];

/// Files in scope that something may take the place of.
const FILES_INSIDE: &[&str] =
    &["out/one.log", "dist/app.js", "build/a.o", "/tmp/work/y", "out/new", "\"$ABS/two.log\""];

/// The same, outside.
const FILES_OUTSIDE: &[&str] = &[
    "/srv/data/index",
    "docs/thesis.txt",
    "/etc/app/app.conf",
    "../other/src/lib.c",
    "\"$DOCS/thesis.txt\"",
];

impl Author {
    fn plain(&mut self) -> &'static str {
        if self.strays() { self.pick(PLAIN_OUTSIDE) } else { self.pick(PLAIN_INSIDE) }
    }

    fn plain_inside(&mut self) -> &'static str {
        self.pick(PLAIN_INSIDE)
    }

    /// One statement of the rarer kind.
    pub(crate) fn rarer(&mut self) -> String {
        match self.rng.u32(0..13) {
            0 => self.splitting(),
            1 => self.alias(),
            2 => self.overriding(),
            3 => self.trapping(),
            4 => self.strictness(),
            5 => self.globbing(),
            6 => self.maps(),
            7 => self.indirection(),
            8 => self.looping(),
            9 => self.piping(),
            10 => self.files(),
            11 => self.clobbering(),
            _ => self.directories(),
        }
    }

    fn splitting(&mut self) -> String {
        let (name, first, second, inside) = (self.name(), self.plain(), self.plain(), self.plain_inside());
        match self.rng.u32(0..8) {
            0 => format!("( IFS=:; {name}=\"{first}:{second}\"; rm -rf ${name} )"),
            1 => format!("{name}=\"{first} {second}\"; rm -rf ${name}"),
            2 => format!("{name}=\"build/sub {second}\"; rm -rf \"${name}\""),
            3 => format!("IFS=, read -r {name}a {name}b <<< \"{inside},{second}\"; rm -rf \"${name}b\""),
            4 => format!("read -ra {name} <<< \"{inside} {second}\"; rm -rf \"${{{name}[1]}}\""),
            5 => format!("mapfile -t {name} <<< $'{first}\\n{second}'; rm -rf \"${{{name}[@]}}\""),
            6 => format!("( IFS=,; set -- $(echo {inside},{second}); unset IFS; rm -rf \"$2\" )"),
            _ => format!("{name}='-rf {first}'; rm ${name}"),
        }
    }

    /// Aliases take effect line by line: within a compound command that is read at once they do not.
    fn alias(&mut self) -> String {
        let (name, first, second) = (self.name(), self.plain(), self.plain());
        if self.depth > 0 || self.idle > 0 {
            return self.simple();
        }
        match self.rng.u32(0..4) {
            0 => format!("shopt -s expand_aliases\nalias zap{name}='rm -rf'\nzap{name} {first}"),
            1 => format!("shopt -s expand_aliases\nalias zap{name}='rm -rf {first}'\nzap{name} {second}"),
            2 => format!("alias rm=echo; rm -rf {first}; unalias rm"),
            _ => format!("alias p{name}='rm -rf {second}'; unalias p{name}; rm -rf {first}"),
        }
    }

    fn overriding(&mut self) -> String {
        let (first, inside) = (self.plain(), self.plain_inside());
        match self.rng.u32(0..6) {
            0 => format!("rm() {{ command rm \"$@\"; }}; rm -rf {first}; unset -f rm"),
            1 => format!("echo() {{ rm -rf \"$1\"; }}; echo {first}; unset -f echo"),
            2 => format!("rm() {{ :; }}; rm -rf {first} /srv/data; unset -f rm"),
            3 => format!("ls() {{ rm -rf {first}; }}; command ls > /dev/null; ls; unset -f ls"),
            4 => format!("( cd() {{ builtin cd build; }}; cd /srv/data && rm -rf sub )"),
            _ => format!("rm() {{ /bin/rm -rf {inside}; }}; \\rm /srv/data; unset -f rm"),
        }
    }

    fn trapping(&mut self) -> String {
        let (name, first, inside) = (self.name(), self.plain(), self.plain_inside());
        match self.rng.u32(0..6) {
            0 => format!("( trap 'rm -rf {first}' ERR; false )"),
            1 => format!("( trap 'rm -rf {inside}' ERR; true )"),
            2 => format!("( trap 'rm -rf \"${name}\"' EXIT; {name}={first}; exit 0 )"),
            3 => format!("( trap 'rm -rf {inside}' EXIT; trap - EXIT )"),
            4 => format!("( t{name}() {{ rm -rf \"${name}\"; }}; trap t{name} EXIT; {name}={first} )"),
            _ => format!("( {name}={first}; trap \"rm -rf ${name}\" EXIT; {name}={inside} )"),
        }
    }

    fn strictness(&mut self) -> String {
        let (name, first, inside) = (self.name(), self.plain(), self.plain_inside());
        match self.rng.u32(0..9) {
            0 => "( set -u; rm -rf \"$UNSET/etc/app\" )".to_owned(),
            1 => format!("( set -u; rm -rf \"${{UNSET:-{first}}}\" )"),
            2 => format!("( set -eu; {name}={first}; rm -rf \"${name}\" )"),
            3 => format!("( set -e; false; rm -rf {inside} )"),
            4 => format!("rm -rf ${{UNSET:+/srv/data}} {first}"),
            5 => format!(": \"${{{name}:={first}}}\"; rm -rf \"${name}\""),
            6 => format!("( {name}=${{UNSET:?gone}}; rm -rf /srv/data/${name} )"),
            7 => format!("( set -e; {name}=$(false); rm -rf {inside} )"),
            _ => format!("( set -o pipefail; false | true && rm -rf {inside} || rm -rf {first} )"),
        }
    }

    fn globbing(&mut self) -> String {
        let first = self.plain();
        let strays = self.strays();
        let top = self.depth == 0 && self.idle == 0;
        match self.rng.u32(0..9) {
            0 => "( shopt -s dotglob; rm -rf out/* )".to_owned(),
            1 => format!("( shopt -s nullglob; rm -rf {first} none/*.zz )"),
            2 if top => "shopt -s extglob\nrm -rf build/!(a.o)\nshopt -u extglob".to_owned(),
            3 => "rm -rf build/{a,b}.o out/{1..3}".to_owned(),
            4 if strays => "rm -rf /srv/{data,none} /opt/t*".to_owned(),
            5 => "( shopt -s globstar; rm -f build/**/*.o )".to_owned(),
            6 => "( set -f; rm -rf out/* /srv/*none )".replace(" /srv/*none", ""),
            7 if strays => "for d in /srv/*/; do rm -rf \"$d\"; done".to_owned(),
            _ => format!("for f in build/*.o {first}; do [ -e \"$f\" ] && rm -rf \"$f\"; done"),
        }
    }

    fn maps(&mut self) -> String {
        let (name, first, second, inside) = (self.name(), self.plain(), self.plain(), self.plain_inside());
        match self.rng.u32(0..7) {
            0 => format!("declare -A {name}=([a]={inside} [b]={second}); rm -rf \"${{{name}[b]}}\""),
            1 => format!(
                "declare -A {name}=([a]={first} [b]={second}); for k in \"${{!{name}[@]}}\"; do rm -rf \"${{{name}[$k]}}\"; done"
            ),
            2 => format!("{name}=({inside} {second}); rm -rf \"${{{name}[@]:1:1}}\""),
            3 => format!(
                "{name}=({first} {second}); for ((i=0; i<${{#{name}[@]}}; i++)); do rm -rf \"${{{name}[i]}}\"; done"
            ),
            4 => format!("{name}=({inside} {second}); rm -rf \"${{{name}[-1]}}\""),
            5 => format!("{name}=({inside} {second}); unset '{name}[0]'; rm -rf \"${{{name}[@]}}\""),
            _ => format!("{name}[3]={first}; rm -rf \"${{{name}[@]}}\""),
        }
    }

    fn indirection(&mut self) -> String {
        let (name, first) = (self.name(), self.plain());
        match self.rng.u32(0..10) {
            0 => format!("{name}={first}; {name}i={name}; rm -rf \"${{!{name}i}}\""),
            1 => format!("{name}={first}; declare -n {name}r={name}; rm -rf \"${name}r\"; unset -n {name}r"),
            2 => format!("printf -v {name} '%s' {first}; rm -rf \"${name}\""),
            3 => format!("eval \"{name}={first}\"; rm -rf \"${name}\""),
            4 => format!("{name}='rm -rf {first}'; ${name}"),
            5 => format!("{name}='rm -rf'; ${name} {first}"),
            6 => format!("{name}=rm; \"${name}\" -rf {first}"),
            7 => format!("{name}={first}; bash -c \"rm -rf \\\"${name}\\\"\""),
            8 => format!("{name}={first}; eval 'rm -rf \"${name}\"'"),
            _ => format!("{name}={first} bash -c 'rm -rf \"${name}\"'"),
        }
    }

    fn looping(&mut self) -> String {
        let (name, first, second, inside) = (self.name(), self.plain(), self.plain(), self.plain_inside());
        match self.rng.u32(0..6) {
            0 => format!("for {name} in {first} {inside}; do rm -rf \"${name}\"; break; done"),
            1 => format!(
                "until [ -e out/flag ]; do rm -rf {first}; mkdir -p out; touch out/flag; done; rm -f out/flag"
            ),
            2 => format!("n=0; while :; do n=$((n+1)); [ $n -gt 1 ] && break; rm -rf {first}; done"),
            3 => format!("case $REL in b*) rm -rf {first} ;& zz) rm -rf {second} ;; esac"),
            4 => format!("case $REL in b*) rm -rf {first} ;;& *d) rm -rf {second} ;; esac"),
            _ => format!(
                "for {name} in {inside} {second}; do [ \"${name}\" = {inside} ] && continue; rm -rf \"${name}\"; done"
            ),
        }
    }

    fn piping(&mut self) -> String {
        let (name, first, inside) = (self.name(), self.plain(), self.plain_inside());
        match self.rng.u32(0..7) {
            0 => format!("{name}={inside}; echo /srv/data | read -r {name}; rm -rf \"${name}\""),
            1 => format!("echo {first} | xargs -I{{}} rm -rf {{}}"),
            2 => format!("printf '%s\\0' {first} | xargs -0 rm -rf"),
            3 => format!("echo {first} | {{ read -r {name}; rm -rf \"${name}\"; }}"),
            4 => format!("rm -rf \"$(cat <<< {first})\""),
            5 => format!("while read -r {name}; do rm -rf \"${name}\"; done <<< \"$(echo {first})\""),
            _ => format!("f{name}() {{ echo {first}; }}; rm -rf \"$(f{name})\""),
        }
    }

    /// Names and code that pass through a file.
    fn files(&mut self) -> String {
        let (name, first, second) = (self.name(), self.plain(), self.plain());
        match self.rng.u32(0..7) {
            0 => format!("echo {first} > /tmp/{name}; xargs rm -rf < /tmp/{name}"),
            1 => format!("echo {first} > /tmp/{name}; rm -rf \"$(cat /tmp/{name})\""),
            2 => format!("echo 'rm -rf {first}' > /tmp/{name}; bash /tmp/{name}"),
            3 => format!("echo 'rm -rf {first}' > /tmp/{name}; . /tmp/{name}"),
            4 => format!("echo '{name}={first}' > /tmp/{name}; . /tmp/{name}; rm -rf \"${name}\""),
            5 => format!(
                "printf '%s\\n' {first} {second} > /tmp/{name}; while read -r f; do rm -rf \"$f\"; done < /tmp/{name}"
            ),
            _ => format!(
                "cat > /tmp/{name} <<'EOF'\n#!/bin/bash\nrm -rf \"$1\"\nEOF\nchmod +x /tmp/{name}; /tmp/{name} {first}"
            ),
        }
    }

    fn clobbering(&mut self) -> String {
        let target = if self.strays() { self.pick(FILES_OUTSIDE) } else { self.pick(FILES_INSIDE) };
        match self.rng.u32(0..12) {
            0 => format!("ln -sf /tmp/work {target}"),
            1 => format!("cp README.md out/moved && mv -f out/moved {target}"),
            2 => format!("install -m 644 README.md {target}"),
            3 => format!("dd if=README.md of={target} 2> /dev/null"),
            4 => format!("exec 3> {target}; echo x >&3; exec 3>&-"),
            5 => format!("{{ echo a; echo b; }} > {target}"),
            6 => format!("( set -C; echo a >| {target} )"),
            7 => format!("echo a &> {target}"),
            8 => format!("sort -o {target} README.md"),
            9 => format!("for i in 1 2; do echo $i; done > {target}"),
            10 => format!("cp README.md out/x; ln -f out/x {target}"),
            _ => format!("shred -u {target} 2> /dev/null"),
        }
    }

    fn directories(&mut self) -> String {
        if self.strays() {
            return self
                .pick(&[
                    "( CDPATH=/home/dev; cd other > /dev/null && rm -rf src )",
                    "( cd -P docs && rm -rf thesis.txt )",
                    "( cd -P docs/.. && rm -rf other )",
                    "rm -rf docs/../other",
                    "( cd docs; rm -rf ./*.txt )",
                    "( pushd /srv > /dev/null; pushd data > /dev/null; rm -rf index )",
                    "( cd /; cd opt; cd ..; rm -rf srv/data )",
                    "( cd none 2> /dev/null; cd ..; rm -rf other )",
                    "( cd build || exit; cd ../.. ; rm -rf Downloads )",
                    "( OLDPWD=/srv/data; cd - > /dev/null; rm -rf index )",
                ])
                .to_owned();
        }
        self.pick(&[
            "( CDPATH=/home/dev/proj; cd build > /dev/null; rm -rf sub )",
            "( cd docs/..; rm -rf build/sub )",
            "( cd none 2> /dev/null; rm -rf build/sub )",
            "( pushd build > /dev/null; pushd ../out > /dev/null; popd > /dev/null; rm -rf sub )",
            "cd none 2> /dev/null || rm -rf build/sub",
            "( cd build && cd .. && rm -rf dist )",
            "( cd /srv/data; cd - > /dev/null; rm -rf dist )",
            "( cd \"$ABS\"; rm -rf one.log )",
            "D=$(pwd); ( cd /; rm -rf \"$D/dist\" )",
            "D=$(cd build && pwd) && rm -rf \"$D/sub\"",
        ])
        .to_owned()
    }
}
