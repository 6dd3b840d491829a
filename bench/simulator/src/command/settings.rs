//! The settings of `springbloom simulate`, by name.

use clap::Parser;
use springbloom_workload::{FamilySettings, Movement};

/// Each is a flag of its name.
#[derive(Parser, Debug)]
#[command(no_binary_name = true, disable_help_flag = true, args_override_self = true)]
pub(super) struct Settings {
    #[command(flatten)]
    pub(super) family: FamilySettings,
    /// Movement of the popular keys: none, jump:LOOKUPS or drift:LOOKUPS, in lookups of the sample
    #[arg(long = "movement", value_name = "MOVEMENT", default_value_t)]
    pub(super) movement: Movement,
}
