//! The public interface of the flash filter: answers, rates, costs, growth.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::watched::WatchedStorage;
use common::{key, keys, memory, small_buffer};
use springbloom_filter::KeyDigest;
use springbloom_flash_filter::fpr::{expected_fpr, fpr_at_load};
use springbloom_flash_filter::{
    BufferSettings, FilterSettings, FlashError, FlashFilter, FlushPolicy, Layout, MemorySize, Watch, WhenFull,
};
use springbloom_flash_testkit::SimStorage;
use springbloom_page_device::{PageDevice, Storage};
use springbloom_testkit::{binomial, seed};

const LAYOUTS: [Layout; 2] = [Layout::Hierarchical, Layout::TwoChoices];
const POLICIES: [FlushPolicy; 2] = [FlushPolicy::DirtiestGroupFirst, FlushPolicy::Sequential];

#[test]
fn every_layout_policy_page_and_group_size_gives_no_false_negative() {
    let inserted = keys(1, 0..20_000);
    for layout in LAYOUTS {
        for policy in POLICIES {
            for (page_bytes, group_pages) in [(2048, 1), (4096, 7), (16_384, 16)] {
                let settings = FilterSettings::new(20_000, 0.01).layout(layout).page_bytes(page_bytes);
                let buffer = BufferSettings {
                    policy,
                    group_pages,
                    memory: MemorySize::CacheSizeFactor(60),
                    cache_bytes: 20 << 10,
                };
                let filter = FlashFilter::create_in(memory(), &settings, buffer).unwrap();
                for chunk in inserted.chunks(1000) {
                    filter.insert_many(chunk).unwrap();
                    assert!(
                        filter.contains_many(chunk).iter().all(|found| *found),
                        "at once, flushed or not"
                    );
                }
                let what = format!("{layout:?} {policy:?} {page_bytes} {group_pages}");
                assert!(filter.stats().group_flushes > 0, "{what}: the buffer is small enough to overflow");
                assert!(inserted.iter().all(|digest| filter.contains(*digest)), "{what}: one by one");
                filter.flush().unwrap();
                assert_eq!(filter.info().pending_updates, 0);
                assert!(filter.contains_many(&inserted).iter().all(|found| *found), "{what}: flushed");
            }
        }
    }
}

#[test]
fn groups_of_one_page_with_clean_pages_between_them_are_flushed_together() {
    let settings = FilterSettings::new(1_000_000, 0.01);
    let buffer = BufferSettings {
        memory: MemorySize::CacheSizeFactor(1),
        group_pages: 1,
        policy: FlushPolicy::Sequential,
        cache_bytes: 0,
    };
    let filter = FlashFilter::create_in(memory(), &settings, buffer).unwrap();
    filter.insert_many(&keys(1, 0..3000)).unwrap();
    assert!(filter.stats().flush_writes > 100, "{:?}", filter.stats());
    filter.flush().unwrap();
    assert!(filter.contains_many(&keys(1, 0..3000)).iter().all(|found| *found));
}

#[test]
fn filling_a_filter_writes_as_much_as_told_before() {
    // From a few updates for a group of pages to hundreds.
    for (capacity, memory_bytes) in [(3_000_000, 200 << 10), (1_000_000, 300 << 10), (500_000, 3 << 20)] {
        let (settings, buffer) =
            (FilterSettings::new(capacity, 0.01), BufferSettings::with_memory_bytes(memory_bytes));
        let told = FlashFilter::costs(&settings, buffer).unwrap().written_bytes;
        let filter = FlashFilter::create_in(memory(), &settings, buffer).unwrap();
        let created = filter.stats().log_bytes_written;
        for first in (0..capacity).step_by(8192) {
            filter.insert_many(&keys(1, first..capacity.min(first + 8192))).unwrap();
            filter.commit().unwrap();
        }
        filter.flush().unwrap();
        let stats = filter.stats();
        let written = stats.page_bytes_written + stats.log_bytes_written - created;
        let ratio = told as f64 / written as f64;
        assert!(
            (1.0 / 1.3..1.3).contains(&ratio),
            "{capacity} {memory_bytes}: {told} of {written}, {stats:?}"
        );
    }
}

