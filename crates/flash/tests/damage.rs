//! Damaged, foreign and unfinished files: clear errors, or "may match".

mod common;

use common::watched::WatchedStorage;
use common::{key, keys, memory, small_buffer};
use rand::RngExt;
use springbloom_flash::device::{BlockSizes, PowerLoss, SimPower, SimStorage};
use springbloom_flash::{
    BufferSettings, FilterSettings, FlashError, FlashFilter, FlushPolicy, HEADER_BYTES, Layout,
};

fn buffer() -> BufferSettings {
    small_buffer(FlushPolicy::DirtiestGroupFirst)
}

#[test]
fn a_damaged_page_answers_may_match_and_verify_reports_it() {
    for layout in [Layout::Hierarchical, Layout::TwoChoices, Layout::Flat] {
        let storage = memory();
        let filter = FlashFilter::create_in(
            storage.clone(),
            &FilterSettings::new(10_000, 0.01).layout(layout),
            buffer(),
        )
        .unwrap();
        filter.insert_many(&keys(1, 0..10_000)).unwrap();
        filter.flush().unwrap();
        assert!(filter.verify(&mut |_, _| ()).is_sound());
        let estimated = filter.estimated_fpr();
        // Half of page 1 reads as zeros: without checksums, half of its keys would be gone.
        storage.damage("filter-0000", HEADER_BYTES + 4096, |bytes| bytes[..2048].fill(0));
        assert!(filter.contains_many(&keys(1, 0..10_000)).iter().all(|found| *found));
        assert!(keys(1, 0..2000).into_iter().all(|digest| filter.contains(digest)));
        assert!(filter.stats().damaged_answers > 0);
        let report = filter.verify(&mut |_, _| ());
        assert!(!report.is_sound());
        assert_eq!((report.layers[0].damaged_sectors, &report.layers[0].faulty_pages[..]), (4, &[1][..]));
        assert!(report.layers[0].fpr > estimated, "{layout:?}: damage costs accuracy");
        // Writing to the page makes its sectors readable again; that they were lost stays known.
        filter.insert_many(&keys(2, 0..2000)).unwrap();
        filter.flush().unwrap();
        let report = filter.verify(&mut |_, _| ());
        assert_eq!((report.layers[0].damaged_sectors, report.layers[0].saturated_sectors), (0, 4));
        assert!(filter.contains_many(&keys(1, 0..10_000)).iter().all(|found| *found));
    }
}

#[test]
fn foreign_newer_damaged_and_short_files_have_clear_errors() {
    let fresh = || {
        let storage = memory();
        let filter =
            FlashFilter::create_in(storage.clone(), &FilterSettings::new(1000, 0.01), buffer()).unwrap();
        filter.insert_many(&keys(1, 0..10)).unwrap();
        filter.commit().unwrap();
        storage
    };
    let open = |storage| FlashFilter::open_in(storage, buffer()).map(|_| ()).unwrap_err();
    let storage = fresh();
    storage.damage("filter-0000", 0, |bytes| bytes[..8].copy_from_slice(b"SQLite f"));
    assert!(matches!(open(storage), FlashError::Foreign { .. }));
    let storage = fresh();
    storage.damage("filter-0000", 8, |bytes| bytes[0] = 2);
    assert!(matches!(open(storage), FlashError::NewerVersion { got: 2, expected: 1, .. }));
    let storage = fresh();
    storage.damage("filter-0000", 20, |bytes| bytes[0] ^= 1);
    assert!(matches!(open(storage), FlashError::Damaged { .. }));
    let storage = fresh();
    storage.damage("log-a", 100, |bytes| bytes[0] ^= 1);
    let error = open(storage);
    assert!(matches!(error, FlashError::Damaged { part: "the log", .. }), "{error}");
    assert!(matches!(open(memory()), FlashError::Io { .. }), "nothing there at all");
}

#[test]
fn create_does_not_overwrite_but_takes_over_what_was_never_finished() {
    let storage = memory();
    let settings = FilterSettings::new(1000, 0.01);
    drop(FlashFilter::create_in(storage.clone(), &settings, buffer()).unwrap());
    let again = FlashFilter::create_in(storage.clone(), &settings, buffer());
    assert!(matches!(again, Err(FlashError::AlreadyExists { .. })));
    // A file of another kind, and a set that lost its end: not ours to overwrite.
    storage.damage("filter-0000", 0, |bytes| bytes[..8].copy_from_slice(b"SQLite f"));
    let foreign = FlashFilter::create_in(storage.clone(), &settings, buffer());
    assert!(matches!(foreign, Err(FlashError::AlreadyExists { .. })));
    storage.damage("filter-0000", 0, |bytes| bytes[..HEADER_BYTES].fill(0));
    let taken_over = FlashFilter::create_in(storage.clone(), &settings, buffer());
    assert!(taken_over.is_ok());
    drop(taken_over);
    assert!(
        FlashFilter::open_in(std::sync::Arc::new(storage.after_power_loss(PowerLoss::KILLED, 0)), buffer())
            .is_ok()
    );
}

