//! `springbloom`: compares elastic filters with RocksDB's own, inspects databases, and keeps sets and indexes on flash.

#![deny(unsafe_code)]

mod command;
mod failure;
mod flash;
mod lines;
mod live_files;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};

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
    let arguments = program().try_get_matches().and_then(|matches| Arguments::from_arg_matches(&matches));
    let result = match arguments.unwrap_or_else(|error| shortened(error).exit()).command {
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

/// The whole program's commands.
fn program() -> clap::Command {
    explained(Arguments::command())
}

/// `command` and all of its subcommands, with the exit codes in their help. A negative number is a value, so that the option which takes
/// none can say what it takes.
fn explained(command: clap::Command) -> clap::Command {
    let takes_number = |arg: &Arg| arg.get_action().takes_values() && !arg.is_positional();
    command
        .after_help(failure::EXIT_CODES)
        .mut_args(|arg| if takes_number(&arg) { arg.allow_negative_numbers(true) } else { arg })
        .mut_subcommands(explained)
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
