//! Absent keys that passed the resident units of a table and wasted a read.
//!
//! A key that passes a unit always passes it: a hot one wastes a read at every lookup. The next unit would cost a bit for each of thousands
//! of keys, an entry here costs ten to thirty bytes. (The idea is that of adaptive filters: Bender et al., "Bloom Filters, Adaptivity, and
//! the Dictionary Problem", FOCS'18. Tables are immutable, so an absence stays true.) Entries hold the whole key and not a hash: a key that
//! is there is never declared absent.
//!
//! Invariants:
//! - an absence is found only if it was put in for the same table and the same key bytes; numbers of tables are never used twice;
//! - lookups take no lock, wait for nobody and allocate nothing, whether they find or put in;
//! - all bytes are reserved from the budget.

mod absent_key;
mod bucket;
mod entry;

pub(crate) use absent_key::AbsentKey;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use arc_swap::ArcSwap;

use crate::budget::{MemoryBudget, MemoryKind};
use crate::memory::allocated_bytes;
use bucket::Bucket;

/// Buckets of a chunk. A chunk takes about a page, whatever the allocator.
const CHUNK_BUCKETS: usize = 15;
/// Chunks at most that are looked at to tell how full the cache is: tables wait meanwhile to be opened.
const CHUNKS_SEEN: usize = 1024;

/// A chunk. Dropping it gives its bytes back to the budget.
struct Chunk {
    buckets: [Bucket; CHUNK_BUCKETS],
    budget: MemoryBudget,
}

/// Bytes of a chunk with its count, its alignment and its place in the list, which is copied when it changes.
pub(crate) const CHUNK_BYTES: usize =
    allocated_bytes(size_of::<Chunk>() + 2 * align_of::<Chunk>()) + 2 * size_of::<usize>();

impl Drop for Chunk {
    fn drop(&mut self) {
        self.budget.release(MemoryKind::NegativeCache, CHUNK_BYTES);
    }
}

/// The cache. Grows and shrinks a chunk at a time by linear hashing: only the chunk that is split or joined loses entries.
pub(crate) struct NegativeCache {
    chunks: ArcSwap<Box<[Arc<Chunk>]>>,
    /// Bytes of free room that entries ever took: now, and when chunks were added last.
    filled_bytes: AtomicU64,
    filled_bytes_before: AtomicU64,
    /// Chunks added last.
    added: AtomicUsize,
    budget: MemoryBudget,
}

impl NegativeCache {
    /// A cache without room.
    pub(crate) fn new(budget: MemoryBudget) -> Self {
        Self {
            chunks: ArcSwap::default(),
            filled_bytes: AtomicU64::new(0),
            filled_bytes_before: AtomicU64::new(0),
            added: AtomicUsize::new(0),
            budget,
        }
    }

    /// Whether the key is known to be absent from the table.
    #[inline]
    pub(crate) fn contains(&self, absence: &AbsentKey<'_>) -> bool {
        bucket_of(&self.chunks.load(), absence).is_some_and(|bucket| bucket.find(absence))
    }

    /// Remembers that the key is absent from the table, if there is room and the key is not too long.
    pub(crate) fn insert(&self, absence: &AbsentKey<'_>) {
        if let Some(bucket) = bucket_of(&self.chunks.load(), absence) {
            self.filled_bytes.fetch_add(bucket.insert(absence) as u64, Ordering::Relaxed);
        }
    }

    /// Number of chunks.
    pub(crate) fn len(&self) -> usize {
        self.chunks.load().len()
    }

    /// Drops the last chunks, so that at most `length` are left. One caller at a time, as for [`grow`](Self::grow).
    pub(crate) fn truncate(&self, length: usize) {
        if length < self.len() {
            self.replace(|chunks| chunks.truncate(length));
        }
    }

    /// Adds up to `count` chunks, as the budget has room for.
    pub(crate) fn grow(&self, count: usize) {
        let reserve = || self.budget.try_reserve(MemoryKind::NegativeCache, CHUNK_BYTES);
        let added: Vec<_> = std::iter::from_fn(reserve)
            .take(count)
            .map(|reservation| {
                reservation.forget(MemoryKind::NegativeCache); // the chunk gives it back
                Arc::new(Chunk {
                    buckets: std::array::from_fn(|_| Bucket::new()),
                    budget: self.budget.clone(),
                })
            })
            .collect();
        if !added.is_empty() {
            self.added.store(added.len(), Ordering::Relaxed);
            self.filled_bytes_before.store(self.filled_bytes.load(Ordering::Relaxed), Ordering::Relaxed);
            self.replace(|chunks| chunks.extend(added));
        }
    }

    fn replace(&self, change: impl FnOnce(&mut Vec<Arc<Chunk>>)) {
        let mut chunks = self.chunks.load().to_vec();
        change(&mut chunks);
        self.chunks.store(Arc::new(chunks.into_boxed_slice()));
    }

    /// Drops what is known of tables that `is_known` does not know, in chunk number `chunk`; `false` if there is no such chunk.
    pub(crate) fn retain_in(&self, chunk: usize, is_known: impl Fn(u32) -> bool) -> bool {
        let chunks = self.chunks.load();
        let Some(chunk) = chunks.get(chunk) else { return false };
        chunk.buckets.iter().for_each(|bucket| bucket.retain(&is_known));
        true
    }

    /// Bytes of all entries, by those of [`CHUNKS_SEEN`] chunks: absences are hashed, so these are an even sample.
    pub(crate) fn entry_bytes(&self) -> usize {
        let chunks = self.chunks.load();
        let step = chunks.len().div_ceil(CHUNKS_SEEN).max(1);
        let seen = chunks.iter().step_by(step);
        let bytes = |chunk: &Arc<Chunk>| chunk.buckets.iter().map(Bucket::used_bytes).sum::<usize>();
        let (sum, count) = seen.fold((0, 0), |(sum, count), chunk| (sum + bytes(chunk), count + 1));
        sum * chunks.len() / count.max(1)
    }

    /// Whether entries have taken half of the room of the chunks that were added last.
    pub(crate) fn has_filled_what_was_added(&self) -> bool {
        let filled_bytes = self.filled_bytes.load(Ordering::Relaxed);
        let since = filled_bytes - self.filled_bytes_before.load(Ordering::Relaxed);
        since * 2 >= (self.added.load(Ordering::Relaxed) * CHUNK_BYTES) as u64
    }
}

/// The bucket that has the absence if any does; `None` while there are none.
#[inline]
fn bucket_of<'a>(chunks: &'a [Arc<Chunk>], absence: &AbsentKey<'_>) -> Option<&'a Bucket> {
    let number = absence.hash as usize / CHUNK_BUCKETS;
    let places = chunks.len().next_power_of_two();
    let split = number & (places - 1);
    // Beyond the chunks there are: not split off yet from the one that it will be split off from.
    let chunk = if split < chunks.len() { split } else { split - places / 2 };
    chunks.get(chunk).map(|chunk| &chunk.buckets[absence.hash as usize % CHUNK_BUCKETS])
}
