//! Union of filters: counts, rates, locks, interruptions.
//!
//! `SPRINGBLOOM_KILLS` sets how many merging processes are killed (default 20).

mod common;

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::watched::WatchedStorage;
use common::{keys, memory, small_buffer};
use rand::RngExt;
use springbloom_filter::KeyDigest;
use springbloom_flash_filter::{
    BufferSettings, FilterSettings, FlashError, FlashFilter, FlushPolicy, Layout, Watch, WhenFull,
};
use springbloom_flash_testkit::{PowerLoss, SimPower, SimStorage, ending_after};
use springbloom_page_device::Storage;
use springbloom_testkit::kill::{self, acknowledge, kill_child, kills};
use springbloom_testkit::{binomial, seed};

const POLICY: FlushPolicy = FlushPolicy::DirtiestGroupFirst;

/// A filter in memory with keys `range` of family 1.
fn filter_of(settings: &FilterSettings, range: Range<u64>) -> FlashFilter {
    let filter = FlashFilter::create_in(memory(), settings, small_buffer(POLICY)).unwrap();
    filter.insert_many(&keys(1, range)).unwrap();
    filter
}

fn assert_all(filter: &FlashFilter, range: Range<u64>, what: &str) {
    let lost = filter.contains_many(&keys(1, range)).iter().filter(|found| !**found).count();
    assert_eq!(lost, 0, "{what}: keys lost");
}

/// Distinct keys as the filter tells them.
fn told(filter: &FlashFilter) -> f64 {
    let info = filter.info();
    let estimated: f64 = info.layers.iter().map(|layer| layer.estimated_keys).sum();
    estimated.min(info.insertions as f64)
}

/// What is told of keys and rate is not below what the pages say, which `verify` reads whole. Estimates are good to a percent.
fn assert_told(filter: &FlashFilter, keys: f64, what: &str) {
    let report = filter.verify(&mut Watch::none()).unwrap();
    assert!(report.is_sound(), "{what}: {report:?}");
    let absent: f64 = report.layers.iter().map(|layer| 1.0 - layer.fpr).product();
    let (rate, keys_told) = (filter.estimated_fpr(), told(filter));
    assert!(
        rate >= (1.0 - absent) * 0.97 - 1e-9,
        "{what}: told a rate of {rate}, pages have {}",
        1.0 - absent
    );
    assert!(keys_told >= keys * 0.98 - 1.0, "{what}: told {keys_told} keys, has {keys}");
}

#[test]
fn a_union_of_more_keys_than_the_capacity_is_refused_before_anything_is_written() {
    let settings = FilterSettings::new(20_000, 0.01);
    let buffer = small_buffer(FlushPolicy::DirtiestGroupFirst);
    let of = |range| {
        let filter = FlashFilter::create_in(memory(), &settings, buffer).unwrap();
        filter.insert_many(&keys(1, range)).unwrap();
        filter
    };
    let (ours, same, other) = (of(0..15_000), of(2000..17_000), of(15_000..30_000));
    ours.merge_from(&same, &mut Watch::none()).unwrap();
    let refused = ours.merge_from(&other, &mut Watch::none()).unwrap_err();
    let FlashError::Full { keys: told, .. } = refused else { panic!("{refused}") };
    assert!((29_000..31_000).contains(&told), "{told}");
    assert!(ours.room_for(100_000).unwrap() <= 4000, "the keys of both count");
    ours.set_when_full(WhenFull::Exceed);
    ours.merge_from(&other, &mut Watch::none()).unwrap();
    assert!(ours.contains_many(&keys(1, 0..30_000)).iter().all(|found| *found) && ours.is_full());
}

