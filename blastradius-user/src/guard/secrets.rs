//! Which words of a command must not be kept?
//!
//! The log and the refusals show arguments; passwords given there are masked. This errs on the side of masking: a masked
//! word costs a reader a guess, an unmasked one a credential.

use std::borrow::Cow;

/// What stands in the place of a secret.
pub const MASK: &str = "[masked]";

/// Options and variables whose value is a secret, in lower case, without leading dashes. A name matches if it ends so.
const NAMES: &[&str] = &[
    "access-key",
    "access_key",
    "accesskey",
    "api-key",
    "api_key",
    "apikey",
    "auth-token",
    "auth_token",
    "authorization",
    "client-secret",
    "client_secret",
    "credential",
    "credentials",
    "passphrase",
    "passwd",
    "password",
    "private-key",
    "private_key",
    "secret",
    "secret-key",
    "secret_key",
    "session-token",
    "session_token",
    "token",
];

/// How well-known credentials begin, whatever stands in front of them.
const PREFIXES: &[&str] = &[
    "AKIA",
    "ASIA",
    "AIza",
    "eyJhbGci",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "npm_",
    "pypi-",
    "sk-ant-",
    "sk-proj-",
    "sk_live_",
    "xoxb-",
    "xoxp-",
];

/// Masks the secrets of an argv.
pub fn mask_all<'a>(words: impl IntoIterator<Item = Cow<'a, str>>) -> Vec<String> {
    let mut masked = Vec::new();
    let mut value_follows = false;
    for word in words {
        if value_follows && !word.starts_with('-') {
            masked.push(MASK.to_owned());
            value_follows = false;
        } else {
            value_follows = word.starts_with('-') && is_secret_name(&word);
            masked.push(mask(&word));
        }
    }
    masked
}

/// Masks what is secret in one text: `NAME=value`, `Authorization: …`, user information in a URL, known prefixes.
pub fn mask(text: &str) -> String {
    text.split_inclusive(char::is_whitespace)
        .scan(false, |after_header, piece| {
            let word = piece.trim_end();
            let blank = &piece[word.len()..];
            let masked = if *after_header && !is_scheme(word) { MASK.to_owned() } else { mask_word(word) };
            *after_header =
                (word.ends_with(':') && is_secret_name(word)) || (*after_header && is_scheme(word));
            Some(masked + blank)
        })
        .collect()
}

/// The word between a header and its secret: `Authorization: Bearer …`.
fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token"].contains(&word.to_ascii_lowercase().as_str())
}

fn mask_word(word: &str) -> String {
    if let Some((name, value)) = word.split_once('=')
        && is_secret_name(name)
        && !value.is_empty()
    {
        return format!("{name}={MASK}");
    }
    if let Some(start) = PREFIXES.iter().filter_map(|prefix| word.find(prefix)).min() {
        return format!("{}{MASK}", &word[..start]);
    }
    mask_user_information(word).unwrap_or_else(|| word.to_owned())
}

/// `scheme://user:password@host`.
fn mask_user_information(word: &str) -> Option<String> {
    let (scheme, rest) = word.split_once("://")?;
    let authority = &rest[..rest.find('/').unwrap_or(rest.len())];
    let (user_information, _) = authority.rsplit_once('@')?;
    let (user, _) = user_information.split_once(':')?;
    Some(format!("{scheme}://{user}:{MASK}{}", &rest[user_information.len()..]))
}

fn is_secret_name(name: &str) -> bool {
    let name = name.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    NAMES.iter().any(|secret| name.ends_with(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(words: &[&str]) -> String {
        mask_all(words.iter().map(|word| Cow::Borrowed(*word))).join(" ")
    }

    #[test]
    fn values_of_secret_options_and_variables_are_masked() {
        assert_eq!(masked(&["mysql", "--password=hunter2", "db"]), "mysql --password=[masked] db");
        assert_eq!(masked(&["tool", "--api-key", "abc", "x"]), "tool --api-key [masked] x");
        assert_eq!(
            masked(&["env", "AWS_SECRET_ACCESS_KEY=abc", "ls"]),
            "env AWS_SECRET_ACCESS_KEY=[masked] ls"
        );
        assert_eq!(
            masked(&["sh", "-c", "GITHUB_TOKEN=abc gh pr list"]),
            "sh -c GITHUB_TOKEN=[masked] gh pr list"
        );
    }

    #[test]
    fn headers_urls_and_known_credentials_are_masked() {
        assert_eq!(
            masked(&["curl", "-H", "Authorization: Bearer abc.def"]),
            "curl -H Authorization: Bearer [masked]"
        );
        assert_eq!(masked(&["git", "clone", "https://me:pw@host/x"]), "git clone https://me:[masked]@host/x");
        assert_eq!(masked(&["use", "key:ghp_0123456789"]), "use key:[masked]");
    }

    #[test]
    fn ordinary_commands_are_left_alone() {
        for words in
            [&["rm", "-rf", "build"][..], &["ssh", "git@host", "--", "ls"], &["grep", "-r", "token", "src"]]
        {
            assert_eq!(masked(words), words.join(" "));
        }
    }
}
