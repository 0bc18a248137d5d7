//! What the calls of inline code do: their meanings, carried out.

use std::rc::Rc;

use blastradius_common::RuleId;

use super::language::Meaning;
use super::reader::{Arguments, Reader, cross, module_name};
use super::value::{Below, Value, Values, component, path_joined, unknown_text};
use crate::policy::effect::{Act, Base, Follow, Selection};
use crate::programs::{Dialect, Surroundings, acts, words};
use crate::shell::value::{Abstract, Field};

/// Combinations of arguments that are followed one by one.
const MAX_ARGVS: usize = 32;

/// What a file of data gives to the code that loads it.
fn value_of(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::String(text) => Value::text(text),
        serde_json::Value::Number(number) => Value::text(&number.to_string()),
        serde_json::Value::Array(items) => {
            Value::List(items.iter().map(|item| vec![value_of(item)]).collect())
        }
        serde_json::Value::Object(pairs) => Value::Map(
            pairs.iter().map(|(key, value)| (key.as_str().into(), vec![value_of(value)])).collect(),
        ),
        serde_json::Value::Null | serde_json::Value::Bool(_) => Value::Unknown("a value of a file".into()),
    }
}

/// The directory of a path.
pub(super) fn dirname(path: &Abstract) -> Abstract {
    match path.as_known() {
        Some(known) => {
            let known = known.trim_end_matches('/');
            match known.rsplit_once('/') {
                Some(("", _)) => Abstract::known("/"),
                Some((directory, _)) => Abstract::known(directory),
                None => Abstract::known("."),
            }
        }
        None => unknown_text("the directory of a path"),
    }
}

/// The last component of a path.
pub(super) fn basename(value: &Value) -> Value {
    match value.known() {
        Some(known) => Value::text(known.trim_end_matches('/').rsplit('/').next().unwrap_or_default()),
        None => match value {
            Value::Below(below) => Value::Below(Below { bare: true, ..below.clone() }),
            _ => Value::Text(component("the name of a path")),
        },
    }
}

impl Arguments {
    fn first(&self) -> Values {
        self.given.first().cloned().unwrap_or_default()
    }

    fn second(&self) -> Values {
        self.given.get(1).cloned().unwrap_or_default()
    }

    /// An option by name, of the keywords or of an object literal among the arguments.
    fn option(&self, name: &str) -> Option<&Value> {
        let keyword =
            self.named.iter().find(|(key, _)| &**key == name).and_then(|(_, values)| values.first());
        keyword.or_else(|| {
            self.given.iter().flatten().find_map(|value| match value {
                Value::Map(pairs) => {
                    pairs.iter().find(|(key, _)| &**key == name).and_then(|(_, values)| values.first())
                }
                _ => None,
            })
        })
    }

    /// Whether a switch is on.
    fn is_on(&self, name: &str) -> bool {
        match self.option(name) {
            Some(Value::Object(word)) => {
                !matches!(&**word, "false" | "False" | "nil" | "None" | "null" | "undefined")
            }
            Some(Value::Text(text)) => !matches!(text.as_known().as_deref(), Some("" | "0")),
            Some(_) => true,
            None => false,
        }
    }
}

