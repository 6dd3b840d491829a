//! Hierarchical against flat on the paper's mixes (Tables II and III): one operation at a time as in the paper, and in
//! batches.
//!
//! The flat filter is measured twice. BloomFlash's *design* says that a lookup can end at the first bit that is not set (section
//! III-C); its *figures* are those of a filter that reads the pages of all `k` bits: "almost always k different flash page reads", a
//! gain "linearly related with k", and 282 us per flat operation against 38 us on a trace that is nearly all lookups, many of
//! them of absent keys (section IV-D).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use springbloom_flash_filter::{BufferSettings, FilterSettings, FlashFilter, FlushPolicy, MemorySize};
use springbloom_page_device::{Access, FileStorage, IoEngine};
use springbloom_records::Unit;

use crate::claims::{Claim, Wanted};
use crate::flat::FlatFilter;
use crate::measured::Measured;
use crate::setup::{BITS_PER_KEY, PROBES, Setup, median};
use crate::traces::{Operation, Operations, Trace, real_chunks};

/// The filter's part of the run's size: the paper's dedupe filter has 13 MB, and a flat one takes `PROBES` times as many
/// updates to fill.
const SHRINK: u64 = 16;
/// A measurement's part of the run's time: there are many.
const HASTE: u32 = 3;
/// Operations that are worked on together by the batched runs.
const BATCH: usize = 4096;
/// Traces that begin with the same keys in the set.
const TRACES: [&[Trace]; 2] =
    [&[Trace::Dedupe, Trace::DedupeReal], &[Trace::XboxZipf, Trace::XboxUniform, Trace::XboxHeld]];

/// How operations reach a filter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Single,
    Batched,
}

/// One column of the table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contender {
    /// Ends a lookup at the first bit that is not set.
    Flat,
    /// Reads the pages of all `PROBES` bits.
    FlatReadingAll,
    Hierarchical,
}

#[derive(Default)]
struct Outcome {
    operations_per_second: f64,
    /// Mean time of a lookup, of single operations.
    lookup_us: f64,
    reads: f64,
    writes: f64,
}

/// Folders of the two filters, filled with the same keys.
struct Filled {
    flat: PathBuf,
    ours: PathBuf,
    held: u64,
    /// Runs over a file of real chunks so far: each takes a share of its keys that is new to the filters.
    file_runs: u64,
}

pub(crate) fn run(setup: &Setup) -> Vec<Claim> {
    let setup = &setup.scaled_down(SHRINK, HASTE);
    println!(
        "Operations per second (page reads, page writes per operation).\n\n| trace | buffer | flat, until a zero | flat, all read | \
         hierarchical | ratio | ratio to all read |\n|---|---|---|---|---|---|---|"
    );
    let mut ratios = Vec::new();
    for traces in TRACES {
        let held = setup.capacity_keys() / 2;
        let mut filled = prepare(setup, traces[0], held);
        for trace in traces.iter().filter(|trace| **trace != Trace::DedupeReal || real_chunks().is_some()) {
            compare(setup, &mut filled, *trace, &mut ratios);
        }
    }
    // The paper's rows: its two workloads, its buffers.
    let of_paper = |trace: Trace| {
        let of_trace: Vec<_> = ratios.iter().filter(|r| r.trace == trace && r.is_of_paper).collect();
        let least =
            |ratio: fn(&Ratios) -> f64| of_trace.iter().map(|r| ratio(r)).fold(f64::INFINITY, f64::min);
        (least(|r| r.to_reading_all), least(|r| r.to_flat))
    };
    let mut claims = Vec::new();
    for (trace, paper) in [(Trace::Dedupe, "5.1-5.4"), (Trace::XboxZipf, "5.3-7.0")] {
        let (all, until_zero) = of_paper(trace);
        claims.push(Claim::new(
            format!("{trace:?}: hierarchical, times flat with all pages read (paper: {paper}), least of its buffers"),
            all,
            Wanted::AtLeast(5.0),
        ));
        claims.push(Claim::new(
            format!("{trace:?}: hierarchical, times flat that stops at a zero, least of its buffers"),
            until_zero,
            Wanted::AtLeast(5.0),
        ));
    }
    claims
}

struct Ratios {
    trace: Trace,
    is_of_paper: bool,
    to_flat: f64,
    to_reading_all: f64,
}

