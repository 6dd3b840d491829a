//! Reads that tell the filters what they found. A token goes with the read through SlateDB to the filters; the tables that they let it read
//! are noted under it.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use parking_lot::Mutex;
use slatedb::FilterContext;
use springbloom_manager::Outcome;

use crate::known_tables::Open;

/// Reads of different shards do not wait for each other.
const SHARDS: usize = 64;

/// The reads that are under way.
pub(crate) struct Reads {
    /// Tells these tokens from those of other filters and from what programs give to other policies.
    key: [u8; 16],
    next: AtomicU64,
    shards: [Mutex<HashMap<u64, Vec<Passed>>>; SHARDS],
}

/// A table that a read was let to.
pub(crate) struct Passed {
    pub(crate) open: Arc<Open>,
    pub(crate) segment: u32,
    /// That let it pass.
    pub(crate) units: u8,
}

/// Of a read that is under way, or was.
pub(crate) struct Token<'r> {
    reads: &'r Reads,
    number: u64,
}

/// A read that is under way. One that is dropped before its end teaches nothing.
pub(crate) struct Read<'r>(Token<'r>);

impl Default for Reads {
    fn default() -> Self {
        Self { key: rand::random(), next: AtomicU64::new(0), shards: [(); SHARDS].map(|()| Mutex::default()) }
    }
}

impl Reads {
    pub(crate) fn begin(&self) -> Read<'_> {
        let token = Token { reads: self, number: self.next.fetch_add(1, Relaxed) };
        token.shard().lock().insert(token.number, Vec::new());
        Read(token)
    }

    pub(crate) fn token_of(&self, context: &FilterContext) -> Option<Token<'_>> {
        let FilterContext::Inline(bytes) = context else { return None };
        let (number, _) = bytes.strip_prefix(&self.key)?.split_first_chunk()?;
        Some(Token { reads: self, number: u64::from_le_bytes(*number) })
    }
}

impl Token<'_> {
    fn shard(&self) -> &Mutex<HashMap<u64, Vec<Passed>>> {
        &self.reads.shards[(self.number % SHARDS as u64) as usize]
    }

    /// Notes a table that the read was let to. Whether the read goes on: SlateDB asks some more tables when it has found the key.
    pub(crate) fn notes(&self, passed: Passed) -> bool {
        let mut shard = self.shard().lock();
        let noted = shard.get_mut(&self.number);
        noted.map(|noted| noted.push(passed)).is_some()
    }
}

impl Read<'_> {
    /// For [`ReadOptions`](slatedb::config::ReadOptions).
    pub(crate) fn context(&self) -> FilterContext {
        let mut bytes = [0; 64];
        bytes[..16].copy_from_slice(&self.0.reads.key);
        bytes[16..24].copy_from_slice(&self.0.number.to_le_bytes());
        FilterContext::Inline(bytes)
    }

    /// Tells the tables how it ended. Of several, the one with the most units is taken for the one that holds the key: it was the least
    /// likely to let another one pass. A deleted key counts as absent.
    pub(crate) fn end(self, is_found: bool) {
        let passed = self.0.shard().lock().remove(&self.0.number).unwrap_or_default();
        let most = passed.iter().map(|passed| passed.units).max();
        let mut holder = most.filter(|_| is_found);
        for Passed { open, segment, units } in passed {
            let holds = holder == Some(units);
            if holds {
                holder = None;
            }
            if let Some(absent) = open.absent(segment) {
                absent.told(!holds);
            }
            open.handle().record(segment, if holds { Outcome::TruePositive } else { Outcome::WastedRead });
        }
    }
}

impl Drop for Read<'_> {
    fn drop(&mut self) {
        self.0.shard().lock().remove(&self.0.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_to_the_filters_that_gave_it_alone() {
        let (reads, others) = (Reads::default(), Reads::default());
        let read = reads.begin();
        assert_eq!(reads.token_of(&read.context()).map(|token| token.number), Some(read.0.number));
        assert!(others.token_of(&read.context()).is_none());
        assert!(reads.token_of(&FilterContext::Inline([0; 64])).is_none());
        assert!(reads.token_of(&FilterContext::Bytes(Vec::new().into())).is_none());
    }

    #[test]
    fn nothing_is_kept_of_reads_that_ended_or_were_dropped() {
        let reads = Reads::default();
        let known = || reads.shards.iter().map(|shard| shard.lock().len()).sum::<usize>();
        let (one, other) = (reads.begin(), reads.begin());
        assert_eq!(known(), 2);
        one.end(true);
        drop(other);
        assert_eq!(known(), 0);
    }
}
