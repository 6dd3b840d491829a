//! Key spaces: the keys that a store holds, and absent keys between them.
//!
//! Records are numbered from 0. Every record has a present and an absent key. The absent keys lie in the range of the present ones, so that
//! a store cannot answer "not found" from the bounds of its tables.

mod file;
mod synthetic;

pub use file::FileKeys;
pub(crate) use synthetic::ABSENT_NUMBERS;

/// Present and absent keys by record number.
#[derive(Debug)]
pub enum KeySpace {
    /// `user` and 20 digits, as in YCSB. More records can be inserted later.
    Synthetic {
        /// Number of loaded records.
        records: u64,
    },
    /// Real keys, read from a file.
    File(FileKeys),
}

impl KeySpace {
    /// Number of loaded records.
    pub fn records(&self) -> u64 {
        match self {
            KeySpace::Synthetic { records } => *records,
            KeySpace::File(keys) => keys.records(),
        }
    }

    /// Whether there are keys for records beyond [`records`](Self::records), which inserts need.
    pub fn can_grow(&self) -> bool {
        matches!(self, KeySpace::Synthetic { .. })
    }

    /// Writes the key of `record` to `key`, replacing its contents.
    ///
    /// # Panics If the key space cannot grow and `record` is beyond its end.
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

    /// Writes the absent key of this number to `key`, replacing its contents. Each record has one. A key space that can grow has as
    /// many as there are numbers below 2^63.
    ///
    /// # Panics See [`present`](Self::present).
    #[inline]
    pub fn absent(&self, number: u64, key: &mut Vec<u8>) {
        match self {
            KeySpace::Synthetic { .. } => synthetic::absent(number, key),
            KeySpace::File(keys) => {
                key.clear();
                key.extend_from_slice(keys.absent(number));
            }
        }
    }

    /// Bytes of all loaded keys.
    pub fn key_bytes(&self) -> u64 {
        match self {
            KeySpace::Synthetic { records } => records * synthetic::KEY_BYTES as u64,
            KeySpace::File(keys) => keys.key_bytes(),
        }
    }
}
