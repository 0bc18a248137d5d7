//! Command lines as getopt_long(3) reads them, from a small table.
//!
//! A family states its program's options in a [`Grammar`]; [`Grammar::read`] sorts an argv into options and operands.
//! Words may hold holes: a word that *begins* with one may turn out to be an option, and is taken as an operand with
//! [`Parsed::maybe_options`] set, so that a family can assume the worse of the two.

use std::borrow::Cow;

use crate::programs::words;
use crate::shell::value::Field;

/// Whether an option takes an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// Never.
    None,
    /// Always: glued (`-tDIR`, `--target=DIR`) or as the next word.
    Required,
    /// Only glued (`-iSUFFIX`, `--backup=CONTROL`).
    Optional,
}

/// One option of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opt {
    /// The letters that mean it: `rR`.
    pub short: &'static str,
    /// The long names that mean it, separated by `|`: `quiet|silent`.
    pub long: &'static str,
    /// Its argument.
    pub arg: Arg,
}

/// An option without an argument.
pub const fn flag(short: &'static str, long: &'static str) -> Opt {
    Opt { short, long, arg: Arg::None }
}

/// An option with an argument.
pub const fn value(short: &'static str, long: &'static str) -> Opt {
    Opt { short, long, arg: Arg::Required }
}

/// An option whose argument is glued to it or absent.
pub const fn optional(short: &'static str, long: &'static str) -> Opt {
    Opt { short, long, arg: Arg::Optional }
}

impl Opt {
    /// Whether `name` (a letter or a long name) means this option.
    pub fn is(&self, name: &str) -> bool {
        let mut letters = name.chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None) => self.short.contains(letter),
            _ => self.long_names().any(|long| long == name),
        }
    }

    fn long_names(&self) -> impl Iterator<Item = &'static str> {
        self.long.split('|').filter(|long| !long.is_empty())
    }
}

/// Every GNU program has these; on an unknown program they mean the same.
static HELP: [Opt; 2] = [flag("", "help"), flag("", "version")];

/// What an option stands for that the table does not know.
static UNKNOWN: Opt = flag("", "");

/// `-5` where a program reads a number so (`nice -5`).
static NUMBER: Opt = value("#", "");

/// Options that are not known are remembered up to so many.
const MAX_UNKNOWN: usize = 32;

/// How a program reads its options.
#[derive(Clone, Copy, Debug)]
pub struct Grammar {
    options: &'static [Opt],
    in_order: bool,
    single_dash: bool,
    numeric: bool,
    plus: bool,
    abbreviated: bool,
}

impl Grammar {
    /// GNU style: options anywhere, unambiguous abbreviations of long names.
    pub const fn new(options: &'static [Opt]) -> Self {
        Self { options, in_order: false, single_dash: false, numeric: false, plus: false, abbreviated: true }
    }

    /// Options end at the first operand: wrappers, POSIX and BSD programs.
    pub const fn in_order(self) -> Self {
        Self { in_order: true, ..self }
    }

    /// Long names may have one dash, letters are not combined (Go's flag package, X programs).
    pub const fn single_dash(self) -> Self {
        Self { single_dash: true, abbreviated: false, ..self }
    }

    /// Long names are not abbreviated (pflag, clap, click).
    pub const fn exact(self) -> Self {
        Self { abbreviated: false, ..self }
    }

    /// `-5` is an option with a value, found by the name `#`.
    pub const fn numeric(self) -> Self {
        Self { numeric: true, ..self }
    }

    /// `+x` switches `-x` off (shells).
    pub const fn plus(self) -> Self {
        Self { plus: true, ..self }
    }

