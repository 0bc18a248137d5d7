//! Which Debian mirror this machine uses, read from its own apt sources, so that no host is written down here.

use std::{env, fs, path::Path};

use anyhow::{Result, bail};

/// One enabled binary source, in either of apt's two formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// Where the archive is.
    pub(crate) uri: String,
    /// The suites that are used of it.
    pub(crate) suites: Vec<String>,
    /// The components of each suite.
    pub(crate) components: Vec<String>,
    /// The keyring that vouches for it, if one is named.
    pub(crate) signed_by: Option<String>,
}

/// Debian's two archives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Archive {
    main: Mirror,
    security: Mirror,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mirror {
    uri: String,
    signed_by: Option<String>,
}

/// The variables that name a mirror where the machine's own sources do not.
const MAIN_VARIABLE: &str = "BLASTRADIUS_DEBIAN_MIRROR";
const SECURITY_VARIABLE: &str = "BLASTRADIUS_DEBIAN_SECURITY_MIRROR";

impl Archive {
    /// What this machine's sources, or the two variables, say.
    pub(crate) fn of_this_machine() -> Result<Self> {
        let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
        Self::derive(
            &read_machine(Path::new("/etc/apt")),
            variable(MAIN_VARIABLE),
            variable(SECURITY_VARIABLE),
        )
    }

    fn derive(sources: &[Source], main: Option<String>, security: Option<String>) -> Result<Self> {
        let unsigned = |uri| Mirror { uri, signed_by: None };
        let is_security = |source: &&Source| source.suites.iter().any(|suite| suite.ends_with("-security"));
        let Some(main) = main.map(unsigned).or_else(|| find(sources, |source| source.is_debian("debian")))
        else {
            bail!(
                "the apt sources of this machine name no Debian archive (a line such as `deb URI/debian SUITE main`): \
                 set {MAIN_VARIABLE} to the address of one"
            );
        };
        let security = security
            .map(unsigned)
            .or_else(|| find(sources, |source| source.is_debian("debian-security") && is_security(&source)))
            // Mirrors that carry both have them side by side.
            .unwrap_or_else(|| Mirror {
                uri: format!("{}-security", main.uri.trim_end_matches('/')),
                signed_by: main.signed_by.clone(),
            });
        Ok(Self { main, security })
    }

    /// The address of the main archive.
    pub(crate) fn main_address(&self) -> &str {
        &self.main.uri
    }

    /// The line of a sources.list for one suite.
    pub(crate) fn line(&self, suite: &str) -> String {
        let Mirror { uri, signed_by } =
            if suite.ends_with("-security") { &self.security } else { &self.main };
        let keyring = signed_by.as_ref().map(|path| format!("[signed-by={path}] ")).unwrap_or_default();
        format!("deb {keyring}{uri} {suite} main")
    }
}

fn find(sources: &[Source], wanted: impl Fn(&Source) -> bool) -> Option<Mirror> {
    let source = sources.iter().find(|source| wanted(source))?;
    Some(Mirror { uri: source.uri.clone(), signed_by: source.signed_by.clone() })
}

impl Source {
    /// Third parties name their suites as Debian does, and some end their address in `debian` too, but they have no `main` there.
    fn is_debian(&self, last_segment: &str) -> bool {
        self.uri.trim_end_matches('/').rsplit('/').next() == Some(last_segment)
            && self.components.iter().any(|component| component == "main")
    }
}

fn read_machine(etc: &Path) -> Vec<Source> {
    let mut files = vec![etc.join("sources.list")];
    let mut parts: Vec<_> = fs::read_dir(etc.join("sources.list.d"))
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    parts.sort();
    files.extend(parts);
    let mut sources = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("list") => sources.extend(one_line_format(&text)),
            Some("sources") => sources.extend(deb822_format(&text)),
            _ => {}
        }
    }
    sources
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// `deb [option=value …] uri suite component…`
fn one_line_format(text: &str) -> Vec<Source> {
    text.lines().filter_map(one_line).collect()
}

