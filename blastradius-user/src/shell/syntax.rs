//! The syntax tree that is evaluated: owned, compact, with words that keep their quoting.
//!
//! It is made from the parser's tree by [`super::lower`], once for each text, so that a loop body or a function is
//! taken apart once however often it runs, and so that nothing here borrows from the text.

use std::cell::OnceCell;
use std::rc::Rc;

/// A stretch of the source, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A parsed text.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) source: Rc<str>,
    pub(crate) body: List,
}

/// Statements in order.
pub(crate) type List = Vec<Statement>;

/// A command with what stands around it.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) command: Command,
    pub(crate) negated: bool,
    pub(crate) background: bool,
    pub(crate) redirections: Vec<Redirection>,
    pub(crate) span: Span,
}

/// `&&` or `||`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    And,
    Or,
}

/// The kinds of command.
#[derive(Debug)]
pub(crate) enum Command {
    Simple(Simple),
    /// A chain of `&&` and `||`: it is evaluated from the left.
    AndOr(Box<Statement>, Vec<(Link, Statement)>),
    Pipeline(Vec<Statement>),
    Group(List),
    Subshell(List),
    If {
        arms: Vec<(List, List)>,
        otherwise: Option<List>,
    },
    For {
        names: Vec<Rc<str>>,
        /// `None`: the positional parameters.
        words: Option<Vec<Word>>,
        body: List,
    },
    ArithFor(Box<ArithFor>),
    While {
        until: bool,
        condition: List,
        body: List,
    },
    Case {
        word: Box<Word>,
        arms: Vec<CaseArm>,
    },
    Select {
        name: Rc<str>,
        words: Vec<Word>,
        body: List,
    },
    Arith(Box<Word>),
    Test(Box<Test>),
    Function {
        names: Vec<Rc<str>>,
        body: Rc<Statement>,
    },
    /// `time`, `coproc`: the command as it is.
    Wrapped(Box<Statement>),
    /// zsh `{ … } always { … }`.
    Always(List, List),
    /// zsh `repeat N`.
    Repeat(List),
    Nothing,
}

/// `for ((init; condition; step))`
#[derive(Debug)]
pub(crate) struct ArithFor {
    pub(crate) init: Option<Word>,
    pub(crate) condition: Option<Word>,
    pub(crate) step: Option<Word>,
    pub(crate) body: List,
}

/// One arm of `case`.
#[derive(Debug)]
pub(crate) struct CaseArm {
    pub(crate) patterns: Vec<Word>,
    pub(crate) body: List,
    pub(crate) end: CaseEnd,
}

/// How an arm of `case` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaseEnd {
    Break,
    FallThrough,
    Continue,
}

/// Assignments and words.
#[derive(Debug, Default)]
pub(crate) struct Simple {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) args: Vec<Arg>,
}

/// An argument of a simple command: a declaration's may be an assignment.
#[derive(Debug)]
pub(crate) enum Arg {
    Word(Word),
    Assignment(Box<Assignment>),
}

/// `name=value`, `name+=value`, `name[i]=value`, `name=(…)`.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) name: Rc<str>,
    pub(crate) subscript: Option<Word>,
    pub(crate) append: bool,
    pub(crate) value: AssignedValue,
}

/// What is assigned.
#[derive(Debug)]
pub(crate) enum AssignedValue {
    Scalar(Word),
    Array(Vec<(Option<Word>, Word)>),
}

/// A redirection.
#[derive(Debug)]
pub(crate) struct Redirection {
    pub(crate) fd: Option<i32>,
    /// `{name}>`: the shell picks the descriptor and assigns its number.
    pub(crate) fd_name: Option<Rc<str>>,
    pub(crate) kind: RedirectionKind,
    /// The target; for a here-document its body.
    pub(crate) target: Word,
}