impl Reader<'_> {
    /// Carries out one call and gives what it gives.
    pub(super) fn apply(&mut self, callee: &Value, arguments: &Arguments) -> Values {
        let nothing = || vec![Value::Unknown("the result of a call".into())];
        match callee {
            Value::Object(path) => {
                let own = path.strip_prefix("self.").or_else(|| path.strip_prefix("this.")).unwrap_or(path);
                if self.bind_parameters(own, arguments) {
                    return nothing();
                }
                if let Some(meaning) = self.language.function(path) {
                    return self.perform(meaning, arguments);
                }
                // `p.unlink()` of a `p` that nothing is known of.
                match path
                    .rsplit_once('.')
                    .and_then(|(object, name)| Some((object, self.language.method(name)?)))
                {
                    Some((object, meaning @ Meaning::Remove { .. })) if names_removal(path) => {
                        self.perform(meaning, &with_receiver(&Value::Unknown(object.into()), arguments))
                    }
                    _ => nothing(),
                }
            }
            Value::Method(receiver, name) => match self.language.method(name) {
                Some(meaning) if applies(meaning, receiver, name) => {
                    self.perform(meaning, &with_receiver(receiver, arguments))
                }
                // A function whose name says enough, of a module that nothing is known of: `x.rmSync(…)`.
                _ => match self.language.function(&format!("unknown.{name}")) {
                    Some(meaning) if matches!(**receiver, Value::Unknown(_)) => {
                        self.perform(meaning, arguments)
                    }
                    _ => self.text_method(receiver, name, arguments),
                },
            },
            _ => nothing(),
        }
    }

    /// Methods of texts that are the same everywhere.
    fn text_method(&mut self, receiver: &Value, name: &str, arguments: &Arguments) -> Values {
        match (name, receiver) {
            (
                "strip" | "trim" | "rstrip" | "lstrip" | "toString" | "to_s" | "decode" | "encode" | "chomp"
                | "expandtabs",
                _,
            ) => {
                vec![receiver.clone()]
            }
            ("forEach" | "map" | "each", _) if matches!(arguments.first().as_slice(), [Value::Object(_)]) => {
                let elements = receiver.elements();
                self.calls_each(&arguments.first(), elements);
                vec![Value::Unknown("the results of a loop".into())]
            }
            ("concat", _) => cross(&vec![receiver.clone()], &arguments.first(), super::value::concatenated),
            ("join", Value::Text(separator)) => {
                arguments.first().iter().map(|list| joined(list, separator)).collect()
            }
            ("join", Value::List(_)) => {
                let separator = arguments.first().first().map(Value::as_text).unwrap_or_default();
                vec![joined(receiver, &separator)]
            }
            ("format", Value::Text(text)) => vec![Value::Text(unfilled(text))],
            ("get", Value::Map(pairs)) => {
                let key = arguments.first().first().and_then(Value::known);
                let found = pairs.iter().find(|(known, _)| Some(&**known) == key.as_deref());
                found.map_or_else(|| vec![Value::Unknown("an element".into())], |(_, values)| values.clone())
            }
            // Entries that are sorted, filtered or copied are still entries.
            ("filter" | "select" | "reject" | "grep" | "slice", Value::Below(below)) => {
                let mut below = below.clone();
                below.selection.narrow_by_other = true;
                vec![Value::Below(below)]
            }
            (
                "sort" | "sort_by" | "reverse" | "to_a" | "uniq" | "flatten" | "copy" | "values" | "children",
                Value::Below(_) | Value::List(_),
            ) => {
                vec![receiver.clone()]
            }
            _ => vec![Value::Unknown(format!("the result of {name}").into())],
        }
    }

    fn perform(&mut self, meaning: Meaning, arguments: &Arguments) -> Values {
        let first = arguments.first();
        match meaning {
            Meaning::Remove { recursive } => {
                if recursive && self.language.name == "python" {
                    self.second_is_no_path(&arguments.second());
                }
                let recursive = recursive || arguments.is_on("recursive");
                self.acts(Act::Remove { recursive }, &first, Follow::Never);
            }
            Meaning::RemoveAll { recursive } => {
                for values in &arguments.given {
                    self.acts(Act::Remove { recursive }, values, Follow::Never);
                }
            }
            Meaning::Move => {
                self.acts(Act::Move, &first, Follow::Never);
                self.acts(Act::Replace, &arguments.second(), Follow::Never);
            }
            Meaning::CopyTo => self.acts(Act::Replace, &arguments.second(), Follow::Last),
            Meaning::Truncate => self.acts(Act::Truncate, &first, Follow::Last),
            Meaning::Open => self.open(arguments),
            Meaning::PerlOpen => self.perl_open(arguments),
            Meaning::Metadata { recursive } => {
                let act = Act::Metadata { recursive };
                // Ruby's FileUtils name mode or owner first.
                let targets = if self.language.name == "ruby" {
                    arguments.given.last().cloned().unwrap_or_default()
                } else {
                    first
                };
                self.acts(act, &targets, Follow::Last);
            }
            Meaning::Makes => self.makes(&first),
            Meaning::Shell => {
                let directory = self.directory(arguments);
                for text in &first {
                    self.shell(&text.as_text(), directory.clone());
                }
                return vec![Value::Unknown("the output of a command".into())];
            }
            Meaning::ShellOrArgv => self.shell_or_argv(arguments),
            Meaning::Subprocess => self.subprocess(arguments),
            Meaning::Spawn => self.spawn(arguments),
            Meaning::ExecVector => self.exec(arguments, true),
            Meaning::ExecList => self.exec(arguments, false),
            Meaning::Chdir => {
                if let [directory] = first.as_slice() {
                    self.base = entered(&self.base, directory);
                } else {
                    self.base = Base::Unknown("a directory of the code".into());
                }
            }
            Meaning::Code => self.evaluates(&first),
            Meaning::MapCall => {
                let elements = arguments.second().iter().flat_map(Value::elements).collect();
                self.calls_each(&first, elements);
            }
            Meaning::Print => self.prints(arguments),
            _ => return self.gives(meaning, arguments),
        }
        vec![Value::Unknown("the result of a call".into())]
    }

    /// `shutil.rmtree(dir, name)`: the second argument says whether errors are ignored, and the whole of `dir` goes.
    fn second_is_no_path(&mut self, second: &Values) {
        let Some(Value::Text(text) | Value::Path(text)) = second.first() else { return };
        if !self.muted {
            acts::thing(
                self.machine,
                RuleId::UnknownOperand,
                "rmtree takes one path: its second argument is no name below it, and all of the first goes",
                words::lead(text).to_string(),
            );
        }
    }

    /// Calls that only give a value.
    fn gives(&mut self, meaning: Meaning, arguments: &Arguments) -> Values {
        let first = arguments.first();
        match meaning {
            Meaning::Fresh => vec![Value::Fresh],
            Meaning::Home => vec![self.path_or_text(self.home())],
            Meaning::Cwd => vec![match &self.base {
                Base::Known(path) => Value::Text(Abstract::known(&path.to_string_lossy())),
                Base::OneOf(_) | Base::Unknown(_) => Value::Text(unknown_text("the working directory")),
            }],
            Meaning::Temporary => {
                vec![Value::Text(self.machine.variable("TMPDIR").unwrap_or_else(|| Abstract::known("/tmp")))]
            }
            Meaning::Env => {
                let default = arguments.second();
                let known = first.first().and_then(Value::known);
                match known.and_then(|name| self.machine.variable(&name)) {
                    Some(text) => vec![Value::Text(text)],
                    None if !default.is_empty() => default,
                    None => vec![Value::Text(unknown_text("a variable of the environment"))],
                }
            }
            Meaning::Join => {
                arguments.given.iter().skip(1).fold(first, |left, right| cross(&left, right, path_joined))
            }
            Meaning::AsPath => {
                let joined = arguments
                    .given
                    .iter()
                    .skip(1)
                    .fold(first, |left, right| cross(&left, right, path_joined));
                let as_path = |value: Value| match value {
                    Value::Text(text) => Value::Path(text),
                    other => other,
                };
                if joined.is_empty() {
                    vec![Value::Path(Abstract::known("."))]
                } else {
                    joined.into_iter().map(as_path).collect()
                }
            }
            Meaning::ExpandUser => first.iter().map(|value| self.expanded(value)).collect(),
            Meaning::Same => first,
            Meaning::Elements => first.iter().map(|value| Value::List(vec![value.elements()])).collect(),
            Meaning::Enumerate => {
                let number = || vec![Value::Text(component("a number"))];
                let pair =
                    |value: &Value| Value::List(vec![vec![Value::List(vec![number(), value.elements()])]]);
                first.iter().map(pair).collect()
            }
            Meaning::Split => first.iter().map(split).collect(),
            Meaning::Basename => first.iter().map(basename).collect(),
            Meaning::Dirname => first.iter().map(|value| Value::Text(dirname(&value.as_text()))).collect(),
            Meaning::Glob => first.iter().map(|pattern| self.globbed(pattern)).collect(),
            Meaning::GlobBelow | Meaning::GlobDeep => {
                let mut pattern = arguments.second().first().and_then(Value::known).unwrap_or_default();
                if meaning == Meaning::GlobDeep {
                    pattern.insert_str(0, "**/");
                }
                first.iter().map(|root| glob_below(root, &pattern)).collect()
            }
            Meaning::Children => {
                let roots = if first.is_empty() { vec![Value::text(".")] } else { first };
                let deep = arguments.is_on("recursive");
                roots.iter().map(|root| children(root, deep)).collect()
            }
            Meaning::Walk => first.iter().map(walked).collect(),
            Meaning::Module => {
                let modules: Vec<Option<String>> = first.iter().map(Value::known).collect();
                modules.into_iter().map(|module| self.module(module)).collect()
            }
            Meaning::Member => {
                let name = arguments.second().first().and_then(Value::known);
                let of = |object: &Value| match (object, &name) {
                    (Value::Object(path), Some(name)) => Value::Object(format!("{path}.{name}").into()),
                    (other, Some(name)) => Value::Method(Box::new(other.clone()), name.as_str().into()),
                    _ => Value::Unknown("an attribute".into()),
                };
                first.iter().map(of).collect()
            }
            Meaning::EndsWith => {
                for (tested, suffix) in first.iter().zip(arguments.second().iter().filter_map(Value::known)) {
                    self.narrow_to(tested, &suffix);
                }
                vec![Value::Unknown("a comparison".into())]
            }
            _ => vec![Value::Unknown("the result of a call".into())],
        }
    }

    /// A module by its name; a file of data is its data.
    fn module(&mut self, name: Option<String>) -> Value {
        let Some(name) = name else { return Value::Unknown("a module".into()) };
        let data = name.ends_with(".json").then(|| self.machine.read_file(&Field::literal(&name))).flatten();
        match data.and_then(|text| serde_json::from_str(&text.as_known()?).ok()) {
            Some(json) => value_of(&json),
            None => Value::Object(module_name(&name).into()),
        }
    }

    /// Calls a function, given as an object or by its name, with each of these.
    fn calls_each(&mut self, functions: &Values, elements: Values) {
        let arguments = Arguments { given: vec![elements], named: Vec::new() };
        for function in functions {
            let object = match function.known() {
                Some(name) => Value::Object(name.into()),
                None => function.clone(),
            };
            self.apply(&object, &arguments);
        }
    }

    fn path_or_text(&self, text: Abstract) -> Value {
        // Only pathlib gives a home without being asked to expand one.
        if self.language.name == "python" { Value::Path(text) } else { Value::Text(text) }
    }

    fn home(&self) -> Abstract {
        let user = || self.machine.world().home_of(None).map(|home| Abstract::known(&home.to_string_lossy()));
        self.machine.variable("HOME").or_else(user).unwrap_or_else(|| unknown_text("the home directory"))
    }

    fn expanded(&self, value: &Value) -> Value {
        let Some(known) = value.known() else { return value.clone() };
        let text = match known.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                let mut home = self.home();
                home.push_text(rest);
                home
            }
            Some(rest) => {
                let (user, rest) = rest
                    .split_once('/')
                    .map_or((rest, String::new()), |(user, rest)| (user, format!("/{rest}")));
                match self.machine.world().home_of(Some(user)) {
                    Some(home) => Abstract::known(&format!("{}{rest}", home.display())),
                    None => Abstract::known(&known),
                }
            }
            None => Abstract::known(&known),
        };
        if matches!(value, Value::Path(_)) { Value::Path(text) } else { Value::Text(text) }
    }

    /// What a pattern matches, as entries below the directory in front of its first wildcard.
    pub(super) fn globbed(&self, pattern: &Value) -> Value {
        let Some(known) = self.expanded(pattern).known() else {
            return Value::Text(pattern.as_text());
        };
        let Some(wildcard) = known.find(['*', '?', '[', '{']) else { return Value::text(&known) };
        let (root, below) = match known.get(..wildcard).and_then(|lead| lead.rfind('/')) {
            Some(0) => ("/", known.get(1..)),
            Some(slash) => (known.get(..slash).unwrap_or_default(), known.get(slash + 1..)),
            None => (".", Some(&*known)),
        };
        glob_below(&Value::text(root), below.unwrap_or_default())
    }

    /// Tells of an act on each of these.
    fn acts(&mut self, act: Act, values: &Values, follow: Follow) {
        if self.muted {
            return;
        }
        for value in values {
            match value {
                Value::Fresh => {}
                Value::List(items) => {
                    for item in items.clone() {
                        self.acts(act, &item, follow);
                    }
                }
                Value::Below(below) if !below.bare => self.acts_below(act, below, follow),
                _ => self.acts_on(act, &value.as_text(), follow, Selection::default()),
            }
        }
    }

    fn acts_below(&mut self, act: Act, below: &Below, follow: Follow) {
        let act = match act {
            Act::Remove { recursive } => Act::Remove { recursive: recursive || below.deep },
            other => other,
        };
        self.acts_on(act, &below.root, follow, below.selection.clone());
    }

    fn acts_on(&mut self, act: Act, text: &Abstract, follow: Follow, selection: Selection) {
        if self.script.is_some() && text.has_hole() {
            return;
        }
        let operand = field(text);
        acts::at(self.machine, act, &operand, self.base.clone(), follow, selection);
    }

    fn makes(&mut self, values: &Values) {
        if self.muted {
            return;
        }
        for value in values {
            let operand = field(&value.as_text());
            if acts::named(self.machine, &operand, &self.base) == acts::Named::Nothing {
                self.machine.creates(&operand, self.base.clone());
            }
        }
    }

    /// `open(path, "w")`: the mode empties the file.
    fn open(&mut self, arguments: &Arguments) {
        let second = arguments.second();
        let mode =
            second.first().or_else(|| arguments.option("mode")).and_then(Value::known).unwrap_or_default();
        if mode.contains('w') || mode.contains('>') && !mode.contains(">>") {
            self.acts(Act::Truncate, &arguments.first(), Follow::Last);
        }
    }

    /// `open(FH, ">", path)`, `open(FH, ">path")`, `open(FH, "-|", command)`, `open(FH, "command|")`.
    fn perl_open(&mut self, arguments: &Arguments) {
        let mode = arguments.second().first().and_then(Value::known).unwrap_or_default();
        let mode = mode.trim();
        if let Some(target) = arguments.given.get(2).cloned() {
            if mode.contains('|') {
                for text in &target {
                    self.shell(&text.as_text(), None);
                }
            } else if mode.contains('>') && !mode.contains(">>") {
                self.acts(Act::Truncate, &target, Follow::Last);
            }
        } else if let Some(command) = mode.strip_suffix('|').or_else(|| mode.strip_prefix('|')) {
            self.shell(&Abstract::known(command), None);
        } else if let Some(path) = mode.strip_prefix('>').filter(|path| !path.starts_with('>')) {
            self.acts(Act::Truncate, &vec![Value::text(path.trim())], Follow::Last);
        }
    }

    /// The directory in which a command is started: `cwd=`, `chdir:`.
    fn directory(&self, arguments: &Arguments) -> Option<Base> {
        arguments.option("cwd").or_else(|| arguments.option("chdir")).map(|value| entered(&self.base, value))
    }

    fn surroundings(&self, directory: Option<Base>) -> Surroundings {
        let cwd = Some(directory.unwrap_or_else(|| self.base.clone()));
        Surroundings { cwd, script: self.script.clone(), ..Surroundings::default() }
    }

    /// Has a shell run a text.
    pub(super) fn shell(&mut self, text: &Abstract, directory: Option<Base>) {
        if self.muted || self.script.is_some() && text.has_hole() {
            return;
        }
        let surroundings = self.surroundings(directory);
        self.machine.run_text(text, Dialect::Posix, Vec::new(), surroundings);
    }

    fn argv(&mut self, argv: &[Values], directory: Option<Base>) {
        if self.muted || argv.is_empty() {
            return;
        }
        for argv in combinations(argv) {
            if self.script.is_some() && argv.iter().any(|field| field.text.has_hole()) {
                continue;
            }
            let surroundings = self.surroundings(directory.clone());
            self.machine.run_argv(argv, surroundings);
        }
    }

    /// `system("text")`, `system("program", "a", "b")`, `system(@argv)`.
    fn shell_or_argv(&mut self, arguments: &Arguments) {
        let directory = self.directory(arguments);
        // Ruby: a leading hash is the environment.
        let given: Vec<&Values> = arguments
            .given
            .iter()
            .filter(|values| !values.iter().all(|value| matches!(value, Value::Map(_))))
            .collect();
        match given.as_slice() {
            [] => {}
            [only] => {
                for value in *only {
                    match value {
                        Value::List(items) => self.argv(items, directory.clone()),
                        other => self.shell(&other.as_text(), directory.clone()),
                    }
                }
            }
            several => {
                let argv: Vec<Values> = several.iter().flat_map(|values| flattened(values)).collect();
                self.argv(&argv, directory);
            }
        }
    }

    /// Python's subprocess: a list is an argv; with `shell=True` its first element, or the text, is a shell's.
    fn subprocess(&mut self, arguments: &Arguments) {
        let directory = self.directory(arguments);
        let by_shell = arguments.is_on("shell");
        let values = if arguments.given.is_empty() {
            arguments.option("args").cloned().into_iter().collect()
        } else {
            arguments.first()
        };
        for value in &values {
            match value {
                Value::List(items) if by_shell => {
                    for text in items.first().cloned().unwrap_or_default() {
                        self.shell(&text.as_text(), directory.clone());
                    }
                }
                Value::List(items) => self.argv(items, directory.clone()),
                other => self.shell(&other.as_text(), directory.clone()),
            }
        }
    }

    /// Node's `spawn(program, [args], {shell})`, `execFile`.
    fn spawn(&mut self, arguments: &Arguments) {
        let directory = self.directory(arguments);
        let mut argv = vec![arguments.first()];
        for value in arguments.second() {
            if let Value::List(items) = value {
                argv.extend(items);
            }
        }
        if arguments.is_on("shell") || argv.len() == 1 && first_has_blank(&argv) {
            for argv in combinations(&argv) {
                let text = words::joined(&argv);
                self.shell(&text, directory.clone());
            }
        } else {
            self.argv(&argv, directory);
        }
    }

    /// exec*(3): the program, then its argv, whose first element is only a name.
    fn exec(&mut self, arguments: &Arguments, vector: bool) {
        let mut argv = vec![arguments.first()];
        if vector {
            for value in arguments.second() {
                if let Value::List(items) = value {
                    argv.extend(items.into_iter().skip(1));
                }
            }
        } else {
            argv.extend(arguments.given.iter().skip(2).cloned());
        }
        self.argv(&argv, None);
    }

    /// Code that is handed over as text.
    fn evaluates(&mut self, values: &Values) {
        for value in values {
            match value.known() {
                Some(code) => self.code(&code),
                None if self.muted
                    || self.script.is_some()
                    || matches!(value, Value::Method(..) | Value::Map(_)) => {}
                None => acts::thing(
                    self.machine,
                    RuleId::UnknownCode,
                    "runs code that is known only at run time",
                    "",
                ),
            }
        }
    }

    /// What is printed becomes the output, as long as all of it is known.
    fn prints(&mut self, arguments: &Arguments) {
        if self.muted {
            return;
        }
        let Some(mut text) = self.printed.take() else { return };
        for (place, values) in arguments.given.iter().enumerate() {
            let [value @ (Value::Text(_) | Value::Path(_))] = values.as_slice() else { return };
            if place > 0 {
                text.push_text(" ");
            }
            text.push(&value.as_text());
        }
        text.push_text("\n");
        self.printed = Some(text);
    }
}

