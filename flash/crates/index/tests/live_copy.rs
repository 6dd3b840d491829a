//! Copies of an open index: those that other programs make, file by file, are whole or refused, and the index's own are whole.
//!
//! `SPRINGBLOOM_CRASHES` sets the number of copies (default 300).

mod support;

use std::sync::Arc;

use rand::RngExt;
use springbloom_flash_index::{FlashError, FlashIndex, Watch};
use springbloom_flash_testkit::{CopiedStorage, PowerLoss, SimPower, SimStorage};
use springbloom_testkit::seed;
use support::{key, small, steady, value};

fn copies() -> u64 {
    std::env::var("SPRINGBLOOM_CRASHES").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

/// Versions of the keys `0..versions.len()`: number of their last put, 0 for none.
#[derive(Clone, Default)]
struct Versions(Vec<u64>);

/// What a program does that has an index open: puts again and again, commits, compacts, closes, is killed.
struct Program {
    storage: CopiedStorage,
    index: Option<FlashIndex>,
    version: u64,
    written: Versions,
    committed: Versions,
}

impl Program {
    fn step(&mut self, rng: &mut seed::TestRng) {
        let open = || FlashIndex::open_in(Arc::new(self.storage.clone()), small().1).unwrap();
        let index = self.index.take().unwrap_or_else(open);
        for _ in 0..rng.random_range(0..150) {
            self.version += 1;
            let n = rng.random_range(0..3000);
            index.put(&key(n), &value(n, self.version, 40)).unwrap();
            self.written.0[n as usize] = self.version;
        }
        match rng.random_range(0..30) {
            0 => {
                index.close().unwrap();
                self.committed = self.written.clone();
            }
            1 => {
                // It is killed. Puts that were not committed may be there or not, and are put again.
                drop(index);
                let index = FlashIndex::open_in(Arc::new(self.storage.clone()), small().1).unwrap();
                for (n, version) in (0..).zip(&self.written.0).filter(|(_, version)| **version > 0) {
                    index.put(&key(n), &value(n, *version, 40)).unwrap();
                }
                index.commit().unwrap();
                (self.committed, self.index) = (self.written.clone(), Some(index));
            }
            2 => {
                index.compact(&mut Watch::none()).unwrap();
                index.commit().unwrap();
                (self.committed, self.index) = (self.written.clone(), Some(index));
            }
            3..=22 => {
                index.commit().unwrap();
                (self.committed, self.index) = (self.written.clone(), Some(index));
            }
            _ => self.index = Some(index),
        }
    }
}

/// Whether the copy opens and reads everything. A key that it finds has the committed value or a later one.
fn check(copy: SimStorage, committed: &Versions, what: &str) -> bool {
    let index = match FlashIndex::open_in(Arc::new(copy), small().1) {
        Ok(index) => index,
        Err(FlashError::Io { source, .. }) if source.kind() != std::io::ErrorKind::NotFound => {
            panic!("{what}: {source}")
        }
        Err(_) => return false,
    };
    let mut is_whole = true;
    for (n, least) in (0..).zip(&committed.0).filter(|(_, version)| **version > 0) {
        match index.get(&key(n)) {
            Ok(Some(found)) => {
                let version = u64::from_le_bytes(found[8..16].try_into().unwrap());
                assert!(found == value(n, version, 40) && version >= *least, "{what}: key {n} is older");
            }
            Ok(None) => panic!("{what}: key {n} is missing silently"),
            Err(_) => is_whole = false,
        }
    }
    is_whole
}

#[test]
fn a_copy_of_what_is_open_is_whole_or_refused() {
    let mut rng = seed::rng("a_copy_of_an_open_index_is_whole_or_refused");
    let (mut whole, mut refused) = (0, 0);
    for copy in 0..copies() {
        let storage = CopiedStorage::new(steady());
        let (settings, memory) = small();
        let index = FlashIndex::create_in(Arc::new(storage.clone()), settings, memory, 77).unwrap();
        let empty = Versions(vec![0; 3000]);
        let mut program = Program {
            storage: storage.clone(),
            index: Some(index),
            version: 0,
            written: empty.clone(),
            committed: empty,
        };
        for _ in 0..rng.random_range(0..60) {
            program.step(&mut rng);
        }
        let pace = 2f64.powi(rng.random_range(-4..7));
        storage.begin_copy(pace, rng.random()).unwrap();
        let committed = program.committed.clone();
        let mut steps = 0;
        while storage.is_copying() && steps < rng.random_range(1..60) {
            program.step(&mut rng);
            steps += 1;
        }
        let made = storage.end_copy().unwrap().unwrap();
        let is_whole = check(made, &committed, &format!("copy {copy}, pace {pace}, {steps} steps"));
        *(if is_whole { &mut whole } else { &mut refused }) += 1;
    }
    println!("{whole} whole, {refused} refused");
    assert!(whole > copies() / 10 && refused > copies() / 10, "{whole} whole, {refused} refused");
}

fn filled() -> FlashIndex {
    let index = support::created(&steady());
    for n in 0..3000 {
        index.put(&key(n % 2000), &value(n % 2000, n, 40)).unwrap();
    }
    index
}

#[test]
fn its_own_copy_has_all_changes_and_both_go_on() {
    let index = filled();
    let made = steady();
    index.copy_in(&*made, &mut Watch::none()).unwrap();
    index.put(&key(5), b"later").unwrap();
    let copy = support::opened(&made);
    for n in 0..2000 {
        let version = if n < 1000 { n + 2000 } else { n };
        assert_eq!(copy.get(&key(n)).unwrap(), Some(value(n, version, 40)), "{n}");
    }
    assert!(copy.verify(&mut Watch::none()).unwrap().is_sound());
    copy.put(&key(5), b"of the copy").unwrap();
    copy.commit().unwrap();
    assert_eq!(index.get(&key(5)).unwrap().as_deref(), Some(&b"later"[..]));
}

/// Every operation is the last one of some copy.
#[test]
fn its_own_copy_does_not_open_if_it_was_interrupted_unless_it_is_whole() {
    let index = filled();
    for operations in 0.. {
        let made = SimStorage::new(SimPower::steady());
        made.power().cut_after(operations);
        let is_made = index.copy_in(&made, &mut Watch::none()).is_ok();
        for loss in [PowerLoss::KILLED, PowerLoss::ALL_LOST, PowerLoss::WHOLE_SECTORS] {
            let left = Arc::new(made.after_power_loss(loss, operations));
            match FlashIndex::open_in(left, small().1) {
                Ok(copy) => {
                    assert!((0..2000).all(|n| copy.get(&key(n)).unwrap().is_some()), "{operations}, {loss:?}")
                }
                Err(error) => assert!(!is_made, "{operations}, {loss:?}: {error}"),
            }
        }
        if is_made {
            break;
        }
    }
}
