//! The order of runs: configurations take turns in rounds, so that a slow phase of the machine slows all of them. Each round starts with
//! another one.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use springbloom_console::Step;
use springbloom_records::{Figure, Labels, Unit, labels};
use springbloom_rocksdb::testing::DIGESTS_STEP;

use crate::database::config::Config;
use crate::database::load::Records;
use crate::database::open::{Database, FilterWork};
use crate::database::options::CommonSettings;
use crate::database::shape::Shape;
use crate::run::measure::{Call, Measured};
use crate::run::oracle::Oracle;
use crate::run::worker::{self, Target};
use crate::run::workload::{Extent, Operations, Workload};

/// The plan of a comparison.
pub(crate) struct Plan<'a> {
    pub(crate) records: &'a Records,
    pub(crate) shape: &'a Shape,
    pub(crate) common: &'a CommonSettings,
    pub(crate) workload: Workload,
    pub(crate) seed: u64,
    pub(crate) hot_key_seeds: u32,
    pub(crate) threads: Vec<u32>,
    pub(crate) warmup_ops: u64,
    /// Operations measured for each configuration, choice of hot keys and number of threads.
    pub(crate) ops: u64,
    pub(crate) rounds: u32,
    /// Reads that are one `MultiGet`; 1 for `Get`.
    pub(crate) batch: u32,
    pub(crate) entrants: &'a [Entrant],
}

/// A configuration with its database.
#[derive(Clone, Debug)]
pub(crate) struct Entrant {
    pub(crate) config: Config,
    pub(crate) path: PathBuf,
}

/// Results of one configuration under one hot-key mapping with one number of threads.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) config: String,
    pub(crate) hot_key_seed: u32,
    pub(crate) threads: u32,
    pub(crate) ops_per_s_by_round: Vec<f64>,
    /// Those per get are absent for workloads without gets.
    pub(crate) figures: Vec<Figure>,
}

impl Row {
    /// The figure called `name` that is of the configuration alone.
    pub(crate) fn value(&self, name: &str) -> Option<f64> {
        let of = labels_of(&self.config, self.threads);
        self.figures.iter().find(|figure| figure.name == name && figure.of == of).map(|figure| figure.value)
    }
}

/// What its figures are of.
pub(crate) fn labels_of(config: &str, threads: u32) -> Labels {
    labels([("config", config.to_owned()), ("threads", threads.to_string())])
}

/// Runs `plan`. Every choice of hot keys starts with freshly opened databases and a warm-up.
///
/// # Errors
/// The first wrong answer or failed operation ends the run.
pub(crate) fn run(plan: &Plan<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for hot_key_seed in 1..=plan.hot_key_seeds {
        let contestants = plan
            .entrants
            .iter()
            .map(|entrant| Contestant::open(plan, entrant))
            .collect::<Result<Vec<_>>>()?;
        for (turn, &threads) in plan.threads.iter().enumerate() {
            rows.extend(race(plan, hot_key_seed, threads, turn == 0, &contestants)?);
        }
    }
    Ok(rows)
}

/// All contestants with `threads` threads, in turns.
fn race(
    plan: &Plan<'_>,
    hot_key_seed: u32,
    threads: u32,
    warmup: bool,
    contestants: &[Contestant<'_>],
) -> Result<Vec<Row>> {
    let mut runs = contestants
        .iter()
        .map(|contestant| Run::new(plan, hot_key_seed, threads, contestant))
        .collect::<Result<Vec<_>>>()?;
    if warmup && plan.warmup_ops > 0 {
        let step = Step::start(
            &format!("hot keys {hot_key_seed} of {}: warm-up", plan.hot_key_seeds),
            runs.len() as u64,
        );
        for run in &mut runs {
            run.advance(plan, plan.warmup_ops)?;
            run.contestant.database.wait_idle();
            step.advance(1);
        }
    }
    let step = Step::start(
        &format!("hot keys {hot_key_seed} of {}, {threads} threads: measuring", plan.hot_key_seeds),
        runs.len() as u64 * u64::from(plan.rounds),
    );
    runs.iter_mut().for_each(Run::begin_measurement);
    for round in 0..plan.rounds as usize {
        for turn in 0..contestants.len() {
            runs[(round + turn) % contestants.len()]
                .measure(plan, plan.ops.div_ceil(u64::from(plan.rounds)))?;
            step.advance(1);
        }
    }
    runs.iter().map(|run| run.row(hot_key_seed, threads)).collect()
}

/// A database in the race.
struct Contestant<'a> {
    entrant: &'a Entrant,
    database: Database,
    oracle: Oracle,
}

