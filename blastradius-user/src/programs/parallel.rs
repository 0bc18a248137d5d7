//! parallel(1) of GNU: a template, and arguments from `:::`, files or standard input.

use crate::programs::options::{Grammar, Parsed, flag, optional, value};
use crate::programs::{Call, Dialect, Each, Input, Machine, Program, Surroundings, words};
use crate::shell::value::{Abstract, Cause, Field};

/// The family's programs.
pub const PROGRAMS: &[(&str, Program)] = &[("parallel", parallel), ("sem", sem), ("env_parallel", parallel)];

/// Combinations of arguments that are run one by one; of more, the rest is one unknown argument.
const MAX_RUNS: usize = 2_000;

static PARALLEL: Grammar = Grammar::new(&[
    value("a", "arg-file"),
    value("I", ""),
    value("jP", "jobs|max-procs|procs"),
    value("n", "max-args"),
    value("N", "max-replace-args"),
    value("L", "max-lines"),
    value("C", "colsep"),
    value("d", "delimiter"),
    value("S", "sshlogin"),
    value("", "slf|sshloginfile"),
    value("E", "arg-sep|arg-file-sep"),
    value("", "joblog|results|tmpdir|timeout|delay|retries|load|memfree|memsuspend|nice|tagstring|env|return|halt"),
    value("", "workdir|wd|basefile|bf|block|recstart|recend|seqreplace|rpl|profile|shellquote|id|termseq|plus"),
    flag("0", "null"),
    flag("", "dry-run|dryrun"),
    flag("", "pipe|pipepart"),
    flag("", "link|xapply"),
    flag("q", "quote"),
    optional("i", "replace"),
    flag("kmXtuvrpD", "keep-order|verbose|ungroup|group|bar|eta|progress|line-buffer|lb|tag|will-cite|resume|shuf|no-run-if-empty|cleanup|fg|bg|wait|no-notice"),
])
.in_order();

fn parallel(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = PARALLEL.read(call.args);
    if parsed.informs() || parsed.has("dry-run") {
        return;
    }
    let (template, sources) = split_sources(parsed.rest);
    let mut surroundings = Surroundings::default();
    if let Some(host) = parsed.value("sshlogin").or_else(|| parsed.value("slf")) {
        surroundings.elsewhere = Some(host.source.clone());
    }
    if parsed.has("pipe") {
        let text = words::joined(template);
        machine.run_text(&text, Dialect::Bash, Vec::new(), surroundings);
        return;
    }
    let template = Template::new(template, &parsed);
    if sources.is_empty() {
        run_input(machine, &template, &parsed, surroundings);
        return;
    }
    let lists: Vec<Vec<Field>> = sources.iter().map(|source| source.arguments(machine)).collect();
    let runs = if parsed.has("link") { linked(&lists) } else { combined(&lists) };
    for arguments in &runs {
        machine.run_text(&template.filled(arguments), Dialect::Bash, Vec::new(), surroundings.clone());
    }
}

/// Arguments that come from standard input or a file.
fn run_input(
    machine: &mut dyn Machine,
    template: &Template,
    parsed: &Parsed<'_>,
    surroundings: Surroundings,
) {
    let input = match parsed.value("arg-file") {
        None => machine.stdin(),
        Some(file) => machine.read_file(file).map_or_else(
            || Input::Unknown { from: file.source.clone(), network: false, decoded: false },
            Input::Text,
        ),
    };
    let unknown = |cause| vec![vec![words::unknown(cause, "(an argument of parallel)")]];
    let runs = match input {
        Input::Names(names) => {
            let each = Each { placeholder: Some("{}".to_owned()), names: Input::Names(names) };
            machine.run_argv(template.argv(), Surroundings { each: Some(each), ..surroundings });
            return;
        }
        Input::Text(text) => match text.as_known() {
            Some(known) => {
                let separator = if parsed.has("null") { '\0' } else { '\n' };
                let lines: Vec<&str> = known.split(separator).filter(|line| !line.is_empty()).collect();
                if lines.len() > MAX_RUNS {
                    unknown(Cause::ManyValues("lines of standard input".into()))
                } else {
                    lines.into_iter().map(|line| vec![Field::literal(line)]).collect()
                }
            }
            None => unknown(Cause::Input("standard input".into())),
        },
        Input::Inherited => unknown(Cause::Input("standard input".into())),
        Input::Unknown { from, .. } => unknown(Cause::CommandOutput(from)),
    };
    for arguments in &runs {
        machine.run_text(&template.filled(arguments), Dialect::Bash, Vec::new(), surroundings.clone());
    }
}

