//! Builtins that decide where the text goes on.

use crate::shell::eval::Evaluator;
use crate::shell::limits::Eval;
use crate::shell::state::Outcome;
use crate::shell::value::Field;

pub(super) fn true_(_: &mut Evaluator<'_>, _: &str, _: &[Field]) -> Eval<Outcome> {
    Ok(Outcome::ok())
}

pub(super) fn false_(_: &mut Evaluator<'_>, _: &str, _: &[Field]) -> Eval<Outcome> {
    Ok(Outcome::status(1))
}

pub(super) fn test(evaluator: &mut Evaluator<'_>, name: &str, args: &[Field]) -> Eval<Outcome> {
    let args = match args.split_last() {
        Some((last, rest)) if name == "[" && last.as_known().as_deref() == Some("]") => rest,
        _ => args,
    };
    evaluator.test_fields(args)
}

pub(super) fn exit(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    evaluator.end_shell();
    Ok(status_argument(args))
}

pub(super) fn return_(evaluator: &mut Evaluator<'_>, _: &str, args: &[Field]) -> Eval<Outcome> {
    let outcome = status_argument(args);
    evaluator.state.status = outcome.status;
    evaluator.return_from_frame();
    Ok(outcome)
}

pub(super) fn leave_loop(evaluator: &mut Evaluator<'_>, name: &str, args: &[Field]) -> Eval<Outcome> {
    let levels = args.first().and_then(Field::as_known).and_then(|text| text.parse().ok()).unwrap_or(1);
    evaluator.leave_loop(levels, name == "continue");
    Ok(Outcome::ok())
}

fn status_argument(args: &[Field]) -> Outcome {
    match args.first() {
        None => Outcome::unknown(),
        // Only the low eight bits reach the caller.
        Some(field) => match field.as_known().and_then(|text| text.parse::<i64>().ok()) {
            Some(status) => Outcome::status((status & 0xff) as u8),
            None => Outcome::unknown(),
        },
    }
}
