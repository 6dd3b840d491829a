//! `springflash`: sets and indexes of keys on flash.

#![deny(unsafe_code)]

mod command;
mod exit_codes;
mod flash;
mod lines;
mod opening;
mod unsafe_start;

use std::process::ExitCode;

use anyhow::anyhow;
use clap::{CommandFactory, Parser, Subcommand};
use springbloom_console::{failure, program, signals};

/// Sets and indexes of keys on flash, larger than memory
#[derive(Parser)]
#[command(version, about, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Set(command::set::Set),
    Index(command::index::Index),
}

fn main() -> ExitCode {
    env_logger::init();
    signals::end_with_parent();
    if unsafe_start::is_output_closed() {
        let closed =
            anyhow!("standard output is closed, expected an open one; /dev/null takes what nobody reads");
        return program::end(Err(closed), failure::exit_code);
    }
    let commands = program::explained(Arguments::command(), exit_codes::EXIT_CODES);
    let arguments: Arguments = match program::parse(commands) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let result = match arguments.command {
        Command::Set(set) => set.run(),
        Command::Index(index) => index.run(),
    };
    program::end(result, failure::exit_code)
}