#[test]
fn a_union_has_the_keys_of_both() {
    let settings = FilterSettings::new(20_000, 0.01);
    let buffer = small_buffer(FlushPolicy::DirtiestGroupFirst);
    let (ours, theirs) = (memory(), memory());
    let a = FlashFilter::create_in(ours.clone(), &settings, buffer).unwrap();
    let b = FlashFilter::create_in(theirs, &settings, buffer).unwrap();
    a.insert_many(&keys(1, 0..8000)).unwrap();
    b.insert_many(&keys(1, 6000..16_000)).unwrap();
    a.merge_from(&b, &mut Watch::none()).unwrap();
    let into_itself = a.merge_from(&a, &mut Watch::none());
    assert!(matches!(into_itself, Err(FlashError::InvalidSetting { .. })), "{into_itself:?}");
    assert!(a.contains_many(&keys(1, 0..16_000)).iter().all(|found| *found));
    let distinct = a.info().layers[0].estimated_keys;
    assert!((distinct / 16_000.0 - 1.0).abs() < 0.02, "{distinct}");
    drop(a);
    let a = FlashFilter::open_in(ours, buffer).unwrap();
    assert!(a.contains_many(&keys(1, 0..16_000)).iter().all(|found| *found), "durable");
    assert!(a.verify(&mut Watch::none()).unwrap().is_sound());
}

#[test]
fn filters_of_other_shapes_and_grown_ones_are_copied_and_the_rates_add_up() {
    let buffer = small_buffer(POLICY);
    let storage = memory();
    let ours = FlashFilter::create_in(storage.clone(), &FilterSettings::new(20_000, 0.01), buffer).unwrap();
    ours.insert_many(&keys(1, 0..8000)).unwrap();
    let grown = filter_of(&FilterSettings::new(2000, 0.001).growing(true), 8000..18_000);
    assert!(grown.info().layers.len() >= 3);
    let uneven = FilterSettings::new(9000, 0.002).layout(Layout::TwoChoices).page_bytes(8192);
    let uneven = filter_of(&uneven, 18_000..24_000);
    let progress = AtomicU64::new(0);
    ours.merge_from(
        &grown,
        &mut Watch::new(|done, total| {
            assert!(done > progress.swap(done, Ordering::Relaxed) && done <= total);
            ControlFlow::Continue(())
        }),
    )
    .unwrap();
    ours.merge_from(&uneven, &mut Watch::none()).unwrap();
    assert_eq!(ours.info().layers.len(), grown.info().layers.len() + 2);
    assert_told(&ours, 24_000.0, "merged");
    // It has room as before: for 12,000 of its 20,000 keys.
    assert!(!ours.is_full());
    ours.insert_many(&keys(1, 24_000..36_000)).unwrap();
    assert!(matches!(ours.insert_many(&keys(1, 36_000..40_000)), Err(FlashError::Full { .. })));
    ours.close().unwrap();
    let ours = FlashFilter::open_in(storage.clone(), buffer).unwrap();
    assert_all(&ours, 0..36_000, "reopened");
    assert_told(&ours, 36_000.0, "reopened");
    let salvaged = memory();
    FlashFilter::salvage_in(&*storage, salvaged.clone(), buffer).unwrap();
    let salvaged = FlashFilter::open_in(salvaged, buffer).unwrap();
    assert_all(&salvaged, 0..36_000, "salvaged");
    assert_told(&salvaged, 36_000.0, "salvaged");
    let wrong = ours.contains_many(&keys(2, 0..50_000)).iter().filter(|found| **found).count();
    binomial::assert_rate_at_most(wrong as u64, 50_000, 0.015, "one and a half times the rate asked for");
    // It grows by its own sizes, whatever was merged.
    ours.set_when_full(WhenFull::Grow);
    ours.insert_many(&keys(1, 36_000..42_000)).unwrap();
    let newest = *ours.info().layers.last().unwrap();
    assert_eq!(newest.header.capacity_keys, 40_000);
    assert_all(&ours, 0..42_000, "grown");
}

