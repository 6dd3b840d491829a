//! Memory of an open filter: the growth of the process while its buffer is full and lookups run in batches.

use springbloom_flash_filter::{FlashFilter, Layout};

use springbloom_records::Unit;

use crate::claims::{Claim, Wanted};
use crate::setup::Setup;

pub(crate) fn run(setup: &Setup) -> Vec<Claim> {
    let directory = setup.fresh("memory");
    let settings = setup.settings(Layout::Hierarchical);
    drop(FlashFilter::create(&directory, &settings, setup.buffer()).expect("create"));
    // Allocates the memory of the measurement itself.
    let warm_up = setup.keys(0, 0..8192);
    drop(warm_up);
    let before = resident_bytes();
    let filter = FlashFilter::open(&directory, setup.buffer()).expect("open");
    let keys = setup.memory_bytes() / 8 * 2;
    let mut peak = 0;
    for first in (0..keys).step_by(4096) {
        filter.insert_many(&setup.keys(0, first..first + 4096)).expect("insert");
        if first % (1 << 18) == 0 {
            std::hint::black_box(filter.contains_many(&setup.keys(1, first..first + 4096)));
            peak = peak.max(resident_bytes());
        }
    }
    let grown = peak.saturating_sub(before) as f64;
    let capacity = setup.capacity_keys() as f64;
    println!(
        "{capacity:.0} keys of capacity, file {:.1} MB: process grew by {:.2} MB at most = {:.2} bits per key (budget {:.2} MB, \
         accounted for {:.2} MB); file is {:.1} times that",
        setup.filter_bytes as f64 / 1e6,
        grown / 1e6,
        grown * 8.0 / capacity,
        setup.memory_bytes() as f64 / 1e6,
        filter.info().memory_bytes as f64 / 1e6,
        setup.filter_bytes as f64 / grown
    );
    setup.figures.note("memory_bits_per_key", &[], grown * 8.0 / capacity, Unit::BitsPerKey);
    vec![
        Claim::new("memory, bits per key, all in", grown * 8.0 / capacity, Wanted::AtMost(2.0)),
        Claim::new(
            "memory of the process, times its budget",
            grown / setup.memory_bytes() as f64,
            Wanted::AtMost(1.0),
        ),
        Claim::new("filter, times the memory", setup.filter_bytes as f64 / grown, Wanted::AtLeast(4.0)),
    ]
}

/// Memory of this process alone, without the program's code, which is mapped from its file.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib << 10)
}
