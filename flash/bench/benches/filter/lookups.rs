//! Uncached lookups against what `fio` reaches on the same file, one at a time and at depth 32.

use std::path::Path;
use std::sync::Arc;

use springbloom_flash_filter::{FlashFilter, Layout};
use springbloom_page_device::{Access, FileStorage, IoEngine};

use crate::claims::{Claim, Wanted};
use crate::setup::{Setup, median, rate};
use springbloom_testkit::fio::random_reads_per_second;

/// Keys per batch.
const BATCH: u64 = 8192;

pub(crate) fn run(setup: &Setup) -> Vec<Claim> {
    let directory = setup.fresh("lookups");
    let mut filter = FlashFilter::create(&directory, &setup.settings(Layout::Hierarchical), setup.buffer())
        .expect("create");
    // The reads of a lookup do not depend on the fill of the pages.
    setup.fill(&mut filter, setup.capacity_keys() / 16);
    drop(filter);
    let file = directory.join("filter-0000");
    let (mut single, mut batched, mut threads, mut fio_single, mut fio_batched) =
        (vec![], vec![], vec![], vec![], vec![]);
    let mut next = 0;
    let mut reads_per_single = 0.0;
    for _ in 0..setup.rounds {
        fio_single.extend(random_reads_per_second(std::slice::from_ref(&file), 1, setup.time));
        let (rate, reads_per_key) = pages_per_second(setup, &directory, IoEngine::Auto, &mut next, 1);
        single.push(rate);
        reads_per_single = reads_per_key;
        fio_batched.extend(random_reads_per_second(std::slice::from_ref(&file), 32, setup.time));
        batched.push(pages_per_second(setup, &directory, IoEngine::Auto, &mut next, BATCH).0);
        threads.push(pages_per_second(setup, &directory, IoEngine::Threads, &mut next, BATCH).0);
    }
    println!("| lookups of absent keys | pages/s | fio pages/s | ratio |\n|---|---|---|---|");
    let mut ratios = Vec::new();
    for (name, ours, fio) in [
        ("one at a time", single, fio_single),
        ("batches of 8,192, io_uring", batched, fio_batched.clone()),
        ("batches of 8,192, threads", threads, fio_batched),
    ] {
        let (ours, fio) = (median(ours), median(fio));
        println!("| {name} | {ours:.0} | {fio:.0} | {:.2} |", ours / fio);
        ratios.push(ours / fio);
    }
    vec![
        Claim::new("pages read per uncached lookup", reads_per_single, Wanted::AtMost(1.0)),
        Claim::new("single lookups, times fio at depth 1", ratios[0], Wanted::AtLeast(0.9)),
        Claim::new("batched lookups, times fio at depth 32", ratios[1], Wanted::AtLeast(0.85)),
        Claim::new("the same with the thread pool", ratios[2], Wanted::Nothing),
    ]
}

/// Pages read per second by lookups of absent keys in batches of `batch`, and pages read per key. A batch reads a page once for all its
/// keys, so the comparison with `fio` counts pages.
fn pages_per_second(
    setup: &Setup,
    directory: &Path,
    engine: IoEngine,
    next: &mut u64,
    batch: u64,
) -> (f64, f64) {
    let storage = FileStorage::open(directory, Access::Write, engine).expect("open");
    let filter = FlashFilter::open_in(Arc::new(storage), setup.buffer()).expect("open");
    let before = filter.stats();
    let keys_per_second = rate(setup.time, || {
        let first = *next;
        *next += batch;
        if batch == 1 {
            std::hint::black_box(filter.contains(setup.key(1, first)));
        } else {
            std::hint::black_box(filter.contains_many(&setup.keys(1, first..*next)));
        }
        batch
    });
    let after = filter.stats();
    let reads_per_key =
        (after.lookup_page_reads - before.lookup_page_reads) as f64 / (after.lookups - before.lookups) as f64;
    (keys_per_second * reads_per_key, reads_per_key)
}
