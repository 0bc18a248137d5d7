//! Builtins that run other commands: `eval`, `source`, `exec`, `command`, `trap`, `alias`.

use std::rc::Rc;

use crate::programs::Input;
use crate::shell::builtins;
use crate::shell::eval::{Evaluator, field_value, look_through};
use crate::shell::fold;
use crate::shell::limits::Eval;
use crate::shell::state::{Outcome, Val};
use crate::shell::value::{Abstract, Builder, Cause, Field, Piece};
use crate::shell::world::Look;

/// Commands that print assignments and functions for the calling shell, and nothing else: what `eval "$(…)"` is for.
/// The first words of each; what they set is not followed.
const ENVIRONMENT_PRINTERS: &[&str] = &[
    "ssh-agent",
    "gpg-agent",
    "brew shellenv",
    "/opt/homebrew/bin/brew shellenv",
    "/usr/local/bin/brew shellenv",
    "/home/linuxbrew/.linuxbrew/bin/brew shellenv",
    "direnv hook",
    "direnv export",
    "pyenv init",
    "pyenv virtualenv-init",
    "rbenv init",
    "nodenv init",
    "goenv init",
    "jenv init",
    "asdf exec",
    "mise activate",
    "mise env",
    "rtx activate",
    "fnm env",
    "conda shell.",
    "mamba shell",
    "micromamba shell",
    "starship init",
    "zoxide init",
    "atuin init",
    "thefuck --alias",
    "dircolors",
    "lesspipe",
    "minikube docker-env",
    "minikube -p",
    "docker-machine env",
    "podman machine",
    "opam env",
    "opam config env",
    "luarocks path",
    "perl -I",
    "register-python-argcomplete",
    "keychain",
    "resize",
    "tset",
    "locale",
    "vault print",
    "hub alias",
    "npm completion",
    "kubectl completion",
    "helm completion",
    "gh completion",
    "task --completion",
    "just --completions",
    "uv generate-shell-completion",
    "ruff generate-shell-completion",
];

/// Files that set up a shell for a tool; where they are missing they are about to be made.
const SETUP_FILES: &[&str] = &[
    "bin/activate",
    "nvm.sh",
    ".cargo/env",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    "/etc/profile",
    "setup.bash",
    "emsdk_env.sh",
    "conda.sh",
];

pub(super) fn eval(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    let mut text = Builder::default();
    for (index, field) in args.iter().enumerate() {
        if index > 0 {
            text.push_text(" ");
        }
        text.push(&builtins::printed(field));
    }
    let text = text.finish();
    if prints_environment(&text) {
        return Ok(Outcome::unknown());
    }
    evaluator.run_code(&text, "eval")
}

/// Whether all of the text is the output of a command that prints an environment.
fn prints_environment(text: &Abstract) -> bool {
    let mut holes =
        text.pieces.iter().filter(|piece| !matches!(piece, Piece::Text(text) if text.trim().is_empty()));
    let (Some(Piece::Hole(hole)), None) = (holes.next(), holes.next()) else { return false };
    let Cause::CommandOutput(source) = &*hole.cause else { return false };
    let inner = source.trim_start_matches("$(").trim_start_matches('`').trim_start();
    if inner.contains([';', '&', '|', '>', '\n']) && !inner.contains("2>") {
        return false;
    }
    ENVIRONMENT_PRINTERS.iter().any(|printer| {
        inner.strip_prefix(printer).is_some_and(|rest| {
            printer.ends_with('.') || rest.is_empty() || rest.starts_with([' ', ')', '`'])
        })
    })
}

pub(super) fn source(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    let Some((file, rest)) = args.split_first() else { return Ok(Outcome::unknown()) };
    let base = evaluator.state.cwd.clone();
    let is_process = file.as_known().is_some_and(|text| {
        text.starts_with("/dev/fd/") || text.starts_with("/proc/self/fd/") || text == "/dev/stdin"
    });
    if is_process {
        let input = evaluator.file_input(file, &base);
        let text = evaluator.input_text(&input);
        if prints_environment(&text) {
            return Ok(Outcome::unknown());
        }
        return evaluator.run_code(&text, "source");
    }
    let known = file.as_known().map(std::borrow::Cow::into_owned);
    let set_up = known.as_deref().is_some_and(|text| SETUP_FILES.iter().any(|name| text.ends_with(name)));
    let Some(path) = evaluator.path_of(file, &base) else {
        if set_up || file.source.trim_end_matches('"').ends_with("activate") {
            return Ok(Outcome::unknown());
        }
        let cause = file.text.causes().next().cloned();
        let text = Abstract::unknown(cause.unwrap_or_else(|| Cause::NotModelled(file.source.clone())));
        evaluator.unknown_code(&text, "source");
        return Ok(Outcome::unknown());
    };
    evaluator.tick(8)?;
    if let Some(text) = evaluator.content_of(&path) {
        let args: Vec<Val> = rest.iter().cloned().map(field_value).collect();
        return evaluator.source_file(path, &text, args);
    }
    if set_up {
        return Ok(Outcome::unknown());
    }
    let (_, look) = look_through(&evaluator.world, &path);
    let written = evaluator.state.files.contents.contains_key(&path);
    if look == Look::Absent && !written {
        // It fails, unless something that is not followed makes the file first.
        evaluator.taint(Cause::NotModelled(format!("set by {}", file.source).into()));
        return Ok(Outcome::unknown());
    }
    let text = Abstract::unknown(Cause::NotModelled(file.source.clone()));
    evaluator.unknown_code(&text, "source");
    Ok(Outcome::unknown())
}