#[test]
fn single_and_batched_lookups_agree() {
    for layout in LAYOUTS {
        let settings = FilterSettings::new(5000, 0.2).layout(layout);
        let filter =
            FlashFilter::create_in(memory(), &settings, small_buffer(FlushPolicy::Sequential)).unwrap();
        filter.set_when_full(WhenFull::Exceed);
        filter.insert_many(&keys(1, 0..6000)).unwrap();
        let asked: Vec<_> = keys(1, 5000..7000).into_iter().chain(keys(2, 0..3000)).collect();
        let batched = filter.contains_many(&asked);
        assert!(batched.iter().any(|found| !found), "a filter that always matches would agree too");
        for (digest, found) in asked.iter().zip(batched) {
            assert_eq!(filter.contains(*digest), found);
        }
    }
}

#[test]
fn the_measured_rate_is_the_analytic_one_with_imbalance_and_close_to_flat() {
    const KEYS: u64 = 200_000;
    const ASKED: u64 = 400_000;
    let family = seed::seed("the_measured_rate_is_the_analytic_one");
    for layout in LAYOUTS {
        let settings = FilterSettings::with_bits_per_key(KEYS, 8.66, 6).layout(layout);
        let filter =
            FlashFilter::create_in(memory(), &settings, BufferSettings::with_memory_bytes(1 << 20)).unwrap();
        filter.insert_many(&keys(family, 0..KEYS)).unwrap();
        filter.flush().unwrap();
        let header = filter.info().layers[0].header;
        let expected = expected_fpr(&header.geometry, KEYS);
        let wrong = filter.contains_many(&keys(family ^ 1, 0..ASKED)).iter().filter(|found| **found).count();
        binomial::assert_rate(wrong as u64, ASKED, expected, &format!("{layout:?}"));
        let estimated = filter.estimated_fpr();
        assert!(
            (estimated / expected - 1.0).abs() < 0.02,
            "{layout:?}: estimated {estimated}, expected {expected}"
        );
        let of_pages = filter.verify(&mut Watch::none()).unwrap().layers[0].fpr;
        assert!(
            (of_pages / expected - 1.0).abs() < 0.02,
            "{layout:?}: pages say {of_pages}, expected {expected}"
        );
        if layout == Layout::Hierarchical {
            let flat = fpr_at_load(KEYS as f64, header.geometry.bits() as f64, 6);
            assert!(expected / flat < 1.02, "{}", expected / flat);
        }
    }
}

#[test]
fn two_choices_even_out_pages() {
    const KEYS: u64 = 100_000;
    let fill_spread = |layout| {
        let settings = FilterSettings::with_bits_per_key(KEYS, 8.66, 6).layout(layout);
        let filter =
            FlashFilter::create_in(memory(), &settings, BufferSettings::with_memory_bytes(1 << 20)).unwrap();
        filter.insert_many(&keys(1, 0..KEYS)).unwrap();
        filter.flush().unwrap();
        let report = &filter.verify(&mut Watch::none()).unwrap().layers[0];
        // The mean of fill^k exceeds the k-th power of the mean because pages are filled unevenly.
        let one_page =
            if layout == Layout::TwoChoices { 1.0 - (1.0 - report.fpr).sqrt() } else { report.fpr };
        one_page / report.fill.powi(6)
    };
    let (one, two) = (fill_spread(Layout::Hierarchical), fill_spread(Layout::TwoChoices));
    assert!(one > 1.0005 && two < 1.0 + (one - 1.0) / 2.0, "one choice {one}, two choices {two}");
}