/// Whether a method of this meaning is one of this receiver: texts have a `replace` too.
fn applies(meaning: Meaning, receiver: &Value, name: &str) -> bool {
    match meaning {
        Meaning::EndsWith | Meaning::Split => true,
        Meaning::Remove { .. } if matches!(receiver, Value::Unknown(_)) => names_removal(name),
        _ => matches!(receiver, Value::Path(_) | Value::Below(_) | Value::Fresh),
    }
}

/// Whether a method of this name removes files whatever it is called on: `hash.delete` does not.
fn names_removal(path: &str) -> bool {
    matches!(path.rsplit('.').next(), Some("unlink" | "rmtree"))
}

fn with_receiver(receiver: &Value, arguments: &Arguments) -> Arguments {
    let mut given = vec![vec![receiver.clone()]];
    given.extend(arguments.given.iter().cloned());
    Arguments { given, named: arguments.named.clone() }
}

/// A text as an operand.
fn field(text: &Abstract) -> Field {
    let source = match text.as_known() {
        Some(known) => known.into_owned(),
        None => {
            let cause = text.causes().next().map(|cause| match cause {
                crate::shell::value::Cause::NotModelled(source) => source.to_string(),
                other => other.variable().unwrap_or_default().to_owned(),
            });
            cause.unwrap_or_default()
        }
    };
    Field { text: text.clone(), glob: None, source: source.into(), tilde: false }
}

