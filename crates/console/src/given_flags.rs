//! Flags that the command line gives, so that a command can refuse those that it would not use.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::bad_input;

/// The flags that the command line gives, by their long names. Flatten it into the arguments of a command as their first field, because
/// the fields behind it take their values out of what clap has parsed.
#[derive(Clone, Debug, Default)]
pub struct GivenFlags(Vec<String>);

impl GivenFlags {
    /// Flags that were given in another way, such as `--set wal`.
    pub fn of(flags: Vec<String>) -> Self {
        Self(flags)
    }

    /// Refuses the first given flag of the groups that nothing would use: whoever gives one expects it to change something. A group is
    /// whether its flags are unused, the flags, such as `--threads`, and why.
    pub fn refuse_unused(&self, groups: &[(bool, &[&str], &str)]) -> anyhow::Result<()> {
        groups
            .iter()
            .filter(|(is_unused, ..)| *is_unused)
            .try_for_each(|(_, flags, why)| self.refuse(flags, why))
    }

    fn refuse(&self, flags: &[&str], why: &str) -> anyhow::Result<()> {
        match flags.iter().find(|flag| self.0.iter().any(|given| given == *flag)) {
            Some(flag) => Err(bad_input(format!("{flag} has no effect: {why}"))),
            None => Ok(()),
        }
    }
}

impl FromArgMatches for GivenFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_given = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let names = matches.ids().map(clap::Id::as_str).filter(is_given);
        Ok(Self(names.map(|id| format!("--{}", id.replace('_', "-"))).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for GivenFlags {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        given: GivenFlags,
        #[arg(long, default_value_t = 1)]
        load_rounds: u32,
        #[arg(long, default_value_t = 1)]
        threads: u32,
        #[arg(long)]
        json: bool,
    }

    #[test]
    fn flags_are_given_by_the_command_line_alone() {
        let refused = |line: &[&str]| {
            let program = Program::parse_from([&["program"], line].concat());
            let error = program.given.refuse(&["--json", "--load-rounds", "--threads"], "a test");
            error.err().map(|error| (error.to_string(), program.load_rounds + program.threads))
        };
        let told = |flag: &str, sum| Some((format!("{flag} has no effect: a test"), sum));
        assert_eq!(refused(&[]), None);
        assert_eq!(refused(&["--load-rounds", "1"]), told("--load-rounds", 2));
        assert_eq!(refused(&["--threads", "5", "--json"]), told("--json", 6));
        assert!(Program::parse_from(["program", "--json"]).json);
    }
}