/// The kinds of redirection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedirectionKind {
    /// `>`, `>|`.
    Output,
    /// `>>`.
    Append,
    /// `<`.
    Input,
    /// `<>`.
    ReadWrite,
    /// `<<`, `<<-`: the target is the body.
    HereDoc,
    /// `<<<`.
    HereString,
    /// `>&`, `<&`.
    Duplicate,
    /// `&>`.
    Both,
}

/// `[[ … ]]`.
#[derive(Debug)]
pub(crate) enum Test {
    And(Box<Test>, Box<Test>),
    Or(Box<Test>, Box<Test>),
    Not(Box<Test>),
    Word(Word),
    Unary(&'static str, Word),
    Binary(Word, &'static str, Word),
}

/// A word before expansion.
#[derive(Debug, Default)]
pub(crate) struct Word {
    pub(crate) parts: Vec<Part>,
    /// As written, quotes included. Shared by the words that one brace expansion gives.
    pub(crate) source: Rc<str>,
    /// Set where the word is one piece of text without anything to expand, split or match.
    pub(crate) plain: Option<Rc<str>>,
    /// The other words of the brace expansion that this word begins.
    pub(crate) siblings: Vec<Word>,
    /// The brace expansion gave more words than are followed.
    pub(crate) overflow: bool,
}

/// A part of a word.
#[derive(Debug)]
pub(crate) enum Part {
    /// Text with its backslashes and quotes taken off.
    Text { text: Rc<str>, quoted: bool },
    /// A tilde prefix without the `~`: `""`, `user`, `+`, `-`.
    Tilde(Rc<str>),
    /// A parameter expansion.
    Param { param: Box<Param>, quoted: bool },
    /// A command substitution.
    Command { code: Code, quoted: bool },
    /// An arithmetic expansion.
    Arith { text: Box<Word>, quoted: bool },
    /// `<(…)` or `>(…)`.
    Process { code: Code, input: bool },
}

/// Text of a substitution, parsed when it is first evaluated.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) text: Rc<str>,
    /// As written, for people.
    pub(crate) source: Rc<str>,
    pub(crate) parsed: OnceCell<Option<Rc<Script>>>,
}

/// `${…}` or `$x`.
#[derive(Debug)]
pub(crate) struct Param {
    pub(crate) name: Rc<str>,
    pub(crate) subscript: Option<Subscript>,
    /// `${!name…}`: the value of the variable that `name` names.
    pub(crate) indirect: bool,
    pub(crate) op: ParamOp,
    /// As written.
    pub(crate) source: Rc<str>,
}

/// A subscript.
#[derive(Debug)]
pub(crate) enum Subscript {
    At,
    Star,
    Index(Word),
}

/// What is done to a parameter.
#[derive(Debug)]
pub(crate) enum ParamOp {
    Plain,
    /// `${#x}`
    Length,
    /// `${!x[@]}`
    Keys,
    /// `${!prefix*}`
    Names,
    /// `:-` and `-`
    Default {
        colon: bool,
        word: Word,
    },
    /// `:=` and `=`
    Assign {
        colon: bool,
        word: Word,
    },
    /// `:?` and `?`
    Require {
        colon: bool,
    },
    /// `:+` and `+`
    Alternative {
        colon: bool,
        word: Word,
    },
    /// `#`, `##`, `%`, `%%`
    Trim {
        suffix: bool,
        longest: bool,
        pattern: Word,
    },
    /// `/`, `//`, `/#`, `/%`
    Replace {
        how: ReplaceHow,
        pattern: Word,
        with: Word,
    },
    /// `^`, `^^`, `,`, `,,`, `~`, `~~`
    Case {
        upper: bool,
        all: bool,
        pattern: Option<Word>,
    },
    /// `:offset`, `:offset:length`
    Slice {
        offset: Word,
        length: Option<Word>,
    },
    /// `@Q` and friends
    Transform(char),
    /// Anything else.
    NotModelled,
}

/// Which matches a replacement replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplaceHow {
    First,
    All,
    Prefix,
    Suffix,
}
