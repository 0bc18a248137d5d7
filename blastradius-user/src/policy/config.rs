//! Policy files: what they may say, and what of it is in force.
//!
//! ```text
//! # comment
//! allow PATTERN            ./build/**   <repo>/dist   /tmp/**   ~/scratch/**   $CACHE/**
//! deny PATTERN
//! deny-command GLOB        anchored, on each simple command after unwrapping
//! confirm-command GLOB
//! rule ID VERDICT
//! ```
//!
//! Three kinds of files are read. The nearest `.blastradius` up to the root of the work tree: with an `allow` line it
//! replaces the default scope; those above it still refuse what they refuse. The user's file: its `allow` lines add. The
//! system's file: what it says holds whatever the others say, and with an `allow` line it bounds what they may allow.

use std::fmt;
use std::path::{Path, PathBuf};

use blastradius_common::{RuleId, Verdict};

use crate::shell::world::{Kind, Look, Platform, World};

use super::floor;
use super::paths::{depth, is_below, normalise, starts_with};
use super::pattern::Pattern;
use super::resolve::{Last, resolve};
use super::trust::TrustStore;
use super::worktree::{Tie, WorkTree};
use super::zones::Line;
use super::{CONFIG_NAME, misread, rules, scope};

/// A policy file is short.
const FILE_LIMIT: usize = 256 * 1024;

/// Where a policy may grow unbounded, it is refused instead.
const LINE_LIMIT: usize = 10_000;

/// Where anybody may allow: what lies here is nobody's to keep.
const SCRATCH: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// The system's file.
const SYSTEM_FILE: &str = "/etc/blastradius/config";

/// What `blastradius init` writes: every kind of line, each as a comment that is right once its `#` is taken away.
pub const TEMPLATE: &str = "\
# What may be destroyed here, and what may not. One statement a line; a comment has a line of its own.
# Take the # away from the lines that you want. The last word on a path is `deny`.
#
# What nobody destroys, and all below it:
#deny ./secrets
#deny **/*.key
#
# Without an `allow` line the default holds: this work tree, /tmp, /var/tmp, $TMPDIR, /dev/shm.
# With one, only what the `allow` lines name.
# What is below build, not build itself; dist, and what is below it; <repo> is the root of the work tree:
#allow ./build/**
#allow ./dist
#allow <repo>/node_modules
#allow /tmp/**
# Beyond the work tree: needs `blastradius trust`.
#allow ~/scratch/**
#
# Commands that are refused, or asked about; rules that are stricter here than elsewhere:
#deny-command terraform destroy*
#confirm-command make deploy*
#rule git-discard deny
";

/// What is wrong with a policy file. Destructive work is refused until it is mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file.
    pub file: PathBuf,
    /// From 1; 0: the file as a whole.
    pub line: usize,
    /// In characters from 1; 0: the line or file as a whole.
    pub column: usize,
    /// What stands there.
    pub found: String,
    /// What should.
    pub expected: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, found, expected } = self;
        write!(out, "{}", file.display())?;
        if *line > 0 {
            write!(out, ":{line}:{column}")?;
        }
        write!(out, ": found {found}, expected {expected}")
    }
}

/// Whose file it is: that decides what it may do alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The repository: anyone who can change it, the agent included.
    Repository,
    /// A repository's file above the nearest one: it still refuses what it refuses, and says nothing of scope.
    Outer,
    /// The file that `XDG_CONFIG_HOME` names, where that is no place of the user's own: in the work tree, in scratch, outside
    /// their home. Whoever sets a variable may narrow by it.
    Named,
    /// The user.
    User,
    /// The machine's administrator.
    System,
}

/// A `deny-command` or `confirm-command` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// Anchored at both ends; `*` takes anything.
    pub glob: String,
    /// Deny or confirm.
    pub verdict: Verdict,
    /// The line, for people.
    pub origin: String,
}

/// A `rule ID VERDICT` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleLine {
    /// The rule.
    pub rule: RuleId,
    /// Its verdict from now on.
    pub verdict: Verdict,
    /// The line, for people.
    pub origin: String,
}

/// An `allow` line that is not in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The line, for people.
    pub origin: String,
    /// Why.
    pub reason: String,
    /// What it reaches, variables and links followed, where an approval would put it in force.
    pub reach: Option<Pattern>,
}

/// What the files say, as far as it is in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// Where a file would have been read, if one were there: what a session must look at to see that a policy has changed.
    pub places: Vec<PathBuf>,
    /// What may be destroyed.
    pub allows: Vec<Line>,
    /// What may not.
    pub denies: Vec<Line>,
    /// Commands that are refused or asked about.
    pub commands: Vec<CommandLine>,
    /// Rules with another verdict than the table's.
    pub rules: Vec<RuleLine>,
    /// The repository's file has an `allow` line: the default scope is not in force.
    pub replaces_scope: bool,
    /// The system's file has an `allow` line: nothing below it allows more, even if the line names nothing here.
    pub bounded: bool,
    /// `allow` lines that are not in force.
    pub waiting: Vec<Waiting>,
    /// What is wrong.
    pub errors: Vec<ConfigError>,
}

/// What the files are read from.
pub struct Sources<'a> {
    /// The machine.
    pub world: &'a dyn World,
    /// The homes that are floor objects.
    pub homes: &'a [PathBuf],
    /// What `~` means: the home of the user database.
    pub home: Option<&'a Path>,
    /// Where the session starts, canonical.
    pub cwd: &'a Path,
    /// The work tree around it.
    pub tree: Option<&'a WorkTree>,
    /// Which widening lines were approved.
    pub trust: &'a dyn TrustStore,
}

