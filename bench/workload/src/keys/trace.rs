//! The keys of a recorded workload.

use super::packed::PackedKeys;
use crate::permutation::Permutation;

/// The keys of a trace by record number: first those that the store holds when the workload begins.
#[derive(Debug)]
pub struct TraceKeys {
    pub(crate) keys: PackedKeys,
    pub(crate) loaded: u64,
    pub(crate) loaded_bytes: u64,
    /// This many of the loaded ones were there before the trace, in an order that is not known. The others are in the order of their
    /// writes.
    pub(crate) unordered: u64,
}

impl TraceKeys {
    /// Number of keys that the store holds.
    pub fn loaded(&self) -> u64 {
        self.loaded
    }

    pub(crate) fn loaded_bytes(&self) -> u64 {
        self.loaded_bytes
    }

    pub(crate) fn all(&self) -> u64 {
        self.keys.len()
    }

    pub(crate) fn get(&self, record: u64) -> &[u8] {
        self.keys.get(record)
    }

    /// The record that a load writes as its `index`-th: the keys of unknown age in a random order, then the others as the trace wrote them.
    pub(crate) fn load_order(&self, count: u64, seed: u64) -> impl Fn(u64) -> u64 + use<> {
        let unordered = self.unordered.min(count);
        let order = Permutation::new(unordered, seed);
        move |index| if index < unordered { order.apply(index) } else { index }
    }
}