fn one_line(line: &str) -> Option<Source> {
    let line = line.split('#').next()?.trim();
    let mut rest = line.strip_prefix("deb")?;
    if !rest.starts_with([' ', '\t']) {
        return None;
    }
    rest = rest.trim_start();
    let mut signed_by = None;
    if let Some(options) = rest.strip_prefix('[') {
        let (options, tail) = options.split_once(']')?;
        signed_by = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
        rest = tail.trim_start();
    }
    let mut fields = words(rest).into_iter();
    let (uri, suite) = (fields.next()?, fields.next()?);
    Some(Source {
        uri,
        suites: vec![suite],
        components: fields.collect(),
        signed_by: signed_by.map(str::to_owned),
    })
}

/// Stanzas of `Field: values`, with continuation lines that start with a space.
fn deb822_format(text: &str) -> Vec<Source> {
    let uncommented: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let stanzas = uncommented.split(|line| line.trim().is_empty());
    stanzas.flat_map(stanza).collect()
}

fn stanza(lines: &[&str]) -> Vec<Source> {
    let field = |wanted: &str| {
        let mut value = String::new();
        let mut inside = false;
        for line in lines {
            if line.starts_with([' ', '\t']) {
                if inside {
                    value.push_str(line);
                }
                continue;
            }
            inside = false;
            if let Some((name, text)) = line.split_once(':')
                && name.eq_ignore_ascii_case(wanted)
            {
                inside = true;
                value.push_str(text);
            }
        }
        words(&value)
    };
    let enabled = !field("Enabled").first().is_some_and(|value| value.eq_ignore_ascii_case("no"));
    if !enabled || !field("Types").iter().any(|kind| kind == "deb") {
        return Vec::new();
    }
    // A key may also stand in the field itself, over many lines; only a path can be named in a one-line source.
    let signed_by = field("Signed-By").into_iter().next().filter(|value| value.starts_with('/'));
    let source = |uri| Source {
        uri,
        suites: field("Suites"),
        components: field("Components"),
        signed_by: signed_by.clone(),
    };
    field("URIs").into_iter().map(source).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEB822: &str = "\
Types: deb
# a comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian.gpg

Types: deb deb-src
URIs: http://mirror.example/debian-security
Suites:
 bookworm-security
Components: main contrib

Types: deb
Enabled: no
URIs: http://off.example/debian
Suites: bookworm
Components: main
";

    #[test]
    fn both_formats_are_read() {
        let sources = deb822_format(DEB822);
        assert_eq!(sources.len(), 2);
        assert_eq!(sources[0].suites, ["bookworm", "bookworm-updates"]);
        assert_eq!(sources[0].signed_by.as_deref(), Some("/usr/share/keyrings/debian.gpg"));
        assert_eq!(sources[1].suites, ["bookworm-security"]);

        let text = "# x\ndeb-src http://a.example/debian sid main\ndeb [arch=amd64 signed-by=/k.gpg] http://a.example/debian/ sid main # y\n";
        let sources = one_line_format(text);
        assert_eq!(sources.len(), 1);
        assert_eq!(sources[0].uri, "http://a.example/debian/");
        assert_eq!(sources[0].signed_by.as_deref(), Some("/k.gpg"));
        assert_eq!(sources[0].components, ["main"]);
    }

    #[test]
    fn the_archives_come_from_the_machine() {
        let archive = Archive::derive(&deb822_format(DEB822), None, None).unwrap();
        assert_eq!(
            archive.line("trixie-backports"),
            "deb [signed-by=/usr/share/keyrings/debian.gpg] http://mirror.example/debian trixie-backports main"
        );
        assert_eq!(
            archive.line("trixie-security"),
            "deb http://mirror.example/debian-security trixie-security main"
        );
    }

    #[test]
    fn a_machine_with_one_line_finds_security_beside_it() {
        let sources = one_line_format("deb http://mirror.example/debian bookworm main\n");
        let archive = Archive::derive(&sources, None, None).unwrap();
        assert_eq!(archive.line("a-security"), "deb http://mirror.example/debian-security a-security main");
    }

    #[test]
    fn third_parties_are_not_taken_for_debian() {
        let text = "deb http://third.example/linux/debian bookworm stable\ndeb http://pg.example/apt bookworm main\n";
        let error = Archive::derive(&one_line_format(text), None, None).unwrap_err();
        assert!(error.to_string().contains(MAIN_VARIABLE));
        let named = Archive::derive(&[], Some("http://m.example/d".into()), None).unwrap();
        assert_eq!(named.line("sid"), "deb http://m.example/d sid main");
    }
}