#[test]
fn an_uncached_lookup_reads_exactly_one_page() {
    let settings = FilterSettings::with_bits_per_key(50_000, 8.66, 6);
    let filter =
        FlashFilter::create_in(memory(), &settings, small_buffer(FlushPolicy::DirtiestGroupFirst)).unwrap();
    filter.insert_many(&keys(1, 0..50_000)).unwrap();
    filter.flush().unwrap();
    let before = filter.stats().lookup_page_reads;
    let asked: Vec<_> = keys(1, 0..500).into_iter().chain(keys(2, 0..500)).collect();
    asked.iter().for_each(|digest| {
        filter.contains(*digest);
    });
    assert_eq!(filter.stats().lookup_page_reads - before, 1000);
    let before = filter.stats().lookup_page_reads;
    filter.contains_many(&asked);
    assert!(filter.stats().lookup_page_reads - before <= 1000, "a batch reads a page once for all its keys");
}

#[test]
fn waiting_keys_are_answered_without_a_read() {
    let filter = FlashFilter::create_in(
        memory(),
        &FilterSettings::new(1000, 0.01),
        BufferSettings::with_memory_bytes(1 << 20),
    )
    .unwrap();
    filter.insert_many(&keys(1, 0..1000)).unwrap();
    assert!(keys(1, 0..1000).into_iter().all(|digest| filter.contains(digest)));
    assert_eq!((filter.stats().lookup_page_reads, filter.stats().pending_hits), (0, 1000));
}

#[test]
fn memory_stays_within_its_budget() {
    let budget_bytes = 150_000;
    let settings = FilterSettings::new(200_000, 0.01);
    let filter =
        FlashFilter::create_in(memory(), &settings, BufferSettings::with_memory_bytes(budget_bytes)).unwrap();
    let mut peak = 0;
    for chunk in keys(1, 0..200_000).chunks(100) {
        filter.insert_many(chunk).unwrap();
        peak = peak.max(filter.info().memory_bytes);
    }
    assert!(peak <= budget_bytes && peak > budget_bytes * 9 / 10, "{peak} of {budget_bytes}");
}

#[test]
fn a_full_filter_says_so_and_repeated_keys_do_not_fill_it() {
    let filter = FlashFilter::create_in(
        memory(),
        &FilterSettings::new(10_000, 0.01),
        small_buffer(FlushPolicy::Sequential),
    )
    .unwrap();
    for _ in 0..5 {
        filter.insert_many(&keys(1, 0..9000)).unwrap();
        filter.flush().unwrap();
    }
    assert!(!filter.is_full(), "{:?}", filter.info());
    assert!(filter.estimated_fpr() < 0.01);
    filter.set_when_full(WhenFull::Exceed);
    filter.insert_many(&keys(1, 9000..11_000)).unwrap();
    assert!(filter.is_full(), "{:?}", filter.info());
    filter.insert_many(&keys(1, 11_000..30_000)).unwrap();
    filter.flush().unwrap();
    assert!(filter.estimated_fpr() > 0.1, "three times the capacity: {}", filter.estimated_fpr());
}

/// Inserts until the filter is full. Returns how many keys it took, and the count that the error told.
fn fill_up(filter: &FlashFilter, offered: &[KeyDigest]) -> (usize, u64) {
    match filter.insert_many(offered) {
        Err(FlashError::Full { inserted, keys, .. }) => (inserted, keys),
        other => panic!("{other:?}: {:?}", filter.info()),
    }
}

