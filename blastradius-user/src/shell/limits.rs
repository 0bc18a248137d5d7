//! Every bound of the evaluation, with the name under which a refusal reports it.
//!
//! A text that reaches one of them is not understood to its end, so the answer can never be `allow`: the evaluation
//! stops with [`Stop`], and the judge makes a refusal of the name.

/// Bytes of one text, whether submitted, decoded or read from a script.
pub const TEXT_BYTES: usize = 1 << 20;
/// Bytes above which a text is parsed and evaluated a few statements at a time, and the least of such a piece.
pub const PIECE_BYTES: usize = 1 << 15;
/// Operations of the parser on one piece: about one a word and four a command.
pub const PARSER_OPERATIONS: usize = 1 << 16;
/// Parts of words and elements of arrays in one piece, which the parser does not count as operations.
pub const PARSER_MARKS: usize = 1 << 16;
/// Nesting of commands that the parser follows.
pub const PARSER_NESTING: usize = 100;
/// Units of work of one evaluation. A simple command costs a few; a unit takes well below a microsecond.
pub const STEPS: u64 = 300_000;
/// Bytes of expanded text over the whole evaluation.
pub const EXPANDED_BYTES: u64 = 8 << 20;
/// Bytes of one value: a text may hold one as long as itself.
pub const VALUE_BYTES: usize = TEXT_BYTES;
/// Questions to the world.
pub const WORLD_CALLS: u64 = 20_000;
/// Nested commands, substitutions, function calls and texts.
pub const DEPTH: u32 = 96;
/// Nesting that is tried on the caller's stack before the evaluation moves to a stack of its own.
pub const SHALLOW_DEPTH: u32 = 14;
/// Words that one brace expansion may give.
pub const BRACE_WORDS: usize = 4096;
/// Values that a variable may have at once before it counts as unknown.
pub const ALTERNATIVES: usize = 8;
/// Combinations of such values that one command is evaluated for.
pub const COMBINATIONS: usize = 16;
/// Iterations of a loop that are followed one by one.
pub const UNROLLED: usize = 64;
/// Frames of one function before its arguments count as unknown.
pub const SAME_FUNCTION: usize = 3;
/// Matches of a glob that are kept by name.
pub const GLOB_MATCHES: usize = 1000;
/// Directory entries that all globs together may look at.
pub const GLOB_ENTRIES: u64 = 200_000;
/// Bytes of a file that is read for its content.
pub const FILE_BYTES: usize = 1 << 18;
/// Bytes of a command that are shown as the cause of what it does.
pub const SEGMENT_BYTES: usize = 2048;
/// Effects that one text may have.
pub const EFFECTS: usize = 4096;
/// Text length times pattern length up to which patterns are applied to values.
pub const PATTERN_WORK: usize = 1 << 22;

/// A bound that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`TEXT_BYTES`].
    TextBytes,
    /// [`STEPS`].
    Steps,
    /// [`EXPANDED_BYTES`] or [`VALUE_BYTES`].
    ExpandedBytes,
    /// [`WORLD_CALLS`] or [`GLOB_ENTRIES`].
    WorldCalls,
    /// [`DEPTH`].
    Depth,
    /// [`EFFECTS`].
    Effects,
    /// [`BRACE_WORDS`].
    BraceWords,
    /// [`PARSER_OPERATIONS`], [`PARSER_MARKS`], [`PARSER_NESTING`], or the parser's own limit of operator chains.
    Parser,
    /// There is no memory for the stack that nested text is evaluated on.
    Stack,
}

impl Limit {
    /// The name that a refusal shows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TextBytes => "text-bytes",
            Self::Steps => "evaluation-steps",
            Self::ExpandedBytes => "expanded-bytes",
            Self::WorldCalls => "world-calls",
            Self::Depth => "nesting-depth",
            Self::Effects => "effects",
            Self::BraceWords => "brace-words",
            Self::Parser => "parser-limit",
            Self::Stack => "evaluation-stack",
        }
    }
}

/// The evaluation ends here: a bound was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop(pub Limit);

/// What a step of the evaluation gives.
pub(crate) type Eval<T> = Result<T, Stop>;

/// What an evaluation cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Units of work.
    pub steps: u64,
    /// So many, and no more: [`STEPS`] or less.
    pub most_steps: u64,
    /// Bytes of expanded text.
    pub bytes: u64,
    /// Questions to the world.
    pub world_calls: u64,
}

impl Default for Work {
    fn default() -> Self {
        Self { steps: 0, most_steps: STEPS, bytes: 0, world_calls: 0 }
    }
}

impl Work {
    /// Work that ends after `most_steps`, or after [`STEPS`].
    pub(crate) fn bounded(most_steps: Option<u64>) -> Self {
        let work = Self::default();
        Self { most_steps: most_steps.map_or(STEPS, |most| most.min(STEPS)), ..work }
    }

    /// Counts work.
    pub(crate) fn step(&mut self, units: u64) -> Eval<()> {
        self.steps += units;
        if self.steps > self.most_steps { Err(Stop(Limit::Steps)) } else { Ok(()) }
    }

    /// Counts expanded text.
    pub(crate) fn expand(&mut self, bytes: usize) -> Eval<()> {
        self.bytes += bytes as u64;
        if bytes > VALUE_BYTES || self.bytes > EXPANDED_BYTES {
            Err(Stop(Limit::ExpandedBytes))
        } else {
            Ok(())
        }
    }
}
