//! Copies that other programs make of an open filter, file by file: whole or refused.
//!
//! `SPRINGBLOOM_CRASHES` sets the number of copies (default 400).

mod common;

use std::sync::Arc;

use common::{keys, memory, small_buffer};
use rand::RngExt;
use springbloom_flash_filter::{FilterSettings, FlashError, FlashFilter, FlushPolicy, Layout, WhenFull};
use springbloom_flash_testkit::{CopiedStorage, PowerLoss, SimStorage};
use springbloom_page_device::Storage;
use springbloom_testkit::seed;

const POLICY: FlushPolicy = FlushPolicy::Sequential;

fn copies() -> u64 {
    std::env::var("SPRINGBLOOM_CRASHES").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

fn open(storage: &CopiedStorage) -> FlashFilter {
    let filter = FlashFilter::open_in(Arc::new(storage.clone()), small_buffer(POLICY)).unwrap();
    filter.set_when_full(WhenFull::Grow);
    filter
}

/// What a program does that has a filter open: inserts, commits, flushes, closes, is killed.
struct Program {
    storage: CopiedStorage,
    filter: Option<FlashFilter>,
    inserted: u64,
    /// Keys `0..committed` are durable.
    committed: u64,
}

impl Program {
    fn begin(storage: CopiedStorage, settings: &FilterSettings) -> Program {
        let filter =
            FlashFilter::create_in(Arc::new(storage.clone()), settings, small_buffer(POLICY)).unwrap();
        filter.set_when_full(WhenFull::Grow);
        Program { storage, filter: Some(filter), inserted: 0, committed: 0 }
    }

    fn step(&mut self, rng: &mut seed::TestRng) {
        let filter = self.filter.take().unwrap_or_else(|| open(&self.storage));
        let next = self.inserted + rng.random_range(0..400);
        filter.insert_many(&keys(1, self.inserted..next)).unwrap();
        self.inserted = next;
        match rng.random_range(0..30) {
            0 => filter.flush().unwrap(),
            1 => {
                filter.close().unwrap();
                self.committed = self.inserted;
                return;
            }
            2 => {
                // It is killed, and inserts again what may be lost.
                self.inserted = self.committed;
                return;
            }
            3..=20 => filter.commit().unwrap(),
            _ => {
                self.filter = Some(filter);
                return;
            }
        }
        (self.committed, self.filter) = (self.inserted, Some(filter));
    }
}

/// Whether the copy opens. If so, it has the first `committed` keys.
fn check(copy: SimStorage, committed: u64, what: &str) -> bool {
    let copy = Arc::new(copy);
    let filter = match FlashFilter::open_in(copy.clone(), small_buffer(POLICY)) {
        Ok(filter) => filter,
        Err(
            FlashError::TornCopy { .. }
            | FlashError::Damaged { .. }
            | FlashError::Incomplete { .. }
            | FlashError::Truncated { .. },
        ) => return false,
        Err(error) => panic!("{what}: {error}"),
    };
    let lost = filter.contains_many(&keys(1, 0..committed)).iter().filter(|found| !**found).count();
    assert_eq!(lost, 0, "{what}: {lost} of {committed} keys");
    true
}

#[test]
fn a_copy_of_what_is_open_is_whole_or_refused() {
    let mut rng = seed::rng("a_copy_of_what_is_open_is_whole_or_refused");
    let (mut whole, mut refused) = (0, 0);
    for copy in 0..copies() {
        let settings = match rng.random_range(0..5) {
            0 => FilterSettings::new(3000, 0.02).growing(true),
            1 => FilterSettings::new(12_000, 0.01).logged(false),
            2 => FilterSettings::new(12_000, 0.01).layout(Layout::TwoChoices),
            _ => FilterSettings::new(12_000, 0.01),
        };
        let storage = CopiedStorage::new(memory());
        let mut program = Program::begin(storage.clone(), &settings);
        for _ in 0..rng.random_range(0..30) {
            program.step(&mut rng);
        }
        let pace = 2f64.powi(rng.random_range(-4..7));
        storage.begin_copy(pace, rng.random()).unwrap();
        let committed = program.committed;
        let mut steps = 0;
        while storage.is_copying() && steps < rng.random_range(1..60) {
            program.step(&mut rng);
            steps += 1;
        }
        let made = storage.end_copy().unwrap().unwrap();
        let is_whole =
            check(made, committed, &format!("copy {copy}, pace {pace}, {steps} steps, {settings:?}"));
        *(if is_whole { &mut whole } else { &mut refused }) += 1;
    }
    println!("{whole} whole, {refused} refused");
    assert!(whole > copies() / 10 && refused > copies() / 10, "{whole} whole, {refused} refused");
}

/// The devices as they are now.
fn copy_of(storage: &SimStorage) -> SimStorage {
    storage.after_power_loss(PowerLoss::KILLED, 0)
}

/// The pages of `earlier` with the log of `later`, as a program copies them that is slow.
fn torn(earlier: &SimStorage, later: &SimStorage) -> Arc<SimStorage> {
    let torn = copy_of(later);
    let mut pages = vec![0; earlier.len_bytes("filter-0000")];
    earlier.open("filter-0000").unwrap().read_at(0, &mut pages).unwrap();
    torn.damage("filter-0000", 0, |file| file.copy_from_slice(&pages));
    Arc::new(torn)
}

fn stamp(storage: &SimStorage) -> [u8; 512] {
    let mut sector = [0; 512];
    storage.open("filter-0000").unwrap().read_at(512, &mut sector).unwrap();
    sector
}

/// The pages were copied before a recovery wrote them, with a stamp that the killed writer had left for a generation that it did not begin.
#[test]
fn a_copy_across_a_kill_and_a_recovery_is_refused() {
    let storage = memory();
    let settings = FilterSettings::new(12_000, 0.01);
    let filter = FlashFilter::create_in(storage.clone(), &settings, small_buffer(POLICY)).unwrap();
    filter.insert_many(&keys(1, 0..500)).unwrap();
    filter.commit().unwrap();
    let left = (0..).find_map(|operations| {
        let killed = Arc::new(copy_of(&storage));
        killed.power().cut_after(operations);
        let _ = FlashFilter::open_in(killed.clone(), small_buffer(POLICY));
        (stamp(&killed) != stamp(&storage)).then(|| Arc::new(copy_of(&killed)))
    });
    let left = left.unwrap();
    let earlier = copy_of(&left);
    FlashFilter::open_in(left.clone(), small_buffer(POLICY)).unwrap().close().unwrap();
    let opened = FlashFilter::open_in(torn(&earlier, &left), small_buffer(POLICY));
    assert!(matches!(opened.err(), Some(FlashError::TornCopy { .. })));
    let original = FlashFilter::open_in(left, small_buffer(POLICY)).unwrap();
    assert!(original.contains_many(&keys(1, 0..500)).iter().all(|found| *found));
}

#[test]
fn what_is_left_of_a_refused_copy_is_salvaged_and_told() {
    let storage = memory();
    let settings = FilterSettings::new(12_000, 0.01);
    let filter = FlashFilter::create_in(storage.clone(), &settings, small_buffer(POLICY)).unwrap();
    filter.insert_many(&keys(1, 0..2000)).unwrap();
    filter.flush().unwrap();
    let earlier = copy_of(&storage);
    filter.insert_many(&keys(1, 2000..4000)).unwrap();
    filter.flush().unwrap();
    let torn = torn(&earlier, &storage);
    let refused = FlashFilter::open_in(torn.clone(), small_buffer(POLICY)).err().unwrap().to_string();
    assert!(refused.contains("filter-0000") && refused.contains("copy_to"), "{refused}");
    let whole = memory();
    let report = FlashFilter::salvage_in(&*torn, whole.clone(), small_buffer(POLICY)).unwrap();
    assert!(report.has_losses() && report.outdated_filters == 1);
    let salvaged = FlashFilter::open_in(whole, small_buffer(POLICY)).unwrap();
    assert!(salvaged.contains_many(&keys(1, 0..2000)).iter().all(|found| *found));
}