pub(super) fn exec(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    let mut rest = args;
    while let Some(option) = rest.first().and_then(Field::as_known) {
        match &*option {
            "-a" => rest = rest.get(2..).unwrap_or_default(),
            "--" => {
                rest = &rest[1..];
                break;
            }
            option if option.len() > 1 && option.starts_with('-') => rest = &rest[1..],
            _ => break,
        }
    }
    if rest.is_empty() {
        evaluator.keep_fds = true;
        return Ok(Outcome::ok());
    }
    let outcome = evaluator.run_program_argv(rest.to_vec())?;
    evaluator.end_shell();
    Ok(outcome)
}

/// `command` and `builtin`: no functions, no aliases.
pub(super) fn command(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    let mut rest = args;
    while let Some(option) = rest.first().and_then(Field::as_known) {
        match &*option {
            "-v" => return names(evaluator, &rest[1..]),
            "-V" => {
                evaluator.print_unknown()?;
                return Ok(Outcome::unknown());
            }
            "--" => {
                rest = &rest[1..];
                break;
            }
            "-p" | "-pv" => rest = &rest[1..],
            _ => break,
        }
    }
    let Some(first) = rest.first() else { return Ok(Outcome::ok()) };
    if let Some(name) = first.as_known()
        && let Some(builtin) = builtins::lookup(&name)
    {
        evaluator.enter()?;
        let outcome = builtin(evaluator, &name, &rest[1..])?;
        evaluator.leave();
        return Ok(outcome);
    }
    evaluator.run_program_argv(rest.to_vec())
}

/// `command -v NAME`: what the shell would run for it.
fn names(evaluator: &mut Evaluator<'_>, args: &[Field]) -> Eval<Outcome> {
    if !evaluator.is_captured() {
        return Ok(Outcome::unknown());
    }
    let name = match args {
        [only] => only.as_known().map(std::borrow::Cow::into_owned),
        _ => None,
    };
    let own = |name: &String| {
        evaluator.state.functions.contains_key(name.as_str()) || builtins::lookup(name).is_some()
    };
    let found = match name {
        Some(name) if own(&name) => Some(name),
        Some(name) => fold::on_path(evaluator, &name)?,
        None => None,
    };
    match found {
        Some(found) => evaluator.print(Input::Text(Abstract::known(&format!("{found}\n"))))?,
        None => evaluator.print_unknown()?,
    }
    Ok(Outcome::unknown())
}

/// `type -P NAME` searches PATH as `which` does; what else `type` prints is not followed.
pub(super) fn type_(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    if evaluator.is_captured() {
        let found = match args {
            [option, name] if matches!(option.as_known().as_deref(), Some("-P" | "-p")) => {
                let name = name.as_known().map(std::borrow::Cow::into_owned);
                name.map_or(Ok(None), |name| fold::on_path(evaluator, &name))?
            }
            _ => None,
        };
        match found {
            Some(found) => evaluator.print(Input::Text(Abstract::known(&format!("{found}\n"))))?,
            None => evaluator.print_unknown()?,
        }
    }
    Ok(Outcome::unknown())
}

pub(super) fn trap(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    let mut rest = args;
    match rest.first().and_then(Field::as_known).as_deref() {
        Some("-p" | "-l" | "-P") => {
            evaluator.print_unknown()?;
            return Ok(Outcome::ok());
        }
        Some("--") => rest = &rest[1..],
        _ => {}
    }
    let Some((body, signals)) = rest.split_first() else { return Ok(Outcome::ok()) };
    let known = body.as_known().map(std::borrow::Cow::into_owned);
    let number =
        known.as_deref().is_some_and(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()));
    let clears = known.as_deref() == Some("-") || signals.is_empty() || number;
    let named = if number || signals.is_empty() { rest } else { signals };
    let source = evaluator.source.clone();
    let mut over = Vec::new();
    let traps = Rc::make_mut(&mut evaluator.state.traps);
    for signal in named {
        let Some(signal) = signal.as_known() else { continue };
        let signal = signal.to_ascii_uppercase();
        let signal = match signal.strip_prefix("SIG").unwrap_or(&signal) {
            "0" => "EXIT",
            other => other,
        };
        let before = if clears {
            traps.remove(signal)
        } else {
            traps.insert(signal.into(), (Val::plain(body.text.clone()), source.clone()))
        };
        // A trap for errors or signals may have run before it is taken back; one for the end cannot.
        over.extend(before.filter(|_| signal != "EXIT"));
    }
    for (body, source) in over {
        evaluator.run_trap_aside(&body, source)?;
    }
    Ok(Outcome::ok())
}

pub(super) fn alias(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    for field in args {
        let Some(Piece::Text(text)) = field.text.pieces.first() else { continue };
        let Some((name, body)) = text.split_once('=') else { continue };
        let mut value = Abstract::known(body);
        for piece in &field.text.pieces[1..] {
            value.pieces.push(piece.clone());
        }
        Rc::make_mut(&mut evaluator.state.aliases).insert(name.into(), Val::plain(value));
    }
    Ok(Outcome::ok())
}

pub(super) fn unalias(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    let aliases = Rc::make_mut(&mut evaluator.state.aliases);
    for field in args {
        match field.as_known().as_deref() {
            Some("-a") => aliases.clear(),
            Some(name) => {
                aliases.remove(name);
            }
            None => {}
        }
    }
    Ok(Outcome::ok())
}
