//! The operations of a trace, and how they are collected.

use indexmap::IndexSet;

use crate::keys::{KEY_BYTES_MAX, PackedKeys};

/// Most different keys of a trace.
const KEYS_MAX: usize = u32::MAX as usize;
/// Bytes of a column family's number in front of a key, while a trace is read.
const FAMILY_BYTES: usize = 4;

/// What a program did with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceKind {
    /// Looked it up.
    Get,
    /// Wrote a value: a put or a merge.
    Put,
    /// Deleted it.
    Delete,
    /// Asked an iterator for the first key that is not before it, or the last that is not behind it.
    Seek,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceOperation {
    /// What was done.
    pub kind: TraceKind,
    /// Number of the key.
    pub key: u32,
}

/// Why the bytes of a trace are refused.
#[derive(Debug, PartialEq, Eq)]
pub struct BadTrace {
    /// A line or a byte.
    pub place: String,
    /// What is there, and what was expected.
    pub wrong: String,
}

/// A recorded workload.
#[derive(Debug)]
pub struct Trace {
    pub(crate) keys: PackedKeys,
    /// This many keys, the first ones, were there before the trace.
    pub(crate) there_before: u32,
    pub(crate) operations: Vec<TraceOperation>,
    /// Mean size of the values that were written, if the trace has them.
    pub value_bytes: Option<u64>,
    /// What was left out of the operations.
    pub left_out: LeftOut,
}

/// Parts of a trace that are not among its operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Deletions of ranges.
    pub range_deletions: u64,
    /// Transactions that were rolled back. Their writes are among the operations.
    pub rollbacks: u64,
    /// The file ends within a record.
    pub is_cut_off: bool,
}

impl Trace {
    /// Number of operations.
    pub fn operations(&self) -> usize {
        self.operations.len()
    }

    /// Number of different keys.
    pub fn keys(&self) -> usize {
        self.keys.len() as usize
    }

    /// The operations, in their order.
    pub fn iter(&self) -> impl Iterator<Item = TraceOperation> {
        self.operations.iter().copied()
    }

    /// The key of this number.
    pub fn key(&self, number: u32) -> &[u8] {
        self.keys.get(u64::from(number))
    }
}

/// A trace that is being read.
#[derive(Debug, Default)]
pub struct TraceBuilder {
    /// Behind the numbers of their column families.
    keys: IndexSet<Box<[u8]>>,
    there_before: u32,
    pub(super) operations: Vec<TraceOperation>,
    has_families: bool,
    values: u64,
    value_bytes: u64,
    pub(super) left_out: LeftOut,
    /// Room for a key and its family.
    key: Vec<u8>,
}

impl TraceBuilder {
    /// Adds a key that was there before the trace, which must come before all operations.
    pub(super) fn add_key(&mut self, key: &[u8]) -> Result<(), String> {
        self.number(0, key)?;
        self.there_before = self.keys.len() as u32;
        Ok(())
    }

    pub(super) fn add(&mut self, kind: TraceKind, family: u32, key: &[u8]) -> Result<(), String> {
        let key = self.number(family, key)?;
        self.operations.push(TraceOperation { kind, key });
        Ok(())
    }

    pub(super) fn add_value(&mut self, bytes: usize) {
        self.values += 1;
        self.value_bytes += bytes as u64;
    }

    fn number(&mut self, family: u32, key: &[u8]) -> Result<u32, String> {
        if key.len() > KEY_BYTES_MAX {
            return Err(format!("got a key of {} bytes, expected at most {KEY_BYTES_MAX}", key.len()));
        }
        self.has_families |= family != 0;
        self.key.clear();
        self.key.extend_from_slice(&family.to_be_bytes());
        self.key.extend_from_slice(key);
        if let Some(number) = self.keys.get_index_of(self.key.as_slice()) {
            return Ok(number as u32);
        }
        if self.keys.len() == KEYS_MAX {
            return Err(format!("expected at most {KEYS_MAX} different keys"));
        }
        Ok(self.keys.insert_full(self.key.as_slice().into()).0 as u32)
    }

    /// The trace. Where it has one column family, keys are as they were, and else behind the number of theirs.
    pub fn finish(self) -> Trace {
        let skipped = if self.has_families { 0 } else { FAMILY_BYTES };
        let mut keys = PackedKeys::default();
        self.keys.iter().for_each(|key| keys.push(&key[skipped..]));
        Trace {
            keys,
            there_before: self.there_before,
            operations: self.operations,
            value_bytes: self.value_bytes.checked_div(self.values),
            left_out: self.left_out,
        }
    }
}
