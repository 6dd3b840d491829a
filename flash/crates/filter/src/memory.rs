//! Distribution of the memory of an open filter.

use crate::flush_order::FlushOrder;
use crate::geometry::{Geometry, Layout, Update};
use crate::page_cache::PageCache;
use crate::pending::{Pending, PendingShape};
use crate::settings::{BufferSettings, MemorySize};
use crate::state::{COMMIT_UPDATES_MAX, blocks_for};
use springbloom_page_device::{AlignedBuf, FlashError};

/// Upper bound of the groups that one flush reads, changes and writes together. Keeps a device busy.
const FLUSH_GROUPS_MAX: u64 = 16;
/// Bounds of the updates that wait for a commit.
const TAIL_UPDATES_MIN: u64 = 512;
const TAIL_UPDATES_MAX: u64 = 16_384;
/// The flush buffer, and the updates that wait for a commit, get at most 1/`SHARE` of the memory each.
const SHARE: u64 = 8;
/// Bounds of the keys of a batched lookup that are processed together, and the memory of each.
const LOOKUP_KEYS_MIN: u64 = 256;
const LOOKUP_KEYS_MAX: u64 = 16_384;
const LOOKUP_KEY_BYTES: u64 = 48;
/// They get at most 1/`LOOKUP_SHARE` of the memory.
const LOOKUP_SHARE: u64 = 16;
/// Concurrent page reads of a batched lookup, with a buffer each.
const LOOKUP_PAGES: u64 = 32;
/// Approximate memory of a pending update.
const UPDATE_BYTES_ABOUT: u64 = 10;
/// Bytes of a block of the log, with its copy.
const LOG_PAGE_BYTES: u64 = 8192;
/// A smaller log would change generations too often.
const LOG_BLOCKS_MIN: u64 = 64;
/// With less memory for pending updates, a filter would flush at every insertion.
const PENDING_BYTES_MIN: u64 = 4096;

/// The parts of an open filter's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryPlan {
    /// Groups written by one flush.
    pub(crate) flush_groups: u32,
    /// Updates without a commit that force one.
    pub(crate) tail_updates: usize,
    /// Layout of the pending updates.
    pub(crate) shape: PendingShape,
    /// Memory of pending updates, in bytes.
    pub(crate) pending_bytes_max: u64,
    /// Number of pending updates.
    pub(crate) updates_max: u64,
    /// Pages in the page cache.
    pub(crate) cache_pages: usize,
    /// Keys of a batched lookup that are processed together.
    pub(crate) lookup_keys: usize,
    /// All memory except pending updates. Includes the buffers of one caller's lookups if the budget allows.
    pub(crate) fixed_bytes: u64,
}

impl MemoryPlan {
    pub(crate) fn new(geometry: &Geometry, buffer: &BufferSettings) -> Result<MemoryPlan, FlashError> {
        let pages = geometry.page_count;
        let group_bytes = u64::from(buffer.group_pages.min(pages)) * u64::from(geometry.page_bytes);
        let groups = pages.div_ceil(buffer.group_pages);
        let loads_bytes = if geometry.layout == Layout::TwoChoices { u64::from(pages) * 2 } else { 0 };
        let cache_page_bytes = PageCache::page_memory_bytes(geometry.page_bytes);
        let cache_pages = buffer.cache_bytes / cache_page_bytes;
        let cache_bytes = cache_pages * cache_page_bytes;
        let factor_updates = |factor: u32| u64::from(factor) * u64::from(pages) / u64::from(geometry.probes);
        let about_updates = match buffer.memory {
            MemorySize::Bytes(bytes) => bytes.saturating_sub(cache_bytes) / UPDATE_BYTES_ABOUT,
            MemorySize::CacheSizeFactor(factor) => factor_updates(factor),
        };
        let shape = PendingShape::for_updates(pages, about_updates);
        let tables_bytes = shape.fixed_bytes() + FlushOrder::memory_bytes(groups) + loads_bytes + cache_bytes;
        let update_bytes = size_of::<Update>() as u64;
        let plan = |flush_groups: u64, tail_updates: u64, lookup_keys: u64, has_lookups: bool| {
            let scratch_bytes = AlignedBuf::memory_bytes_for((flush_groups * group_bytes) as usize) as u64;
            let read_bytes =
                AlignedBuf::memory_bytes_for((LOOKUP_PAGES * u64::from(geometry.page_bytes)) as usize) as u64;
            let lookup_bytes = if has_lookups { read_bytes + lookup_keys * LOOKUP_KEY_BYTES } else { 0 };
            MemoryPlan {
                flush_groups: flush_groups as u32,
                tail_updates: tail_updates as usize,
                shape,
                pending_bytes_max: u64::MAX,
                updates_max: u64::MAX,
                cache_pages: cache_pages as usize,
                lookup_keys: lookup_keys as usize,
                fixed_bytes: tables_bytes + scratch_bytes + tail_updates * update_bytes + lookup_bytes,
            }
        };
        let bytes = match buffer.memory {
            MemorySize::Bytes(bytes) => bytes,
            MemorySize::CacheSizeFactor(factor) => {
                let most = plan(FLUSH_GROUPS_MAX, TAIL_UPDATES_MAX, LOOKUP_KEYS_MAX, true);
                return Ok(most.limited_to(factor_updates(factor)));
            }
        };
        let ample = plan(
            (bytes / SHARE / group_bytes).clamp(1, FLUSH_GROUPS_MAX),
            (bytes / SHARE / update_bytes).clamp(TAIL_UPDATES_MIN, TAIL_UPDATES_MAX),
            (bytes / LOOKUP_SHARE / LOOKUP_KEY_BYTES).clamp(LOOKUP_KEYS_MIN, LOOKUP_KEYS_MAX),
            true,
        );
        // If the budget is too small for the buffers of lookups, they come on top.
        let scarce = plan(1, TAIL_UPDATES_MIN, LOOKUP_KEYS_MIN, false);
        for plan in [ample, scarce] {
            let rest = bytes.checked_sub(plan.fixed_bytes);
            if let Some(pending_bytes_max) = rest.filter(|rest| *rest >= PENDING_BYTES_MIN) {
                return Ok(MemoryPlan { pending_bytes_max, updates_max: pending_bytes_max / 8, ..plan });
            }
        }
        let expected_bytes = scarce.fixed_bytes + PENDING_BYTES_MIN;
        Err(FlashError::BudgetTooSmall { got_bytes: bytes, expected_bytes })
    }

