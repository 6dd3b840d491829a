//! Key spaces: the keys that a store holds and, between them, keys that it does not hold.
//!
//! Records are numbered from 0. Every record has a present key and an absent one; the absent keys lie inside the range
//! of the present ones, so that a store cannot answer "not found" from the bounds of its tables.

mod file;
mod synthetic;

pub use file::FileKeys;

/// Present and absent keys by record number.
#[derive(Debug)]
pub enum KeySpace {
    /// `user` and 20 digits, as YCSB makes them; records beyond those loaded can be inserted later.
    Synthetic {
        /// Records that are loaded.
        records: u64,
    },
    /// Real keys, read from a file.
    File(FileKeys),
}

impl KeySpace {
    /// Records that are loaded.
    pub fn records(&self) -> u64 {
        match self {
            KeySpace::Synthetic { records } => *records,
            KeySpace::File(keys) => keys.records(),
        }
    }

    /// Whether there are keys for records beyond [`records`](Self::records), as inserts need them.
    pub fn can_grow(&self) -> bool {
        matches!(self, KeySpace::Synthetic { .. })
    }

    /// The key of `record`, into `key` (which is overwritten).
    ///
    /// # Panics
    /// If the key space cannot grow and `record` is beyond its end.
    #[inline]
    pub fn present(&self, record: u64, key: &mut Vec<u8>) {
        match self {
            KeySpace::Synthetic { .. } => synthetic::present(record, key),
            KeySpace::File(keys) => {
                key.clear();
                key.extend_from_slice(keys.present(record));
            }
        }
    }

    /// The absent key that belongs to `record`, into `key` (which is overwritten).
    ///
    /// # Panics
    /// As [`present`](Self::present).
    #[inline]
    pub fn absent(&self, record: u64, key: &mut Vec<u8>) {
        match self {
            KeySpace::Synthetic { .. } => synthetic::absent(record, key),
            KeySpace::File(keys) => {
                key.clear();
                key.extend_from_slice(keys.absent(record));
            }
        }
    }

    /// Bytes of all keys that are loaded.
    pub fn key_bytes(&self) -> u64 {
        match self {
            KeySpace::Synthetic { records } => records * synthetic::KEY_BYTES as u64,
            KeySpace::File(keys) => keys.key_bytes(),
        }
    }
}