/// `sem COMMAND…` is `parallel --semaphore`: no arguments are filled in.
fn sem(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = PARALLEL.read(call.args);
    if !parsed.informs() && !parsed.rest.is_empty() {
        machine.run_text(&words::joined(parsed.rest), Dialect::Bash, Vec::new(), Surroundings::default());
    }
}

/// One `:::` or `::::` with what follows it.
struct Source<'a> {
    files: bool,
    words: &'a [Field],
}

impl Source<'_> {
    fn arguments(&self, machine: &mut dyn Machine) -> Vec<Field> {
        if !self.files {
            return self.words.iter().flat_map(words::expanded).collect();
        }
        let mut arguments = Vec::new();
        for file in self.words {
            match machine.read_file(file).as_ref().and_then(Abstract::as_known) {
                Some(text) => arguments.extend(text.lines().map(Field::literal)),
                None => arguments.push(words::unknown(Cause::Input(file.source.clone()), &file.source)),
            }
        }
        arguments
    }
}

fn split_sources(rest: &[Field]) -> (&[Field], Vec<Source<'_>>) {
    let separator = |word: &Field| {
        let word = word.as_known();
        match word.as_deref().map(|word| word.trim_end_matches('+')) {
            Some(":::") => Some(false),
            Some("::::") => Some(true),
            _ => None,
        }
    };
    let places: Vec<(usize, bool)> =
        rest.iter().enumerate().filter_map(|(place, word)| Some((place, separator(word)?))).collect();
    let template = places.first().map_or(rest, |(place, _)| &rest[..*place]);
    let ends = places.iter().skip(1).map(|(place, _)| *place).chain([rest.len()]);
    let sources = places
        .iter()
        .zip(ends)
        .map(|((place, files), end)| Source { files: *files, words: &rest[place + 1..end] });
    (template, sources.collect())
}

fn linked(lists: &[Vec<Field>]) -> Vec<Vec<Field>> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    if longest > MAX_RUNS {
        return too_many(lists.len());
    }
    let row =
        |place: usize| lists.iter().filter_map(|list| list.get(place % list.len().max(1)).cloned()).collect();
    (0..longest).map(row).collect()
}

/// One run with arguments that may be anything.
fn too_many(lists: usize) -> Vec<Vec<Field>> {
    let many = words::unknown(Cause::ManyValues("arguments of parallel".into()), "(many arguments)");
    vec![vec![many; lists]]
}

fn combined(lists: &[Vec<Field>]) -> Vec<Vec<Field>> {
    let mut runs: Vec<Vec<Field>> = vec![Vec::new()];
    for list in lists {
        if runs.len().saturating_mul(list.len()) > MAX_RUNS {
            return too_many(lists.len());
        }
        let with = |run: &Vec<Field>| {
            list.iter().map(|word| [run.as_slice(), std::slice::from_ref(word)].concat()).collect::<Vec<_>>()
        };
        runs = runs.iter().flat_map(with).collect();
    }
    runs
}

/// The command with its replacement strings.
struct Template {
    text: Abstract,
}

impl Template {
    fn new(words_given: &[Field], parsed: &Parsed<'_>) -> Self {
        let quote = parsed.has("quote");
        let mut text = Abstract::default();
        for (place, word) in words_given.iter().enumerate() {
            if place > 0 {
                text.push_text(" ");
            }
            let quoted = if quote { words::quoted(&word.text) } else { word.text.clone() };
            text.push(&quoted);
        }
        let own = parsed.known("I").or_else(|| parsed.known("replace")).filter(|own| !own.is_empty());
        if let Some(own) = own {
            text = words::replaced(&text, &own, &Abstract::known("{}"));
        }
        let shown = words::shown(&text);
        let has_replacement = ["{}", "{.}", "{/}", "{//}", "{/.}", "{#}", "{%}", "{+/}", "{..}"]
            .iter()
            .any(|replacement| shown.contains(replacement))
            || (1..10).any(|number| {
                shown.contains(&format!("{{{number}}}"))
                    || shown.contains(&format!("{{{number}."))
                    || shown.contains(&format!("{{{number}/"))
            });
        if !has_replacement {
            if !text.pieces.is_empty() {
                text.push_text(" ");
            }
            text.push_text("{}");
        }
        Self { text }
    }

    /// What runs, as an argv in which `{}` stands for each name: the words themselves, or a shell where they need one.
    fn argv(&self) -> Vec<Field> {
        let is_plain = |letter: char| !letter.is_control() && !"\"'`\\$&|;<>()*?[]#~!=".contains(letter);
        match self.text.as_known().filter(|text| text.chars().all(is_plain)) {
            Some(text) => text.split_whitespace().map(Field::literal).collect(),
            None => {
                let text = words::from_text(self.text.clone(), "(the template of parallel)");
                vec![Field::literal("bash"), Field::literal("-c"), text]
            }
        }
    }

