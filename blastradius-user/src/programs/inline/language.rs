//! What the reader must know of a language: how it spells strings, comments and operators, and what its calls mean.

/// What a call does, or what it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Its first argument goes.
    Remove {
        /// With everything below it.
        recursive: bool,
    },
    /// Each of its arguments goes.
    RemoveAll {
        /// With everything below it.
        recursive: bool,
    },
    /// The first argument is moved to the second.
    Move,
    /// The second argument is overwritten.
    CopyTo,
    /// The first argument is written anew.
    Truncate,
    /// The first argument is opened, with a mode that may empty it.
    Open,
    /// Mode or owner of the first argument changes.
    Metadata {
        /// Of the whole tree.
        recursive: bool,
    },
    /// A shell runs the first argument.
    Shell,
    /// A shell runs a single text; several arguments or a list are an argv.
    ShellOrArgv,
    /// A list is an argv; a text is run by a shell where an option says so (Python's subprocess).
    Subprocess,
    /// The first argument is a program, the second the list of its arguments (Node's spawn).
    Spawn,
    /// The first argument is a program, the second its argv with `argv[0]` (exec*(3) with a vector).
    ExecVector,
    /// The first argument is a program, the others its argv with `argv[0]` (exec*(3) with a list).
    ExecList,
    /// The working directory changes.
    Chdir,
    /// The first argument is code of the same language.
    Code,
    /// It prints its arguments.
    Print,
    /// It gives the path of something new and temporary.
    Fresh,
    /// It gives the home directory.
    Home,
    /// It gives the working directory.
    Cwd,
    /// It gives the directory for temporary files.
    Temporary,
    /// It gives the variable of the environment that its first argument names.
    Env,
    /// It joins its arguments to a path.
    Join,
    /// It gives its first argument, `~` expanded.
    ExpandUser,
    /// It gives its first argument, or another spelling of the same path.
    Same,
    /// It gives its first arguments, joined, as a path object.
    AsPath,
    /// It gives the last component of its first argument.
    Basename,
    /// It gives the directory of its first argument.
    Dirname,
    /// It gives what its first argument matches.
    Glob,
    /// It gives what the pattern of its second argument matches below the first.
    GlobBelow,
    /// It gives what the pattern of its second argument matches at any depth below the first.
    GlobDeep,
    /// It calls its first argument with each element of the second.
    MapCall,
    /// It gives the names in its first argument.
    Children,
    /// It gives everything below its first argument (Python's os.walk: triples).
    Walk,
    /// It gives the module that its first argument names.
    Module,
    /// It gives the member of its first argument that the second names.
    Member,
    /// It gives the first of its arguments that is a list, or the argument: `sorted`, `list`.
    Elements,
    /// It gives a list of pairs of a number and an element.
    Enumerate,
    /// It gives the words of its first argument.
    Split,
    /// It makes its first argument.
    Makes,
    /// Perl's open: the mode stands in front of the name, or in it.
    PerlOpen,
    /// It tests how a name ends: what is removed behind the test is what ends so.
    EndsWith,
}

/// A row of a language's table: a dotted name (`shutil.rmtree`) or a method's name, and its meaning.
pub(super) type Row = (&'static str, Meaning);

/// How text within quotes is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interpolation {
    /// As it is.
    None,
    /// `{expr}`: Python's f-strings.
    Braces,
    /// `${expr}`: JavaScript's templates.
    DollarBraces,
    /// `#{expr}`: Ruby.
    HashBraces,
    /// `$name`, `${name}`, `{$name}`, `@name`: Perl and PHP.
    Sigils,
}

/// One language.
#[derive(Debug)]
pub(super) struct Language {
    /// Its name, for people.
    pub(super) name: &'static str,
    /// What begins a comment that ends with the line.
    pub(super) line_comments: &'static [&'static str],
    /// What begins and ends a comment.
    pub(super) block_comments: &'static [(&'static str, &'static str)],
    /// Quotes and how the text within them is read.
    pub(super) quotes: &'static [(char, Interpolation)],
    /// Quotes of text that a shell runs.
    pub(super) command_quote: Option<char>,
    /// Strings with a prefix and three quotes (Python).
    pub(super) prefixed: bool,
    /// `q{}`, `qw()`, `m//` (Perl); `%w[]`, `%x()` (Ruby).
    pub(super) quote_words: &'static [&'static str],
    /// `/…/` may be a pattern.
    pub(super) patterns: bool,
    /// `<<WORD` begins a here-document.
    pub(super) heredocs: &'static str,
    /// Letters that begin a name: `$@%`.
    pub(super) sigils: &'static str,
    /// The operators that join texts.
    pub(super) concat: &'static [&'static str],
    /// The operators that select a member.
    pub(super) member: &'static [&'static str],
    /// Calls need no parentheses.
    pub(super) bare_calls: bool,
    /// Functions by their dotted name. `*.x`: x of any receiver, or alone.
    pub(super) functions: &'static [Row],
    /// Methods of path objects and of texts, the receiver being the first argument.
    pub(super) methods: &'static [Row],
    /// Words in front of an expression that say nothing about its value.
    pub(super) prefixes: &'static [&'static str],
    /// The word in front of a function's name: `def f(a)`.
    pub(super) definition: &'static str,
    /// The end of a line may end a statement.
    pub(super) lines: bool,
    /// Objects whose members or keys are variables of the environment.
    pub(super) environment: &'static [&'static str],
    /// Names for the file in which the code stands, and whether its directory is meant.
    pub(super) own_place: &'static [(&'static str, bool)],
    /// The list of the script's arguments, and how many of its elements stand in front of the first.
    pub(super) arguments: &'static [(&'static str, usize)],
}

impl Language {
    /// The meaning of a function by its dotted name.
    pub(super) fn function(&self, path: &str) -> Option<Meaning> {
        let last = path.rsplit('.').next().unwrap_or(path);
        let names = |name: &str| name == path || name.strip_prefix("*.").is_some_and(|name| name == last);
        self.functions.iter().find(|(name, _)| names(name)).map(|(_, meaning)| *meaning)
    }

    /// The meaning of a method by its name.
    pub(super) fn method(&self, name: &str) -> Option<Meaning> {
        self.methods.iter().find(|(known, _)| *known == name).map(|(_, meaning)| *meaning)
    }
}
