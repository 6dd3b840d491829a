//! How much memory the tables take that are being written.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Bytes of all tables that are being written.
#[derive(Clone, Debug, Default)]
pub(crate) struct BuilderMemory(Arc<AtomicU64>);

impl BuilderMemory {
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// The share of another table.
    pub(crate) fn share(&self) -> Share {
        Share { of: self.clone(), bytes: 0 }
    }
}

/// Bytes of one table. None once it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    of: BuilderMemory,
    bytes: u64,
}

impl Share {
    pub(crate) fn set(&mut self, bytes: u64) {
        let before = std::mem::replace(&mut self.bytes, bytes);
        // Wraps where it shrinks, and so does the sum.
        self.of.0.fetch_add(bytes.wrapping_sub(before), Ordering::Relaxed);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_go() {
        let memory = BuilderMemory::default();
        let (mut one, mut other) = (memory.share(), memory.share());
        one.set(100);
        other.set(30);
        one.set(50);
        assert_eq!(memory.bytes(), 80);
        drop(one);
        assert_eq!(memory.bytes(), 30);
        drop(other);
        assert_eq!(memory.bytes(), 0);
    }
}