    /// The text for one run. An argument is quoted, unless it is the command itself.
    fn filled(&self, arguments: &[Field]) -> Abstract {
        let is_command = self.text.as_known().as_deref() == Some("{}");
        let quoted = |field: &Field| if is_command { field.text.clone() } else { words::quoted(&field.text) };
        let mut all = Abstract::default();
        for (place, argument) in arguments.iter().enumerate() {
            if place > 0 {
                all.push_text(" ");
            }
            all.push(&quoted(argument));
        }
        let mut text = words::replaced(&self.text, "{}", &all);
        for (place, argument) in arguments.iter().enumerate() {
            text = words::replaced(&text, &format!("{{{}}}", place + 1), &quoted(argument));
        }
        if let Some(first) = arguments.first() {
            for (form, make) in FORMS {
                text = words::replaced(&text, form, &words::quoted(&shaped(first, *make)));
            }
        }
        text
    }
}

/// Gives part of an argument.
type Shape = fn(&str) -> &str;

/// The replacement strings that give part of an argument.
const FORMS: &[(&str, Shape)] =
    &[("{.}", without_extension), ("{/}", base_name), ("{//}", directory), ("{/.}", bare_name)];

fn shaped(field: &Field, make: Shape) -> Abstract {
    match field.as_known() {
        Some(known) => Abstract::known(make(&known)),
        None => field.text.clone(),
    }
}

fn without_extension(path: &str) -> &str {
    match path.rsplit_once('.') {
        Some((stem, extension)) if !extension.contains('/') => stem,
        _ => path,
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn directory(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((directory, _)) => directory,
        None => ".",
    }
}

fn bare_name(path: &str) -> &str {
    without_extension(base_name(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn sourced(line: &str) -> Vec<String> {
        let recorder = Recorder::default().call(parallel, line);
        recorder.texts.iter().map(|ran| ran.what.clone()).collect()
    }

    #[test]
    fn arguments_fill_the_template() {
        assert_eq!(sourced("parallel rm -rf ::: /"), ["rm -rf /"]);
        assert_eq!(sourced("parallel rm -rf {} ::: a 'b c'"), ["rm -rf a", "rm -rf 'b c'"]);
        assert_eq!(sourced("parallel -j 4 --bar mv {} {.}.x ::: d/a.o"), ["mv d/a.o d/a.x"]);
        assert_eq!(sourced("parallel rm {2}/{1} ::: a b ::: c"), ["rm c/a", "rm c/b"]);
        assert_eq!(sourced("parallel --link rm {1}{2} ::: a b ::: c d"), ["rm ac", "rm bd"]);
        assert_eq!(sourced("parallel -I% rm % ::: a"), ["rm a"]);
    }

    #[test]
    fn an_argument_may_be_the_command() {
        assert_eq!(sourced("parallel ::: 'rm -rf /' ls"), ["rm -rf /", "ls"]);
    }

    #[test]
    fn many_arguments_are_one_unknown() {
        let numbers = (0..100).map(|number| number.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(sourced(&format!("parallel rm {{1}}{{2}} ::: {numbers} ::: {numbers}")), ["rm ??"]);
    }

    #[test]
    fn a_dry_run_runs_nothing() {
        assert!(sourced("parallel --dry-run rm -rf ::: /").is_empty());
        assert!(sourced("parallel --version").is_empty());
    }

    #[test]
    fn names_of_a_listing_are_arguments() {
        let names = || {
            let selection = crate::policy::effect::Selection::default();
            Input::Names(vec![crate::programs::Selected { root: Field::literal("src"), selection }])
        };
        for (line, ran) in [
            ("parallel rm -f", "rm -f {}"),
            ("parallel -j4 rm -f {}", "rm -f {}"),
            ("parallel 'gzip {} && rm {}'", "bash -c gzip {} && rm {}"),
        ] {
            let recorder = Recorder::default().stdin(names()).call(parallel, line);
            assert_eq!(recorder.ran(), [ran]);
            let each = recorder.argvs[0].surroundings.each.as_ref().expect("the names are handed on");
            assert_eq!(each.placeholder.as_deref(), Some("{}"));
        }
    }

    #[test]
    fn lines_of_the_input_are_arguments() {
        let text = Input::Text(Abstract::known("a\nb c\n"));
        let recorder = Recorder::default().stdin(text).call(parallel, "parallel rm -rf");
        assert_eq!(recorder.sourced(), ["rm -rf a", "rm -rf 'b c'"]);
        assert_eq!(Recorder::default().call(parallel, "parallel rm -rf").sourced(), ["rm -rf ?"]);
    }
}