#[test]
fn a_full_filter_refuses_the_next_key_and_keeps_its_rate() {
    for layout in [Layout::Hierarchical, Layout::TwoChoices] {
        for capacity in [1, 10, 1000, 50_000] {
            let storage = memory();
            let settings = FilterSettings::new(capacity, 0.01).layout(layout);
            let buffer = small_buffer(FlushPolicy::DirtiestGroupFirst);
            let filter = FlashFilter::create_in(storage.clone(), &settings, buffer).unwrap();
            let offered = keys(1, 0..3 * capacity + 300);
            let (inserted, told) = fill_up(&filter, &offered);
            let slack = 1 + 2 * (capacity as f64).sqrt() as u64;
            assert!((capacity..=capacity + slack).contains(&(inserted as u64)), "{inserted} of {capacity}");
            assert!(told.abs_diff(capacity) <= slack, "{told} of {capacity}");
            // Pending keys count whole; once they are in their pages, the bits count.
            let room = filter.room_for(1000).unwrap();
            assert!(room as u64 <= slack, "room for {room} more than {inserted}");
            // Keys that are in it may come again; the next new one is refused, after a restart too.
            filter.insert_many(&offered[..inserted]).unwrap();
            filter.commit().unwrap();
            drop(filter);
            let filter = FlashFilter::open_in(storage, buffer).unwrap();
            assert!(filter.contains_many(&offered[..inserted]).iter().all(|found| *found));
            let twice = [&offered[..inserted], &keys(2, 0..300)[..]].concat();
            let (again, _) = fill_up(&filter, &twice);
            let slack = slack as usize + 100;
            assert!((inserted..inserted + slack).contains(&again), "{again} after {inserted}");
            let wrong = filter.contains_many(&keys(3, 0..20_000)).iter().filter(|found| **found).count();
            binomial::assert_rate_at_most(wrong as u64, 20_000, 0.0105, "a full filter");
        }
    }
}

#[test]
fn a_filter_takes_all_the_keys_that_it_was_built_for_however_often_they_come() {
    for seed in 0..20 {
        let settings = FilterSettings::new(3000, 0.01);
        let filter =
            FlashFilter::create_in(memory(), &settings, small_buffer(FlushPolicy::Sequential)).unwrap();
        for first in (0..3000).step_by(100) {
            filter.insert_many(&keys(seed, first..first + 100)).unwrap();
            filter.insert_many(&keys(seed, 0..first + 100)).unwrap();
        }
    }
}

#[test]
fn a_full_filter_grows_if_it_is_told_to_and_goes_on_growing() {
    let storage = memory();
    let buffer = BufferSettings::with_memory_bytes(200 << 10);
    let settings = FilterSettings::new(4000, 0.02);
    let filter = FlashFilter::create_in(storage.clone(), &settings, buffer).unwrap();
    filter.set_when_full(WhenFull::Grow);
    filter.insert_many(&keys(1, 0..10_000)).unwrap();
    assert_eq!(filter.info().layers.len(), 2, "4 and 8 thousand");
    filter.close().unwrap();
    let filter = FlashFilter::open_in(storage, buffer).unwrap();
    filter.insert_many(&keys(1, 10_000..60_000)).unwrap();
    assert!(filter.info().layers.len() >= 4 && !filter.is_full());
    assert!(filter.contains_many(&keys(1, 0..60_000)).iter().all(|found| *found));
    let wrong = filter.contains_many(&keys(2, 0..50_000)).iter().filter(|found| **found).count();
    binomial::assert_rate_at_most(wrong as u64, 50_000, 0.03, "one and a half times the rate asked for");
}

#[test]
fn a_growing_filter_keeps_its_rate_and_survives_reopening() {
    const KEYS: u64 = 60_000;
    let storage = memory();
    let settings = FilterSettings::new(4000, 0.02).growing(true);
    let buffer = BufferSettings::with_memory_bytes(200 << 10);
    let inserted = keys(1, 0..KEYS);
    {
        let filter = FlashFilter::create_in(storage.clone(), &settings, buffer).unwrap();
        filter.insert_many(&inserted).unwrap();
        filter.commit().unwrap();
        assert!((4..=5).contains(&filter.info().layers.len()), "4, 8, 16, 32 thousand: {:?}", filter.info());
    }
    let filter = FlashFilter::open_in(storage, buffer).unwrap();
    assert!(filter.contains_many(&inserted).iter().all(|found| *found));
    let wrong = filter.contains_many(&keys(2, 0..100_000)).iter().filter(|found| **found).count();
    binomial::assert_rate_at_most(wrong as u64, 100_000, 0.02, "a chain of filters");
    assert!(filter.estimated_fpr() <= 0.02 && !filter.is_full());
}

