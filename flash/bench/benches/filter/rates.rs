//! False positive rates of a full filter, hierarchical against flat: measured on keys that were never inserted. In memory, since
//! rates do not depend on the device.

use std::sync::Arc;

use springbloom_flash_filter::fpr::{expected_fpr, fpr_at_load};
use springbloom_flash_filter::{BufferSettings, FilterSettings, FlashFilter};
use springbloom_flash_testkit::{SimPower, SimStorage};
use springbloom_records::Unit;

use crate::claims::{Claim, Wanted};
use crate::flat::FlatFilter;
use crate::measured::Measured;
use crate::setup::{BITS_PER_KEY, PROBES, Setup};

const KEYS: u64 = 1 << 20;
const ASKED: u64 = 1 << 23;
const BATCH: u64 = 1 << 16;

pub(crate) fn run(setup: &Setup) -> Vec<Claim> {
    let buffer = BufferSettings::with_memory_bytes(4 << 20);
    let storage = || Arc::new(SimStorage::new(SimPower::steady()));
    let settings = FilterSettings::with_bits_per_key(KEYS, BITS_PER_KEY, PROBES).logged(false);
    let mut ours = FlashFilter::create_in(storage(), &settings, buffer).expect("create");
    let geometry = ours.info().layers[0].header.geometry;
    let mut flat = FlatFilter::create(&*storage(), geometry.bits(), &buffer);
    let expected = expected_fpr(&geometry, KEYS);
    let expected_flat = fpr_at_load(KEYS as f64, geometry.bits() as f64, PROBES);
    setup.figures.note("page_balance", &[], balance(setup, geometry.page_count), Unit::Ratio);
    println!("| filter | wrong | of | rate | standard error | analytic |\n|---|---|---|---|---|---|");
    let flat = measure(setup, "Flat", &mut flat, expected_flat);
    let ours = measure(setup, "Hierarchical", &mut ours, expected);
    vec![
        Claim::new(
            "false positive rate, times the flat filter's: analytic",
            expected / expected_flat,
            Wanted::AtMost(1.02),
        ),
        Claim::new(
            "false positive rate, times the flat filter's: measured",
            ours / flat,
            Wanted::AtMost(1.02),
        ),
    ]
}

/// Keys of the fullest page, divided by those of the emptiest.
fn balance(setup: &Setup, pages: u32) -> f64 {
    let mut keys = vec![0u64; pages as usize];
    // As docs/filter-format.md has it.
    (0..KEYS).for_each(|n| keys[((u128::from(setup.key(0, n).lo) * u128::from(pages)) >> 64) as usize] += 1);
    let (most, least) = (keys.iter().max().copied().unwrap_or(0), keys.iter().min().copied().unwrap_or(0));
    println!("{pages} pages have {least} to {most} keys\n");
    most as f64 / least as f64
}

/// The measured rate.
fn measure(setup: &Setup, name: &str, filter: &mut impl Measured, expected: f64) -> f64 {
    setup.fill(filter, KEYS);
    let wrong = (0..ASKED)
        .step_by(BATCH as usize)
        .flat_map(|first| filter.contains_many(&setup.keys(1, first..first + BATCH)))
        .filter(|found| *found)
        .count() as f64;
    let rate = wrong / ASKED as f64;
    setup.figures.note("false_positive_rate", &[("filter", name)], rate, Unit::Ratio);
    println!(
        "| {name} | {wrong} | {ASKED} | {rate:.5} | {:.5} | {expected:.5} |",
        (rate * (1.0 - rate) / ASKED as f64).sqrt()
    );
    rate
}