#[test]
fn small_filters_of_one_shape_are_united_in_one_copy_until_it_is_full() {
    let storage = memory();
    let ours =
        FlashFilter::create_in(storage.clone(), &FilterSettings::new(20_000, 0.01), small_buffer(POLICY))
            .unwrap();
    let small = FilterSettings::new(3000, 0.001);
    for day in 0..7 {
        ours.merge_from(&filter_of(&small, day * 900..(day + 1) * 900), &mut Watch::none()).unwrap();
        ours.insert_many(&keys(1, 10_000 + day * 1000..11_000 + day * 1000)).unwrap();
    }
    // Three find room in a copy.
    assert_eq!(ours.info().layers.len(), 4);
    ours.close().unwrap();
    let ours = FlashFilter::open_in(storage, small_buffer(POLICY)).unwrap();
    assert_all(&ours, 0..6300, "merged");
    assert_all(&ours, 10_000..17_000, "inserted meanwhile");
    assert_told(&ours, 13_300.0, "merged");
}

#[test]
fn a_union_that_would_raise_the_rate_is_refused_before_anything_is_written_unless_it_may() {
    let ours = filter_of(&FilterSettings::new(10_000, 0.01), 0..9500);
    let other = filter_of(&FilterSettings::new(20_000, 0.01), 9500..29_000);
    let refused = ours.merge_from(&other, &mut Watch::none()).unwrap_err();
    let FlashError::RateTooHigh { got, expected, .. } = refused else { panic!("{refused}") };
    assert!(expected == 0.01 && (0.015..0.021).contains(&got), "{got}");
    assert!(ours.info().layers.len() == 1 && told(&ours) < 9600.0, "{:?}", ours.info());
    ours.set_when_full(WhenFull::Exceed);
    ours.merge_from(&other, &mut Watch::none()).unwrap();
    assert_all(&ours, 0..29_000, "merged");
    assert_told(&ours, 29_000.0, "merged");
    // A chain that may grow takes a filter of its own shape as well, where their union would be too full.
    let settings = FilterSettings::new(10_000, 0.01).growing(true);
    let (ours, other) = (filter_of(&settings, 0..7000), filter_of(&settings, 7000..14_000));
    ours.merge_from(&other, &mut Watch::none()).unwrap();
    assert_eq!(ours.info().layers.len(), 2);
    assert_told(&ours, 14_000.0, "two of the same shape");
}

#[test]
fn a_filter_that_its_writer_did_not_close_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let (settings, buffer) = (FilterSettings::new(1000, 0.01), small_buffer(POLICY));
    let left = FlashFilter::create(folder.path(), &settings, buffer).unwrap();
    left.insert_many(&keys(1, 0..100)).unwrap();
    left.commit().unwrap();
    drop(left);
    let left = FlashFilter::open_read_only(folder.path(), buffer).unwrap();
    let refused = filter_of(&settings, 0..1).merge_from(&left, &mut Watch::none()).unwrap_err();
    assert!(refused.to_string().contains("open it for writing once"), "{refused}");
}

#[test]
fn merges_and_insertions_of_many_threads_lose_nothing_and_wait_for_no_other() {
    const EACH: u64 = 10_000;
    let settings = FilterSettings::new(8 * EACH, 0.001);
    let filters: Vec<FlashFilter> = (0..4).map(|n| filter_of(&settings, n * EACH..(n + 1) * EACH)).collect();
    std::thread::scope(|scope| {
        for n in 0..4u64 {
            let filters = &filters;
            // Round and round: each is merged from and into at the same time, and takes keys.
            scope.spawn(move || {
                for other in [1, 3, 2] {
                    let other = &filters[(n as usize + other) % 4];
                    filters[n as usize].merge_from(other, &mut Watch::none()).unwrap();
                    filters[n as usize].insert_many(&keys(1, (4 + n) * EACH..(5 + n) * EACH)).unwrap();
                    filters[n as usize].commit().unwrap();
                }
            });
        }
    });
    for (n, filter) in (0..).zip(&filters) {
        assert_all(filter, 0..4 * EACH, "of all");
        assert_all(filter, (4 + n) * EACH..(5 + n) * EACH, "its own");
        let there = filter.contains_many(&keys(1, 0..8 * EACH)).iter().filter(|found| **found).count();
        assert_told(filter, there as f64 * 0.998, &format!("filter {n}"));
    }
}