/// Reads the files.
pub fn load(sources: &Sources<'_>) -> Config {
    let mut config = Config { places: repository_places(sources), ..Config::default() };
    let there = config.places.iter().filter(|path| !matches!(sources.world.look(path), Look::Absent));
    let authors = std::iter::once(Author::Repository).chain(std::iter::repeat(Author::Outer));
    for (path, author) in there.cloned().zip(authors).collect::<Vec<_>>() {
        read(sources, &path, author, &mut config);
    }
    for (path, author) in user_files(sources) {
        read(sources, &path, author, &mut config);
        config.places.push(path);
    }
    config.places.push(SYSTEM_FILE.into());
    let below = config.allows.len();
    read(sources, Path::new(SYSTEM_FILE), Author::System, &mut config);
    bound(sources.world.platform(), &mut config, below);
    config
}

/// Where the repository's file may lie, nearest first: from the start up to the root of the work tree; outside one, only
/// in the start's own directory.
fn repository_places(sources: &Sources<'_>) -> Vec<PathBuf> {
    let top = match sources.tree {
        Some(tree) if tree.tie != Tie::Bare => &*tree.root,
        _ => sources.cwd,
    };
    let dirs = sources.cwd.ancestors().take_while(|dir| dir.starts_with(top));
    dirs.map(|dir| dir.join(CONFIG_NAME)).collect()
}

/// The file in the home that the user database names, and the one that `XDG_CONFIG_HOME` names, if that is another: a
/// process that re-points the variable takes no line away, and adds none that widens.
fn user_files(sources: &Sources<'_>) -> Vec<(PathBuf, Author)> {
    let usual = sources.home.map(|home| home.join(".config"));
    let named =
        sources.world.env("XDG_CONFIG_HOME").map(|dir| PathBuf::from(&*dir)).filter(|dir| dir.is_absolute());
    let named = named.filter(|dir| usual.as_ref() != Some(&normalise(dir)));
    let named = named.map(|dir| {
        let author = if is_users_place(sources, &dir) { Author::User } else { Author::Named };
        (dir, author)
    });
    let dirs = usual.map(|dir| (dir, Author::User)).into_iter().chain(named);
    dirs.map(|(dir, author)| (dir.join("blastradius/config"), author)).collect()
}

/// Whether a directory is one in which a user keeps settings: in their home, and neither in the work tree nor in scratch.
fn is_users_place(sources: &Sources<'_>, dir: &Path) -> bool {
    let platform = sources.world.platform();
    let real = |path: &Path| resolve(sources.world, Path::new("/"), path, Last::Followed).path;
    let dir = real(dir);
    let in_home = sources.home.is_some_and(|home| starts_with(platform, &dir, &real(home)));
    let in_tree = sources.tree.is_some_and(|tree| {
        scope::project_root(platform, sources.homes, &tree.root).is_ok()
            && starts_with(platform, &dir, &tree.root)
    });
    let in_scratch = SCRATCH.iter().any(|scratch| starts_with(platform, &dir, Path::new(scratch)));
    in_home && !in_tree && !in_scratch
}

fn read(sources: &Sources<'_>, path: &Path, author: Author, config: &mut Config) {
    let whole = |found: &str, expected: &str| ConfigError {
        file: path.into(),
        line: 0,
        column: 0,
        found: found.into(),
        expected: expected.into(),
    };
    let meta = match sources.world.look(path) {
        Look::Found(meta) => meta,
        Look::Absent => return,
        Look::Unreadable => {
            config.errors.push(whole("a file that cannot be looked at", "a readable file"));
            return;
        }
    };
    config.files.push(path.into());
    // A user may keep their own file elsewhere and link to it; a repository that does hides what it says.
    if meta.kind == Kind::Link && matches!(author, Author::Repository | Author::Outer) {
        config.errors.push(whole("a symbolic link", "a regular file"));
        return;
    }
    // Whose word it is decides the file that is read, not the link to it.
    let meta = match meta.kind {
        Kind::Link => resolve(sources.world, Path::new("/"), path, Last::Followed).meta.unwrap_or(meta),
        _ => meta,
    };
    if is_strangers(sources.world, author, meta.uid) {
        config.errors.push(whole(
            &format!("a file that belongs to user {}", meta.uid),
            "one that belongs to you or to root",
        ));
        return;
    }
    // A repository's file is anybody's who works there; who may widen must be one whom others cannot speak for.
    if meta.is_open && matches!(author, Author::User | Author::System) {
        config
            .errors
            .push(whole("a file that everybody may write", "one that only its owner writes: chmod o-w"));
        return;
    }
    let Some(content) = sources.world.read_file(path, FILE_LIMIT) else {
        config.errors.push(whole("a file that cannot be read, or is too large", "a readable file"));
        return;
    };
    let reader = Reader { sources, path, author, trusted: matches!(author, Author::User | Author::System) };
    let mut said = Config::default();
    reader.read(&content, &mut said);
    if author == Author::Repository
        && !said.waiting.is_empty()
        && sources.trust.is_trusted(path, &fingerprint(&content, &said.waiting))
    {
        said = Config::default();
        Reader { trusted: true, ..reader }.read(&content, &mut said);
    }
    config.add(said);
}

impl Config {
    /// Adds what one more file says.
    fn add(&mut self, said: Self) {
        let Self {
            files: _,
            places: _,
            allows,
            denies,
            commands,
            rules,
            replaces_scope,
            bounded,
            waiting,
            errors,
        } = said;
        self.allows.extend(allows);
        self.denies.extend(denies);
        self.commands.extend(commands);
        self.rules.extend(rules);
        self.replaces_scope |= replaces_scope;
        self.bounded |= bounded;
        self.waiting.extend(waiting);
        self.errors.extend(errors);
    }

    /// The verdict that the files give a rule. Of several lines the strictest holds: who lowers a rule for all of their
    /// work does not speak against the repository that raises it.
    pub fn rule(&self, rule: RuleId) -> Option<Verdict> {
        self.rules.iter().filter(|line| line.rule == rule).map(|line| line.verdict).max()
    }
}

