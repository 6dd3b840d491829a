//! Measures the cost of a load under each filter: wall time, CPU time of all threads and bytes of all tables written, for
//! records that go through memtable, flush and compaction into a new database, until nothing is left to compact.
//!
//! All loads are paced alike (`database::load`), so they do the same work and differ by the filters: building and writing
//! them, and their influence on compaction. Configurations take turns, each round starting with another one, so that ratios
//! within a round compare neighbours.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use rocksdb::statistics::{StatsLevel, Ticker};
use springbloom_console::Step;

use crate::database::config::Config;
use crate::database::load::{self, Records};
use crate::database::open::wait_idle;
use crate::database::options::{AutoCompaction, CommonSettings, Prepared};
use crate::database::remove;
use crate::database::shape::Shape;
use crate::run::measure::process_cpu;

/// What is loaded.
pub(crate) struct LoadPlan<'a> {
    /// Folder for the databases; each is removed when it was measured.
    pub(crate) dir: &'a Path,
    pub(crate) configs: &'a [Config],
    pub(crate) records: &'a Records,
    pub(crate) common: &'a CommonSettings,
    /// How many records, from the first on.
    pub(crate) load_records: u64,
    pub(crate) rounds: u32,
}

/// One load.
#[derive(Clone, Debug)]
pub(crate) struct LoadRow {
    pub(crate) config: String,
    pub(crate) round: u32,
    pub(crate) load_s: f64,
    /// User and system time of all threads, including the loads of units that follow.
    pub(crate) load_cpu_s: f64,
    /// Tables written by flushes and compactions.
    pub(crate) load_written_bytes: u64,
}

/// Runs `plan`; also the shape that its records take without filters.
pub(crate) fn run(plan: &LoadPlan<'_>) -> Result<(Vec<LoadRow>, Shape)> {
    let path = plan.dir.join("load");
    let loads = plan.rounds as u64 * plan.configs.len() as u64;
    let step = Step::start(
        &format!("measuring {loads} loads of {} records", plan.load_records),
        loads * plan.load_records,
    );
    // Not measured: warms up the disk and tells `monkey` its levels.
    let mut options = vec![plan.common.tree_options(AutoCompaction::Off)];
    let quiet = Step::hidden();
    let shape = fresh(&path, || {
        Shape::of(&load::load(&path, &mut options, plan.records, plan.load_records, plan.common, &quiet)?)
    })?;
    let mut rows = Vec::new();
    for round in 1..=plan.rounds {
        for turn in 0..plan.configs.len() {
            let config = &plan.configs[(turn + round as usize - 1) % plan.configs.len()];
            let row = fresh(&path, || measure(plan, &path, &shape, config, round, &step))
                .with_context(|| format!("loading with {config}"))?;
            rows.push(row);
        }
    }
    Ok((rows, shape))
}

fn measure(
    plan: &LoadPlan<'_>,
    path: &Path,
    shape: &Shape,
    config: &Config,
    round: u32,
    step: &Step,
) -> Result<LoadRow> {
    let Prepared { mut options, elastic } = plan.common.prepare(config, shape, AutoCompaction::Off)?;
    options[0].enable_statistics();
    options[0].set_statistics_level(StatsLevel::ExceptHistogramOrTimers);
    let (wall, cpu) = (Instant::now(), process_cpu());
    let store = load::load(path, &mut options, plan.records, plan.load_records, plan.common, step)?;
    let load_s = wall.elapsed().as_secs_f64();
    elastic.iter().for_each(wait_idle);
    let load_cpu_s = (process_cpu() - cpu).as_secs_f64();
    let entries = Shape::of(&store)?.entries();
    ensure!(entries == plan.load_records, "{entries} entries after a load of {}", plan.load_records);
    let written = |ticker| options[0].get_ticker_count(ticker);
    Ok(LoadRow {
        config: config.to_string(),
        round,
        load_s,
        load_cpu_s,
        load_written_bytes: written(Ticker::FlushWriteBytes) + written(Ticker::CompactWriteBytes),
    })
}

/// Runs `with` with nothing at `path`, and removes what it made there.
fn fresh<T>(path: &Path, with: impl FnOnce() -> Result<T>) -> Result<T> {
    remove::and_make(path, || {
        let result = with()?;
        remove::folder(path)?;
        Ok(result)
    })
}