#[test]
fn of_merges_at_the_same_time_only_those_that_find_room_are_made() {
    let settings = FilterSettings::new(25_000, 0.01);
    let ours = filter_of(&settings, 0..0);
    let others: Vec<FlashFilter> =
        (0..4).map(|n| filter_of(&settings, n * 10_000..(n + 1) * 10_000)).collect();
    let merged = std::thread::scope(|scope| {
        let (ours, others) = (&ours, &others);
        let merge = |n: usize| scope.spawn(move || ours.merge_from(&others[n], &mut Watch::none()));
        let threads: Vec<_> = (0..4).map(merge).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).filter(Result::is_ok).count()
    });
    assert_eq!(merged, 2, "two and a half find room");
    assert!(told(&ours) < 21_000.0 && !ours.is_full());
    assert_told(&ours, 20_000.0, "two of four");
}

#[test]
fn a_merge_from_a_filter_that_is_being_written_takes_whole_pages() {
    let settings = FilterSettings::new(100_000, 0.001);
    let ours = filter_of(&settings, 0..0);
    let storage = WatchedStorage::new(memory());
    storage.tear_writes();
    let live = FlashFilter::create_in(Arc::new(storage), &settings, small_buffer(POLICY)).unwrap();
    let inserted = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for first in (0..50_000).step_by(500) {
                live.insert_many(&keys(1, first..first + 500)).unwrap();
                inserted.store(first + 500, Ordering::Release);
            }
        });
        while !writer.is_finished() {
            let before = inserted.load(Ordering::Acquire);
            ours.merge_from(&live, &mut Watch::none()).unwrap();
            assert_all(&ours, 0..before, "inserted before the merge");
        }
    });
    ours.merge_from(&live, &mut Watch::none()).unwrap();
    assert_all(&ours, 0..50_000, "all");
    assert_told(&ours, 50_000.0, "merged from a live one");
    let report = ours.verify(&mut Watch::none()).unwrap();
    assert_eq!(report.layers[0].saturated_sectors, 0, "a sector that was read while it was written is lost");
}

/// Every operation of a merge may be the last.
#[test]
fn a_merge_that_is_stopped_loses_no_key_leaves_no_file_and_is_completed_by_another() {
    const EACH: u64 = 5000;
    let settings = FilterSettings::with_bits_per_key(EACH * 3, 1300.0 / 3.0, 6).page_bytes(2048);
    let other = FilterSettings::new(1500, 0.001).growing(true);
    for (what, settings_of_other) in [("united", settings), ("copied", other)] {
        let mut is_over = false;
        let mut steps = 0;
        while !is_over {
            let what = format!("{what}, {steps} steps");
            let storage = memory();
            let ours = FlashFilter::create_in(storage.clone(), &settings, small_buffer(POLICY)).unwrap();
            ours.insert_many(&keys(1, 0..EACH)).unwrap();
            ours.set_when_full(WhenFull::Exceed);
            let other = filter_of(&settings_of_other, EACH..2 * EACH);
            let names = storage.names().unwrap();
            match ours.merge_from(&other, &mut ending_after(steps)) {
                Ok(()) => is_over = true,
                Err(error) => assert!(matches!(error, FlashError::Stopped), "{what}: {error}"),
            }
            assert!(is_over || storage.names().unwrap() == names, "{what}");
            assert_all(&ours, 0..EACH, &what);
            assert_all(&other, EACH..2 * EACH, &what);
            let there = ours.contains_many(&keys(1, EACH..2 * EACH)).iter().filter(|found| **found).count();
            assert_told(&ours, (EACH as f64 + there as f64) * 0.998, &what);
            // Both go on.
            ours.insert_many(&keys(2, 0..1000)).unwrap();
            ours.commit().unwrap();
            other.insert_many(&keys(2, 1000..1100)).unwrap();
            drop(ours);
            let ours = FlashFilter::open_in(storage, small_buffer(POLICY)).unwrap();
            ours.set_when_full(WhenFull::Exceed);
            ours.merge_from(&other, &mut Watch::none()).unwrap();
            assert_all(&ours, 0..2 * EACH, &what);
            assert!(ours.contains_many(&keys(2, 0..1100)).iter().all(|found| *found), "{what}");
            steps += 1;
        }
        assert!(steps > 4, "{what}: {steps}");
    }
}