impl<'a> Contestant<'a> {
    fn open(plan: &Plan<'_>, entrant: &'a Entrant) -> Result<Self> {
        let open = if plan.workload.writes() { Database::open_scratch } else { Database::open };
        let extent = Extent {
            ops: plan.warmup_ops + plan.ops * plan.threads.len() as u64,
            rounds: plan.rounds,
            most_threads: plan.threads.iter().copied().max().map_or(1, u64::from),
        };
        let oracle = plan.workload.oracle(&plan.records.keys, extent);
        Ok(Contestant {
            entrant,
            database: open(&entrant.config, &entrant.path, plan.shape, plan.common)?,
            oracle,
        })
    }
}

/// A contestant's progress in one race.
struct Run<'a> {
    contestant: &'a Contestant<'a>,
    streams: Vec<Operations>,
    /// Operations so far, those before the measurement included.
    done_ops: u64,
    elapsed: Duration,
    ops_per_s_by_round: Vec<f64>,
    measured: Measured,
    filter_work_before: FilterWork,
    /// At most this many digests were computed and not counted: a thread's are counted in steps, and what is left when it ends is not.
    digests_missed: u64,
}

impl<'a> Run<'a> {
    fn new(plan: &Plan<'_>, hot_key_seed: u32, threads: u32, contestant: &'a Contestant<'a>) -> Result<Self> {
        // Each number of threads is a race of its own, which must not repeat the operations of the last one.
        let seed = plan.seed ^ u64::from(threads) << 32 ^ u64::from(hot_key_seed) << 48;
        let seeds = (u64::from(hot_key_seed), seed);
        let streams = (0..u64::from(threads))
            .map(|stream| plan.workload.operations(&plan.records.keys, seeds, (stream, u64::from(threads))))
            .collect::<Result<_, _>>()?;
        Ok(Run {
            contestant,
            streams,
            done_ops: 0,
            elapsed: Duration::ZERO,
            ops_per_s_by_round: Vec::new(),
            measured: Measured::default(),
            filter_work_before: FilterWork::default(),
            digests_missed: 0,
        })
    }

    fn begin_measurement(&mut self) {
        self.elapsed = Duration::ZERO;
        self.measured = Measured::default();
        self.filter_work_before = self.contestant.database.filter_work();
        self.digests_missed = 0;
    }

    /// Does and measures the next `operations`.
    fn measure(&mut self, plan: &Plan<'_>, operations: u64) -> Result<()> {
        let (elapsed_before, operations_before) = (self.elapsed, self.measured.operations);
        let measured = self.advance(plan, operations)?;
        self.measured.add(&measured);
        let done = self.measured.operations - operations_before;
        self.ops_per_s_by_round.push(done as f64 / (self.elapsed - elapsed_before).as_secs_f64());
        Ok(())
    }