fn compare(setup: &Setup, filled: &mut Filled, trace: Trace, ratios: &mut Vec<Ratios>) {
    let of_paper = |name, factor, policy| {
        let memory = MemorySize::CacheSizeFactor(factor);
        (name, BufferSettings { memory, policy, group_pages: 16, cache_bytes: 0 }, true)
    };
    let budget = BufferSettings::with_memory_bytes(setup.memory_bytes());
    let cached = BufferSettings { cache_bytes: setup.memory_bytes() / 4, ..budget };
    let mut buffers = vec![
        of_paper("none", 0, FlushPolicy::DirtiestGroupFirst),
        of_paper("dirtiest group", 4, FlushPolicy::DirtiestGroupFirst),
        of_paper("sequential", 4, FlushPolicy::Sequential),
    ];
    // A share of the file would wait in such a memory as a whole.
    if trace != Trace::DedupeReal {
        buffers.push(("1.8 bits/key", budget, false));
    }
    if trace == Trace::XboxZipf {
        buffers.push(("1.8 bits/key, a quarter of it page cache", cached, false));
    }
    for (name, buffer, is_of_paper) in buffers {
        let contenders = [Contender::Flat, Contender::FlatReadingAll, Contender::Hierarchical];
        let outcomes = measure(setup, filled, buffer, trace, Manner::Single, &contenders);
        let [flat, all, ours] = &outcomes[..] else { return };
        for (filter, outcome) in FILTERS.into_iter().zip(&outcomes) {
            outcome.note(setup, &[("trace", &*format!("{trace:?}")), ("buffer", name), ("filter", filter)]);
        }
        let [to_flat, to_reading_all] =
            [flat, all].map(|other| ours.operations_per_second / other.operations_per_second);
        println!(
            "| {trace:?} | {name} | {} | {} | {} | {to_flat:.2} | {to_reading_all:.2} |",
            flat.cell(),
            all.cell(),
            ours.cell()
        );
        ratios.push(Ratios { trace, is_of_paper, to_flat, to_reading_all });
    }
    if trace == Trace::DedupeReal {
        return;
    }
    let contenders = [Contender::Flat, Contender::Hierarchical];
    let outcomes = measure(setup, filled, budget, trace, Manner::Batched, &contenders);
    let [flat, ours] = &outcomes[..] else { return };
    println!(
        "| {trace:?} | 1.8 bits/key, batches of {BATCH} | {} | | {} | {:.2} | |",
        flat.cell(),
        ours.cell(),
        ours.operations_per_second / flat.operations_per_second
    );
}

/// The columns of the table.
const FILTERS: [&str; 3] = ["flat, until a zero", "flat, all read", "hierarchical"];

impl Outcome {
    fn note(&self, setup: &Setup, of: &[(&str, &str)]) {
        setup.figures.note("operations_per_s", of, self.operations_per_second, Unit::PerSecond);
        setup.figures.note("lookup_us", of, self.lookup_us, Unit::Microseconds);
        setup.figures.note("page_reads", of, self.reads, Unit::PerLookup);
        setup.figures.note("page_writes", of, self.writes, Unit::PerLookup);
    }

    fn cell(&self) -> String {
        format!("{:.0} ({:.2}, {:.3})", self.operations_per_second, self.reads, self.writes)
    }
}

/// Makes both filters and inserts the first `held` keys of `trace`.
fn prepare(setup: &Setup, trace: Trace, held: u64) -> Filled {
    let [flat_folder, our_folder] = ["mixes-flat", "mixes-ours"].map(|name| setup.fresh(name));
    // Few updates per page wait while the filters are filled: adding one looks at those that wait already.
    let buffer = BufferSettings { group_pages: 1, ..BufferSettings::with_memory_bytes(8 << 20) };
    let settings =
        FilterSettings::with_bits_per_key(setup.capacity_keys(), BITS_PER_KEY, PROBES).logged(false);
    let mut flat = FlatFilter::create(&storage(&flat_folder, Access::Create), flat_bits(setup), &buffer);
    let mut ours = FlashFilter::create(&our_folder, &settings, buffer).expect("create");
    for first in (0..held).step_by(1 << 16) {
        let keys: Vec<_> = (first..held.min(first + (1 << 16))).map(|n| Operations::key(trace, n)).collect();
        both(&mut flat, &mut ours).into_iter().for_each(|filter| filter.insert_many(&keys));
    }
    let sample: Vec<_> = (0..held.min(1000)).map(|n| Operations::key(trace, n)).collect();
    for filter in both(&mut flat, &mut ours) {
        filter.flush();
        assert!(filter.contains_many(&sample).iter().all(|found| *found), "a false negative");
        assert!(sample.iter().all(|key| filter.contains(*key)), "a false negative");
    }
    Filled { flat: flat_folder, ours: our_folder, held, file_runs: 0 }
}

fn storage(folder: &Path, access: Access) -> FileStorage {
    FileStorage::open(folder, access, IoEngine::Auto).expect("folder")
}

/// As many as the hierarchical filter has, but for its last page.
fn flat_bits(setup: &Setup) -> u64 {
    (setup.capacity_keys() as f64 * BITS_PER_KEY) as u64
}

fn both<'a>(flat: &'a mut FlatFilter, ours: &'a mut FlashFilter) -> [&'a mut dyn Measured; 2] {
    [flat, ours]
}

