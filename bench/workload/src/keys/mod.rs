//! Key spaces: the keys that a store holds, and absent keys between them.
//!
//! Records are numbered from 0. Every record has a present and an absent key. The absent keys lie in the range of the present ones, so that
//! a store cannot answer "not found" from the bounds of its tables.

pub mod edges;
mod file;
mod packed;
mod synthetic;
mod trace;

use crate::permutation::Permutation;

pub use file::FileKeys;
pub(crate) use file::lines;
pub(crate) use packed::PackedKeys;
pub(crate) use synthetic::{ABSENT_IN_GAP, ABSENT_NUMBERS, ORDERED_RECORDS_MAX};
pub use trace::TraceKeys;

/// A longer key is a file that is no file of keys: RocksDB advises against keys of more than 8 MB.
pub(crate) const KEY_BYTES_MAX: usize = 8 << 20;

/// Present and absent keys by record number.
#[derive(Debug)]
pub enum KeySpace {
    /// `user` and 20 digits, as in YCSB, scattered. More records can be inserted later.
    Synthetic {
        /// Number of loaded records.
        records: u64,
    },
    /// The same in the order of the records. Those that are inserted later come last.
    Ordered {
        /// Number of loaded records, at most 2^36.
        records: u64,
    },
    /// Edges of a graph, scattered: source, type, target. A source has ten of three types.
    Edges {
        /// Number of loaded records.
        records: u64,
    },
    /// Real keys, read from a file.
    File(FileKeys),
    /// The keys of a recorded workload. Those that it looks up in vain, or writes later, are the records behind the loaded ones.
    Trace(TraceKeys),
}

impl KeySpace {
    /// Number of loaded records.
    pub fn records(&self) -> u64 {
        match self {
            KeySpace::Synthetic { records } | KeySpace::Ordered { records } | KeySpace::Edges { records } => {
                *records
            }
            KeySpace::File(keys) => keys.records(),
            KeySpace::Trace(keys) => keys.loaded(),
        }
    }

    /// Whether there are keys for records beyond [`records`](Self::records), which inserts need.
    pub fn can_grow(&self) -> bool {
        matches!(self, KeySpace::Synthetic { .. } | KeySpace::Ordered { .. } | KeySpace::Edges { .. })
    }

    /// Whether keys have the order of their records.
    pub fn is_in_order(&self) -> bool {
        matches!(self, KeySpace::Ordered { .. } | KeySpace::File(_))
    }

    /// Whether there is a key for this record, loaded or not.
    pub fn has_key(&self, record: u64) -> bool {
        match self {
            KeySpace::Synthetic { .. } | KeySpace::Ordered { .. } | KeySpace::Edges { .. } => true,
            KeySpace::File(keys) => record < keys.records(),
            KeySpace::Trace(keys) => record < keys.all(),
        }
    }

    /// The record that a load of the first `count` ones writes as its `index`-th: random, but for what is known of a trace.
    pub fn load_order(&self, count: u64, seed: u64) -> Box<dyn Fn(u64) -> u64> {
        match self {
            KeySpace::Trace(keys) => Box::new(keys.load_order(count, seed)),
            _ => {
                let order = Permutation::new(count, seed);
                Box::new(move |index| order.apply(index))
            }
        }
    }

    /// Writes the key of `record` to `key`, replacing its contents.
    ///
    /// # Panics If the key space cannot grow and `record` is beyond its end.
    #[inline]
    pub fn present(&self, record: u64, key: &mut Vec<u8>) {
        match self {
            KeySpace::Synthetic { .. } => synthetic::present(record, key),
            KeySpace::Ordered { .. } => synthetic::present_in_order(record, key),
            KeySpace::Edges { .. } => edges::present(record, key),
            KeySpace::File(keys) => keys.present(record).clone_into(key),
            KeySpace::Trace(keys) => keys.get(record).clone_into(key),
        }
    }

    /// Writes the absent key of this number to `key`, replacing its contents. Each record has one. A key space that can grow has as
    /// many as there are numbers below 2^63.
    ///
    /// # Panics See [`present`](Self::present).
    #[inline]
    pub fn absent(&self, number: u64, key: &mut Vec<u8>) {
        match self {
            KeySpace::Synthetic { .. } => synthetic::absent(number, key),
            KeySpace::Ordered { records } => synthetic::absent_in_order(number, *records, key),
            KeySpace::Edges { .. } => edges::absent(number, key),
            KeySpace::File(keys) => keys.absent(number).clone_into(key),
            KeySpace::Trace(keys) => keys.get(keys.loaded() + number).clone_into(key),
        }
    }

    /// Bytes of all loaded keys.
    pub fn key_bytes(&self) -> u64 {
        match self {
            KeySpace::Synthetic { records } | KeySpace::Ordered { records } => {
                records * synthetic::KEY_BYTES as u64
            }
            KeySpace::Edges { records } => records * edges::KEY_BYTES as u64,
            KeySpace::File(keys) => keys.key_bytes(),
            KeySpace::Trace(keys) => keys.loaded_bytes(),
        }
    }
}
