//! The frame of a program: from its arguments to its exit code.

use std::any::TypeId;
use std::io::ErrorKind;
use std::process::ExitCode;

use anyhow::Result;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, FromArgMatches};

use crate::failure::{EXIT_FAILED, sentence};
use crate::output;
use crate::sizes::Size;

/// The arguments of this process, or the exit code if there is nothing to do but print help, the version or what is wrong.
///
/// # Errors
/// The exit code.
pub fn parse<A: FromArgMatches>(program: clap::Command) -> Result<A, ExitCode> {
    let arguments = program.try_get_matches().and_then(|matches| A::from_arg_matches(&matches));
    arguments.map_err(|error| told(&shortened(error)))
}

/// The exit code of what ran. Prints an error as one sentence; `exit_code` chooses its code.
pub fn end(result: Result<ExitCode>, exit_code: impl FnOnce(&anyhow::Error) -> u8) -> ExitCode {
    result.unwrap_or_else(|error| {
        output::warn(sentence(&error));
        ExitCode::from(exit_code(&error))
    })
}

/// Prints what clap has to say instead of a command.
fn told(error: &clap::Error) -> ExitCode {
    match error.print() {
        // A reader who has seen enough of the help closes the pipe. Wrong usage stays that, though nobody is told.
        Err(failure) if failure.kind() != ErrorKind::BrokenPipe && !error.use_stderr() => {
            output::warn(format_args!("cannot write to standard output: {failure}"));
            ExitCode::from(EXIT_FAILED)
        }
        _ => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(EXIT_FAILED)),
    }
}

/// `command` and all of its subcommands, with the exit codes in their help. What begins with a minus sign is a value of the option before
/// it, if that takes a number or size (`-4K`), or if the value is a number (`-1`): then the option says what it takes.
pub fn explained(command: clap::Command, exit_codes: &'static str) -> clap::Command {
    command
        .after_help(exit_codes)
        .mut_args(|arg| {
            let is_option = arg.get_action().takes_values() && !arg.is_positional();
            let takes_sign = is_option && takes_number(&arg);
            arg.allow_negative_numbers(is_option).allow_hyphen_values(takes_sign)
        })
        .mut_subcommands(|command| explained(command, exit_codes))
}

/// Whether the values are numbers or sizes.
fn takes_number(arg: &Arg) -> bool {
    let numbers = [
        TypeId::of::<Size>(),
        TypeId::of::<f64>(),
        TypeId::of::<u8>(),
        TypeId::of::<u32>(),
        TypeId::of::<u64>(),
        TypeId::of::<usize>(),
    ];
    let value = arg.get_value_parser().type_id();
    numbers.iter().any(|number| value == *number)
}

/// The error with the start of the value that it names: a file may have become an argument.
fn shortened(mut error: clap::Error) -> clap::Error {
    const MOST: usize = 80;
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue)
        && let Some((end, _)) = value.char_indices().nth(MOST)
    {
        let start = format!("{}...", &value[..end]);
        error.insert(ContextKind::InvalidValue, ContextValue::String(start));
    }
    error
}

#[cfg(test)]
mod tests {
    use clap::Command;
    use clap::error::ErrorKind as WrongUsage;
    use clap::value_parser;

    use super::*;

    #[test]
    fn an_option_of_a_number_or_size_refuses_a_negative_one_itself() {
        let options = [
            ("--size", Arg::new("size").value_parser(value_parser!(Size))),
            ("--rate", Arg::new("rate").value_parser(value_parser!(f64))),
            ("--probes", Arg::new("probes").value_parser(value_parser!(u8))),
            ("--pages", Arg::new("pages").value_parser(value_parser!(u32))),
            ("--keys", Arg::new("keys").value_parser(value_parser!(u64))),
            ("--threads", Arg::new("threads").value_parser(value_parser!(usize))),
        ];
        for (option, arg) in options {
            let create = Command::new("create").arg(arg.long(&option[2..]));
            let program = explained(Command::new("program").subcommand(create), "codes");
            let words = ["program", "create", option, "-4K"];
            let error = program.try_get_matches_from(words).expect_err("a negative size");
            assert_eq!(error.kind(), WrongUsage::ValueValidation, "{option}: {error}");
            assert!(error.to_string().contains(&format!("'-4K' for '{option}")), "{error}");
        }
    }
}
