//! Insertions that tell which keys are new.

mod common;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::watched::WatchedStorage;
use common::{key, keys, memory, small_buffer};
use rand::RngExt;
use springbloom_filter::KeyDigest;
use springbloom_flash_filter::{
    FilterSettings, FlashError, FlashFilter, FlushPolicy, Layout, Watch, WhenFull,
};
use springbloom_testkit::seed::rng;

const POLICY: FlushPolicy = FlushPolicy::DirtiestGroupFirst;

fn insert_new(filter: &FlashFilter, digests: &[KeyDigest]) -> Result<Vec<bool>, (FlashError, Vec<bool>)> {
    let mut new = Vec::new();
    match filter.insert_new(digests, &mut new, &mut Watch::none()) {
        Ok(()) => Ok(new),
        Err(error) => Err((error, new)),
    }
}

#[test]
fn new_is_what_a_set_had_not_seen() {
    let mut rng = rng("new_is_what_a_set_had_not_seen");
    for (layout, grows) in
        [(Layout::Hierarchical, false), (Layout::TwoChoices, false), (Layout::Hierarchical, true)]
    {
        let capacity = if grows { 1000 } else { 20_000 };
        let settings = FilterSettings::new(capacity, 1e-9).layout(layout).growing(grows);
        let filter = FlashFilter::create_in(memory(), &settings, small_buffer(POLICY)).unwrap();
        let mut known = HashSet::new();
        for _ in 0..60 {
            let digests: Vec<_> =
                (0..rng.random_range(0..900)).map(|_| key(1, rng.random_range(0..15_000))).collect();
            let expected: Vec<bool> = digests.iter().map(|digest| known.insert(*digest)).collect();
            assert_eq!(insert_new(&filter, &digests).unwrap(), expected, "{layout:?} {grows}");
            assert!(filter.contains_many(&digests).iter().all(|found| *found));
        }
        assert_eq!(filter.info().insertions, known.len() as u64, "what is known is not inserted again");
        assert!(!grows || filter.info().layers.len() > 2);
    }
}

#[test]
fn a_full_filter_tells_of_the_keys_that_it_took() {
    for layout in [Layout::Hierarchical, Layout::TwoChoices] {
        let settings = FilterSettings::new(5000, 0.001).layout(layout);
        let filter = FlashFilter::create_in(memory(), &settings, small_buffer(POLICY)).unwrap();
        filter.insert_many(&keys(1, 0..2500)).unwrap();
        filter.flush().unwrap();
        // Every other key is known.
        let offered: Vec<_> =
            (0..20_000).map(|n| if n % 2 == 0 { key(1, n / 2 % 2500) } else { key(2, n) }).collect();
        let (error, new) = insert_new(&filter, &offered).unwrap_err();
        let FlashError::Full { inserted, .. } = error else { panic!("{error}") };
        assert_eq!(new.len(), inserted);
        assert!((5000..5400).contains(&inserted), "{inserted}");
        assert!(filter.contains_many(&offered[..inserted]).iter().all(|found| *found));
        let told = new.iter().filter(|new| **new).count();
        assert!(told.abs_diff(inserted / 2) < 20, "{told} of {inserted}: few are taken for known");
        assert!(new.iter().step_by(2).all(|new| !new), "known");
        assert_eq!(
            insert_new(&filter, &offered[..inserted]).unwrap(),
            vec![false; inserted],
            "known fit always"
        );
        filter.set_when_full(WhenFull::Grow);
        assert!(insert_new(&filter, &offered[inserted..]).unwrap().iter().any(|new| *new));
    }
}

#[test]
fn one_of_the_threads_that_bring_a_key_finds_it_new() {
    for grows in [false, true] {
        let settings = FilterSettings::new(if grows { 500 } else { 10_000 }, 1e-9).growing(grows);
        let filter = FlashFilter::create_in(memory(), &settings, small_buffer(POLICY)).unwrap();
        let told: Vec<AtomicUsize> = (0..10_000).map(|_| AtomicUsize::new(0)).collect();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (filter, told) = (&filter, &told);
                scope.spawn(move || {
                    for first in (0..10_000).step_by(100) {
                        let first = if thread % 2 == 0 { first } else { 9900 - first };
                        let new = insert_new(filter, &keys(1, first..first + 100)).unwrap();
                        for (n, new) in (first..).zip(new) {
                            told[n as usize].fetch_add(usize::from(new), Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert!(told.iter().all(|told| told.load(Ordering::Relaxed) == 1), "{grows}");
    }
}

#[test]
fn a_key_whose_page_cannot_be_read_counts_as_known_and_is_inserted() {
    let storage = Arc::new(WatchedStorage::new(memory()));
    let filter =
        FlashFilter::create_in(storage.clone(), &FilterSettings::new(5000, 1e-9), small_buffer(POLICY))
            .unwrap();
    let digests = keys(1, 0..100);
    storage.fail_reads();
    assert_eq!(insert_new(&filter, &digests).unwrap(), vec![false; 100]);
    assert_eq!(filter.info().insertions, 100);
}
