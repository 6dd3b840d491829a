//! Updates that wait in memory until their pages are written, grouped by the pages that are written together.
//!
//! What waits is the key's tag, not the bits it sets: 8 bytes per key, against 12 for six bit positions of 15 bits (as
//! 16-bit words) or 24 for positions within a group. That also makes a waiting key an exact match instead of a probable
//! one. (In the flat layout the bits of a key belong to different groups, so there each bit waits on its own.)
//!
//! A group is a sorted array of `page in group << 56 | tag`. Readers look into it under a shared lock; only the writer
//! changes it. Flushed updates are removed after their pages were written, so a reader that looks here first and at the
//! page second finds a key in at least one of the two.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::geometry::{TAG_BITS, Update};

/// Locks over which the groups are spread, so that a reader rarely meets the writer.
const SHARDS: usize = 64;
/// A group's array starts with this many updates and grows by a quarter: little slack, few moves.
const FIRST_CAPACITY: usize = 8;
/// What the allocator adds to each array, about.
const ALLOCATION_BYTES: u64 = 16;

pub(crate) struct Pending {
    shards: Box<[RwLock<Vec<Vec<u64>>>]>,
    group_pages: u32,
    groups: u32,
    updates: AtomicU64,
    array_bytes: AtomicU64,
}

impl Pending {
    pub(crate) fn new(page_count: u32, group_pages: u32) -> Pending {
        let groups = page_count.div_ceil(group_pages);
        let shard_groups = (groups as usize).div_ceil(SHARDS);
        let shards = (0..SHARDS).map(|_| RwLock::new(vec![Vec::new(); shard_groups])).collect();
        Pending { shards, group_pages, groups, updates: AtomicU64::new(0), array_bytes: AtomicU64::new(0) }
    }

    /// Bytes that the empty structure takes.
    pub(crate) fn fixed_bytes(page_count: u32, group_pages: u32) -> u64 {
        let groups = u64::from(page_count.div_ceil(group_pages));
        (groups + SHARDS as u64) * size_of::<Vec<u64>>() as u64 + (SHARDS * 64) as u64
    }

    pub(crate) fn groups(&self) -> u32 {
        self.groups
    }

    pub(crate) fn group_of(&self, page: u32) -> u32 {
        page / self.group_pages
    }

    /// Updates that wait.
    pub(crate) fn len(&self) -> u64 {
        self.updates.load(Ordering::Relaxed)
    }

    /// Bytes that the waiting updates take, with slack and what the allocator adds.
    pub(crate) fn array_bytes(&self) -> u64 {
        self.array_bytes.load(Ordering::Relaxed)
    }

    fn word(&self, update: Update) -> u64 {
        (u64::from(update.page % self.group_pages) << TAG_BITS) | update.value
    }

    /// The update behind a word of `group`.
    pub(crate) fn update(&self, group: u32, word: u64) -> Update {
        let page = group * self.group_pages + (word >> TAG_BITS) as u32;
        Update { page, value: word & ((1 << TAG_BITS) - 1) }
    }

    fn read(&self, group: u32) -> RwLockReadGuard<'_, Vec<Vec<u64>>> {
        self.shards[group as usize % SHARDS].read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, group: u32) -> RwLockWriteGuard<'_, Vec<Vec<u64>>> {
        self.shards[group as usize % SHARDS].write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether `update` waits. Waits for no I/O.
    pub(crate) fn contains(&self, update: Update) -> bool {
        if self.len() == 0 {
            return false;
        }
        let group = self.group_of(update.page);
        self.read(group)[group as usize / SHARDS].binary_search(&self.word(update)).is_ok()
    }

    /// Adds `update`; returns how many updates its group has now, or `None` if it waited already.
    pub(crate) fn insert(&self, update: Update) -> Option<u32> {
        let group = self.group_of(update.page);
        let word = self.word(update);
        let mut shard = self.write(group);
        let array = &mut shard[group as usize / SHARDS];
        let at = array.binary_search(&word).err()?;
        if array.len() == array.capacity() {
            let before = footprint_bytes(array);
            array.reserve_exact(FIRST_CAPACITY.max(array.len() / 4));
            self.array_bytes.fetch_add(footprint_bytes(array) - before, Ordering::Relaxed);
        }
        array.insert(at, word);
        self.updates.fetch_add(1, Ordering::Relaxed);
        Some(array.len() as u32)
    }

    /// The words of `group`, sorted, so page after page.
    pub(crate) fn words(&self, group: u32) -> Vec<u64> {
        self.read(group)[group as usize / SHARDS].clone()
    }

    /// Forgets the updates of `group`, whose pages have been written.
    pub(crate) fn clear(&self, group: u32) {
        let flushed = std::mem::take(&mut self.write(group)[group as usize / SHARDS]);
        self.updates.fetch_sub(flushed.len() as u64, Ordering::Relaxed);
        self.array_bytes.fetch_sub(footprint_bytes(&flushed), Ordering::Relaxed);
    }
}

fn footprint_bytes(array: &Vec<u64>) -> u64 {
    match array.capacity() as u64 {
        0 => 0,
        capacity => capacity * 8 + ALLOCATION_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_wait_until_their_group_is_cleared() {
        let pending = Pending::new(1000, 16);
        let update =
            |n: u64| Update { page: (n * 37 % 1000) as u32, value: n.wrapping_mul(0x9e37_79b9_7f4a) };
        for n in 0..5000 {
            assert!(pending.insert(update(n)).is_some());
            assert!(pending.insert(update(n)).is_none(), "twice is once");
        }
        assert_eq!(pending.len(), 5000);
        assert!((0..5000).all(|n| pending.contains(update(n))));
        assert!(!pending.contains(update(5000)));
        let bytes_before = pending.array_bytes();
        assert!((5000 * 8..5000 * 12).contains(&bytes_before), "{bytes_before}");
        let words = pending.words(3);
        assert!(words.is_sorted());
        assert!(words.iter().all(|w| pending.group_of(pending.update(3, *w).page) == 3));
        pending.clear(3);
        for n in 0..5000 {
            assert_eq!(pending.contains(update(n)), pending.group_of(update(n).page) != 3);
        }
        (0..pending.groups()).for_each(|g| pending.clear(g));
        assert_eq!((pending.len(), pending.array_bytes()), (0, 0));
    }
}