#[test]
fn logs_are_no_larger_than_their_filter_and_grow_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let settings = FilterSettings::new(5000, 0.01).growing(true);
    let log_bytes = || {
        let sizes = ["wal-a", "wal-b"].map(|name| directory.path().join(name).metadata().unwrap().len());
        sizes.into_iter().max().unwrap()
    };
    let filter =
        FlashFilter::create(directory.path(), &settings, BufferSettings::with_memory_bytes(16 << 20))
            .unwrap();
    assert_eq!(log_bytes(), 512 << 10, "a small filter has a small log, however much memory it may use");
    filter.insert_many(&keys(1, 0..600_000)).unwrap();
    filter.commit().unwrap();
    assert!(log_bytes() > 700 << 10, "{}", log_bytes());
    drop(filter);
    let filter = FlashFilter::open(directory.path(), BufferSettings::with_memory_bytes(1 << 20)).unwrap();
    assert!(filter.contains_many(&keys(1, 0..600_000)).iter().all(|found| *found));
}

#[test]
fn a_log_made_for_little_memory_grows_when_there_is_more() {
    let storage = memory();
    let settings = FilterSettings::new(1_000_000, 0.01);
    let little = small_buffer(FlushPolicy::Sequential);
    drop(FlashFilter::create_in(storage.clone(), &settings, little).unwrap());
    let ample = BufferSettings::with_memory_bytes(2 << 20);
    let filter = FlashFilter::open_in(storage.clone(), ample).unwrap();
    filter.insert_many(&keys(1, 0..20_000)).unwrap();
    filter.commit().unwrap();
    assert_eq!(filter.stats().group_flushes, 0, "all of them fit into memory, and into a snapshot");
    drop(filter);
    let filter = FlashFilter::open_in(storage, little).unwrap();
    assert!(filter.contains_many(&keys(1, 0..20_000)).iter().all(|found| *found));
}

#[test]
fn readers_see_every_key_whose_insertion_returned_while_the_writer_flushes_and_grows() {
    const KEYS: u64 = 60_000;
    let settings = FilterSettings::new(10_000, 0.05).growing(true);
    let directory = tempfile::tempdir().unwrap();
    let buffer = BufferSettings {
        memory: MemorySize::CacheSizeFactor(60),
        cache_bytes: 40 << 10,
        ..small_buffer(FlushPolicy::DirtiestGroupFirst)
    };
    let filter = FlashFilter::create(directory.path(), &settings, buffer).unwrap();
    let inserted = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for reader in 0..3u64 {
            let (filter, inserted) = (&filter, &inserted);
            scope.spawn(move || {
                let mut round = reader;
                loop {
                    let known = inserted.load(Ordering::Acquire);
                    if known > 0 {
                        let from = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) % known;
                        let asked = keys(1, from..known.min(from + 200));
                        assert!(
                            filter.contains_many(&asked).iter().all(|found| *found),
                            "batch from {from} of {known}"
                        );
                        assert!(filter.contains(key(1, from)), "key {from} of {known}");
                    }
                    if known == KEYS {
                        break;
                    }
                    round += 3;
                }
            });
        }
        for first in (0..KEYS).step_by(500) {
            filter.insert_many(&keys(1, first..first + 500)).unwrap();
            inserted.store(first + 500, Ordering::Release);
        }
    });
    let stats = filter.stats();
    assert!(stats.group_flushes > 100 && stats.damaged_answers == 0, "{stats:?}");
}

#[test]
fn keys_stay_visible_in_the_middle_of_every_flush() {
    for cache_bytes in [0, 20 << 10] {
        look_in_the_middle_of_every_flush(cache_bytes);
    }
}

