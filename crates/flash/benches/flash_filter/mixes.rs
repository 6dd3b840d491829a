//! Hierarchical against flat on the paper's mixes (Tables II and III): one operation at a time as in the paper, and in
//! batches. Each run starts from the same half-filled filter.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use springbloom_flash::{BufferSettings, FlashFilter, FlushPolicy, Layout, MemorySize};

use crate::setup::{Setup, copy_folder};
use crate::traces::{Operation, Operations, Trace, real_chunks};

/// The paper's buffers: none, and CacheSizeFactor 4 with GroupSize 16 in both orders.
const BUFFERS: [(&str, u32, FlushPolicy); 3] = [
    ("no buffer", 0, FlushPolicy::DirtiestGroupFirst),
    ("dirtiest group", 4, FlushPolicy::DirtiestGroupFirst),
    ("sequential", 4, FlushPolicy::Sequential),
];
/// The flat filter takes `probes` times as many updates to fill; half of the run's size keeps that short.
const SHRINK: u64 = 2;
/// Traces that begin with the same keys in the set.
const TRACES: [&[Trace]; 2] =
    [&[Trace::Dedupe, Trace::DedupeReal], &[Trace::XboxZipf, Trace::XboxUniform, Trace::XboxHeld]];

struct Outcome {
    operations_per_second: f64,
    reads: f64,
    writes: f64,
}

pub(crate) fn run(setup: &Setup) {
    let held = setup.capacity_keys() / SHRINK / 2;
    println!(
        "| trace | buffer | flat ops/s (reads, page writes per op) | hierarchical ops/s (reads, page writes per op) | ratio |\n|---|---|---|---|---|"
    );
    for traces in TRACES {
        let filled =
            [Layout::Flat, Layout::Hierarchical].map(|layout| prepare(setup, layout, traces[0], held));
        for trace in traces.iter().filter(|trace| **trace != Trace::DedupeReal || real_chunks().is_some()) {
            compare(setup, &filled, *trace, held);
        }
    }
}

fn compare(setup: &Setup, filled: &[PathBuf; 2], trace: Trace, held: u64) {
    for (name, factor, policy) in BUFFERS {
        let buffer = BufferSettings {
            memory: MemorySize::CacheSizeFactor(factor),
            policy,
            group_pages: 16,
            cache_bytes: 0,
        };
        let outcomes = filled.each_ref().map(|folder| one_at_a_time(setup, folder, buffer, trace, held));
        report(trace, name, &outcomes);
    }
    let budget = BufferSettings::with_memory_bytes(setup.memory_bytes() / SHRINK);
    let outcomes = filled.each_ref().map(|folder| one_at_a_time(setup, folder, budget, trace, held));
    report(trace, "1.8 bits/key", &outcomes);
    let MemorySize::Bytes(memory_bytes) = budget.memory else { return };
    let cached = BufferSettings { cache_bytes: memory_bytes / 4, ..budget };
    let outcomes = filled.each_ref().map(|folder| one_at_a_time(setup, folder, cached, trace, held));
    report(trace, "1.8 bits/key, a quarter of it page cache", &outcomes);
    let outcomes = filled.each_ref().map(|folder| in_batches(setup, folder, budget, trace, held));
    report(trace, "1.8 bits/key, batches of 4,096", &outcomes);
}

fn report(trace: Trace, buffer: &str, [flat, ours]: &[Outcome; 2]) {
    let cell = |o: &Outcome| format!("{:.0} ({:.2}, {:.3})", o.operations_per_second, o.reads, o.writes);
    let ratio = ours.operations_per_second / flat.operations_per_second;
    println!("| {trace:?} | {buffer} | {} | {} | {ratio:.2} |", cell(flat), cell(ours));
}

fn prepare(setup: &Setup, layout: Layout, trace: Trace, held: u64) -> PathBuf {
    let folder = setup.fresh(&format!("mixes-{layout:?}"));
    let settings = springbloom_flash::FilterSettings::with_bits_per_key(
        setup.capacity_keys() / SHRINK,
        crate::setup::BITS_PER_KEY,
        crate::setup::PROBES,
    );
    // Few updates per page wait while the filter is filled: adding one looks at those that wait already.
    let buffer = BufferSettings { group_pages: 1, ..BufferSettings::with_memory_bytes(8 << 20) };
    let filter = FlashFilter::create(&folder, &settings.layout(layout), buffer).expect("create");
    for first in (0..held).step_by(1 << 16) {
        let keys: Vec<_> = (first..held.min(first + (1 << 16))).map(|n| Operations::key(trace, n)).collect();
        filter.insert_many(&keys).expect("insert");
    }
    filter.flush().expect("flush");
    folder
}

/// Runs `work` on a copy of `folder` for the run's time, twice: once to fill the buffer, then measured.
fn measure(
    setup: &Setup,
    folder: &Path,
    buffer: BufferSettings,
    trace: Trace,
    held: u64,
    mut work: impl FnMut(&FlashFilter, &mut Operations) -> u64,
) -> Outcome {
    let copy = setup.fresh("mixes-copy");
    copy_folder(folder, &copy);
    let filter = FlashFilter::open(&copy, buffer).expect("open");
    let mut operations = Operations::new(trace, held, setup.seed);
    let mut run = |time: Duration| {
        let start = Instant::now();
        let mut done = 0;
        while start.elapsed() < time {
            match work(&filter, &mut operations) {
                0 => break,
                more => done += more,
            }
        }
        (done as f64, start.elapsed().as_secs_f64())
    };
    // A file is taken from its beginning to its end.
    let is_file = trace == Trace::DedupeReal;
    let (warm_up, time) =
        if is_file { (Duration::ZERO, Duration::MAX) } else { (setup.time / 2, setup.time) };
    run(warm_up);
    let before = filter.stats();
    let (done, seconds) = run(time);
    let after = filter.stats();
    Outcome {
        operations_per_second: done / seconds,
        reads: (after.lookup_page_reads - before.lookup_page_reads) as f64 / done,
        writes: (after.flush_page_writes - before.flush_page_writes) as f64 / done,
    }
}

fn one_at_a_time(setup: &Setup, folder: &Path, buffer: BufferSettings, trace: Trace, held: u64) -> Outcome {
    measure(setup, folder, buffer, trace, held, |filter, operations| {
        match operations.next() {
            None => return 0,
            Some(Operation::Lookup(key)) => {
                std::hint::black_box(filter.contains(key));
            }
            Some(Operation::Insert(key)) => filter.insert(key).expect("insert"),
            Some(Operation::LookupOrInsert(key)) => {
                if !filter.contains(key) {
                    filter.insert(key).expect("insert");
                }
            }
        }
        1
    })
}

fn in_batches(setup: &Setup, folder: &Path, buffer: BufferSettings, trace: Trace, held: u64) -> Outcome {
    measure(setup, folder, buffer, trace, held, |filter, operations| {
        let (mut asked, mut inserted, mut either) = (Vec::new(), Vec::new(), Vec::new());
        for operation in std::iter::from_fn(|| operations.next()).take(4096) {
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
        filter.insert_many(&inserted).expect("insert");
        done
    })
}
