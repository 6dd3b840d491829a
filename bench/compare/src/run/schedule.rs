//! The order of runs: configurations take turns in rounds, so that a slow phase of the machine slows all of them. Each round starts with
//! another one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use hdrhistogram::Histogram;
use serde::Serialize;
use springbloom_console::Step;
use springbloom_rocksdb::testing::DIGESTS_STEP;

use crate::database::config::Config;
use crate::database::load::Records;
use crate::database::open::{Database, FilterWork};
use crate::database::options::CommonSettings;
use crate::database::shape::Shape;
use crate::run::load::LoadCost;
use crate::run::measure::{Call, Measured, process_cpu};
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
    pub(crate) salts: u32,
    pub(crate) threads: Vec<u32>,
    pub(crate) warmup_ops: u64,
    /// Operations measured for each configuration, salt and number of threads.
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
    /// The cost of a load with it, if that was measured.
    pub(crate) load: Option<LoadCost>,
}

/// Results of one configuration under one hot-key mapping with one number of threads. Rates per get are absent for
/// workloads without gets.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) config: String,
    pub(crate) salt: u32,
    pub(crate) threads: u32,
    pub(crate) operations: u64,
    pub(crate) ops_per_s: f64,
    /// The same in each round.
    pub(crate) ops_per_s_by_round: Vec<f64>,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// By kind of call: get, multiget, put, delete, scan.
    pub(crate) latency_us: BTreeMap<&'static str, Latency>,
    pub(crate) data_reads_per_get: Option<f64>,
    pub(crate) wasted_reads_per_get: Option<f64>,
    pub(crate) filter_reads_per_get: Option<f64>,
    pub(crate) index_reads_per_get: Option<f64>,
    /// Reads of elastic filter units, by the background thread.
    pub(crate) unit_reads: u64,
    /// Tables with elastic filters that a get visited.
    pub(crate) visits_per_get: Option<f64>,
    /// Digests of its key that a get computed.
    pub(crate) digests_per_get: Option<f64>,
    pub(crate) resident_filter_bytes: u64,
    /// What the budget of elastic filters is spent on.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) budget_bytes: BTreeMap<&'static str, u64>,
    /// CPU time of the worker threads per operation, including the generation of keys and the verification of values.
    pub(crate) cpu_us_per_op: f64,
    /// CPU time of all threads per operation, including those of RocksDB and of the manager.
    pub(crate) process_cpu_us_per_op: f64,
    /// Cost of a load, measured on another database.
    pub(crate) load_s: Option<f64>,
    pub(crate) load_cpu_s: Option<f64>,
    pub(crate) load_written_bytes: Option<f64>,
}

/// Of calls of one kind.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Latency {
    pub(crate) calls: u64,
    pub(crate) mean: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

impl Latency {
    fn of(latencies_ns: &Histogram<u64>) -> Self {
        let us = |quantile| latencies_ns.value_at_quantile(quantile) as f64 / 1e3;
        Latency { calls: latencies_ns.len(), mean: latencies_ns.mean() / 1e3, p50: us(0.5), p99: us(0.99) }
    }
}

/// Runs `plan`. Every salt starts with freshly opened databases and a warm-up.
///
/// # Errors
/// The first wrong answer or failed operation ends the run.
pub(crate) fn run(plan: &Plan<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for salt in 1..=plan.salts {
        let contestants = plan
            .entrants
            .iter()
            .map(|entrant| Contestant::open(plan, entrant))
            .collect::<Result<Vec<_>>>()?;
        for (turn, &threads) in plan.threads.iter().enumerate() {
            rows.extend(race(plan, salt, threads, turn == 0, &contestants)?);
        }
    }
    Ok(rows)
}