fn look_in_the_middle_of_every_flush(cache_bytes: u64) {
    let storage = Arc::new(WatchedStorage::new(memory()));
    let buffer = BufferSettings {
        cache_bytes,
        memory: MemorySize::CacheSizeFactor(600),
        ..small_buffer(FlushPolicy::DirtiestGroupFirst)
    };
    let filter = Arc::new(
        FlashFilter::create_in(storage.clone(), &FilterSettings::new(20_000, 0.01), buffer).unwrap(),
    );
    let inserted = Arc::new(AtomicU64::new(0));
    let looks = Arc::new(AtomicU64::new(0));
    {
        let (filter, inserted, looks) = (Arc::downgrade(&filter), inserted.clone(), looks.clone());
        storage.during_writes(move || {
            let Some(filter) = filter.upgrade() else { return };
            let known = keys(1, 0..inserted.load(Ordering::Relaxed));
            assert!(filter.contains_many(&known).iter().all(|found| *found), "{} keys", known.len());
            looks.fetch_add(1, Ordering::Relaxed);
        });
    }
    for first in (0..20_000).step_by(200) {
        filter.insert_many(&keys(1, first..first + 200)).unwrap();
        inserted.store(first + 200, Ordering::Relaxed);
    }
    assert!(looks.load(Ordering::Relaxed) > 20, "{looks:?} writes");
}

#[test]
fn insertions_are_counted_over_openings() {
    for layout in LAYOUTS {
        let storage = memory();
        let buffer = small_buffer(FlushPolicy::Sequential);
        let settings = FilterSettings::new(5000, 0.01).layout(layout);
        let filter = FlashFilter::create_in(storage.clone(), &settings, buffer).unwrap();
        filter.insert_many(&keys(1, 0..300)).and_then(|()| filter.flush()).unwrap();
        filter.insert_many(&keys(1, 300..350)).and_then(|()| filter.commit()).unwrap();
        drop(filter);
        let filter = FlashFilter::open_in(storage.clone(), buffer).unwrap();
        assert_eq!(filter.info().insertions, 350, "{layout:?}");
        filter.insert_many(&keys(1, 350..360)).and_then(|()| filter.flush()).unwrap();
        drop(filter);
        assert_eq!(FlashFilter::open_in(storage, buffer).unwrap().info().insertions, 360, "{layout:?}");
    }
}

#[test]
fn threads_that_commit_together_share_syncs() {
    let directory = tempfile::tempdir().unwrap();
    let filter = Arc::new(
        FlashFilter::create(
            directory.path(),
            &FilterSettings::new(100_000, 0.01),
            BufferSettings::with_memory_bytes(4 << 20),
        )
        .unwrap(),
    );
    let before = filter.stats().log_syncs;
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let filter = filter.clone();
            scope.spawn(move || {
                for n in 0..50 {
                    filter.insert(key(thread, n)).unwrap();
                    filter.commit().unwrap();
                }
            });
        }
    });
    let syncs = filter.stats().log_syncs - before;
    assert!(syncs < 200, "{syncs} syncs for 400 commits of 8 threads");
    drop(filter);
    let filter = FlashFilter::open(directory.path(), BufferSettings::with_memory_bytes(4 << 20)).unwrap();
    assert!((0..8).all(|thread| filter.contains_many(&keys(thread, 0..50)).iter().all(|found| *found)));
}

