//! Settings of experiments, which `--set NAME=VALUE` gives: they are rarely changed otherwise.

use std::ops::Deref;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Parser};

use crate::GivenFlags;

/// What `--set` gives, where `S` has the settings of a command as flags of their names.
#[derive(Debug)]
pub struct Set<S> {
    /// `--set NAME` for each.
    pub given: GivenFlags,
    settings: S,
}

fn names(settings: &Command) -> Vec<String> {
    settings.get_arguments().map(|setting| setting.get_id().to_string()).collect()
}

impl<S> Deref for Set<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.settings
    }
}

impl<S: Parser> FromArgMatches for Set<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let set: Vec<&String> = matches.get_many("set").into_iter().flatten().collect();
        let (command, name) =
            (S::command(), |setting: &str| setting.split('=').next().unwrap_or_default().to_owned());
        if let Some(setting) = set.iter().find(|setting| !names(&command).contains(&name(setting))) {
            let expected = names(&command).join(", ");
            let message =
                format!("--set {}: there is no such setting, expected one of {expected}\n", name(setting));
            return Err(clap::Error::raw(ErrorKind::UnknownArgument, message));
        }
        let settings = S::try_parse_from(set.iter().map(|setting| format!("--{setting}")))?;
        let given = set.iter().map(|setting| format!("--set {}", name(setting))).collect();
        Ok(Self { given: GivenFlags::of(given), settings })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<S: Parser> Args for Set<S> {
    fn augment_args(command: Command) -> Command {
        let settings = S::command();
        let described = settings.get_arguments().map(|setting| {
            let value = if setting.get_action().takes_values() { setting.get_value_names() } else { None };
            let value = value.map_or_else(String::new, |names| format!("={}", names[0]));
            let help = setting.get_help().map(ToString::to_string).unwrap_or_default();
            format!("{}{value}: {help}", setting.get_id())
        });
        let described = described.collect::<Vec<_>>().join("\n\n");
        let set = Arg::new("set").long("set").value_name("NAME=VALUE").action(ArgAction::Append);
        let set =
            set.help(format!("A setting of experiments: {} (--help says more)", names(&settings).join(", ")));
        command.arg(set.long_help(format!("A setting of experiments:\n\n{described}")))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