#[test]
fn pages_smaller_than_the_blocks_of_the_device_are_refused_at_once() {
    let small_pages = FilterSettings::new(1000, 0.01).page_bytes(2048);
    let storage = |blocks| std::sync::Arc::new(SimStorage::with_blocks(SimPower::steady(), blocks));
    let refused = FlashFilter::create_in(storage(BlockSizes::LARGE), &small_pages, buffer());
    assert!(matches!(refused, Err(FlashError::PageSize { got_bytes: 2048, expected_bytes: 4096, .. })));
    assert!(FlashFilter::create_in(storage(BlockSizes::EMULATED), &small_pages, buffer()).is_ok());
    let pages = FilterSettings::new(1000, 0.01);
    assert!(FlashFilter::create_in(storage(BlockSizes::LARGE), &pages, buffer()).is_ok());
}

#[test]
fn a_directory_in_use_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let settings = FilterSettings::new(1000, 0.01);
    let first = FlashFilter::create(directory.path(), &settings, buffer()).unwrap();
    assert!(matches!(FlashFilter::open(directory.path(), buffer()), Err(FlashError::InUse { .. })));
    drop(first);
    assert!(FlashFilter::open(directory.path(), buffer()).is_ok());
}

#[test]
fn pages_that_cannot_be_read_answer_may_match_and_are_counted() {
    for layout in [Layout::Hierarchical, Layout::TwoChoices, Layout::Flat] {
        let storage = std::sync::Arc::new(WatchedStorage::new(memory()));
        let settings = FilterSettings::new(10_000, 0.001).layout(layout);
        let filter = FlashFilter::create_in(storage.clone(), &settings, buffer()).unwrap();
        filter.insert_many(&keys(1, 0..5000)).unwrap();
        filter.flush().unwrap();
        assert!(!filter.contains(key(2, 0)));
        storage.fail_reads();
        assert!(filter.contains(key(2, 0)));
        assert!(filter.contains_many(&keys(2, 0..100)).iter().all(|found| *found));
        assert!(filter.stats().failed_reads > 100);
        let report = filter.verify(&mut |_, _| ());
        assert!(!report.is_sound() && report.layers[0].unreadable_pages > 1 && report.layers[0].fpr == 1.0);
    }
}

#[test]
fn after_a_failed_write_nothing_more_is_acknowledged_and_lookups_go_on() {
    let power = SimPower::steady();
    let storage = std::sync::Arc::new(SimStorage::new(power.clone()));
    let filter =
        FlashFilter::create_in(storage.clone(), &FilterSettings::new(10_000, 0.01), buffer()).unwrap();
    filter.insert_many(&keys(1, 0..100)).unwrap();
    filter.commit().unwrap();
    power.cut_after(0);
    filter.insert_many(&keys(1, 100..200)).unwrap();
    assert!(matches!(filter.commit(), Err(FlashError::Io { .. })));
    assert!(matches!(filter.commit(), Err(FlashError::WriterFailed { .. })));
    assert!(matches!(filter.insert(key(1, 200)), Err(FlashError::WriterFailed { .. })));
    assert!(matches!(filter.flush(), Err(FlashError::WriterFailed { .. })));
    assert!(filter.contains_many(&keys(1, 0..200)).iter().all(|found| *found));
    let survived = std::sync::Arc::new(storage.after_power_loss(PowerLoss::ALL_LOST, 1));
    let filter = FlashFilter::open_in(survived, buffer()).unwrap();
    assert!(filter.contains_many(&keys(1, 0..100)).iter().all(|found| *found));
}

/// Media that rots anywhere: an error or right answers, never a lost key and never a panic. (The last commit is left out:
/// damage to it looks like a commit that was interrupted.)
#[test]
fn random_damage_anywhere_is_an_error_or_costs_accuracy_only() {
    let mut rng = springbloom_testkit::seed::rng("random_damage_anywhere");
    let storage = memory();
    let filter =
        FlashFilter::create_in(storage.clone(), &FilterSettings::new(10_000, 0.01), buffer()).unwrap();
    filter.insert_many(&keys(1, 0..6000)).unwrap();
    filter.flush().unwrap();
    for first in (6000..8000).step_by(500) {
        filter.insert_many(&keys(1, first..first + 500)).unwrap();
        filter.commit().unwrap();
    }
    let acknowledged = keys(1, 0..7500);
    let (mut errors, mut opened) = (0, 0);
    for _ in 0..400 {
        let copy = storage.after_power_loss(PowerLoss::KILLED, 0);
        let (name, len) =
            [("filter-0000", 16 << 10), ("log-a", 40 << 10), ("log-b", 40 << 10)][rng.random_range(0..3)];
        let (at, count) = (rng.random_range(0..len), rng.random_range(1..2000));
        copy.damage(name, at, |bytes| {
            let count = count.min(bytes.len());
            rng.fill(&mut bytes[..count]);
        });
        match FlashFilter::open_in(std::sync::Arc::new(copy), buffer()) {
            Ok(filter) => {
                opened += 1;
                assert!(
                    filter.contains_many(&acknowledged).iter().all(|found| *found),
                    "{name} at {at}, {count} bytes"
                );
            }
            Err(
                FlashError::Foreign { .. } | FlashError::NewerVersion { .. } | FlashError::Damaged { .. },
            ) => {
                errors += 1;
            }
            Err(e) => panic!("{name} at {at}, {count} bytes: {e}"),
        }
    }
    assert!(errors > 40 && opened > 40, "{errors} errors, {opened} opened");
}