    /// Does the next `operations`, shared among the threads.
    fn advance(&mut self, plan: &Plan<'_>, operations: u64) -> Result<Measured> {
        let write_options = CommonSettings::write_options();
        let families = self.contestant.database.store.families()?;
        let target = Target {
            families: &families,
            records: plan.records,
            oracle: &self.contestant.oracle,
            write_options: &write_options,
            batch: plan.batch as usize,
        };
        let (done, streams) = (self.done_ops, self.streams.len() as u64);
        self.done_ops += operations;
        let start = Instant::now();
        let results: Vec<Result<Measured>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (self.streams.iter_mut())
                .map(|stream| {
                    let count = stream.proceed(done, operations, streams);
                    let target = &target;
                    scope.spawn(move || worker::run(target, stream, count))
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        self.elapsed += start.elapsed();
        self.digests_missed += (DIGESTS_STEP - 1) * self.streams.len() as u64;
        let mut measured = Measured::default();
        for result in results {
            measured.add(&result.map_err(|error| self.failure(error))?);
        }
        Ok(measured)
    }

    /// Damage that lookups find is none of the user's input.
    fn failure(&self, error: anyhow::Error) -> anyhow::Error {
        let Entrant { config, path, .. } = self.contestant.entrant;
        match error.downcast_ref::<rocksdb::Error>() {
            Some(said) if said.kind() == rocksdb::ErrorKind::Corruption => anyhow!(
                "running {config}: {said}; {} is damaged: remove it, and it is made again",
                path.display()
            ),
            _ => error.context(format!("running {config}")),
        }
    }

    fn row(&self, hot_key_seed: u32, threads: u32) -> Result<Row> {
        let Contestant { entrant: Entrant { config, .. }, database, .. } = self.contestant;
        let measured = &self.measured;
        let (before, after) = (self.filter_work_before, database.filter_work());
        let operations = measured.operations as f64;
        let unit_reads = after.unit_reads - before.unit_reads;
        let per_get = |count: u64| (measured.gets > 0).then(|| count as f64 / measured.gets as f64);
        let of_elastic = |count: u64| config.elastic().and_then(|_| per_get(count));
        let digests = (10 * self.digests_missed <= measured.gets).then(|| after.digests - before.digests);
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let (cpu_us, gets) = (micros(measured.cpu), measured.calls(Call::Get));
        let figures = [
            ("lookups_per_s", Some(operations / self.elapsed.as_secs_f64()), Unit::PerSecond),
            // Of blocks, and of filter units.
            ("all_reads_per_get", per_get(measured.block_reads() + unit_reads), Unit::PerLookup),
            ("data_reads_per_get", per_get(measured.data_reads), Unit::PerLookup),
            ("wasted_reads_per_get", measured.wasted_reads().and_then(per_get), Unit::PerLookup),
            ("filter_reads_per_get", per_get(measured.filter_reads), Unit::PerLookup),
            ("index_reads_per_get", per_get(measured.index_reads), Unit::PerLookup),
            ("filter_bytes", Some(database.resident_filter_bytes()? as f64), Unit::Bytes),
            // Where the block cache pays for all.
            ("memory_bytes", database.memory_bytes()?.map(|bytes| bytes as f64), Unit::Bytes),
            ("reader_bytes", database.reader_bytes()?.map(|bytes| bytes as f64), Unit::Bytes),
            // Of filter units, by the background thread.
            ("unit_reads", Some(unit_reads as f64), Unit::Count),
            // With elastic filters, that a get visited.
            ("tables_per_get", of_elastic(after.visits - before.visits), Unit::PerLookup),
            ("digests_per_get", digests.and_then(of_elastic), Unit::PerLookup),
            ("get_p99_us", (gets.count() > 0).then(|| micros(gets.percentile(0.99))), Unit::Microseconds),
            // Of the worker threads, including the generation of keys and the verification of values.
            ("cpu_us_per_op", Some(cpu_us / operations.max(1.0)), Unit::Microseconds),
        ];
        let name = config.to_string();
        let of = labels_of(&name, threads);
        let figures = figures.into_iter();
        let mut figures: Vec<_> = figures
            .filter_map(|(name, value, unit)| Some(Figure::new(name, of.clone(), value?, unit)))
            .collect();
        let with = |label: &str, value: &str| {
            let own = [(label.to_owned(), value.to_owned())];
            of.clone().into_iter().chain(own).collect::<Labels>()
        };
        for call in Call::ALL {
            let times = measured.calls(call);
            let figure = |name, value, unit| Figure::new(name, with("call", call.name()), value, unit);
            if times.count() > 0 {
                figures.push(figure("calls", f64::from(times.count()), Unit::Count));
                figures.push(figure("call_mean_us", micros(times.mean()), Unit::Microseconds));
            }
        }
        let parts = database.budget_bytes().into_iter();
        figures.extend(
            parts.map(|(part, bytes)| {
                Figure::new("budget_bytes", with("part", part), bytes as f64, Unit::Bytes)
            }),
        );
        Ok(Row {
            config: name,
            hot_key_seed,
            threads,
            ops_per_s_by_round: self.ops_per_s_by_round.clone(),
            figures,
        })
    }
}