fn entered(base: &Base, directory: &Value) -> Base {
    match directory.known() {
        Some(known) => crate::programs::git::enter(base, &Field::literal(&known)),
        None => Base::Unknown(Rc::from("a directory that the code enters")),
    }
}

fn joined(list: &Value, separator: &Abstract) -> Value {
    let Value::List(items) = list else { return Value::Unknown("a joined text".into()) };
    let mut text = Abstract::default();
    for (place, values) in items.iter().enumerate() {
        if place > 0 {
            text.push(separator);
        }
        match values.as_slice() {
            [value] => text.push(&value.as_text()),
            _ => text.push(&unknown_text("one of several values")),
        }
    }
    Value::Text(text)
}

/// `"{}/x".format(a)`: what stands in the braces is not known.
fn unfilled(text: &Abstract) -> Abstract {
    let Some(known) = text.as_known() else { return text.clone() };
    let mut filled = Abstract::default();
    let mut rest = &*known;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_text(before);
        filled.push(&unknown_text("a formatted value"));
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    filled.push_text(rest);
    filled
}

fn split(value: &Value) -> Value {
    match value.known() {
        Some(known) => {
            let words = crate::programs::git::split(&known);
            Value::List(words.iter().map(|word| vec![Value::text(word)]).collect())
        }
        None => Value::Unknown("the words of a text".into()),
    }
}

