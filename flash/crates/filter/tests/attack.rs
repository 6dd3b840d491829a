//! Damages every block of every file in every way. No acknowledged key is lost silently, and nothing panics or hangs. Each write and each
//! sync fails in one run.

mod common;

use std::sync::Arc;

use common::keys;
use springbloom_flash_filter::{BufferSettings, FilterSettings, FlashError, FlashFilter, Watch};
use springbloom_flash_testkit::{PowerLoss, SimPower, SimStorage};
use springbloom_page_device::Storage;
use springbloom_testkit::damage::{BLOCK_BYTES, Damage, Tally};

const KEYS: u64 = 3000;

fn buffer() -> BufferSettings {
    BufferSettings { group_pages: 4, ..BufferSettings::with_memory_bytes(1 << 20) }
}

/// A set after a clean close, interrupted with commits in its log, and interrupted with a snapshot in its log.
fn left_behind() -> [(&'static str, SimStorage); 3] {
    let filled = |and_then: &dyn Fn(FlashFilter)| {
        let storage = Arc::new(SimStorage::new(SimPower::steady()));
        let settings = FilterSettings::new(12_000, 0.01);
        let filter = FlashFilter::create_in(storage.clone(), &settings, buffer()).unwrap();
        filter.insert_many(&keys(1, 0..1000)).and_then(|()| filter.flush()).unwrap();
        for first in (1000..KEYS).step_by(250) {
            filter.insert_many(&keys(1, first..first + 250)).and_then(|()| filter.commit()).unwrap();
        }
        and_then(filter);
        storage.after_power_loss(PowerLoss::KILLED, 0)
    };
    [
        ("closed", filled(&|filter| filter.close().unwrap())),
        ("interrupted", filled(&drop)),
        ("with a snapshot", {
            let storage = Arc::new(filled(&drop));
            drop(FlashFilter::open_in(storage.clone(), buffer()).unwrap());
            storage.after_power_loss(PowerLoss::KILLED, 0)
        }),
    ]
}

/// All acknowledged keys are found, or opening reports the damage. Returns whether damage was reported.
fn is_told(storage: &SimStorage, what: &str) -> bool {
    let storage = Arc::new(storage.after_power_loss(PowerLoss::KILLED, 0));
    let filter = match FlashFilter::open_in(storage.clone(), buffer()) {
        Ok(filter) => filter,
        Err(_) => {
            let rescued = Arc::new(SimStorage::new(SimPower::steady()));
            if let Ok(report) = FlashFilter::salvage_in(&*storage, rescued.clone(), buffer()) {
                let filter = FlashFilter::open_in(rescued, buffer()).unwrap();
                let found = filter.contains_many(&keys(1, 0..KEYS));
                assert!(
                    report.has_losses() || found.iter().all(|found| *found),
                    "{what}: salvage lost keys silently"
                );
            }
            return true;
        }
    };
    let all_are_there =
        |filter: &FlashFilter, known: &[_]| filter.contains_many(known).iter().all(|found| *found);
    let known = keys(1, 0..KEYS);
    assert!(all_are_there(&filter, &known), "{what}: silent loss");
    let is_sound = filter.verify(&mut Watch::none()).unwrap().is_sound();
    let more = keys(2, 0..500);
    filter.insert_many(&more).and_then(|()| filter.commit()).unwrap_or_else(|e| panic!("{what}: {e}"));
    drop(filter);
    let filter =
        FlashFilter::open_in(storage, buffer()).unwrap_or_else(|e| panic!("{what}, written on: {e}"));
    assert!(all_are_there(&filter, &[known, more].concat()), "{what}: silent loss after writing on");
    !is_sound || filter.stats().damaged_answers > 0
}

#[test]
fn damage_to_any_block_loses_nothing_silently() {
    let mut tally = Tally::default();
    for (state, storage) in left_behind() {
        let names = storage.names().unwrap().into_iter();
        let files: Vec<_> = names.map(|name| (name.clone(), storage.len_bytes(&name))).collect();
        tally += Tally::of_all(&files, |file, block, damage| {
            let (damaged, at) = (storage.after_power_loss(PowerLoss::KILLED, 0), block * BLOCK_BYTES);
            if damage == Damage::Truncated {
                damaged.truncate(file, at);
            } else {
                damaged.damage(file, at, |bytes| damage.apply(bytes, block as u64 * 5));
            }
            is_told(&damaged, &format!("{state}: {file}, block {block}, {damage:?}"))
        });
    }
    println!("flash filter, exhaustive damage: {tally}");
    assert!(tally.trials > 3000 && tally.told > 100, "{tally}");
}

/// For every n, the n-th write or sync fails. Then the filter opens with every acknowledged key.
#[test]
fn whichever_write_fails_the_filter_opens_with_all_that_was_acknowledged() {
    let mut failures = 0;
    for n in 0.. {
        let power = SimPower::steady();
        let storage = Arc::new(SimStorage::new(power.clone()));
        let settings = FilterSettings::new(1200, 0.02).growing(true);
        drop(FlashFilter::create_in(storage.clone(), &settings, buffer()).unwrap());
        power.fail_once_after(n);
        let mut acknowledged = 0;
        let mut work = || -> Result<(), FlashError> {
            let filter = FlashFilter::open_in(storage.clone(), buffer())?;
            for first in (0..KEYS).step_by(100) {
                filter.insert_many(&keys(1, first..first + 100))?;
                if first % 500 == 400 { filter.flush() } else { filter.commit() }?;
                acknowledged = first + 100;
            }
            filter.close()
        };
        let result = work();
        failures += u64::from(result.is_err());
        for loss in [PowerLoss::KILLED, PowerLoss::ALL_LOST, PowerLoss::TORN_SECTORS] {
            let found = Arc::new(storage.after_power_loss(loss, n));
            let filter = FlashFilter::open_in(found, buffer())
                .unwrap_or_else(|e| panic!("operation {n}, {loss:?}: {e}"));
            let lost =
                filter.contains_many(&keys(1, 0..acknowledged)).iter().filter(|found| !**found).count();
            assert_eq!(lost, 0, "operation {n}, {loss:?}");
        }
        if result.is_ok() {
            break;
        }
    }
    assert!(failures > 80, "{failures}");
}

/// A failed creation leaves no files behind, and does not change a folder with other files.
#[test]
fn whichever_write_of_a_creation_fails_no_half_a_set_is_opened() {
    for n in 0.. {
        let power = SimPower::steady();
        power.fail_once_after(n);
        let storage = Arc::new(SimStorage::new(power));
        let created = FlashFilter::create_in(storage.clone(), &FilterSettings::new(1200, 0.02), buffer());
        if created.is_ok() {
            break;
        }
        for loss in [PowerLoss::KILLED, PowerLoss::ALL_LOST] {
            let found = Arc::new(storage.after_power_loss(loss, n));
            if let Ok(filter) = FlashFilter::open_in(found, buffer()) {
                assert!(!filter.contains(common::key(1, 1)), "operation {n}: complete, and empty");
            }
        }
    }
}
