//! Records of benchmarks, which cargo runs.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::{Clock, Figure, Unit};

/// Names the file for the record of a benchmark.
pub const RECORD_VARIABLE: &str = "SPRINGBLOOM_RECORD";

/// What a benchmark measured so far. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Figures(Arc<Mutex<Vec<Figure>>>);

impl Figures {
    /// Adds a figure.
    pub fn note(&self, name: &str, of: &[(&str, &str)], value: f64, unit: Unit) {
        let of = of.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        self.extend([Figure::new(name, of, value, unit)]);
    }

    /// Adds figures of a part that ran in another process.
    pub fn extend(&self, figures: impl IntoIterator<Item = Figure>) {
        self.0.lock().extend(figures);
    }

    /// Gives all figures, and keeps none.
    pub fn take(&self) -> Vec<Figure> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// A benchmark of a crate.
#[derive(Clone, Copy, Debug)]
pub struct Bench<'a> {
    /// The folder of its crate, from the root of the repository.
    pub folder: &'a str,
    /// The benchmark.
    pub bench: &'a str,
    /// The environment variables that are its settings.
    pub environment: &'a [&'a str],
    /// The sections that run.
    pub sections: &'a [String],
}

impl Bench<'_> {
    /// The command that repeats it with these settings.
    pub fn command<'b>(&self, settings: impl IntoIterator<Item = (&'b str, &'b str)>) -> Vec<String> {
        let settings = settings.into_iter().map(|(name, value)| format!("{name}={value}"));
        let cargo =
            format!("cargo bench --manifest-path {}/Cargo.toml --bench {} --", self.folder, self.bench);
        let cargo: Vec<_> = cargo.split(' ').map(str::to_owned).collect();
        settings.chain(cargo).chain(self.sections.iter().cloned()).collect()
    }

    /// Writes the record of the run that `clock` began with, if its file is named.
    pub fn record(&self, clock: &Clock, seed: u64, figures: Vec<Figure>) -> Result<()> {
        let Some(path) = env::var_os(RECORD_VARIABLE).map(PathBuf::from) else { return Ok(()) };
        let given: Vec<_> =
            self.environment.iter().filter_map(|name| Some((*name, env::var(name).ok()?))).collect();
        let command = self.command(given.iter().map(|(name, value)| (*name, value.as_str())));
        let settings: Map<String, Value> =
            given.iter().map(|(name, value)| ((*name).to_owned(), value.as_str().into())).collect();
        clock.finish(command, seed, &settings, figures)?.save(&path)
    }
}
