//! A file of experiments.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::template::{Row, Rows};

/// One file: a paper's experiments, or what files have in common.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    /// The title of the paper.
    pub(super) paper: String,
    pub(super) text: Row,
    pub(super) rows: Rows,
    pub(super) run_kinds: BTreeMap<String, RunEntry>,
    pub(super) claim_kinds: BTreeMap<String, ClaimEntry>,
    pub(super) run: Vec<RunEntry>,
    pub(super) experiment: Vec<ExperimentEntry>,
}

/// A command that writes one record, for each of its rows.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RunEntry {
    pub(super) each: Vec<String>,
    pub(super) kind: Option<String>,
    pub(super) with: Row,
    pub(super) name: String,
    /// By which experiments name all runs of the entry.
    pub(super) group: String,
    /// Runs of the same databases follow one another and reuse them.
    pub(super) databases: Option<String>,
    /// The folder of a crate and its benchmark, in place of the program `springbloom`. The environment has its settings, and `command` its
    /// sections.
    pub(super) bench: Option<String>,
    pub(super) command: String,
    /// What a quick run adds to the command: flags, or variables of the environment.
    pub(super) quick: String,
    pub(super) full: String,
    /// Length of the keys in the file of keys that it reads.
    pub(super) key_bytes: Option<String>,
}

/// An experiment, for each of its rows: claims, a table, or why it is not measured.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ExperimentEntry {
    pub(super) each: Vec<String>,
    pub(super) id: String,
    pub(super) place: String,
    pub(super) shows: String,
    pub(super) not: Option<String>,
    pub(super) claim: Vec<ClaimEntry>,
    /// Names of runs or groups of a table: a line for each filter, or with `figures` for each run.
    pub(super) runs: Vec<String>,
    /// Of a table with a line for each run: labels and runs, or `runs` under their names.
    pub(super) lines: Vec<(String, String)>,
    pub(super) figures: Vec<String>,
    /// Filters of such a table, in place of all: by their names, or `best stock`.
    pub(super) columns: Vec<String>,
}

/// A figure of a paper with ours, for each of its rows.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ClaimEntry {
    pub(super) each: Vec<String>,
    pub(super) kind: Option<String>,
    pub(super) with: Row,
    pub(super) says: String,
    pub(super) subject: Option<String>,
    /// A figure, or the least and the greatest: `1.39..2.20`.
    pub(super) paper: String,
    /// What figures in formulas are of, where they do not say it themselves.
    pub(super) run: String,
    pub(super) of: String,
    pub(super) ours: Option<String>,
    /// `times`, `percent`, or `number` with a unit.
    pub(super) format: Option<String>,
    /// `at least`, `at most`, or `within` a factor.
    pub(super) tolerance: Option<String>,
    pub(super) timed: Option<bool>,
    pub(super) limit: Option<String>,
    pub(super) counted: Option<String>,
    pub(super) otherwise: Option<String>,
}
