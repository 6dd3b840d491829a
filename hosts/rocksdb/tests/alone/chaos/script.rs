//! The operations, drawn from the seed alone: both sides do the same, and a seed draws the same again.

use rand::RngExt;
use springbloom_testkit::seed::TestRng;

use super::{
    operation::{Operation, Shake},
    side::{BUSY, CAPACITIES, FOLLOWED, STORES},
};
use crate::common::contents::key;

/// Numbers of keys in the busy store, and in each other one.
pub(crate) const NUMBERS: [u32; 2] = [30_000, 5_000];

/// Numbers of keys in a store.
pub(crate) fn numbers(store: usize) -> u32 {
    NUMBERS[usize::from(store != BUSY)]
}

/// A key that no operation ever writes, after the key of this number.
pub(crate) fn absent_key(number: u32) -> Vec<u8> {
    [&key(number)[..], b"?"].concat()
}

pub(crate) struct Script {
    random: TestRng,
    values: u64,
    /// The stores that are to be open.
    open: [bool; STORES],
}

impl Script {
    pub(crate) fn new(random: TestRng) -> Self {
        Self { random, values: 0, open: [true; STORES] }
    }

    /// For what else happens.
    pub(crate) fn random(&mut self) -> &mut TestRng {
        &mut self.random
    }

    pub(crate) fn is_open(&self, store: usize) -> bool {
        self.open[store]
    }

    /// The next operation.
    pub(crate) fn operation(&mut self) -> Operation {
        let store = self.store();
        match self.random.random_range(0..10_000) {
            0..1_500 => Operation::Put { store, key: self.written_key(store), value: self.value() },
            1_500..1_800 => Operation::Delete { store, key: self.written_key(store) },
            // A secondary of RocksDB applies an operand twice that it finds in the log and then in a table.
            1_800..2_100 if store != FOLLOWED => {
                Operation::Merge { store, key: self.written_key(store), operand: self.value() }
            }
            2_100..6_000 => Operation::Get { store, key: self.key(store) },
            6_000..6_600 => Operation::MultiGet { store, keys: self.keys(store, 50) },
            6_600..7_200 => Operation::BatchedMultiGet { store, keys: self.keys(store, 50) },
            7_200..7_600 => {
                Operation::Walk { store, from: self.key(store), steps: self.random.random_range(1..60) }
            }
            7_600..8_800 => Operation::KeyMayExist { store, key: self.key(store) },
            8_800..9_500 => Operation::SecondaryGet { key: self.key(FOLLOWED) },
            9_500..9_700 => Operation::SecondaryMultiGet { keys: self.keys(FOLLOWED, 50) },
            9_700..9_720 => Operation::CatchUp,
            9_720..9_740 => Operation::Flush { store },
            9_740..9_750 => self.compact(store),
            9_750..9_780 => self.open_or_close(),
            9_780..9_830 => Operation::SetBudget { bytes: self.budget() },
            9_830..9_880 => Operation::ResizeCache { bytes: self.capacity() },
            9_880..9_885 => self.shake(),
            _ => Operation::Get { store: BUSY, key: self.key(BUSY) },
        }
    }

    /// One that is to be open, the busy one mostly.
    fn store(&mut self) -> usize {
        match self.random.random_range(0..10) {
            0..5 => BUSY,
            5..7 => FOLLOWED,
            _ => {
                let drawn = self.random.random_range(0..STORES);
                if self.open[drawn] { drawn } else { BUSY }
            }
        }
    }

    fn written_key(&mut self, store: usize) -> Vec<u8> {
        key(self.random.random_range(0..numbers(store)))
    }

    fn key(&mut self, store: usize) -> Vec<u8> {
        let number = self.random.random_range(0..numbers(store));
        if self.random.random_bool(0.5) { key(number) } else { absent_key(number) }
    }

    fn keys(&mut self, store: usize, most: usize) -> Vec<Vec<u8>> {
        (0..self.random.random_range(1..=most)).map(|_| self.key(store)).collect()
    }

    fn value(&mut self) -> Vec<u8> {
        self.values += 1;
        let mut value = format!("{}/", self.values).into_bytes();
        value.resize(value.len() + self.random.random_range(0..60), b'v');
        value
    }

    /// A tenth of the store: a whole one takes long while reads are slow.
    fn compact(&mut self, store: usize) -> Operation {
        let from = self.random.random_range(0..numbers(store));
        Operation::Compact { store, from: key(from), to: key(from + numbers(store) / 10) }
    }

    /// Of those that are neither the busy one nor the one that is followed.
    fn open_or_close(&mut self) -> Operation {
        let store = self.random.random_range(FOLLOWED + 1..STORES);
        self.open[store] = !self.open[store];
        if self.open[store] { Operation::Open { store } } else { Operation::Close { store } }
    }

    /// Nothing, a little, or plenty.
    fn budget(&mut self) -> u64 {
        match self.random.random_range(0..4) {
            0 => 0,
            1 => self.random.random_range(0..40 << 10),
            2 => self.random.random_range(0..400 << 10),
            _ => self.random.random_range(1 << 20..8 << 20),
        }
    }

    fn capacity(&mut self) -> usize {
        self.random.random_range(CAPACITIES)
    }

    fn shake(&mut self) -> Operation {
        let changes = (0..10).map(|_| (self.budget(), self.capacity())).collect();
        Operation::Shake(Shake { keys: [(); 2].map(|()| self.keys(BUSY, 2_000)), changes })
    }
}
