//! Uncached lookups against what `fio` reaches on the same file, one at a time and at depth 32; and the measured false
//! positive rate against the flat formula.

use springbloom_flash::device::{FileStorage, IoEngine, Storage};
use springbloom_flash::fpr::{bloom_fpr, expected_fpr};
use springbloom_flash::{FlashFilter, Layout};

use crate::fio::random_reads_per_second;
use crate::setup::{Setup, median, rate};

/// Keys asked at a time.
const BATCH: u64 = 8192;

pub(crate) fn run(setup: &Setup) {
    let directory = setup.fresh("lookups");
    let filter = FlashFilter::create(&directory, &setup.settings(Layout::Hierarchical), setup.buffer())
        .expect("create");
    let keys = setup.capacity_keys() / 4;
    setup.fill(&filter, keys);
    let file = directory.join("filter-0000");
    let (mut single, mut batched, mut fio_single, mut fio_batched) = (vec![], vec![], vec![], vec![]);
    // A batch reads a page once for all its keys; against `fio`, pages are what counts.
    let mut reads_per_key = 1.0;
    let mut next = 0;
    let before = filter.stats();
    let mut wrong = 0u64;
    for _ in 0..setup.rounds {
        fio_single.extend(random_reads_per_second(&file, 1, setup.time));
        single.push(rate(setup.time, || {
            next += 1;
            wrong += u64::from(filter.contains(setup.key(1, next)));
            1
        }));
        fio_batched.extend(random_reads_per_second(&file, 32, setup.time));
        let (asked_before, read_before) = (next, filter.stats().lookup_page_reads);
        batched.push(rate(setup.time, || {
            let asked = setup.keys(1, next + 1..next + 1 + BATCH);
            next += BATCH;
            wrong += filter.contains_many(&asked).iter().filter(|found| **found).count() as u64;
            BATCH
        }));
        reads_per_key =
            (filter.stats().lookup_page_reads - read_before) as f64 / (next - asked_before) as f64;
    }
    let stats = filter.stats();
    let (lookups, reads) =
        (stats.lookups - before.lookups, stats.lookup_page_reads - before.lookup_page_reads);
    let geometry = filter.info().layers[0].header.geometry;
    drop(filter);
    let threads = with_threads(setup, &directory);
    println!(
        "| lookups of absent keys | keys/s | pages/s | fio pages/s | ratio of pages |\n|---|---|---|---|---|"
    );
    for (name, reads, ours, fio) in [
        ("one at a time", 1.0, single, fio_single),
        ("batches of 8,192, io_uring", reads_per_key, batched, fio_batched.clone()),
        ("batches of 8,192, threads", reads_per_key, threads, fio_batched),
    ] {
        let (ours, fio) = (median(ours), median(fio));
        println!("| {name} | {ours:.0} | {:.0} | {fio:.0} | {:.2} |", ours * reads, ours * reads / fio);
    }
    let (rate, expected) = (wrong as f64 / lookups as f64, expected_fpr(&geometry, keys));
    let flat = bloom_fpr(keys as f64, geometry.bits() as f64, geometry.probes);
    println!(
        "\n{lookups} lookups, {reads} page reads ({:.4} per lookup); false positive rate {rate:.3e}, analytic {expected:.3e}, \
         flat filter of the same bits {flat:.3e}: analytic ratio {:.4}",
        reads as f64 / lookups as f64,
        expected / flat
    );
}

/// The same batches through the thread pool, on the pages of the filter.
fn with_threads(setup: &Setup, directory: &std::path::Path) -> Vec<f64> {
    let storage = FileStorage::open(directory, false, IoEngine::Threads).expect("open");
    let storage: std::sync::Arc<dyn Storage> = std::sync::Arc::new(storage);
    let filter = FlashFilter::open_in(storage, setup.buffer()).expect("open");
    let mut next = 1 << 40;
    let mut rates = Vec::new();
    for _ in 0..setup.rounds {
        rates.push(rate(setup.time, || {
            next += BATCH;
            std::hint::black_box(filter.contains_many(&setup.keys(1, next..next + BATCH)));
            BATCH
        }));
    }
    rates
}