/// What a human approves: the file's content, and what its widening lines reach. A variable or a link in such a line may
/// lead elsewhere tomorrow while the file stays as it is; then the approval no longer holds.
pub fn fingerprint(content: &[u8], waiting: &[Waiting]) -> Vec<u8> {
    let mut print = content.to_vec();
    for reach in waiting.iter().filter_map(|line| line.reach.as_ref()) {
        print.extend_from_slice(format!("\0{reach}").as_bytes());
    }
    print
}

/// Whether a file belongs to somebody whose word does not count here.
fn is_strangers(world: &dyn World, author: Author, owner: u32) -> bool {
    // Root speaks for the user who called sudo(8), and only root can be told who that was.
    let caller = || world.env("SUDO_UID").and_then(|uid| uid.parse::<u32>().ok());
    let is_mine = owner == world.uid() || world.uid() == 0 && caller() == Some(owner);
    owner != 0 && (author == Author::System || !is_mine)
}

struct Reader<'a> {
    sources: &'a Sources<'a>,
    path: &'a Path,
    author: Author,
    trusted: bool,
}

/// A word of a line with its place.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    line: usize,
    column: usize,
}

impl<'a> Word<'a> {
    /// A part of it, with its own place.
    fn part(self, text: &'a str) -> Self {
        let inside = word_at(self.text, text, self.line);
        Self { column: self.column + inside.column - 1, ..inside }
    }
}

