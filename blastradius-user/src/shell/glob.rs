//! Globs against the file system that the world shows.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::limits::{Eval, GLOB_ENTRIES, GLOB_MATCHES, Limit, Stop};
use super::pattern::{self, Pattern};
use super::state::Flags;
use super::value::Glob;
use super::world::{Kind, Look, World};

/// Directories that `**` enters at most.
const MAX_WALK: usize = 2000;

/// Entries of directories that are kept, so that a directory which many globs range over is read once.
const KEPT: usize = 1 << 16;

/// A directory's entries.
type Listing = Rc<[(String, Kind)]>;

/// What the globs of one evaluation have seen so far: the machine does not change while a text is only read.
#[derive(Debug, Default)]
pub(crate) struct Listings {
    /// Entries that were looked at, whether the directory was read for it or had been kept.
    spent: u64,
    kept: Vec<(PathBuf, Listing)>,
    entries: usize,
}

impl Listings {
    /// The entries of a directory; none if it cannot be read.
    fn of(&mut self, world: &dyn World, dir: &Path) -> Eval<Listing> {
        let left = GLOB_ENTRIES.saturating_sub(self.spent);
        if left == 0 {
            return Err(Stop(Limit::WorldCalls));
        }
        let listing = match self.kept.iter().find(|(kept, _)| kept == dir) {
            Some((_, listing)) => listing.clone(),
            None => self.read(world, dir, usize::try_from(left).unwrap_or(usize::MAX)),
        };
        self.spent += listing.len() as u64 + 1;
        Ok(listing)
    }

    fn read(&mut self, world: &dyn World, dir: &Path, limit: usize) -> Listing {
        let entries = world.read_dir(dir, limit).unwrap_or_default();
        let text =
            |name: OsString| name.into_string().unwrap_or_else(|name| name.to_string_lossy().into_owned());
        let listing: Listing = entries.into_iter().map(|(name, kind)| (text(name), kind)).collect();
        // What the limit cut off is not the directory.
        if listing.len() < limit && self.entries + listing.len() < KEPT {
            self.entries += listing.len() + 1;
            self.kept.push((dir.to_owned(), listing.clone()));
        }
        listing
    }
}

/// Looks a pattern up. `cwd`: where a relative pattern starts.
pub(crate) fn look_up(
    world: &dyn World,
    cwd: &Path,
    pattern: &str,
    flags: Flags,
    listings: &mut Listings,
) -> Eval<Glob> {
    let extglob = pattern.contains('(');
    let components: Vec<&str> = split_components(pattern);
    let absolute = pattern.starts_with('/');
    let first_wild = components.iter().position(|part| pattern::has_wildcard(part, extglob)).unwrap_or(0);
    let mut base = if absolute { PathBuf::from("/") } else { cwd.to_owned() };
    let mut prefix = String::from(if absolute { "/" } else { "" });
    for part in &components[..first_wild] {
        let name = pattern::unescape(part);
        base = normal_join(&base, &name);
        prefix.push_str(&name);
        prefix.push('/');
    }
    let rest = &components[first_wild..];
    let trailing = pattern.ends_with('/');
    let shown = rest.join("/") + if trailing { "/" } else { "" };
    let mut walk = Walk { world, flags, extglob, listings, matches: Vec::new(), count: 0, trailing };
    walk.enter(&base, &prefix, rest)?;
    let Walk { mut matches, count, .. } = walk;
    matches.sort_unstable();
    Ok(Glob { base, pattern: shown, matches, count })
}

/// The components of a pattern; a slash inside an extended pattern's parentheses does not count.
fn split_components(pattern: &str) -> Vec<&str> {
    pattern.split('/').filter(|part| !part.is_empty()).collect()
}

/// Joins lexically, `.` and `..` resolved.
pub(crate) fn normal_join(base: &Path, tail: &str) -> PathBuf {
    let mut path = if tail.starts_with('/') { PathBuf::from("/") } else { base.to_owned() };
    for part in tail.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                path.pop();
            }
            _ => path.push(part),
        }
    }
    path
}

struct Walk<'a> {
    world: &'a dyn World,
    flags: Flags,
    extglob: bool,
    listings: &'a mut Listings,
    matches: Vec<String>,
    count: usize,
    trailing: bool,
}

impl Walk<'_> {
    fn enter(&mut self, dir: &Path, prefix: &str, rest: &[&str]) -> Eval<()> {
        let Some((&part, deeper)) = rest.split_first() else {
            self.found(prefix.trim_end_matches('/'));
            return Ok(());
        };
        if !pattern::has_wildcard(part, self.extglob) {
            let name = pattern::unescape(part);
            let path = normal_join(dir, &name);
            self.listings.spent += 1;
            if name == "." || name == ".." || !matches!(self.world.look(&path), Look::Absent) {
                self.enter(&path, &format!("{prefix}{name}/"), deeper)?;
            }
            return Ok(());
        }
        if part == "**" && self.flags.globstar {
            return self.enter_all(dir, prefix, deeper);
        }
        let pattern = Pattern::new(part, self.extglob).fold_case(self.flags.nocaseglob);
        let keep_dirs_only = !deeper.is_empty() || self.trailing;
        for (name, kind) in self.listings.of(self.world, dir)?.iter() {
            if (keep_dirs_only && *kind == Kind::File) || !pattern.matches_name(name, self.flags.dotglob) {
                continue;
            }
            if deeper.is_empty() {
                self.count += 1;
                if self.matches.len() < GLOB_MATCHES {
                    let slash = if self.trailing { "/" } else { "" };
                    self.matches.push(format!("{prefix}{name}{slash}"));
                }
            } else {
                self.enter(&dir.join(name), &format!("{prefix}{name}/"), deeper)?;
            }
        }
        Ok(())
    }

    /// `**`: the directory itself and everything below it.
    fn enter_all(&mut self, dir: &Path, prefix: &str, deeper: &[&str]) -> Eval<()> {
        let mut queue = vec![(dir.to_owned(), prefix.to_owned())];
        let mut at = 0;
        while at < queue.len() {
            let (dir, prefix) = queue[at].clone();
            at += 1;
            if deeper.is_empty() && at > 1 {
                self.found(prefix.trim_end_matches('/'));
            } else if !deeper.is_empty() {
                self.enter(&dir, &prefix, deeper)?;
            }
            for (name, kind) in self.listings.of(self.world, &dir)?.iter() {
                if name.starts_with('.') && !self.flags.dotglob {
                    continue;
                }
                match kind {
                    Kind::Directory if queue.len() < MAX_WALK => {
                        queue.push((dir.join(name), format!("{prefix}{name}/")));
                    }
                    _ if deeper.is_empty() => self.found(&format!("{prefix}{name}")),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn found(&mut self, path: &str) {
        self.count += 1;
        if self.matches.len() < GLOB_MATCHES {
            self.matches.push(path.to_owned());
        }
    }
}
