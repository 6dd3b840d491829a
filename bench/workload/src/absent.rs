//! The absent keys that a workload reads.

use std::fmt;

use clap::ValueEnum;

/// Which absent keys are looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AbsentKeys {
    /// Their popularity has the same distribution as that of present keys, so hot ones are read again and again. They are
    /// scattered independently, so they are not neighbours of hot present keys.
    #[default]
    Popular,
    /// Each absent key is read once and never again, as in upserts and deduplication.
    Fresh,
}

impl fmt::Display for AbsentKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_possible_value().map_or(Ok(()), |value| f.write_str(value.get_name()))
    }
}
