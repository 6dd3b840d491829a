//! What smaller caches would miss: each is played by one bucket, which gets as small a share of the keys as one bucket of that cache would
//! (Waldspurger et al., "Cache Modeling and Optimization using Miniature Simulations", ATC'17).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::absent_key::AbsentKey;
use super::bucket::{Bucket, Found};
use crate::budget::{MemoryBudget, MemoryKind};
use crate::memory::allocated_bytes;

/// The smaller caches are one part in so many of the cache.
pub(crate) const SMALLER_PARTS: [usize; 3] = [4, 16, 64];

/// One bucket of a smaller cache.
struct Sample {
    bucket: Bucket,
    /// It gets the keys whose hash is below that; 0 while the smaller cache would be less than a bucket.
    below: AtomicU32,
    misses: AtomicU64,
}

/// The smaller caches. Dropping them gives their bytes back to the budget.
pub(super) struct SmallerCaches {
    samples: [Sample; SMALLER_PARTS.len()],
    budget: MemoryBudget,
}

const BYTES: usize = allocated_bytes(size_of::<SmallerCaches>() + 2 * align_of::<SmallerCaches>());

impl Drop for SmallerCaches {
    fn drop(&mut self) {
        self.budget.release(MemoryKind::NegativeCache, BYTES);
    }
}

/// Misses of a bucket, and the buckets that it stands for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SampledMisses {
    pub misses: u64,
    /// 0 if the smaller cache would be less than a bucket.
    pub buckets: f64,
}

impl SmallerCaches {
    /// `None` if the budget has no room for them.
    pub(super) fn new(budget: &MemoryBudget) -> Option<Self> {
        budget.try_reserve(MemoryKind::NegativeCache, BYTES)?.forget(MemoryKind::NegativeCache); // given back in `drop`
        let sample =
            |_| Sample { bucket: Bucket::new(), below: AtomicU32::new(0), misses: AtomicU64::new(0) };
        Some(Self { samples: std::array::from_fn(sample), budget: budget.clone() })
    }

    /// From now on the cache has so many buckets.
    pub(super) fn follow(&self, buckets: usize) {
        for (sample, parts) in self.samples.iter().zip(SMALLER_PARTS) {
            let below = if buckets < parts { 0 } else { u32::MAX as usize / buckets * parts };
            sample.below.store(below.min(u32::MAX as usize) as u32, Ordering::Relaxed);
        }
    }

    /// A key passed the units of a table that does not hold it, whether or not the cache knew. No lock, no wait.
    #[inline]
    pub(super) fn pass(&self, absence: &AbsentKey<'_>) {
        // Other bits than those which choose the bucket of the cache.
        let place = (absence.hash.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 32) as u32;
        for sample in &self.samples {
            if place < sample.below.load(Ordering::Relaxed) && sample.bucket.find(absence) == Found::No {
                sample.misses.fetch_add(1, Ordering::Relaxed);
                sample.bucket.insert(absence);
            }
        }
    }

    /// Misses since the last call, of a cache of so many buckets.
    pub(super) fn take_misses(&self, buckets: usize) -> [SampledMisses; SMALLER_PARTS.len()] {
        std::array::from_fn(|at| {
            let misses = self.samples[at].misses.swap(0, Ordering::Relaxed);
            let buckets =
                if buckets < SMALLER_PARTS[at] { 0.0 } else { buckets as f64 / SMALLER_PARTS[at] as f64 };
            SampledMisses { misses, buckets }
        })
    }
}