    /// Sorts an argv (without the program's name).
    pub fn read<'a>(&self, args: &'a [Field]) -> Parsed<'a> {
        let mut parsed = Parsed {
            options: Vec::new(),
            operands: Vec::with_capacity(args.len()),
            rest: &[],
            maybe_options: false,
            unknown: Vec::new(),
        };
        let mut words = args.iter().enumerate();
        while let Some((place, word)) = words.next() {
            // A glob is an operand, whatever its pattern begins with: it stands for names.
            let lead = if word.glob.is_some() { Cow::Borrowed("") } else { words::lead(&word.text) };
            if &*lead == "--" && !word.text.has_hole() {
                parsed.end_at(args, place + 1);
                break;
            }
            let takes_next = if let Some(name) = lead.strip_prefix("--").filter(|name| !name.is_empty()) {
                self.read_long(word, name, 2, &mut parsed)
            } else if let Some(name) = lead.strip_prefix('-').filter(|name| !name.is_empty()) {
                self.read_short(word, name, false, &mut parsed)
            } else if let Some(name) = lead.strip_prefix('+').filter(|name| self.plus && !name.is_empty()) {
                self.read_short(word, name, true, &mut parsed)
            } else {
                parsed.maybe_options |= lead.is_empty() && word.text.has_hole();
                if self.in_order {
                    parsed.end_at(args, place);
                    break;
                }
                parsed.operands.push(word);
                false
            };
            if takes_next && let (Some(last), Some((_, next))) = (parsed.options.last_mut(), words.next()) {
                last.value = Some(next.clone());
            }
        }
        parsed
    }

    /// Returns whether the option's argument is the next word.
    fn read_long(&self, word: &Field, name: &str, dashes: usize, parsed: &mut Parsed<'_>) -> bool {
        let (name, glued) = match name.split_once('=') {
            Some((name, _)) => (name, Some(words::without_prefix(word, dashes + name.len() + 1))),
            None => (name, None),
        };
        let candidates = self.long(name);
        match candidates.as_slice() {
            [] => {
                parsed.did_not_know(name);
                parsed.saw(&UNKNOWN, glued, false);
                false
            }
            [only] => {
                let wants_next = only.arg == Arg::Required && glued.is_none();
                parsed.saw(only, glued, false);
                wants_next
            }
            // An error to getopt; another version of the program may know only one of them.
            several => {
                for option in several.iter().filter(|option| option.arg == Arg::None) {
                    parsed.saw(option, None, false);
                }
                false
            }
        }
    }

    /// Returns whether the last letter's argument is the next word.
    fn read_short(&self, word: &Field, letters: &str, off: bool, parsed: &mut Parsed<'_>) -> bool {
        if self.single_dash {
            return self.read_long(word, letters, 1, parsed);
        }
        let digits = letters.trim_start_matches('-');
        if self.numeric && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            parsed.saw(&NUMBER, Some(words::without_prefix(word, 1)), off);
            return false;
        }
        let first = parsed.options.len();
        for (place, letter) in letters.char_indices() {
            let Some(option) = self.letter(letter) else {
                parsed.did_not_know(letter.encode_utf8(&mut [0; 4]));
                parsed.saw_again(&UNKNOWN, off, first);
                continue;
            };
            if option.arg == Arg::None {
                parsed.saw_again(option, off, first);
                continue;
            }
            let read = 1 + place + letter.len_utf8();
            let is_last = read == 1 + letters.len() && !word.text.has_hole();
            if is_last {
                parsed.saw(option, None, off);
                return option.arg == Arg::Required;
            }
            parsed.saw(option, Some(words::without_prefix(word, read)), off);
            return false;
        }
        false
    }

    fn letter(&self, letter: char) -> Option<&'static Opt> {
        self.options.iter().find(|option| option.short.contains(letter))
    }

    fn long(&self, name: &str) -> Vec<&'static Opt> {
        let all = || self.options.iter().chain(&HELP);
        if let Some(exact) = all().find(|option| option.long_names().any(|long| long == name)) {
            return vec![exact];
        }
        if self.single_dash {
            // `-f` of a Go program is the flag named `f`.
            let mut letters = name.chars();
            if let (Some(letter), None) = (letters.next(), letters.next()) {
                return self.letter(letter).into_iter().collect();
            }
        }
        if !self.abbreviated {
            return Vec::new();
        }
        let abbreviates = |option: &&'static Opt| option.long_names().any(|long| long.starts_with(name));
        all().filter(abbreviates).collect()
    }
}

