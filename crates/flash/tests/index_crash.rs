//! Power cuts and kills at any operation: what a flush acknowledged is found again, and nothing is found that was never put.

mod index_support;

use std::collections::HashMap;
use std::sync::Arc;

use index_support::{key, opened, small, value};
use rand::RngExt;
use springbloom_flash::FlashError;
use springbloom_flash::device::{BlockSizes, PowerLoss, SimPower, SimStorage};
use springbloom_flash::index::FlashIndex;
use springbloom_testkit::seed::{self, TestRng};

const KEYS: u64 = 1500;

/// What a key may hold after a crash: its state at the last flush, or any later one.
#[derive(Default)]
struct Model {
    acknowledged: HashMap<u64, Vec<u8>>,
    since: Vec<(u64, Option<Vec<u8>>)>,
}

impl Model {
    fn acknowledge(&mut self) {
        for (n, value) in self.since.drain(..) {
            match value {
                Some(value) => self.acknowledged.insert(n, value),
                None => self.acknowledged.remove(&n),
            };
        }
    }

    /// The log is a prefix of what was appended, so one moment explains all keys.
    fn check_and_settle(&mut self, index: &FlashIndex) {
        let names: Vec<Vec<u8>> = (0..KEYS).map(key).collect();
        let wanted: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let found = index.get_many(&wanted).unwrap();
        let mut state = self.acknowledged.clone();
        let fits = |state: &HashMap<u64, Vec<u8>>| {
            found.iter().enumerate().all(|(n, value)| value.as_ref() == state.get(&(n as u64)))
        };
        let mut explained = fits(&state).then(|| state.clone());
        for (n, value) in self.since.drain(..) {
            match value {
                Some(value) => state.insert(n, value),
                None => state.remove(&n),
            };
            if explained.is_none() && found[n as usize].as_ref() == state.get(&n) && fits(&state) {
                explained = Some(state.clone());
            }
        }
        self.acknowledged =
            explained.expect("no prefix of the operations since the last flush explains what is found");
    }
}

impl Model {
    /// Each key has its acknowledged state or a later one. Salvage also finds what was written behind the end of the log, so no one moment need
    /// explain all keys.
    fn check_each_and_settle(&mut self, index: &FlashIndex) {
        for n in 0..KEYS {
            let found = index.get(&key(n)).unwrap();
            let mut later = self.since.iter().filter(|(m, _)| *m == n).map(|(_, value)| value.as_ref());
            let is_acknowledged = found.as_ref() == self.acknowledged.get(&n);
            assert!(is_acknowledged || later.any(|value| value == found.as_ref()), "key {n}");
            match found {
                Some(value) => self.acknowledged.insert(n, value),
                None => self.acknowledged.remove(&n),
            };
        }
        self.since.clear();
    }
}

/// Random operations until one fails.
fn run(
    index: &FlashIndex,
    model: &mut Model,
    rng: &mut TestRng,
    operations: usize,
) -> Result<(), FlashError> {
    for _ in 0..operations {
        let n = rng.random_range(0..KEYS);
        match rng.random_range(0..100) {
            0..80 => {
                let len = if rng.random_range(0..50) == 0 { rng.random_range(0..20_000) } else { 30 };
                let value = value(n, rng.random(), len);
                model.since.push((n, Some(value.clone())));
                index.put(&key(n), &value)?;
            }
            80..92 => {
                model.since.push((n, None));
                index.delete(&key(n))?;
            }
            92..94 => {
                index.flush()?;
                model.acknowledge();
            }
            94 if rng.random_range(0..10) == 0 => {
                index.compact()?;
                model.acknowledge();
            }
            _ => {
                index.get(&key(n))?;
            }
        }
    }
    Ok(())
}

fn crash_again_and_again(test: &str, loss: PowerLoss, rounds: usize) {
    let mut rng = seed::rng(test);
    let mut storage = Arc::new(SimStorage::new(SimPower::steady()));
    let (settings, memory) = small();
    drop(FlashIndex::create_in(storage.clone(), settings, memory, rng.random()).unwrap());
    let mut model = Model::default();
    for round in 0..rounds {
        // The first operations are those of opening.
        storage.power().cut_after(rng.random_range(0..400));
        if let Ok(index) = FlashIndex::open_in(storage.clone(), memory) {
            let result = run(&index, &mut model, &mut rng, 20_000);
            assert!(result.is_err() || !storage.power().is_cut());
        }
        storage = Arc::new(storage.after_power_loss(loss, rng.random()));
        let index = opened(&storage);
        model.check_and_settle(&index);
        drop(index);
        assert!(round < 3 || !model.acknowledged.is_empty());
    }
}

#[test]
fn a_power_loss_with_whole_sectors_loses_nothing_acknowledged() {
    crash_again_and_again("whole sectors", PowerLoss::WHOLE_SECTORS, 100);
}

#[test]
fn a_power_loss_with_torn_sectors_loses_nothing_acknowledged() {
    crash_again_and_again("torn sectors", PowerLoss::TORN_SECTORS, 100);
}

#[test]
fn a_kill_loses_nothing_acknowledged() {
    crash_again_and_again("killed", PowerLoss::KILLED, 100);
}

/// Whether no lookup fails: a bucket may know of a page that the log lost, which its own checksum does not tell.
fn answers_all(index: &FlashIndex) -> bool {
    let names: Vec<Vec<u8>> = (0..KEYS).map(key).collect();
    index.get_many(&names.iter().map(Vec::as_slice).collect::<Vec<_>>()).is_ok()
}

/// Where a device loses pieces of 4 KiB of which sectors are being written, buckets may become unreadable, but the log does not: lookups say that
/// there is damage, and salvage finds everything that was acknowledged.
#[test]
fn a_power_loss_on_a_device_with_large_pieces_loses_nothing_that_salvage_does_not_find() {
    let mut rng = seed::rng("large pieces");
    let storage = || Arc::new(SimStorage::with_blocks(SimPower::steady(), BlockSizes::EMULATED));
    let (settings, memory) = small();
    let mut storage_now = storage();
    drop(FlashIndex::create_in(storage_now.clone(), settings, memory, rng.random()).unwrap());
    let (mut model, mut salvaged) = (Model::default(), 0);
    for _ in 0..100 {
        storage_now.power().cut_after(rng.random_range(0..400));
        if let Ok(index) = FlashIndex::open_in(storage_now.clone(), memory) {
            let _ = run(&index, &mut model, &mut rng, 20_000);
        }
        storage_now = Arc::new(storage_now.after_power_loss(PowerLoss::TORN_SECTORS, rng.random()));
        let index = opened(&storage_now);
        match index.verify() {
            Ok(report) if report.is_sound() && answers_all(&index) => model.check_and_settle(&index),
            _ => {
                drop(index);
                let fresh = storage();
                FlashIndex::salvage_in(&*storage_now, fresh.clone(), rng.random()).unwrap();
                model.check_each_and_settle(&opened(&fresh));
                storage_now = fresh;
                salvaged += 1;
            }
        }
    }
    println!("{salvaged} of 100 were salvaged");
    assert!(!model.acknowledged.is_empty());
}
