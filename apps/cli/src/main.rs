//! `springbloom`: compares elastic filters with every filter of RocksDB, and looks into databases.

#![deny(unsafe_code)]

mod bench;
mod command;
mod failure;
mod machine;
mod progress;
mod report;
mod sizes;
mod store;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Elastic filters for LSM stores: compare them with RocksDB's own, and look into databases.
#[derive(Parser)]
#[command(version, about, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Compare(Box<command::compare::Compare>),
    Inspect(command::inspect::Inspect),
    Set(command::set::Set),
}

fn main() -> ExitCode {
    env_logger::init();
    let result = match Arguments::parse().command {
        Command::Compare(compare) => compare.run(),
        Command::Inspect(inspect) => inspect.run(),
        Command::Set(set) => match set.run() {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("springbloom: {error:#}");
            ExitCode::from(failure::exit_code(&error))
        }
    }
}
