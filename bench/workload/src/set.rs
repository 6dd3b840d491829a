//! Settings of experiments, which `--set NAME=VALUE` gives: they are rarely changed otherwise.

use std::ops::Deref;

use clap::error::ContextKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Parser};

/// What `--set` gives, where `S` has the settings of a command as flags of their names.
#[derive(Debug)]
pub struct Set<S> {
    settings: S,
}

/// The error with settings named as `--set` gives them, and without the usage of a program that only parses them.
fn as_typed(mut error: clap::Error) -> clap::Error {
    error.remove(ContextKind::Usage);
    let told = error.render().to_string().replace("'--", "'--set ").replace(" <", "=<");
    clap::Error::raw(error.kind(), told.trim_start_matches("error: "))
}

impl<S> Deref for Set<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.settings
    }
}

impl<S: Parser> FromArgMatches for Set<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let set = matches.get_many::<String>("set").into_iter().flatten();
        let settings = S::try_parse_from(set.map(|setting| format!("--{setting}"))).map_err(as_typed)?;
        Ok(Self { settings })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<S: Parser> Args for Set<S> {
    fn augment_args(command: Command) -> Command {
        let settings = S::command();
        let names: Vec<_> = settings.get_arguments().map(|setting| setting.get_id().as_str()).collect();
        let described = settings.get_arguments().map(|setting| {
            let value = if setting.get_action().takes_values() { setting.get_value_names() } else { None };
            let value = value.map_or_else(String::new, |names| format!("={}", names[0]));
            let help = setting.get_help().map(ToString::to_string).unwrap_or_default();
            format!("\n\n{}{value}: {help}", setting.get_id())
        });
        let set = Arg::new("set").long("set").value_name("NAME=VALUE").action(ArgAction::Append);
        let set = set.help(format!("A setting of experiments: {} (--help says more)", names.join(", ")));
        command.arg(set.long_help(format!("A setting of experiments:{}", described.collect::<String>())))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Parser, Debug)]
    #[command(no_binary_name = true, disable_help_flag = true, args_override_self = true)]
    struct Settings {
        #[arg(long = "families", conflicts_with = "window")]
        families: Option<u32>,
        #[arg(long = "window")]
        window: Option<u32>,
        #[arg(long = "wal")]
        wal: bool,
    }

    fn told(set: &[&str]) -> String {
        let command = Set::<Settings>::augment_args(Command::new("program"));
        let words = set.iter().flat_map(|setting| ["--set", setting]);
        let matches = command.get_matches_from(["program"].into_iter().chain(words));
        Set::<Settings>::from_arg_matches(&matches)
            .map(|set| format!("{set:?}"))
            .unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn errors_name_settings_as_they_were_typed() {
        for (set, expected) in [
            (&["families=x"][..], "'x' for '--set families=<FAMILIES>'"),
            (&["families"], "'--set families=<FAMILIES>'"),
            (&["wal=1"], "'1' for '--set wal'"),
            (
                &["families=1", "window=2"],
                "'--set families=<FAMILIES>' cannot be used with '--set window=<WINDOW>'",
            ),
            (&["famlies=1"], "unexpected argument '--set famlies' found"),
        ] {
            let told = told(set);
            assert!(told.contains(expected) && told.starts_with("error"), "{told}");
            assert!(!told.contains("Usage") && !told.contains("'--families"), "{told}");
        }
        assert!(told(&["families=1", "families=2"]).contains("Some(2)"), "the last one holds");
    }
}