impl Reader<'_> {
    fn read(&self, content: &[u8], config: &mut Config) {
        for (index, line) in content.split(|byte| *byte == b'\n').enumerate() {
            let number = index + 1;
            let at = Word { text: "", line: number, column: 1 };
            if number > LINE_LIMIT {
                config.errors.push(self.error(at, "another line", &format!("at most {LINE_LIMIT} lines")));
                return;
            }
            match std::str::from_utf8(line) {
                Ok(text) => {
                    if let Err(error) = self.line(text, number, config) {
                        config.errors.push(error);
                    }
                }
                Err(error) => {
                    let column = String::from_utf8_lossy(&line[..error.valid_up_to()]).chars().count() + 1;
                    let at = Word { text: "", line: number, column };
                    config.errors.push(self.error(at, "bytes that are not UTF-8", "text"));
                }
            }
        }
    }

    fn error(&self, at: Word<'_>, found: &str, expected: &str) -> ConfigError {
        ConfigError {
            file: self.path.into(),
            line: at.line,
            column: at.column,
            found: found.into(),
            expected: expected.into(),
        }
    }

    fn line(&self, text: &str, number: usize, config: &mut Config) -> Result<(), ConfigError> {
        let text = text.strip_suffix('\r').unwrap_or(text);
        if let Some((index, control)) =
            text.chars().enumerate().find(|(_, letter)| letter.is_control() && *letter != '\t')
        {
            let at = Word { text, line: number, column: index + 1 };
            let found = format!("the control character {}", control.escape_unicode());
            return Err(self.error(at, &found, "printable text"));
        }
        let trimmed = text.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            return Ok(());
        }
        if let Some((index, hidden)) = text.chars().enumerate().find(|(_, letter)| is_invisible(*letter)) {
            let at = Word { text, line: number, column: index + 1 };
            let found = format!("the invisible character {}", hidden.escape_unicode());
            return Err(self.error(at, &found, "text that people can see"));
        }
        let keyword = word_at(text, trimmed, number);
        let (name, rest) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
        let rest = word_at(text, rest.trim(), number);
        let origin = format!("{}:{number}: {trimmed}", self.shown_path());
        match name {
            "allow" => self.allow(rest, origin, config),
            "deny" => self.deny(rest, origin, config),
            "deny-command" => self.command(rest, Verdict::Deny, origin, config),
            "confirm-command" => self.command(rest, Verdict::Confirm, origin, config),
            "rule" => self.rule(rest, origin, config),
            _ => Err(self.error(
                keyword,
                &format!("`{name}`"),
                "`allow`, `deny`, `deny-command`, `confirm-command`, `rule` or a comment",
            )),
        }
    }

    fn shown_path(&self) -> String {
        match self.author {
            Author::Repository => CONFIG_NAME.into(),
            Author::Outer | Author::Named | Author::User | Author::System => self.path.display().to_string(),
        }
    }

    fn allow(&self, word: Word<'_>, origin: String, config: &mut Config) -> Result<(), ConfigError> {
        match self.author {
            Author::Repository => config.replaces_scope = true,
            Author::System => config.bounded = true,
            Author::Outer | Author::Named | Author::User => {}
        }
        if let Some(reason) = self.names_no_repository(word) {
            config.waiting.push(Waiting { origin, reason: reason.into(), reach: None });
            return Ok(());
        }
        let pattern = self.pattern(word)?;
        if let Some(floor) = covered_floor(self.sources, &pattern) {
            return Err(self.error(
                word,
                &format!("a pattern that covers the floor object {floor}"),
                "a pattern that covers none: no line makes these destructible",
            ));
        }
        match self.author {
            Author::Outer => return Ok(()),
            Author::Named => {
                let reason = "it stands where $XDG_CONFIG_HOME points, which is no place of yours: \
                              ~/.config/blastradius/config may say it";
                config.waiting.push(Waiting { origin, reason: reason.into(), reach: None });
                return Ok(());
            }
            Author::Repository | Author::User | Author::System => {}
        }
        if !self.trusted && !self.is_within_repository(&pattern) {
            config.waiting.push(Waiting {
                origin,
                reason: "it reaches beyond the work tree: run `blastradius trust` to approve it".into(),
                reach: Some(pattern),
            });
            return Ok(());
        }
        config.allows.push(Line { pattern, origin: origin.into() });
        Ok(())
    }

    fn deny(&self, word: Word<'_>, origin: String, config: &mut Config) -> Result<(), ConfigError> {
        if self.names_no_repository(word).is_some() {
            return Ok(());
        }
        let pattern = self.pattern(word)?;
        config.denies.push(Line { pattern, origin: origin.into() });
        Ok(())
    }

    fn command(
        &self,
        word: Word<'_>,
        verdict: Verdict,
        origin: String,
        config: &mut Config,
    ) -> Result<(), ConfigError> {
        if word.text.is_empty() {
            return Err(self.error(word, "nothing", "a command pattern"));
        }
        self.misread(word, misread::EVERYWHERE)?;
        config.commands.push(CommandLine { glob: word.text.into(), verdict, origin });
        Ok(())
    }

    fn rule(&self, word: Word<'_>, origin: String, config: &mut Config) -> Result<(), ConfigError> {
        let (id, verdict) = word.text.split_once(char::is_whitespace).unwrap_or((word.text, ""));
        let verdict = word.part(verdict.trim());
        let Some(rule) = RuleId::ALL.iter().copied().find(|rule| rule.id() == id) else {
            return Err(self.error(word, &format!("`{id}`"), "the id of a rule"));
        };
        let verdict_word = verdict;
        let Some(verdict) = Verdict::from_name(verdict.text) else {
            let found =
                if verdict.text.is_empty() { "nothing".into() } else { format!("`{}`", verdict.text) };
            return Err(self.error(verdict_word, &found, "`allow`, `warn`, `confirm` or `deny`"));
        };
        let row = rules::rule(rule);
        if !row.overridable && verdict < row.verdict {
            return Err(self.error(
                word,
                &format!("`{id}`, which no file lowers"),
                "a rule that may be overridden",
            ));
        }
        if !self.may_lower() && verdict < row.verdict {
            return Err(self.error(
                verdict_word,
                &format!("`{}`, which is milder than `{}`", verdict.name(), row.verdict.name()),
                "a stricter verdict: a repository's file only raises",
            ));
        }
        config.rules.push(RuleLine { rule, verdict, origin });
        Ok(())
    }

    fn may_lower(&self) -> bool {
        matches!(self.author, Author::User | Author::System)
    }

    /// Why a pattern that begins with `<repo>` names nothing here, if it is no repository's own file that says so.
    fn names_no_repository(&self, word: Word<'_>) -> Option<&'static str> {
        let own = matches!(self.author, Author::Repository | Author::Outer);
        if own || !word.text.starts_with("<repo>") {
            return None;
        }
        match self.sources.tree {
            None => Some("there is no work tree here"),
            Some(tree) => {
                scope::project_root(self.sources.world.platform(), self.sources.homes, &tree.root).err()
            }
        }
    }

    /// Refuses what people write because another tool understands it: taken as it stands it would name nothing, in silence.
    fn misread(&self, word: Word<'_>, forms: &[misread::Form]) -> Result<(), ConfigError> {
        let first = forms.iter().find_map(|form| Some((form, (form.find)(word.text)?)));
        let Some((form, at)) = first else { return Ok(()) };
        let at = word.part(&word.text[at..]);
        Err(self.error(at, form.found, form.expected))
    }

    /// Expands `<repo>`, `~`, `$VAR` and `./`, and follows the links of the part without wildcards.
    fn pattern(&self, word: Word<'_>) -> Result<Pattern, ConfigError> {
        if word.text.is_empty() {
            return Err(self.error(word, "nothing", "a pattern"));
        }
        self.misread(word, misread::EVERYWHERE)?;
        self.misread(word, misread::IN_PATTERNS)?;
        let (base, text) = self.anchor(word)?;
        let (literal, rest) = split_at_wildcard(text);
        let world = self.sources.world;
        let named = normalise(&base.join(literal.trim_start_matches('/')));
        let real = resolve(world, Path::new("/"), &named, Last::Followed).path;
        let fold = world.platform() == Platform::MacOs;
        let rest_climbs = rest.split('/').any(|name| name == "..");
        if rest_climbs {
            return Err(self.error(word, "`..` behind a wildcard", "a pattern that does not climb"));
        }
        Ok(Pattern::below(&real, rest, fold))
    }

    /// The directory in which a pattern is read, and the pattern's text below it. Only in the text are `*`, `?` and `[`
    /// wildcards: a directory may be called so.
    fn anchor<'w>(&self, word: Word<'w>) -> Result<(PathBuf, &'w str), ConfigError> {
        let text = word.text;
        if let Some(rest) = text.strip_prefix("<repo>") {
            return Ok((self.repository_root(), self.after_root(word, rest)?));
        }
        if let Some(rest) = text.strip_prefix('~') {
            if !rest.is_empty() && !rest.starts_with('/') {
                return Err(self.error(word, "`~NAME`", "`~/`, `/`, `./`, `<repo>` or `$NAME`"));
            }
            let home = self.sources.home.ok_or_else(|| {
                self.error(word, "`~` without a home in the user database", "an absolute pattern")
            })?;
            return Ok((home.to_path_buf(), rest));
        }
        if let Some(rest) = text.strip_prefix('$') {
            return self.variable(word, rest);
        }
        if text.starts_with('/') {
            return Ok((PathBuf::from("/"), text));
        }
        let dir = match self.author {
            Author::Repository | Author::Outer => self.path.parent().unwrap_or(Path::new("/")),
            Author::Named | Author::User | Author::System => {
                return Err(self.error(word, "a relative pattern", "`/`, `~/`, `<repo>` or `$NAME`"));
            }
        };
        Ok((dir.to_path_buf(), text))
    }

    fn after_root<'w>(&self, word: Word<'_>, rest: &'w str) -> Result<&'w str, ConfigError> {
        if rest.is_empty() || rest.starts_with('/') {
            Ok(rest)
        } else {
            Err(self.error(word, &format!("`{}`", word.text), "a slash or nothing after the name"))
        }
    }

    fn repository_root(&self) -> PathBuf {
        match self.sources.tree {
            Some(tree) => tree.root.clone(),
            None => self.path.parent().unwrap_or(Path::new("/")).to_path_buf(),
        }
    }

    /// `$NAME/…` or `${NAME}/…`.
    fn variable<'w>(&self, word: Word<'w>, rest: &'w str) -> Result<(PathBuf, &'w str), ConfigError> {
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let (name, tail) = match rest.strip_prefix('{') {
            Some(braced) => braced.split_once('}').ok_or_else(|| {
                self.error(word, &format!("`{}`", word.text), "a closing brace after the name")
            })?,
            None => rest.split_at(rest.find(|letter| !is_name(letter)).unwrap_or(rest.len())),
        };
        let tail = self.after_root(word, tail)?;
        match self.sources.world.env(name).filter(|value| value.starts_with('/')) {
            Some(value) => Ok((PathBuf::from(&*value), tail)),
            None => Err(self.error(
                word,
                &format!("`${name}`, which is unset, empty or no absolute path"),
                "a variable that holds an absolute path",
            )),
        }
    }

    /// Whether a pattern stays where a repository may allow without being asked about: its work tree and scratch.
    fn is_within_repository(&self, pattern: &Pattern) -> bool {
        let platform = self.sources.world.platform();
        let place = pattern.literal_prefix();
        let in_tree = self.sources.tree.is_some_and(|tree| {
            tree.tie != Tie::Bare
                && match scope::project_root(platform, self.sources.homes, &tree.root) {
                    Ok(false) => starts_with(platform, &place, &tree.root),
                    // A container's home: its settings are no part of the project.
                    Ok(true) => place.strip_prefix(&tree.root).is_ok_and(|below| {
                        below.iter().next().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"."))
                    }),
                    Err(_) => false,
                }
        });
        let below = pattern.is_below_only() || pattern.literal().is_none();
        let scratch = SCRATCH.iter().any(|dir| {
            let dir = Path::new(dir);
            is_below(platform, &place, dir) || starts_with(platform, &place, dir) && below
        });
        in_tree || scratch
    }
}