#[test]
fn readers_write_nothing_read_the_log_if_they_must_and_stand_beside_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let buffer = BufferSettings::with_memory_bytes(1 << 20);
    for layout in LAYOUTS {
        let folder = directory.path().join(format!("{layout:?}"));
        let settings = FilterSettings::new(50_000, 0.001).layout(layout);
        let filter = FlashFilter::create(&folder, &settings, buffer).unwrap();
        filter.insert_many(&keys(1, 0..5000)).and_then(|()| filter.flush()).unwrap();
        filter.insert_many(&keys(1, 5000..8000)).and_then(|()| filter.commit()).unwrap();
        drop(filter);
        let contents = || {
            let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
            files.sort();
            files.into_iter().map(|file| (file.clone(), std::fs::read(file).unwrap())).collect::<Vec<_>>()
        };
        let before = contents();
        let readers = [(); 4].map(|()| FlashFilter::open_read_only(&folder, buffer).unwrap());
        for reader in &readers {
            assert!(!reader.is_recovered());
            assert!(reader.contains_many(&keys(1, 0..8000)).iter().all(|found| *found), "{layout:?}");
            assert!(keys(1, 5000..5003).into_iter().all(|digest| reader.contains(digest)));
            let wrong = reader.contains_many(&keys(2, 0..10_000)).iter().filter(|found| **found).count();
            assert!(wrong < 100, "{layout:?}: {wrong}");
            assert!(matches!(reader.insert(key(1, 0)), Err(FlashError::ReadOnly { .. })));
            assert!(reader.verify(&mut Watch::none()).unwrap().is_sound());
        }
        assert!(matches!(FlashFilter::open(&folder, buffer), Err(FlashError::InUse { .. })));
        for reader in readers {
            reader.close().unwrap();
        }
        assert!(before == contents(), "{layout:?}: readers wrote");
        FlashFilter::open(&folder, buffer).unwrap().close().unwrap();
        let closed = contents();
        let reader = FlashFilter::open_read_only(&folder, buffer).unwrap();
        assert!(reader.is_recovered());
        assert_eq!(reader.info().insertions, 8000);
        assert!(reader.contains_many(&keys(1, 0..8000)).iter().all(|found| *found));
        drop(reader);
        FlashFilter::open(&folder, buffer).unwrap().close().unwrap();
        assert!(closed == contents(), "{layout:?}: nothing was inserted, nothing is written");
    }
}

/// Counts reads and writes. After a clean close, opening costs the same for any size of filter.
#[test]
fn opening_after_a_clean_end_reads_little_and_writes_nothing() {
    let mut reads = Vec::new();
    for capacity in [10_000, 3_000_000] {
        let storage = memory();
        let buffer = BufferSettings::with_memory_bytes(4 << 20);
        let filter =
            FlashFilter::create_in(storage.clone(), &FilterSettings::new(capacity, 0.01), buffer).unwrap();
        filter.insert_many(&keys(1, 0..capacity / 4)).unwrap();
        filter.close().unwrap();
        let (operations, read) = (storage.power().operations(), storage.bytes_read());
        drop(FlashFilter::open_in(storage.clone(), buffer).unwrap());
        assert_eq!(storage.power().operations(), operations, "no write and no sync");
        reads.push(storage.bytes_read() - read);
    }
    assert!(reads[1] <= reads[0].max(2 << 20), "{reads:?}");
}

#[test]
fn a_filter_that_is_killed_again_and_again_is_full_in_time() {
    let (settings, buffer) = (FilterSettings::new(20_000, 0.01), small_buffer(FlushPolicy::Sequential));
    let storage = memory();
    drop(FlashFilter::create_in(storage.clone(), &settings, buffer).unwrap());
    // Keys that reach their pages and are never acknowledged.
    for life in 0..40 {
        let filter = FlashFilter::open_in(storage.clone(), buffer).unwrap();
        filter.insert(key(1, life)).and_then(|()| filter.commit()).unwrap();
        let inserted = filter.insert_many(&keys(2 + life, 0..3000));
        if let Err(error) = inserted {
            assert!(matches!(error, FlashError::Full { .. }) && life >= 6, "{error} after {life} lives");
            assert!(filter.estimated_fpr() < 0.014, "{} after {life} lives", filter.estimated_fpr());
            return;
        }
    }
    panic!("never full");
}

/// A storage on a file system with little room.
struct Narrow(Arc<SimStorage>, u64);

impl Storage for Narrow {
    fn create(&self, name: &str, len_bytes: u64) -> std::io::Result<Arc<dyn PageDevice>> {
        self.0.create(name, len_bytes)
    }

    fn open(&self, name: &str) -> std::io::Result<Arc<dyn PageDevice>> {
        self.0.open(name)
    }

    fn remove(&self, name: &str) -> std::io::Result<()> {
        self.0.remove(name)
    }

    fn names(&self) -> std::io::Result<Vec<String>> {
        self.0.names()
    }