/// One option as it stood on the command line.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Which option of the table.
    pub option: &'static Opt,
    /// Its argument, if it has one.
    pub value: Option<Field>,
    /// It was switched off (`+x`).
    pub off: bool,
    /// How many operands stood in front of it.
    pub after_operands: usize,
}

/// A command line, sorted.
#[derive(Clone, Debug)]
pub struct Parsed<'a> {
    /// The options, in order.
    pub options: Vec<Seen>,
    /// The operands, in order.
    pub operands: Vec<&'a Field>,
    /// From the first operand (of an in-order grammar) or from behind `--` to the end: a wrapped command.
    pub rest: &'a [Field],
    /// An operand begins with a hole: it may turn out to be an option.
    pub maybe_options: bool,
    /// Letters and long names that the table does not know; they are taken as flags.
    pub unknown: Vec<String>,
}

impl<'a> Parsed<'a> {
    fn saw(&mut self, option: &'static Opt, value: Option<Field>, off: bool) {
        self.options.push(Seen { option, value, off, after_operands: self.operands.len() });
    }

    /// A letter of a cluster that begins at option `first`. One that is repeated counts where it stands last, so that
    /// no cluster is longer than the table.
    fn saw_again(&mut self, option: &'static Opt, off: bool, first: usize) {
        let earlier = self.options[first..].iter().position(|seen| std::ptr::eq(seen.option, option));
        if let Some(place) = earlier {
            self.options.remove(first + place);
        }
        self.saw(option, None, off);
    }

    fn did_not_know(&mut self, name: &str) {
        if self.unknown.len() < MAX_UNKNOWN {
            self.unknown.push(name.to_owned());
        }
    }

    fn end_at(&mut self, args: &'a [Field], place: usize) {
        self.rest = args.get(place..).unwrap_or_default();
        self.operands.extend(self.rest);
    }

    fn last(&self, name: &str) -> Option<&Seen> {
        self.options.iter().rev().find(|seen| seen.option.is(name))
    }

    /// Whether the option was given (and not switched off later).
    pub fn has(&self, name: &str) -> bool {
        self.last(name).is_some_and(|seen| !seen.off)
    }

    /// Whether any of these was given.
    pub fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    /// The argument of the last such option.
    pub fn value(&self, name: &str) -> Option<&Field> {
        self.last(name).and_then(|seen| seen.value.as_ref())
    }