fn first_has_blank(argv: &[Values]) -> bool {
    argv.iter().flatten().any(|value| value.known().is_some_and(|known| known.contains(' ')))
}

/// The elements of lists, and other values as they are.
fn flattened(values: &Values) -> Vec<Values> {
    match values.as_slice() {
        [Value::List(items)] => items.clone(),
        _ => vec![values.clone()],
    }
}

/// The argvs that may be meant: every choice, as long as they are few.
fn combinations(argv: &[Values]) -> Vec<Vec<Field>> {
    let mut all = vec![Vec::new()];
    for values in argv {
        let choices = if all.len() * values.len() > MAX_ARGVS || values.is_empty() {
            vec![field(&unknown_text("one of many values"))]
        } else {
            values.iter().map(|value| field(&value.as_text())).collect()
        };
        all = all
            .into_iter()
            .flat_map(|argv: Vec<Field>| {
                choices.iter().map(move |choice| {
                    let mut argv = argv.clone();
                    argv.push(choice.clone());
                    argv
                })
            })
            .collect();
    }
    all
}

/// The entries of a directory, as names.
fn children(root: &Value, deep: bool) -> Value {
    let selection =
        Selection { filter: "its entries".to_owned(), contents_only: true, ..Selection::default() };
    below(root, selection, !matches!(root, Value::Path(_)), deep)
}

/// What a pattern matches below a root.
fn glob_below(root: &Value, pattern: &str) -> Value {
    let deep = pattern.contains("**") || pattern.contains('/');
    let name = pattern.rsplit('/').next().unwrap_or_default().to_owned();
    let narrow_by_name = !matches!(name.as_str(), "*" | "**" | "" | "*.*");
    let selection = Selection {
        filter: pattern.to_owned(),
        narrow_by_name,
        names: vec![name],
        contents_only: true,
        ..Selection::default()
    };
    below(root, selection, false, deep)
}

/// os.walk: one triple of a directory, its directories and its files.
fn walked(root: &Value) -> Value {
    let selection =
        || Selection { filter: "everything below".to_owned(), contents_only: true, ..Selection::default() };
    let directory = below(root, selection(), false, true);
    let names = || below(root, selection(), true, true);
    let triple = Value::List(vec![vec![directory], vec![names()], vec![names()]]);
    Value::List(vec![vec![triple]])
}

fn below(root: &Value, selection: Selection, bare: bool, deep: bool) -> Value {
    match root {
        Value::Fresh => Value::Fresh,
        _ => Value::Below(Below { root: root.as_text(), selection, bare, deep }),
    }
}
