//! sed(1): editing in place, and the commands of a script that write files or run a shell.

use blastradius_common::RuleId;

use crate::policy::effect::{Act, Follow};
use crate::programs::options::{Grammar, Parsed, flag, optional, value};
use crate::programs::{Call, Dialect, Machine, Program, Surroundings, acts, words};
use crate::shell::value::{Abstract, Field};
use crate::shell::world::Platform;

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[("sed", sed), ("ssed", sed)];

static SED: Grammar = Grammar::new(&[
    optional("i", "in-place"),
    flag("n", "quiet|silent"),
    value("e", "expression"),
    value("f", "file"),
    value("l", "line-length"),
    flag("", "sandbox"),
    flag("", "follow-symlinks"),
    flag("ErsuzaI", "regexp-extended|separate|unbuffered|null-data|posix|debug|binary"),
]);

/// On macOS `-i` always takes its suffix, be it the empty word that follows.
static BSD_SED: Grammar = Grammar::new(&[
    value("iI", "in-place"),
    flag("n", "quiet|silent"),
    value("e", "expression"),
    value("f", "file"),
    flag("Elaursu", ""),
]);

fn sed(call: &Call<'_>, machine: &mut dyn Machine) {
    let grammar = if machine.world().platform() == Platform::MacOs { &BSD_SED } else { &SED };
    let parsed = grammar.read(call.args);
    if parsed.informs() {
        return;
    }
    let scripts_given = parsed.has_any(&["expression", "file"]);
    let mut operands = parsed.operands.as_slice();
    // `sed -i '' …` is written for a BSD; GNU takes the empty word as the script. What follows is judged either way.
    if parsed.has("in-place") && operands.first().is_some_and(|first| first.as_known().as_deref() == Some(""))
    {
        operands = &operands[1..];
    }
    let script = if scripts_given { None } else { operands.split_first().map(|(first, _)| (*first).clone()) };
    let files = operands.get(usize::from(!scripts_given)..).unwrap_or_default();
    if !parsed.has("sandbox") {
        for script in scripts(machine, &parsed, script) {
            run_script(machine, &script);
        }
    }
    if parsed.has("in-place") {
        // The edited text takes over the name, so that a link is replaced and not followed.
        let follow = if parsed.has("follow-symlinks") { Follow::Last } else { Follow::Never };
        edit_in_place(machine, files, follow);
    }
}

/// Each file is read, and what was made of it takes over its name.
pub fn edit_in_place(machine: &mut dyn Machine, files: &[&Field], follow: Follow) {
    for file in files {
        acts::path(machine, Act::Replace, file, follow);
    }
}

fn scripts(machine: &mut dyn Machine, parsed: &Parsed<'_>, operand: Option<Field>) -> Vec<Abstract> {
    let mut scripts: Vec<Abstract> = parsed.values("expression").map(|script| script.text.clone()).collect();
    scripts.extend(operand.map(|script| script.text));
    for file in parsed.values("file") {
        scripts.extend(machine.read_file(file));
    }
    scripts
}

/// What a script does besides editing text.
#[derive(Debug, PartialEq, Eq)]
enum Deed {
    /// `w FILE`, `s/…/…/w FILE`.
    Write(String),
    /// `e COMMAND`.
    Run(String),
    /// `e`, `s/…/…/e`: the text that is edited is run.
    RunInput,
}

fn run_script(machine: &mut dyn Machine, script: &Abstract) {
    let lead = words::lead(script);
    for deed in Reader::new(&lead).deeds() {
        match deed {
            Deed::Write(file) if matches!(file.as_str(), "/dev/stdout" | "/dev/stderr") => {}
            Deed::Write(file) => {
                let file = Field::literal(&file);
                acts::truncate(machine, &file);
                acts::creates(machine, &file);
            }
            Deed::Run(text) => {
                machine.run_text(
                    &Abstract::known(&text),
                    Dialect::Posix,
                    Vec::new(),
                    Surroundings::default(),
                );
            }
            Deed::RunInput => {
                acts::thing(
                    machine,
                    RuleId::UnknownCode,
                    "sed runs the text that it edits",
                    lead.to_string(),
                );
            }
        }
    }
}

/// Reads a sed script as far as it must to find the ends of commands (sed(1), POSIX "sed").
struct Reader<'a> {
    letters: std::iter::Peekable<std::str::Chars<'a>>,
}

impl<'a> Reader<'a> {
    fn new(script: &'a str) -> Self {
        Self { letters: script.chars().peekable() }
    }