    fn free_bytes(&self) -> Option<u64> {
        Some(self.1)
    }

    fn describe(&self, name: &str) -> String {
        self.0.describe(name)
    }
}

#[test]
fn a_filter_that_the_disk_cannot_hold_is_refused_before_anything_is_written() {
    let buffer = small_buffer(FlushPolicy::Sequential);
    let create = |storage: &Arc<SimStorage>, capacity, grows| {
        let settings = FilterSettings::new(capacity, 0.01).growing(grows);
        FlashFilter::create_in(Arc::new(Narrow(storage.clone(), 2 << 20)), &settings, buffer)
    };
    let storage = memory();
    match create(&storage, 1_000_000, false) {
        Err(FlashError::NoSpace { needed_bytes, free_bytes, .. }) => {
            assert!(needed_bytes > 1_200_000 + free_bytes / 4 && free_bytes == 2 << 20, "{needed_bytes}");
        }
        other => panic!("{:?}", other.map(|filter| filter.info())),
    }
    assert_eq!(storage.names().unwrap(), [""; 0]);
    // A filter that cannot grow keeps what it holds.
    let filter = create(&storage, 20_000, true).unwrap();
    let mut inserted = 0;
    let refused = loop {
        match filter.insert_many(&keys(1, inserted..inserted + 256)) {
            Ok(()) => inserted += 256,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, FlashError::NoSpace { .. }), "{refused}");
    // However often it is asked, it takes nothing beyond its rate, and what it holds.
    for _ in 0..3 {
        let refused = filter.insert_many(&keys(1, inserted..inserted + 1000)).unwrap_err();
        assert!(matches!(refused, FlashError::NoSpace { inserted: 0..5, .. }), "{refused:?}");
        filter.insert_many(&keys(1, 0..inserted)).unwrap();
    }
    assert!(filter.estimated_fpr() < 0.0105, "{}", filter.estimated_fpr());
    filter.close().unwrap();
    let filter = FlashFilter::open_in(storage, buffer).unwrap();
    assert!(inserted > 20_000 && filter.contains_many(&keys(1, 0..inserted)).iter().all(|found| *found));
    // The error says how many keys of the call are in the filter.
    let filter = create(&memory(), 20_000, true).unwrap();
    match filter.insert_many(&keys(1, 0..2_000_000)) {
        Err(FlashError::NoSpace { inserted, .. }) => {
            let inserted = inserted as u64;
            assert!((20_000..1_900_000).contains(&inserted), "{inserted}");
            assert!(filter.contains_many(&keys(1, 0..inserted)).iter().all(|found| *found));
            let beyond = filter.contains_many(&keys(1, inserted..inserted + 20_000));
            assert!(beyond.iter().filter(|found| **found).count() < 300, "not inserted, and found");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn known_keys_neither_fill_a_grown_filter_nor_let_it_grow() {
    // 4, 8, and in the first case a part of 16 thousand.
    for (count, filters) in [(14_000, 3), (12_000, 2)] {
        let settings = FilterSettings::new(4000, 0.01).growing(true);
        let filter =
            FlashFilter::create_in(memory(), &settings, BufferSettings::with_memory_bytes(1 << 20)).unwrap();
        let inserted = keys(1, 0..count);
        filter.insert_many(&inserted).unwrap();
        filter.flush().unwrap();
        let held = |filter: &FlashFilter| -> f64 {
            filter.info().layers.iter().map(|layer| layer.estimated_keys).sum()
        };
        let before = (filter.info().layers.len(), held(&filter));
        assert_eq!(before.0, filters);
        for _ in 0..3 {
            filter.insert_many(&inserted).unwrap();
        }
        filter.flush().unwrap();
        assert_eq!((filter.info().layers.len(), held(&filter)), before);
        filter.insert_many(&keys(1, 0..count + 100)).unwrap();
        assert!(filter.contains_many(&keys(1, 0..count + 100)).iter().all(|found| *found));
    }
}
