//! False positive rates of a full filter, hierarchical against flat: measured on keys that were never inserted. In memory, since
//! rates do not depend on the device.

use std::sync::Arc;

use springbloom_flash_filter::fpr::{bloom_fpr, expected_fpr};
use springbloom_flash_filter::{BufferSettings, FilterSettings, FlashFilter, Layout};
use springbloom_page_device::{SimPower, SimStorage};

use crate::claims::{Claim, Wanted};
use crate::setup::{BITS_PER_KEY, PROBES, Setup};

const KEYS: u64 = 1 << 20;
const ASKED: u64 = 1 << 23;
const BATCH: u64 = 1 << 16;

pub(crate) fn run(setup: &Setup) -> Vec<Claim> {
    println!("| layout | wrong | of | rate | standard error | analytic |\n|---|---|---|---|---|---|");
    let [(flat, _), (ours, analytic)] =
        [Layout::Flat, Layout::Hierarchical].map(|layout| measure(setup, layout));
    vec![
        Claim::new("false positive rate, times the flat filter's: analytic", analytic, Wanted::AtMost(1.02)),
        Claim::new(
            "false positive rate, times the flat filter's: measured",
            ours / flat,
            Wanted::AtMost(1.02),
        ),
    ]
}

/// The measured rate, and the analytic one over that of a flat filter of the same bits.
fn measure(setup: &Setup, layout: Layout) -> (f64, f64) {
    let storage = Arc::new(SimStorage::new(SimPower::steady()));
    let settings = FilterSettings::with_bits_per_key(KEYS, BITS_PER_KEY, PROBES).layout(layout).logged(false);
    let filter = FlashFilter::create_in(storage, &settings, BufferSettings::with_memory_bytes(4 << 20))
        .expect("create");
    setup.fill(&filter, KEYS);
    let geometry = filter.info().layers[0].header.geometry;
    let wrong = (0..ASKED)
        .step_by(BATCH as usize)
        .flat_map(|first| filter.contains_many(&setup.keys(1, first..first + BATCH)))
        .filter(|found| *found)
        .count() as f64;
    let (rate, expected) = (wrong / ASKED as f64, expected_fpr(&geometry, KEYS));
    println!(
        "| {layout:?} | {wrong} | {ASKED} | {rate:.5} | {:.5} | {expected:.5} |",
        (rate * (1.0 - rate) / ASKED as f64).sqrt()
    );
    (rate, expected / bloom_fpr(KEYS as f64, geometry.bits() as f64, PROBES))
}
