//! `springbloom`: compares elastic filters with RocksDB's own, inspects databases, and keeps sets and indexes on flash.

#![deny(unsafe_code)]

mod command;
mod database;
mod failure;
mod flash;
mod lines;

use std::any::TypeId;
use std::io::ErrorKind;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};
use springbloom_console::signals;
use springbloom_console::sizes::Size;

/// Elastic filters for LSM stores: compare them with RocksDB's own and inspect databases; sets and indexes on flash
#[derive(Parser)]
#[command(version, about, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Compare(Box<command::compare::Compare>),
    Simulate(command::simulate::Simulate),
    Reproduce(command::reproduce::Reproduce),
    Report(command::report::Report),
    Inspect(command::inspect::Inspect),
    Advise(command::advise::Advise),
    Top(command::top::Top),
    Set(command::set::Set),
    Index(command::index::Index),
    Dedup(command::dedup::Dedup),
    Completions(command::completions::Completions),
    Man(command::man::Man),
}

fn main() -> ExitCode {
    env_logger::init();
    signals::end_with_parent();
    let arguments = program().try_get_matches().and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match arguments {
        Ok(arguments) => arguments,
        Err(error) => return told(&shortened(error)),
    };
    let result = match arguments.command {
        Command::Compare(compare) => compare.run().map(|()| ExitCode::SUCCESS),
        Command::Simulate(simulate) => simulate.run().map(|()| ExitCode::SUCCESS),
        Command::Reproduce(reproduce) => reproduce.run().map(|()| ExitCode::SUCCESS),
        Command::Report(report) => report.run().map(|()| ExitCode::SUCCESS),
        Command::Inspect(inspect) => inspect.run().map(|()| ExitCode::SUCCESS),
        Command::Advise(advise) => advise.run().map(|()| ExitCode::SUCCESS),
        Command::Top(top) => top.run().map(|()| ExitCode::SUCCESS),
        Command::Set(set) => set.run(),
        Command::Index(index) => index.run(),
        Command::Dedup(dedup) => dedup.run(),
        Command::Completions(completions) => completions.run(program()).map(|()| ExitCode::SUCCESS),
        Command::Man(man) => man.run(program()).map(|()| ExitCode::SUCCESS),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            springbloom_console::output::warn(failure::sentence(&error));
            ExitCode::from(failure::exit_code(&error))
        }
    }
}

/// Prints what clap has to say instead of a command: help, the version or what is wrong.
fn told(error: &clap::Error) -> ExitCode {
    match error.print() {
        // A reader who has seen enough of the help closes the pipe.
        Err(failure) if failure.kind() != ErrorKind::BrokenPipe => {
            springbloom_console::output::warn(format_args!("cannot write to standard output: {failure}"));
            ExitCode::from(failure::EXIT_FAILED)
        }
        _ => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(failure::EXIT_FAILED)),
    }
}

/// The whole program's commands.
fn program() -> clap::Command {
    explained(Arguments::command())
}

/// `command` and all of its subcommands, with the exit codes in their help. What begins with a minus sign is a value of the option before
/// it, if that takes a number or size (`-4K`), or if the value is a number (`-1`): then the option says what it takes.
fn explained(command: clap::Command) -> clap::Command {
    command
        .after_help(failure::EXIT_CODES)
        .mut_args(|arg| {
            let is_option = arg.get_action().takes_values() && !arg.is_positional();
            let takes_sign = is_option && takes_number(&arg);
            arg.allow_negative_numbers(is_option).allow_hyphen_values(takes_sign)
        })
        .mut_subcommands(explained)
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
    use clap::error::ErrorKind as WrongUsage;

    use super::*;

    /// The options of `command` and of its subcommands, each with the words that lead to it.
    fn options(command: &clap::Command, path: &[String], found: &mut Vec<(Vec<String>, Arg)>) {
        let path = [path, &[command.get_name().to_owned()]].concat();
        let takes_values = |arg: &&Arg| arg.get_action().takes_values() && !arg.is_positional();
        found.extend(command.get_arguments().filter(takes_values).map(|arg| (path.clone(), arg.clone())));
        command.get_subcommands().for_each(|command| options(command, &path, found));
    }

    #[test]
    fn every_option_of_a_number_or_size_refuses_a_negative_one_itself() {
        let mut found = Vec::new();
        options(&program(), &[], &mut found);
        let numbers: Vec<_> = found.iter().filter(|(_, arg)| takes_number(arg)).collect();
        assert!(numbers.len() > 50, "{} options", numbers.len());
        for (path, arg) in numbers {
            let option = format!("--{}", arg.get_long().expect("a name"));
            let words = path.iter().map(String::as_str).chain([option.as_str(), "-4K"]);
            let error = program().try_get_matches_from(words).expect_err("a negative size");
            assert_eq!(error.kind(), WrongUsage::ValueValidation, "{path:?} {option}: {error}");
            assert!(error.to_string().contains(&format!("'-4K' for '{option}")), "{error}");
        }
    }
}