/// Characters that move or hide others: a line that holds one says something else than people read.
pub fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{a0}' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn word_at<'a>(line: &'a str, text: &'a str, number: usize) -> Word<'a> {
    let offset = (text.as_ptr() as usize).saturating_sub(line.as_ptr() as usize).min(line.len());
    let column = line.get(..offset).unwrap_or(line).chars().count() + 1;
    Word { text, line: number, column }
}

/// Splits a pattern in front of the first component that holds a wildcard.
fn split_at_wildcard(text: &str) -> (&str, &str) {
    match text.find(['*', '?', '[']) {
        Some(wild) => {
            let cut = text[..wild].rfind('/').map_or(0, |slash| slash + 1);
            text.split_at(cut)
        }
        None => (text, ""),
    }
}

/// A floor object that an `allow` line would make destructible, for people.
fn covered_floor(sources: &Sources<'_>, pattern: &Pattern) -> Option<String> {
    let platform = sources.world.platform();
    let place = pattern.literal_prefix();
    let literal = pattern.literal();
    let scratch = SCRATCH.iter().any(|dir| super::paths::same(platform, &place, Path::new(dir)));
    if scratch && (pattern.is_below_only() || literal.is_none()) {
        return None;
    }
    let known = floor::home_parents()
        .map(Path::to_path_buf)
        .chain(floor::system_roots(platform).iter().map(PathBuf::from))
        .chain(sources.homes.iter().cloned())
        .chain(windows_drives(sources.world, &place))
        .chain([PathBuf::from("/")]);
    for object in known {
        let covered = match &literal {
            Some(path) => starts_with(platform, &object, path),
            None => pattern.match_depth(&object).is_some_and(|at| at == depth(&object)),
        };
        if covered {
            return Some(object.display().to_string());
        }
    }
    match literal {
        // `allow /workspace/**` is the entries of a directory that happens to lie at the top; `allow /workspace` is not.
        Some(path) => {
            let is_top = depth(&path) == 1 && pattern.is_below_only();
            (!is_top && floor::is_floor_by_place(platform, &path)).then(|| path.display().to_string())
        }
        None if depth(&place) == 0
            || floor::home_parents().any(|parent| super::paths::same(platform, &place, parent)) =>
        {
            Some(format!("objects directly below {}", place.display()))
        }
        // `~/*` is `~/**` by another name.
        None => (pattern.takes_any_entry() && gives_no_entries(sources, &place))
            .then(|| place.display().to_string()),
    }
}

/// Whether it is a floor object whose entries are allowed one by one or not at all: a home, a system root. The home that a
/// container's work tree happens to be is none.
fn gives_no_entries(sources: &Sources<'_>, place: &Path) -> bool {
    let platform = sources.world.platform();
    let is_home = sources
        .homes
        .iter()
        .any(|home| super::paths::same(platform, home, place) && scope::is_persons_home(platform, home));
    let is_root =
        floor::system_roots(platform).iter().any(|root| super::paths::same(platform, place, Path::new(root)));
    is_home || is_root || depth(place) > 1 && floor::is_floor_by_place(platform, place)
}