/// Some 600 pages: three batches.
fn three_batches() -> FilterSettings {
    FilterSettings::with_bits_per_key(3 * LOST_EACH, 1300.0 / 3.0, 6).page_bytes(2048)
}

/// Keys of each of two filters, one of which is merged into the other while power is lost.
const LOST_EACH: u64 = 5000;

#[test]
fn a_power_loss_during_a_union_loses_no_key_and_tells_no_count_too_low() {
    power_losses("united", &three_batches(), None);
}

#[test]
fn a_power_loss_while_a_chain_is_copied_loses_no_key_and_tells_no_count_too_low() {
    power_losses("copied", &FilterSettings::new(1500, 0.001).growing(true), None);
}

#[test]
fn a_power_loss_during_a_union_with_a_copy_loses_no_key_and_tells_no_count_too_low() {
    let small = FilterSettings::new(2 * LOST_EACH, 0.001);
    power_losses("united with a copy", &small, Some(&filter_of(&small, 0..100)));
}

/// Loses power at every operation of a merge from a filter of these settings, which may come after one from a `first`.
fn power_losses(what: &str, other: &FilterSettings, first: Option<&FlashFilter>) {
    const EACH: u64 = LOST_EACH;
    let mut rng = seed::rng(what);
    let settings = three_batches();
    let other = filter_of(other, EACH..2 * EACH);
    let known = keys(1, 0..2 * EACH);
    // More than any of the chains has room for.
    let more = keys(2, 0..12_000);
    let found = |filter: &FlashFilter, keys: &[KeyDigest]| {
        filter.contains_many(keys).into_iter().filter(|found| *found).count()
    };
    let merged = |cut: Option<u64>| {
        let power = SimPower::steady();
        let storage = Arc::new(SimStorage::new(power.clone()));
        let ours = FlashFilter::create_in(storage.clone(), &settings, small_buffer(POLICY)).unwrap();
        ours.insert_many(&known[..EACH as usize]).unwrap();
        ours.commit().unwrap();
        ours.set_when_full(WhenFull::Exceed);
        if let Some(first) = first {
            ours.merge_from(first, &mut Watch::none()).unwrap();
        }
        let before = power.operations();
        if let Some(operations) = cut {
            power.cut_after(operations);
        }
        let is_merged = ours.merge_from(&other, &mut Watch::none()).is_ok();
        (storage, is_merged, power.operations() - before)
    };
    let operations = merged(None).2;
    assert!(operations > 8, "{what}: {operations}");
    for cut in 0..operations {
        let (storage, is_merged, _) = merged(Some(cut));
        for loss in [PowerLoss::KILLED, PowerLoss::WHOLE_SECTORS, PowerLoss::ALL_LOST] {
            let what = format!("{what}, cut after {cut} of {operations}, {loss:?}");
            let survived = Arc::new(storage.after_power_loss(loss, rng.random()));
            let ours = FlashFilter::open_in(survived.clone(), small_buffer(POLICY)).unwrap();
            assert_eq!(found(&ours, &known[..EACH as usize]), EACH as usize, "{what}");
            let there = found(&ours, &known[EACH as usize..]);
            assert!(!is_merged || there as u64 == EACH, "{what}");
            assert_told(&ours, (EACH as f64 + there as f64) * 0.998, &what);
            // It is merged again, in place of what is left.
            ours.set_when_full(WhenFull::Exceed);
            ours.merge_from(&other, &mut Watch::none()).unwrap();
            assert_eq!(found(&ours, &known), known.len(), "{what}");
            // It grows, past the layers that are left.
            ours.set_when_full(WhenFull::Grow);
            let layers = ours.info().layers.len();
            ours.insert_many(&more).unwrap();
            assert!(ours.info().layers.len() > layers, "{what}: {layers} layers");
            ours.close().unwrap();
            let ours = FlashFilter::open_in(survived, small_buffer(POLICY)).unwrap();
            assert_eq!(found(&ours, &known), known.len(), "{what}");
        }
    }
}

