//! Commands that the shell itself carries out, one file per kind.

mod code;
mod directories;
mod flow;
mod input;
mod options;
mod print;
mod variables;

pub(crate) use self::print::printed;
use super::eval::Evaluator;
use super::limits::Eval;
use super::state::Outcome;
use super::value::Field;

/// A builtin: its name, and the arguments behind it.
pub(crate) type Builtin = fn(&mut Evaluator<'_>, &str, &[Field]) -> Eval<Outcome>;

/// The builtin of this name, if there is one.
pub(crate) fn lookup(name: &str) -> Option<Builtin> {
    Some(match name {
        "cd" | "chdir" => directories::cd,
        "pushd" => directories::pushd,
        "popd" => directories::popd,
        "dirs" => quiet,
        "pwd" => directories::pwd,
        "echo" => print::echo,
        "printf" => print::printf,
        "print" => print::echo,
        "export" | "declare" | "typeset" | "local" | "readonly" => variables::declaration,
        "unset" => variables::unset,
        "shift" => variables::shift,
        "let" => variables::let_,
        "getopts" => variables::getopts,
        "set" => options::set,
        "shopt" | "setopt" | "unsetopt" => options::shopt,
        "read" => input::read,
        "mapfile" | "readarray" => input::mapfile,
        "eval" => code::eval,
        "source" | "." => code::source,
        "exec" => code::exec,
        "command" | "builtin" | "noglob" | "nocorrect" => code::command,
        "trap" => code::trap,
        "alias" => code::alias,
        "unalias" => code::unalias,
        "type" => code::type_,
        "hash" | "compgen" | "help" | "whence" => quiet,
        "test" | "[" => flow::test,
        "exit" | "logout" => flow::exit,
        "return" => flow::return_,
        "break" | "continue" => flow::leave_loop,
        "true" | ":" => flow::true_,
        "false" => flow::false_,
        "umask" | "ulimit" | "wait" | "jobs" | "bg" | "fg" | "disown" | "times" | "bind" | "complete"
        | "compopt" | "history" | "fc" | "enable" | "caller" | "suspend" | "autoload" | "zmodload"
        | "zstyle" | "bindkey" | "compinit" | "unfunction" => quiet,
        _ => return None,
    })
}

/// A builtin that changes nothing that is followed.
fn quiet(evaluator: &mut Evaluator<'_>, name: &str, _args: &[Field]) -> Eval<Outcome> {
    if evaluator.is_captured() {
        evaluator.print_unknown()?;
    }
    let status = matches!(name, "umask" | "disown" | "complete").then_some(0);
    Ok(Outcome { status, ..Outcome::default() })
}