    fn deeds(mut self) -> Vec<Deed> {
        let mut deeds = Vec::new();
        loop {
            self.skip(|letter| letter.is_whitespace() || matches!(letter, ';' | '{' | '}'));
            self.addresses();
            let Some(command) = self.letters.next() else { return deeds };
            match command {
                '#' | 'a' | 'i' | 'c' => self.text(),
                ':' | 'b' | 't' | 'T' | 'r' | 'R' | 'v' => drop(self.line()),
                'w' | 'W' => deeds.push(Deed::Write(self.line().trim().to_owned())),
                'e' => {
                    let text = self.line().trim().to_owned();
                    deeds.push(if text.is_empty() { Deed::RunInput } else { Deed::Run(text) });
                }
                's' => deeds.extend(self.substitution()),
                'y' => {
                    if let Some(delimiter) = self.letters.next() {
                        self.until(delimiter);
                        self.until(delimiter);
                    }
                }
                _ => {}
            }
        }
    }

    fn skip(&mut self, skipped: impl Fn(char) -> bool) {
        while self.letters.peek().is_some_and(|letter| skipped(*letter)) {
            self.letters.next();
        }
    }

    /// `1,5`, `$`, `/x/I,+3`, `\cxc`, `0~4`, each followed by `!` or not.
    fn addresses(&mut self) {
        loop {
            match self.letters.peek() {
                Some('/') => {
                    self.letters.next();
                    self.until('/');
                    self.skip(|letter| matches!(letter, 'I' | 'M'));
                }
                Some('\\') => {
                    self.letters.next();
                    if let Some(delimiter) = self.letters.next() {
                        self.until(delimiter);
                    }
                }
                Some('0'..='9' | '$' | ',' | '+' | '~' | '!' | ' ' | '\t') => drop(self.letters.next()),
                _ => return,
            }
        }
    }

    /// Up to a delimiter that is neither escaped nor in brackets.
    fn until(&mut self, delimiter: char) -> String {
        let mut read = String::new();
        let mut in_class = false;
        while let Some(letter) = self.letters.next() {
            match letter {
                '\\' => {
                    read.push(letter);
                    read.extend(self.letters.next());
                    continue;
                }
                '[' => in_class = true,
                ']' => in_class = false,
                _ if letter == delimiter && !(in_class && delimiter != '/') => return read,
                '\n' => in_class = false,
                _ => {}
            }
            read.push(letter);
        }
        read
    }

    fn line(&mut self) -> String {
        self.letters.by_ref().take_while(|letter| *letter != '\n').collect()
    }

    /// Text behind `a`, `i`, `c`: it goes on behind a backslash at the end of a line.
    fn text(&mut self) {
        loop {
            let line = self.line();
            if !line.ends_with('\\') {
                return;
            }
        }
    }

    fn substitution(&mut self) -> Option<Deed> {
        let delimiter = self.letters.next()?;
        self.until(delimiter);
        let replacement = self.until(delimiter);
        let mut deed = None;
        loop {
            match self.letters.peek() {
                Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') => drop(self.letters.next()),
                Some('e') => {
                    self.letters.next();
                    // A replacement without references is the command, if the pattern matches the whole line.
                    let refers = replacement.contains('&') || replacement.contains('\\');
                    deed = Some(if refers { Deed::RunInput } else { Deed::Run(replacement.clone()) });
                }
                Some('w') => {
                    self.letters.next();
                    return Some(Deed::Write(self.line().trim().to_owned()));
                }
                _ => return deed,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn told(line: &str) -> Vec<String> {
        Recorder::default().call(sed, line).told()
    }

    #[test]
    fn only_editing_in_place_replaces_files() {
        assert_eq!(told("sed -i 's/a/b/' f g"), ["replace f", "replace g"]);
        assert_eq!(told("sed -i.bak -e 's/a/b/' f"), ["replace f"]);
        assert_eq!(told("sed --in-place=.bak -n -e p f"), ["replace f"]);
        assert_eq!(told("sed -i '' 's/a/b/' f"), ["replace f"]);
        assert!(told("sed 's/a/b/' f").is_empty());
        assert!(told("sed -n '/rm -rf/p' build.sh").is_empty());
    }

    #[test]
    fn a_script_may_write_files() {
        assert_eq!(told("sed -n '/x/w out' f"), ["truncate out"]);
        assert_eq!(told("sed 's/a/b/gw /etc/passwd' f"), ["truncate /etc/passwd"]);
        assert!(told("sed 's/w out/x/; s,a,w,' f").is_empty());
        assert!(told("sed 'a w out' f").is_empty());
        assert!(told("sed 's/a/b/w /dev/stdout' f").is_empty());
    }

    #[test]
    fn a_script_may_run_a_shell() {
        let sourced = |line: &str| {
            let recorder = Recorder::default().call(sed, line);
            recorder.texts.iter().map(|ran| ran.what.clone()).collect::<Vec<_>>()
        };
        assert_eq!(sourced("sed '1e rm -rf x' f"), ["rm -rf x"]);
        assert_eq!(sourced("sed 's/.*/rm -rf x/e' f"), ["rm -rf x"]);
        assert!(sourced("sed --sandbox '1e rm -rf x' f").is_empty());
        assert_eq!(told("sed 's/^/&/e' f").len(), 1);
        assert!(told("sed 's/rate/e/' f").is_empty());
    }
}