/// The Windows drives that are mounted here, for a pattern that begins at `place`.
fn windows_drives(world: &dyn World, place: &Path) -> Vec<PathBuf> {
    let parent = Path::new("/mnt");
    let concerns = parent.starts_with(place) || place.starts_with(parent);
    let entries = match world.platform() {
        Platform::Linux if concerns => world.read_dir(parent, 64).unwrap_or_default(),
        Platform::Linux | Platform::MacOs => Vec::new(),
    };
    let drives = entries.into_iter().map(|(name, _)| Path::new("/mnt").join(name));
    drives
        .filter(|drive| floor::is_windows_floor(drive))
        .filter(|drive| !matches!(world.look(&drive.join("Windows")), Look::Absent))
        .collect()
}

/// With `allow` lines in the system's file, nothing below allows more. `below`: how many lines came from below.
fn bound(platform: Platform, config: &mut Config, below: usize) {
    let (lower, ceiling) = config.allows.split_at(below);
    if !config.bounded {
        return;
    }
    let within = |line: &Line| {
        let place = line.pattern.literal_prefix();
        ceiling.iter().any(|bound| {
            bound.pattern.literal().is_some_and(|dir| {
                is_below(platform, &place, &dir)
                    || starts_with(platform, &place, &dir) && line.pattern.is_below_only()
            })
        })
    };
    let (kept, cut): (Vec<_>, Vec<_>) = lower.iter().cloned().partition(within);
    config.waiting.extend(cut.into_iter().map(|line| Waiting {
        origin: line.origin.into_owned(),
        reason: "the system's file allows less".into(),
        reach: None,
    }));
    let ceiling = ceiling.to_vec();
    // Where lower files narrow, what they say counts; else the ceiling is the scope.
    config.allows = if kept.is_empty() { ceiling } else { kept };
    config.replaces_scope = true;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Policy, Start};
    use crate::shell::world::memory::MemoryWorld;
    use blastradius_common::Zone;

    const PROJ: &str = "/home/dev/proj";

    fn world(lines: &str) -> MemoryWorld {
        MemoryWorld::new(Platform::Linux)
            .account("dev", "/home/dev")
            .env("HOME", "/home/dev")
            .dir("/home/dev/Documents")
            .work_tree(PROJ)
            .dir("/home/dev/proj/build")
            .dir("/home/dev/proj/src/deep")
            .file("/home/dev/proj/.blastradius", lines)
            .cwd(PROJ)
    }

    fn policy(lines: &str) -> Policy {
        Policy::load(&world(lines), Start::default())
    }

    fn zone(lines: &str, path: &str) -> Zone {
        let world = world(lines);
        Policy::load(&world, Start::default()).zone(&world, Path::new(path)).zone
    }

    fn error(lines: &str) -> String {
        policy(lines).errors().first().map_or_else(String::new, ToString::to_string)
    }

    struct Everything;

    impl TrustStore for Everything {
        fn is_trusted(&self, _path: &Path, _content: &[u8]) -> bool {
            true
        }
    }

    #[test]
    fn an_allow_line_replaces_the_default_scope_and_deny_lines_alone_keep_it() {
        assert_eq!(zone("allow ./build/**", "/home/dev/proj/build/x"), Zone::Scope);
        assert_eq!(zone("allow ./build/**", "/home/dev/proj/build"), Zone::Root);
        assert_eq!(zone("allow ./build", "/home/dev/proj/build"), Zone::Scope);
        assert_eq!(zone("allow ./build", "/home/dev/proj/src"), Zone::Personal);
        assert_eq!(zone("allow ./build", "/tmp/x"), Zone::Other);
        assert_eq!(zone("deny ./secrets", "/home/dev/proj/src"), Zone::Scope);
        assert_eq!(zone("deny ./secrets", "/home/dev/proj/secrets/a"), Zone::Denied);
        assert_eq!(zone("allow <repo>/**\ndeny ./secrets", "/home/dev/proj/secrets/a"), Zone::Denied);
    }

    #[test]
    fn patterns_may_name_the_repository_the_home_and_variables() {
        assert_eq!(zone("allow <repo>/dist", "/home/dev/proj/dist/a"), Zone::Scope);
        assert_eq!(zone("deny ~/Documents", "/home/dev/Documents/x"), Zone::Denied);
        assert_eq!(zone("deny $HOME/Documents", "/home/dev/Documents/x"), Zone::Denied);
        assert_eq!(zone("deny *.key", "/home/dev/proj/a.key"), Zone::Denied);
        assert_eq!(zone("deny **/*.key", "/home/dev/proj/src/deep/a.key"), Zone::Denied);
        assert_eq!(zone("  # allow /\n\n", "/home/dev/proj/a"), Zone::Scope);
    }

    #[test]
    fn an_allow_that_covers_a_floor_object_is_an_error_that_names_the_line() {
        for pattern in [
            "/**",
            "/",
            "/home/**",
            "~/**",
            "~",
            "/home/*",
            "/usr/**",
            "/etc",
            "/*",
            "/h*/**",
            "/srv",
            "..",
            "$HOME/**",
            "~/*",
            "~/?*",
            "~/*/**",
            "~/[!q]*",
            "~/**/*",
            "~/.*",
            "/etc/*",
            "/usr/local/*",
            "/home/alice/**",
            "/home/alice",
            "/mnt/c/**",
            "/mnt/c/Users/tim/**",
        ] {
            let error = error(&format!("# first\nallow {pattern}"));
            assert!(
                error.starts_with("/home/dev/proj/.blastradius:2:7: found a pattern that covers"),
                "{pattern}: {error}"
            );
        }
    }

    #[test]
    fn what_is_wider_than_the_work_tree_waits_for_trust() {
        for pattern in [
            "../other/**",
            "<repo>/../other",
            "~/Documents/old",
            "/srv/data/**",
            "/usr/local/lib/x",
            "/srv/*",
            "~/*.log",
        ] {
            let lines = format!("allow {pattern}");
            let waiting = policy(&lines);
            assert!(waiting.errors().is_empty(), "{pattern}: {:?}", waiting.errors());
            assert_eq!(waiting.config().waiting.len(), 1, "{pattern}");
            assert_eq!(waiting.config().allows.len(), 0, "{pattern}");
            let world = world(&lines);
            let trusted = Policy::load(&world, Start { trust: Some(&Everything), ..Start::default() });
            assert_eq!(trusted.config().allows.len(), 1, "{pattern}");
        }
        assert!(policy("allow /tmp/**\nallow /tmp/*\nallow ./x").config().waiting.is_empty());
    }

    #[test]
    fn an_allow_through_a_link_marks_what_it_points_to() {
        let world = world("allow ./out").link("/home/dev/proj/out", "/srv/out").dir("/srv/out");
        let policy = Policy::load(&world, Start::default());
        assert_eq!(policy.config().waiting.len(), 1, "it leads outside");
        let inside = world.link("/home/dev/proj/out", "/home/dev/proj/build");
        assert_eq!(
            Policy::load(&inside, Start::default()).zone(&inside, Path::new("/home/dev/proj/build/x")).zone,
            Zone::Scope
        );
    }

    #[test]
    fn errors_name_line_column_what_was_found_and_what_was_expected() {
        assert_eq!(
            error("deny ./a\n  alow ./b"),
            "/home/dev/proj/.blastradius:2:3: found `alow`, expected `allow`, `deny`, `deny-command`, `confirm-command`, \
             `rule` or a comment"
        );
        assert!(error("allow").contains(":1:"), "{}", error("allow"));
        assert!(error("deny $NOPE/x").contains(":1:6: found `$NOPE`"));
        assert!(error("rule nonsense deny").contains(":1:6: found `nonsense`"));
        assert!(error("rule out-of-scope maybe").contains(":1:19: found `maybe`"));
        assert!(error("deny a\u{1b}b").contains("control character"));
    }

    #[test]
    fn a_file_that_is_a_link_or_a_strangers_is_an_error_and_no_file_is_none() {
        let linked = world("").link("/home/dev/proj/.blastradius", "/srv/policy").file("/srv/policy", "");
        assert!(Policy::load(&linked, Start::default()).errors()[0].to_string().contains("symbolic link"));
        let strangers = world("deny ./x").owner("/home/dev/proj/.blastradius", 4242);
        assert!(Policy::load(&strangers, Start::default()).errors()[0].to_string().contains("user 4242"));
        let none = MemoryWorld::new(Platform::Linux).account("dev", "/home/dev").work_tree(PROJ).cwd(PROJ);
        assert_eq!(Policy::load(&none, Start::default()).errors(), []);
    }

    #[test]
    fn a_repositorys_file_raises_rules_and_only_the_users_lowers_them() {
        assert_eq!(policy("rule git-discard deny").config().rules.len(), 1);
        assert!(error("rule git-discard allow").contains("only raises"));
        assert!(error("rule floor-path allow").contains("no file lowers"));
        let user = world("")
            .file("/home/dev/.config/blastradius/config", "rule git-discard allow\nallow ~/scratch/**");
        let policy = Policy::load(&user, Start::default());
        assert_eq!(policy.errors(), []);
        assert_eq!(policy.config().rules.len(), 1);
        assert_eq!(policy.zone(&user, Path::new("/home/dev/scratch/x")).zone, Zone::Scope);
        assert_eq!(policy.zone(&user, Path::new("/home/dev/proj/x")).zone, Zone::Scope, "a user's line adds");
    }

    #[test]
    fn the_systems_file_bounds_what_the_others_allow() {
        let world = world("allow ./build/**")
            .file("/etc/blastradius/config", "allow /srv/jobs/**\ndeny /home/dev/proj/keep");
        let world = world.owner("/etc/blastradius/config", 0).owner("/etc/blastradius", 0);
        let policy = Policy::load(&world, Start::default());
        assert_eq!(policy.errors(), []);
        assert_eq!(policy.zone(&world, Path::new("/home/dev/proj/build/x")).zone, Zone::Personal);
        assert_eq!(policy.zone(&world, Path::new("/srv/jobs/x")).zone, Zone::Scope);
        assert_eq!(policy.zone(&world, Path::new("/home/dev/proj/keep")).zone, Zone::Denied);
    }

    #[test]
    fn the_template_says_nothing_until_somebody_uncomments_it_and_then_it_is_right() {
        let said = policy(TEMPLATE);
        assert_eq!((said.errors(), said.config().allows.len()), (&[][..], 0));
        let statement = |line: &&str| !line.is_empty() && !line.starts_with(' ');
        let lines = TEMPLATE.lines().filter_map(|line| line.strip_prefix('#')).filter(statement);
        let uncommented = lines.collect::<Vec<_>>().join("\n");
        let said = policy(&uncommented);
        assert_eq!(said.errors(), [], "{uncommented}");
        let config = said.config();
        let said = [config.allows.len(), config.denies.len(), config.commands.len(), config.rules.len()];
        assert_eq!((said, config.waiting.len()), ([4, 2, 2, 1], 1), "{uncommented}");
    }

    #[test]
    fn what_another_tool_would_understand_is_an_error_and_not_the_name_of_something_that_is_not_there() {
        for (line, column, found) in [
            ("deny ./keys   # private", 15, "`#`"),
            ("deny-command make x* # never", 22, "`#`"),
            ("deny \"./my keys\"", 6, "quotation marks"),
            ("deny './keys'", 6, "quotation marks"),
            ("deny-command 'make x*'", 14, "quotation marks"),
            ("deny !./keys", 6, "`!`"),
            ("deny <REPO>/keys", 6, "`<`"),
            ("deny ./a ./b", 10, "a second pattern"),
            ("deny ./a ~/b", 10, "a second pattern"),
            ("deny ./{a,b}/keys", 8, "a list in braces"),
            ("deny ./my\\ keys", 10, "a backslash"),
            ("deny ./build/$TARGET/x", 14, "a variable inside"),
            ("deny ./build/${TARGET}", 14, "a variable inside"),
        ] {
            let error = error(line);
            assert!(error.contains(&format!(":1:{column}: found {found}")), "{line}: {error}");
        }
        for line in [
            "deny ./a#b",
            "deny ./my keys",
            "deny ./it's",
            "deny ./{{name}}/x",
            "deny ./$types",
            "deny ./a!b",
            "deny ./a - b",
            "deny-command echo \"*",
            "deny [[:alpha:]]*",
            "deny $HOME/x",
        ] {
            assert_eq!(error(line), "", "{line}");
        }
    }

    #[test]
    fn of_several_lines_for_one_rule_the_strictest_holds_whoever_wrote_it() {
        let lowered = "rule git-discard allow";
        let said = |repository: &str, system: &str| {
            let world = world(repository)
                .file("/home/dev/.config/blastradius/config", lowered)
                .file("/etc/blastradius/config", system)
                .owner("/etc/blastradius/config", 0);
            Policy::load(&world, Start::default()).config().rule(RuleId::GitDiscard)
        };
        assert_eq!(said("", ""), Some(Verdict::Allow));
        assert_eq!(said("rule git-discard deny", ""), Some(Verdict::Deny));
        assert_eq!(said("rule git-discard deny", lowered), Some(Verdict::Deny));
        assert_eq!(said("", "rule git-discard deny"), Some(Verdict::Deny));
        assert!(error("rule  git-discard   allow").contains(":1:21: found `allow`"));
    }

    #[test]
    fn a_file_of_the_user_or_the_system_that_others_can_write_or_that_leads_to_anothers_is_an_error() {
        let user = "/home/dev/.config/blastradius/config";
        let open = world("").file(user, "allow ~/x/**").open_to_all(user);
        assert!(Policy::load(&open, Start::default()).errors()[0].found.contains("everybody may write"));
        let linked = world("").link(user, "/srv/config").file("/srv/config", "allow ~/x/**");
        assert_eq!(Policy::load(&linked, Start::default()).errors(), [], "a link to a file of one's own");
        let foreign = linked.owner("/srv/config", 4242);
        assert!(Policy::load(&foreign, Start::default()).errors()[0].found.contains("user 4242"));
        let open = world("deny ./x").open_to_all("/home/dev/proj/.blastradius");
        assert_eq!(Policy::load(&open, Start::default()).errors(), [], "some file systems know no modes");
    }

    #[test]
    fn a_ceiling_that_names_nothing_here_is_still_one() {
        let system = |text: &str, cwd: &str| {
            let world = world("allow ./build/**")
                .file("/etc/blastradius/config", text)
                .owner("/etc/blastradius/config", 0)
                .dir("/srv/x");
            let world = world.cwd(cwd);
            let policy = Policy::load(&world, Start { session: true, ..Start::default() });
            assert_eq!(policy.errors(), [], "{text} in {cwd}");
            (
                policy.zone(&world, Path::new("/home/dev/proj/build/x")).zone,
                policy.zone(&world, Path::new("/srv/x/y")).zone,
                policy.zone(&world, Path::new("/etc/blastradius/config")).zone,
            )
        };
        assert_eq!(system("allow <repo>/**", PROJ), (Zone::Scope, Zone::Other, Zone::Own));
        assert_eq!(system("allow <repo>/**", "/srv/x"), (Zone::Personal, Zone::Other, Zone::Own));
    }

    #[test]
    fn any_bytes_are_read_without_panic_and_never_widen() {
        let mut state = 1_u64;
        let mut roll = |sides: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % sides
        };
        let words: &[&[u8]] = &[
            b"allow ",
            b"deny ",
            b"rule ",
            b"/",
            b"**",
            b"*",
            b"[",
            b"~",
            b"<repo>",
            b"$HOME",
            b"..",
            b"\n",
            b" ",
            b"\xff",
            b"\0",
            b"deny-command ",
        ];
        let valid = "allow ./build\n";
        let probes = ["/", "/home/dev", "/home/dev/Documents", "/etc/passwd", "/srv/x", "/home/dev/proj/src"];
        let world = world("");
        let homes = [PathBuf::from("/home/dev")];
        let tree = super::super::worktree::at(&world, Path::new(PROJ));
        for round in 0..10_000 {
            let mut bytes = valid.as_bytes().to_vec();
            for _ in 0..roll(12) {
                let at = usize::try_from(roll(words.len() as u64 + 1)).expect("small");
                match words.get(at) {
                    Some(word) => bytes.extend_from_slice(word),
                    None => bytes.push(u8::try_from(roll(256)).expect("a byte")),
                }
            }
            let mut config = Config::default();
            let sources = Sources {
                world: &world,
                homes: &homes,
                home: Some(Path::new("/home/dev")),
                cwd: Path::new(PROJ),
                tree: tree.as_ref(),
                trust: &super::super::trust::NoTrust,
            };
            let path = PathBuf::from("/home/dev/proj/.blastradius");
            Reader { sources: &sources, path: &path, author: Author::Repository, trusted: false }
                .read(&bytes, &mut config);
            assert!(config.errors.iter().all(|error| error.line > 0), "round {round}");
            for line in &config.allows {
                let own = line.pattern.literal_prefix().starts_with(PROJ)
                    || line.pattern.literal_prefix().starts_with("/tmp");
                assert!(own, "round {round}: {}", line.origin);
                let covered =
                    probes[..5].iter().any(|probe| line.pattern.match_depth(Path::new(probe)).is_some());
                assert!(!covered, "round {round}: {}", line.origin);
            }
        }
    }
}
