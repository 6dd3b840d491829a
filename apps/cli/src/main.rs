//! `springbloom`: compares elastic filters with RocksDB's own, and inspects databases.

#![deny(unsafe_code)]

mod command;
mod database;
mod failure;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use springbloom_console::{program, signals};

/// Elastic filters for LSM stores: compare them with RocksDB's own, and inspect databases
#[derive(Parser)]
#[command(version, about, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Compare(Box<springbloom_compare::Compare>),
    Simulate(Box<springbloom_simulator::command::Simulate>),
    Map(springbloom_simulator::map::Map),
    Reproduce(springbloom_experiments::Reproduce),
    Report(springbloom_experiments::Report),
    Inspect(command::inspect::Inspect),
    Advise(command::advise::Advise),
    Explain(command::explain::Explain),
}

fn main() -> ExitCode {
    env_logger::init();
    signals::end_with_parent();
    let commands = program::explained(Arguments::command(), failure::EXIT_CODES);
    let arguments: Arguments = match program::parse(commands) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let result = match arguments.command {
        Command::Compare(compare) => compare.run(),
        Command::Simulate(simulate) => simulate.run(),
        Command::Map(map) => map.run(),
        Command::Reproduce(reproduce) => reproduce.run(),
        Command::Report(report) => report.run(),
        Command::Inspect(inspect) => inspect.run(),
        Command::Advise(advise) => advise.run(),
        Command::Explain(explain) => explain.run(),
    };
    program::end(result.map(|()| ExitCode::SUCCESS), failure::exit_code)
}