/// All contestants with `threads` threads, in turns.
fn race(
    plan: &Plan<'_>,
    salt: u32,
    threads: u32,
    warmup: bool,
    contestants: &[Contestant<'_>],
) -> Result<Vec<Row>> {
    let mut runs = contestants
        .iter()
        .map(|contestant| Run::new(plan, salt, threads, contestant))
        .collect::<Result<Vec<_>>>()?;
    if warmup && plan.warmup_ops > 0 {
        let step = Step::start(&format!("hot keys {salt} of {}: warm-up", plan.salts), runs.len() as u64);
        for run in &mut runs {
            run.warm_up(plan)?;
            run.contestant.database.wait_idle();
            step.advance(1);
        }
    }
    let step = Step::start(
        &format!("hot keys {salt} of {}, {threads} threads: measuring", plan.salts),
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
    runs.iter().map(|run| run.row(salt, threads)).collect()
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
    /// At most so many digests were computed and not counted: a thread's are counted in steps, and what is left when it ends is not.
    digests_missed: u64,
    /// During the turns of this run: the process has one count for all.
    process_cpu: Duration,
}

impl<'a> Run<'a> {
    fn new(plan: &Plan<'_>, salt: u32, threads: u32, contestant: &'a Contestant<'a>) -> Result<Self> {
        // Each number of threads is a race of its own, which must not repeat the operations of the last one.
        let seed = plan.seed ^ u64::from(threads) << 32 ^ u64::from(salt) << 48;
        let salt_and_seed = (u64::from(salt), seed);
        let streams = (0..u64::from(threads))
            .map(|stream| {
                plan.workload.operations(&plan.records.keys, salt_and_seed, (stream, u64::from(threads)))
            })
            .collect::<Result<_, _>>()?;
        let (filter_work_before, process_cpu) = (FilterWork::default(), Duration::ZERO);
        Ok(Run {
            contestant,
            streams,
            done_ops: 0,
            elapsed: Duration::ZERO,
            ops_per_s_by_round: Vec::new(),
            measured: Measured::nothing(),
            filter_work_before,
            digests_missed: 0,
            process_cpu,
        })
    }

    fn warm_up(&mut self, plan: &Plan<'_>) -> Result<()> {
        self.advance(plan, plan.warmup_ops).map(|_| ())
    }

    fn begin_measurement(&mut self) {
        self.elapsed = Duration::ZERO;
        self.measured = Measured::nothing();
        self.filter_work_before = self.contestant.database.filter_work();
        self.digests_missed = 0;
        self.process_cpu = Duration::ZERO;
    }

    /// Does and measures the next `operations`.
    fn measure(&mut self, plan: &Plan<'_>, operations: u64) -> Result<()> {
        let (elapsed_before, operations_before) = (self.elapsed, self.measured.operations);
        let measured = self.advance(plan, operations)?;
        self.measured.add(&measured)?;
        let done = self.measured.operations - operations_before;
        self.ops_per_s_by_round.push(done as f64 / (self.elapsed - elapsed_before).as_secs_f64());
        Ok(())
    }

    /// Does the next `operations`, shared among the threads.
    fn advance(&mut self, plan: &Plan<'_>, operations: u64) -> Result<Measured> {
        let write_options = CommonSettings::write_options();
        let families = self.contestant.database.stores.families()?;
        let target = Target {
            families: &families,
            records: plan.records,
            oracle: &self.contestant.oracle,
            write_options: &write_options,
            batch: plan.batch as usize,
        };
        let (done, streams) = (self.done_ops, self.streams.len() as u64);
        self.done_ops += operations;
        let process_cpu_before = process_cpu();
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
        self.process_cpu += process_cpu() - process_cpu_before;
        let mut measured = Measured::nothing();
        for result in results {
            measured.add(&result.map_err(|error| self.failure(error))?)?;
        }
        Ok(measured)
    }

    /// Damage that lookups find is none of the user's input.
    fn failure(&self, error: anyhow::Error) -> anyhow::Error {
        let Entrant { config, path, .. } = self.contestant.entrant;
        match error.downcast_ref::<rocksdb::Error>() {
            Some(said) if said.kind() == rocksdb::ErrorKind::Corruption => anyhow!(
                "running {config}: {said}; {} is damaged: remove it and its .json, and it is made anew",
                path.display()
            ),
            _ => error.context(format!("running {config}")),
        }
    }

    fn row(&self, salt: u32, threads: u32) -> Result<Row> {
        let Contestant { entrant: Entrant { config, load, .. }, database, .. } = self.contestant;
        let measured = &self.measured;
        let (before, after) = (self.filter_work_before, database.filter_work());
        let cpu_us_per_op = |cpu: Duration| cpu.as_secs_f64() * 1e6 / measured.operations.max(1) as f64;
        let per_get = |count: u64| (measured.gets > 0).then(|| count as f64 / measured.gets as f64);
        let digests = (10 * self.digests_missed <= measured.gets).then(|| after.digests - before.digests);
        let all = Latency::of(&measured.all_latencies_ns()?);
        let by_call = Call::ALL
            .into_iter()
            .filter_map(|call| Some((call.name(), Latency::of(measured.latencies_ns(call)?))));
        Ok(Row {
            config: config.to_string(),
            salt,
            threads,
            operations: measured.operations,
            ops_per_s: measured.operations as f64 / self.elapsed.as_secs_f64(),
            ops_per_s_by_round: self.ops_per_s_by_round.clone(),
            p50_us: all.p50,
            p99_us: all.p99,
            latency_us: by_call.collect(),
            data_reads_per_get: per_get(measured.data_reads),
            wasted_reads_per_get: measured.wasted_reads().and_then(per_get),
            filter_reads_per_get: per_get(measured.filter_reads),
            index_reads_per_get: per_get(measured.index_reads),
            unit_reads: after.unit_reads - before.unit_reads,
            visits_per_get: config.elastic().and_then(|_| per_get(after.visits - before.visits)),
            digests_per_get: config.elastic().and(digests).and_then(per_get),
            resident_filter_bytes: database.resident_filter_bytes()?,
            budget_bytes: database.budget_bytes(),
            cpu_us_per_op: cpu_us_per_op(measured.cpu),
            process_cpu_us_per_op: cpu_us_per_op(self.process_cpu),
            load_s: load.map(|load| load.load_s),
            load_cpu_s: load.map(|load| load.load_cpu_s),
            load_written_bytes: load.map(|load| load.load_written_bytes),
        })
    }
}