/// Runs the contenders in turns, once to warm up and then `rounds` times; the middle one of each counts. What they insert stays in
/// the filters, and each goes on with keys that are new to all: a thousandth of what is there, a fiftieth in batches.
fn measure(
    setup: &Setup,
    filled: &mut Filled,
    buffer: BufferSettings,
    trace: Trace,
    manner: Manner,
    contenders: &[Contender],
) -> Vec<Outcome> {
    let mut flat = FlatFilter::open(&storage(&filled.flat, Access::Write), flat_bits(setup), &buffer);
    let mut ours = FlashFilter::open(&filled.ours, buffer).expect("open");
    if let MemorySize::CacheSizeFactor(factor) = buffer.memory {
        // Full buffers from the beginning: lookups with few insertions would take minutes to fill them.
        let pages = setup.filter_bytes / 4096;
        let keys: Vec<_> = (0..2 * u64::from(factor) * pages / u64::from(PROBES))
            .map(|n| Operations::key(trace, filled.held + n))
            .collect();
        both(&mut flat, &mut ours).into_iter().for_each(|filter| filter.insert_many(&keys));
        filled.held += keys.len() as u64;
    }
    let mut rates = vec![Vec::new(); contenders.len()];
    let mut totals: Vec<(u64, u64, u64)> = vec![(0, 0, 0); contenders.len()];
    let mut lookups = vec![LookupTime::default(); contenders.len()];
    // A file is taken from its beginning to its end, or its repetitions would be missing.
    let (rounds, time, warm_up_trace) = match trace {
        Trace::DedupeReal => (1, Duration::MAX, Trace::Dedupe),
        _ => (setup.rounds, setup.time, trace),
    };
    for round in 0..=rounds {
        for (n, contender) in contenders.iter().enumerate() {
            flat.reads_all = *contender == Contender::FlatReadingAll;
            let [flat, ours] = both(&mut flat, &mut ours);
            let filter = if *contender == Contender::Hierarchical { ours } else { flat };
            let (trace, time) = if round == 0 { (warm_up_trace, setup.time / 2) } else { (trace, time) };
            filled.file_runs += u64::from(trace == Trace::DedupeReal);
            let seed = setup.seed + round as u64;
            let mut operations = Operations::new(trace, filled.held, filled.file_runs, seed);
            let before = filter.pages();
            let (done, seconds, lookup_time) = run_for(filter, manner, &mut operations, time);
            filled.held = operations.held();
            if round == 0 {
                continue;
            }
            lookups[n].count += lookup_time.count;
            lookups[n].total += lookup_time.total;
            let after = filter.pages();
            rates[n].push(done as f64 / seconds);
            totals[n].0 += done;
            totals[n].1 += after.reads - before.reads;
            totals[n].2 += after.writes - before.writes;
        }
    }
    both(&mut flat, &mut ours).into_iter().for_each(Measured::flush);
    rates
        .into_iter()
        .zip(totals)
        .zip(lookups)
        .map(|((rates, (done, reads, writes)), lookups)| Outcome {
            operations_per_second: median(rates),
            lookup_us: lookups.total.as_secs_f64() * 1e6 / lookups.count as f64,
            reads: reads as f64 / done as f64,
            writes: writes as f64 / done as f64,
        })
        .collect()
}

/// Time of single lookups.
#[derive(Clone, Default)]
struct LookupTime {
    count: u64,
    total: Duration,
}

/// Operations done, seconds taken, and the time of single lookups; ends early where a trace does.
fn run_for(
    filter: &mut dyn Measured,
    manner: Manner,
    operations: &mut Operations,
    time: Duration,
) -> (u64, f64, LookupTime) {
    let start = Instant::now();
    let (mut done, mut lookups) = (0, LookupTime::default());
    while start.elapsed() < time {
        let now = match manner {
            Manner::Single => one(filter, operations, &mut lookups),
            Manner::Batched => many(filter, operations),
        };
        if now == 0 {
            break;
        }
        done += now;
    }
    (done, start.elapsed().as_secs_f64(), lookups)
}

fn one(filter: &mut dyn Measured, operations: &mut Operations, lookups: &mut LookupTime) -> u64 {
    let mut contains = |filter: &mut dyn Measured, key| {
        let start = Instant::now();
        let found = filter.contains(key);
        lookups.count += 1;
        lookups.total += start.elapsed();
        found
    };
    match operations.next() {
        None => return 0,
        Some(Operation::Lookup(key)) => {
            std::hint::black_box(contains(filter, key));
        }
        Some(Operation::Insert(key)) => filter.insert_many(&[key]),
        Some(Operation::LookupOrInsert(key)) => {
            if !contains(filter, key) {
                filter.insert_many(&[key]);
            }
        }
    }
    1
}

fn many(filter: &mut dyn Measured, operations: &mut Operations) -> u64 {
    let (mut asked, mut inserted, mut either) = (Vec::new(), Vec::new(), Vec::new());
    for operation in std::iter::from_fn(|| operations.next()).take(BATCH) {
        match operation {
            Operation::Lookup(key) => asked.push(key),
            Operation::Insert(key) => inserted.push(key),
            Operation::LookupOrInsert(key) => either.push(key),
        }
    }
    std::hint::black_box(filter.contains_many(&asked));
    let found = filter.contains_many(&either);
    let new = either.iter().zip(found).filter(|(_, found)| !found).map(|(key, _)| *key);
    let done = (asked.len() + either.len() + inserted.len()) as u64;
    inserted.extend(new);
    filter.insert_many(&inserted);
    done
}
