//! `set` and `shopt`.

use crate::shell::eval::{Evaluator, field_value};
use crate::shell::limits::Eval;
use crate::shell::state::{Flags, Outcome, Positional};
use crate::shell::value::Field;

pub(super) fn set(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    let mut rest = args;
    while let Some((first, tail)) = rest.split_first() {
        let Some(word) = first.as_known() else { break };
        if word == "--" || word == "-" {
            if word == "--" || !tail.is_empty() {
                set_arguments(evaluator, tail);
            }
            return Ok(Outcome::ok());
        }
        let on = word.starts_with('-');
        if word.len() < 2 || !word.starts_with(['-', '+']) {
            break;
        }
        rest = tail;
        for letter in word[1..].chars() {
            let flags = &mut evaluator.state.flags;
            match letter {
                'e' => flags.errexit = on,
                'u' => flags.nounset = on,
                'f' => flags.noglob = on,
                'n' => flags.noexec = on,
                'o' => {
                    if let Some((name, tail)) = rest.split_first() {
                        if let Some(name) = name.as_known() {
                            set_option(flags, &name, on);
                        }
                        rest = tail;
                    }
                }
                _ => {}
            }
        }
    }
    if !rest.is_empty() {
        set_arguments(evaluator, rest);
    }
    Ok(Outcome::ok())
}

fn set_arguments(evaluator: &mut Evaluator<'_>, fields: &[Field]) {
    let values = fields.iter().cloned().map(field_value).collect();
    evaluator.set_positional(Positional::Known(values));
}

/// An option of `set -o`.
fn set_option(flags: &mut Flags, name: &str, on: bool) {
    match name {
        "errexit" => flags.errexit = on,
        "nounset" => flags.nounset = on,
        "noglob" => flags.noglob = on,
        "noexec" => flags.noexec = on,
        "pipefail" => flags.pipefail = on,
        _ => {}
    }
}

pub(super) fn shopt(evaluator: &mut Evaluator<'_>, name: &str, args: &[Field]) -> Eval<Outcome> {
    let mut on = if name == "shopt" { None } else { Some(name == "setopt") };
    let mut of_set = false;
    let flags = &mut evaluator.state.flags;
    for field in args {
        let Some(word) = field.as_known() else { continue };
        match &*word {
            "-s" => on = Some(true),
            "-u" => on = Some(false),
            "-o" => of_set = true,
            option => {
                let Some(on) = on else { continue };
                if of_set {
                    set_option(flags, option, on);
                    continue;
                }
                let normal: String = option.to_lowercase().chars().filter(|c| *c != '_').collect();
                match &*normal {
                    "nullglob" => flags.nullglob = on,
                    "failglob" => flags.failglob = on,
                    "dotglob" | "globdots" => flags.dotglob = on,
                    "globstar" => flags.globstar = on,
                    "nocaseglob" => flags.nocaseglob = on,
                    "nocasematch" => flags.nocasematch = on,
                    "lastpipe" => flags.lastpipe = on,
                    "expandaliases" => flags.expand_aliases = on,
                    "shwordsplit" => flags.sh_word_split = on,
                    "nounset" => flags.nounset = on,
                    "errexit" => flags.errexit = on,
                    _ => {}
                }
            }
        }
    }
    Ok(if on.is_some() { Outcome::ok() } else { Outcome::unknown() })
}