    /// The same, where it is known.
    pub fn known(&self, name: &str) -> Option<Cow<'_, str>> {
        self.value(name).and_then(Field::as_known)
    }

    /// The arguments of all such options, in order.
    pub fn values<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Field> {
        self.options.iter().filter(move |seen| seen.option.is(name)).filter_map(|seen| seen.value.as_ref())
    }

    /// Which of these options came last: for pairs that override each other (`-i` and `-f` of rm).
    pub fn last_of(&self, names: &[&str]) -> Option<&Seen> {
        self.options.iter().rev().find(|seen| names.iter().any(|name| seen.option.is(name)))
    }

    /// It only prints its help or version. Behind an operand these words do not count: a BSD program, or a GNU one
    /// under POSIXLY_CORRECT, takes them as operands and acts.
    pub fn informs(&self) -> bool {
        self.options
            .iter()
            .any(|seen| seen.after_operands == 0 && (seen.option.is("help") || seen.option.is("version")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::value::{Abstract, Cause};

    static REMOVE: Grammar = Grammar::new(&[
        flag("f", "force"),
        flag("rR", "recursive"),
        value("t", "target-directory"),
        optional("", "interactive"),
        optional("i", "in-place"),
        flag("", "reference-only"),
    ]);

    fn words(line: &str) -> Vec<Field> {
        line.split(' ').map(Field::literal).collect()
    }

    fn operands(parsed: &Parsed<'_>) -> Vec<String> {
        parsed.operands.iter().map(|field| field.source.to_string()).collect()
    }

    #[test]
    fn letters_combine_and_options_stand_anywhere() {
        let args = words("a -fR b -- -r");
        let parsed = REMOVE.read(&args);
        assert!(parsed.has("force") && parsed.has("r") && parsed.has("recursive"));
        assert_eq!(operands(&parsed), ["a", "b", "-r"]);
    }

    #[test]
    fn long_names_are_abbreviated_when_unambiguous() {
        let args = words("--rec --targ=x --fo");
        let parsed = REMOVE.read(&args);
        assert!(parsed.has("recursive") && parsed.has("force"));
        assert_eq!(parsed.known("t").as_deref(), Some("x"));
    }

    #[test]
    fn an_ambiguous_abbreviation_counts_as_each_flag_it_may_mean() {
        let args = words("--re");
        assert!(REMOVE.read(&args).has("recursive"));
    }

    #[test]
    fn arguments_are_glued_or_follow() {
        for line in ["-rtD x", "-rt D x", "--target-directory D x", "--target-directory=D x"] {
            let args = words(line);
            let parsed = REMOVE.read(&args);
            assert_eq!(parsed.known("t").as_deref(), Some("D"), "{line}");
            assert_eq!(operands(&parsed), ["x"], "{line}");
        }
        let args = words("-i x");
        let parsed = REMOVE.read(&args);
        assert!(parsed.has("in-place") && parsed.value("in-place").is_none());
        assert_eq!(operands(&parsed), ["x"]);
    }

    #[test]
    fn a_wrapper_stops_at_its_command() {
        static WRAPPER: Grammar = Grammar::new(&[value("n", "adjustment")]).in_order().numeric();
        let args = words("-n 5 -10 rm -rf x");
        let parsed = WRAPPER.read(&args);
        assert_eq!(parsed.known("#").as_deref(), Some("10"));
        assert_eq!(parsed.rest.len(), 3);
        assert!(!parsed.has("r"));
    }

    #[test]
    fn a_word_that_begins_with_a_hole_is_an_operand_and_maybe_an_option() {
        let args = vec![words::unknown(Cause::Input("x".into()), "$x"), Field::literal("-f")];
        let parsed = REMOVE.read(&args);
        assert!(parsed.maybe_options && parsed.has("f"));
        assert_eq!(operands(&parsed), ["$x"]);
    }

    #[test]
    fn an_option_keeps_the_hole_in_its_argument() {
        let mut text = Abstract::known("-t");
        text.push(&Abstract::unknown(Cause::Input("x".into())));
        let args = vec![words::from_text(text, "-t$x")];
        let parsed = REMOVE.read(&args);
        assert!(parsed.value("t").is_some_and(|field| field.text.has_hole()));
    }

    #[test]
    fn help_in_front_of_operands_only_informs() {
        assert!(REMOVE.read(&words("-rf --help x")).informs());
        assert!(REMOVE.read(&words("--vers")).informs());
        assert!(!REMOVE.read(&words("-rf x --help")).informs());
        assert!(!REMOVE.read(&words("-- --help")).informs());
    }

    #[test]
    fn go_programs_take_long_names_with_one_dash() {
        static GO: Grammar =
            Grammar::new(&[flag("", "auto-approve"), value("", "target"), flag("f", "")]).single_dash();
        let args = words("-auto-approve -target=x --target y -f z");
        let parsed = GO.read(&args);
        assert!(parsed.has("auto-approve") && parsed.has("f"));
        assert_eq!(parsed.values("target").count(), 2);
        assert_eq!(operands(&parsed), ["z"]);
    }

    #[test]
    fn shells_switch_options_off_with_a_plus() {
        static SHELL: Grammar = Grammar::new(&[flag("u", ""), value("O", "")]).in_order().plus();
        let args = words("-u +u +O extglob x");
        let parsed = SHELL.read(&args);
        assert!(!parsed.has("u"));
        assert_eq!(parsed.known("O").as_deref(), Some("extglob"));
    }
}
