//! Power losses and kills at any operation. Committed records are found, and nothing is found that was never put.

mod support;

use std::collections::HashMap;
use std::sync::Arc;

use rand::RngExt;
use springbloom_flash_index::FlashError;
use springbloom_flash_index::{FlashIndex, Watch};
use springbloom_flash_testkit::{PowerLoss, SimPower, SimStorage, ending_after};
use springbloom_page_device::BlockSizes;
use springbloom_testkit::seed::{self, TestRng};
use support::{any_key as key, opened, small, value};

const KEYS: u64 = 1500;

/// The states of a key that are allowed after a crash: that of the last commit, or any later one.
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

    /// The log is a prefix of the appended records, so one moment must explain all keys.
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
                index.commit()?;
                model.acknowledge();
            }
            94 if rng.random_range(0..10) == 0 => {
                // One in two is stopped, and what it was told before is kept.
                let steps = if rng.random() { u64::MAX } else { rng.random_range(0..200) };
                match index.compact(&mut ending_after(steps)) {
                    Err(FlashError::Stopped) => {}
                    compacted => {
                        compacted?;
                        model.acknowledge();
                    }
                }
            }
            _ => {
                index.get(&key(n))?;
            }
        }
    }
    Ok(())
}

/// At least this many rounds, and until all kinds of ends were seen. Returns how many buckets were rebuilt at openings.
fn crash_again_and_again(test: &str, on: BlockSizes, loss: PowerLoss, rounds: usize) -> u64 {
    let mut rng = seed::rng(test);
    let mut storage = Arc::new(SimStorage::with_blocks(SimPower::steady(), on));
    let (settings, memory) = small();
    drop(FlashIndex::create_in(storage.clone(), settings, memory, rng.random()).unwrap());
    let (mut model, mut rebuilt, mut closed) = (Model::default(), 0, 0);
    let (mut stopped, mut stopped_openings) = (0, 0);
    for round in 0.. {
        if round >= rounds && closed > 0 && stopped > 0 && stopped_openings > 0 {
            break;
        }
        assert!(
            round < 10 * rounds,
            "{closed} closed, {stopped} stopped, {stopped_openings} openings stopped"
        );
        // The first operations are those of opening.
        storage.power().cut_after(rng.random_range(0..400));
        let steps = if rng.random() { u64::MAX } else { rng.random_range(0..20) };
        stopped_openings += u64::from(matches!(
            FlashIndex::open_watched(storage.clone(), memory, &mut ending_after(steps)),
            Err(FlashError::Stopped)
        ));
        if let Ok(index) = FlashIndex::open_in(storage.clone(), memory) {
            // Half of the runs end with a close, which may be interrupted as well.
            let operations = if rng.random() { 20_000 } else { rng.random_range(0..3000) };
            let result = run(&index, &mut model, &mut rng, operations);
            assert!(result.is_err() || !storage.power().is_cut());
            let steps = if rng.random() { u64::MAX } else { rng.random_range(0..20) };
            if result.is_ok() {
                match index.close_watched(&mut ending_after(steps)) {
                    Ok(()) => {
                        model.acknowledge();
                        closed += 1;
                    }
                    Err(FlashError::Stopped) => {
                        model.acknowledge();
                        stopped += 1;
                    }
                    Err(_) => {}
                }
            }
        }
        storage = Arc::new(storage.after_power_loss(loss, rng.random()));
        let index = opened(&storage);
        rebuilt += index.stats().buckets_rebuilt;
        assert!(index.verify(&mut Watch::none()).unwrap().is_sound(), "round {round}");
        model.check_and_settle(&index);
        drop(index);
        assert!(round < 3 || !model.acknowledged.is_empty());
    }
    rebuilt
}

#[test]
fn a_power_loss_with_whole_sectors_loses_nothing_acknowledged() {
    assert_eq!(crash_again_and_again("whole sectors", BlockSizes::SMALL, PowerLoss::WHOLE_SECTORS, 100), 0);
}

#[test]
fn a_power_loss_with_torn_sectors_loses_nothing_acknowledged() {
    assert_eq!(crash_again_and_again("torn sectors", BlockSizes::SMALL, PowerLoss::TORN_SECTORS, 100), 0);
}

#[test]
fn a_kill_loses_nothing_acknowledged() {
    assert_eq!(crash_again_and_again("killed", BlockSizes::SMALL, PowerLoss::KILLED, 100), 0);
}

/// A device that writes blocks of 4 KiB may lose older sectors of a bucket while one is appended. The next opening notices and rebuilds the
/// bucket from the log.
#[test]
fn a_power_loss_on_a_device_with_large_pieces_loses_nothing_acknowledged() {
    let on = BlockSizes::EMULATED;
    let rebuilt = crash_again_and_again("large pieces", on, PowerLoss::TORN_SECTORS, 100);
    assert!(rebuilt > 0, "no bucket was torn in 100 power losses");
}