    /// Bytes written to pages and log until `keys` distinct keys are in their pages, about.
    pub(crate) fn written_bytes(&self, geometry: &Geometry, group_pages: u32, keys: u64) -> u64 {
        let (keys, log_blocks) = (keys as f64, self.log_blocks(geometry) as f64);
        let per_block = COMMIT_UPDATES_MAX as f64 / blocks_for(COMMIT_UPDATES_MAX as u64) as f64;
        // A snapshot takes at most half of the log.
        let updates_max = (log_blocks / 2.0 * per_block).min(self.updates_max as f64).min(keys);
        let updates = self.shape.updates_in(self.pending_bytes_max).min(updates_max);
        let group_pages = f64::from(group_pages.min(geometry.page_count));
        let groups = f64::from(geometry.page_count) / group_pages;
        let bytes = |updates: f64| {
            let dirty = -f64::exp_m1(-updates / group_pages);
            // Clean pages between two dirty ones are written, too.
            group_pages * (dirty + dirty * dirty * (1.0 - dirty)) * f64::from(geometry.page_bytes)
        };
        // Twice the mean of all groups, as those that were just flushed have none. In the end all are flushed.
        let flushed = 2.0 * updates / groups + 1.0;
        let pages = (keys - updates) / flushed * bytes(flushed) + groups * bytes(updates / groups);
        // Each generation repeats what is pending.
        let log = keys / (per_block - updates / log_blocks) * LOG_PAGE_BYTES as f64;
        (pages + log) as u64
    }

    /// The structure for pending updates.
    pub(crate) fn pending(&self, group_pages: u32) -> Result<Pending, FlashError> {
        Pending::new(self.shape, group_pages, self.pending_bytes_max, self.updates_max)
    }

    /// Blocks of the log for this plan. A snapshot takes a quarter of them, unless the log would be larger than the filter.
    pub(crate) fn log_blocks(&self, geometry: &Geometry) -> u64 {
        let ample = blocks_for(self.updates_max).saturating_mul(4);
        ample.min(geometry.pages_bytes() / LOG_PAGE_BYTES).max(LOG_BLOCKS_MIN)
    }

    /// Bytes of both files of that log.
    pub(crate) fn log_bytes(&self, geometry: &Geometry) -> u64 {
        self.log_blocks(geometry).saturating_mul(2 * LOG_PAGE_BYTES)
    }

    /// The same with at most `updates_max` pending updates, as many as a snapshot of the log holds.
    pub(crate) fn limited_to(self, updates_max: u64) -> MemoryPlan {
        MemoryPlan { updates_max: self.updates_max.min(updates_max), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry =
        Geometry { layout: Layout::Hierarchical, page_bytes: 4096, page_count: 10_000, probes: 6 };

    #[test]
    fn the_parts_make_up_the_whole_and_too_little_is_an_error() {
        for bytes in [200_000, 1_000_000, 100_000_000] {
            let plan = MemoryPlan::new(&GEOMETRY, &BufferSettings::with_memory_bytes(bytes)).unwrap();
            assert_eq!(plan.fixed_bytes + plan.pending_bytes_max, bytes);
        }
        let too_small = MemoryPlan::new(&GEOMETRY, &BufferSettings::with_memory_bytes(50_000));
        let Err(FlashError::BudgetTooSmall { expected_bytes, .. }) = too_small else {
            panic!("{too_small:?}")
        };
        assert!(MemoryPlan::new(&GEOMETRY, &BufferSettings::with_memory_bytes(expected_bytes)).is_ok());
        assert!(MemoryPlan::new(&GEOMETRY, &BufferSettings::with_memory_bytes(expected_bytes - 1)).is_err());
    }

    #[test]
    fn the_papers_measure_counts_bits() {
        let buffer =
            BufferSettings { memory: MemorySize::CacheSizeFactor(4), ..BufferSettings::with_memory_bytes(0) };
        assert_eq!(MemoryPlan::new(&GEOMETRY, &buffer).unwrap().updates_max, 4 * 10_000 / 6);
    }
}