#[test]
fn a_file_that_nobody_made_is_not_replaced_by_a_copy() {
    let storage = memory();
    let ours =
        FlashFilter::create_in(storage.clone(), &FilterSettings::new(1000, 0.01), small_buffer(POLICY))
            .unwrap();
    storage.create("filter-0001", 12_288).unwrap().write_at(0, &[7; 4096]).unwrap();
    let other = filter_of(&FilterSettings::new(500, 0.001), 0..10);
    let refused = ours.merge_from(&other, &mut Watch::none()).unwrap_err();
    assert!(refused.to_string().contains("filter-0001, which this set did not make"), "{refused}");
    ours.insert_many(&keys(1, 0..10)).unwrap();
    ours.close().unwrap();
}

/// The name of the test below, for the child's command line.
const TEST: &str = "nothing_is_lost_and_no_count_is_too_low_when_the_process_is_killed_while_it_merges";
/// Keys of each filter that the child merges.
const EACH: u64 = 20_000;

fn buffer() -> BufferSettings {
    BufferSettings::with_memory_bytes(1 << 20)
}

/// Merges one filter after the other, printing how many are in.
fn child(folder: &Path, first: u64) {
    let filter = FlashFilter::open(&folder.join("ours"), buffer()).unwrap();
    for n in first.. {
        let other = FlashFilter::open_read_only(&folder.join(format!("{}", n % 8)), buffer()).unwrap();
        filter.merge_from(&other, &mut Watch::none()).unwrap();
        acknowledge(n + 1);
    }
}

#[test]
fn nothing_is_lost_and_no_count_is_too_low_when_the_process_is_killed_while_it_merges() {
    if let Some((folder, first)) = kill::child() {
        return child(&folder, first);
    }
    let mut rng = seed::rng(TEST);
    let folder = tempfile::tempdir().unwrap();
    // Ten batches of pages.
    let settings = FilterSettings::new(1_000_000, 0.0001);
    for n in 0..8u64 {
        let other = FlashFilter::create(&folder.path().join(format!("{n}")), &settings, buffer()).unwrap();
        other.insert_many(&keys(1, n * EACH..(n + 1) * EACH)).unwrap();
        other.close().unwrap();
    }
    let ours = folder.path().join("ours");
    let mut merged = 0;
    for kill in 0..kills() {
        if kill % 4 == 0 {
            merged = 0;
            let _ = std::fs::remove_dir_all(&ours);
            drop(FlashFilter::create(&ours, &settings, buffer()).unwrap());
        }
        let life = Duration::from_millis(rng.random_range(5..80));
        merged = kill_child(TEST, folder.path(), merged, life).unwrap_or(merged);
        let filter = FlashFilter::open(&ours, buffer()).unwrap();
        let what = format!("kill {kill}, {merged} merged");
        assert_all(&filter, 0..merged.min(8) * EACH, &what);
        let there = filter.contains_many(&keys(1, 0..8 * EACH)).iter().filter(|found| **found).count();
        assert_told(&filter, there as f64 * 0.999, &what);
    }
}
