//! Updates that wait in memory until their pages are written.
//!
//! What waits is the key's tag, not the bits it sets: 8 bytes per key, against 12 for six bit positions of 16 bits each.
//! That also makes a waiting key an exact match instead of a probable one. (In the flat layout the bits of a key belong to
//! different pages, so there each bit waits on its own.)
//!
//! The updates of a page are a chain of chunks from one pool, whose memory is reserved at once, reused and never returned: chunks
//! allocated one by one between other things left holes in the heap that took 8% more memory than they did. Readers walk chains under a shared lock; only the writer changes them.
//! Flushed updates are removed after their pages were written, so a reader that looks here first and at the page second
//! finds a key in at least one of the two.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::geometry::Update;

/// Updates in a chunk: with its length and link, 128 bytes.
const CHUNK_VALUES: usize = 15;
/// No chunk.
const NONE: u32 = u32::MAX;

/// Bytes of memory that one chunk takes.
pub(crate) const CHUNK_BYTES: u64 = size_of::<Chunk>() as u64;

#[derive(Clone, Copy)]
struct Chunk {
    values: [u64; CHUNK_VALUES],
    len: u32,
    next: u32,
}

const EMPTY: Chunk = Chunk { values: [0; CHUNK_VALUES], len: 0, next: NONE };

impl Chunk {
    fn values(&self) -> &[u64] {
        &self.values[..self.len as usize]
    }
}

/// Chunks by number.
struct Pool {
    chunks: Vec<Chunk>,
    free: u32,
}

impl Pool {
    fn chunk(&self, number: u32) -> &Chunk {
        &self.chunks[number as usize]
    }

    fn chunk_mut(&mut self, number: u32) -> &mut Chunk {
        &mut self.chunks[number as usize]
    }

    /// An empty chunk that links to `next`.
    fn take(&mut self, next: u32) -> u32 {
        if self.free == NONE {
            self.chunks.push(Chunk { next, ..EMPTY });
            return self.chunks.len() as u32 - 1;
        }
        let number = self.free;
        let chunk = self.chunk_mut(number);
        let after = chunk.next;
        (chunk.len, chunk.next) = (0, next);
        self.free = after;
        number
    }

    fn give_back(&mut self, number: u32) {
        let free = self.free;
        self.chunk_mut(number).next = free;
        self.free = number;
    }

    fn chain(&self, head: u32) -> impl Iterator<Item = &Chunk> {
        std::iter::successors((head != NONE).then(|| self.chunk(head)), |chunk| {
            (chunk.next != NONE).then(|| self.chunk(chunk.next))
        })
    }
}

struct Waiting {
    /// First chunk of each page.
    heads: Vec<u32>,
    pool: Pool,
}

impl Waiting {
    fn contains(&self, update: Update) -> bool {
        self.pool.chain(self.heads[update.page as usize]).any(|chunk| chunk.values().contains(&update.value))
    }
}

/// The waiting updates of one filter, by page; pages are flushed in groups.
pub(crate) struct Pending {
    waiting: RwLock<Waiting>,
    page_count: u32,
    group_pages: u32,
    updates: AtomicU64,
    chunks: AtomicU64,
}

impl Pending {
    /// Room for `bytes_max` or `updates_max`, whichever is reached first, before the pool has to move.
    pub(crate) fn new(page_count: u32, group_pages: u32, bytes_max: u64, updates_max: u64) -> Pending {
        let chunks_for_updates = updates_max / CHUNK_VALUES as u64 + updates_max.min(page_count.into());
        // Whether there is still room is asked after an update was added, so one more.
        let chunks = (bytes_max / CHUNK_BYTES).min(chunks_for_updates) + 1;
        // What is reserved takes no memory before it is used.
        let pool = Pool { chunks: Vec::with_capacity(chunks as usize), free: NONE };
        let waiting = Waiting { heads: vec![NONE; page_count as usize], pool };
        Pending {
            waiting: RwLock::new(waiting),
            page_count,
            group_pages,
            updates: AtomicU64::new(0),
            chunks: AtomicU64::new(0),
        }
    }

    /// Bytes that the empty structure takes.
    pub(crate) fn fixed_bytes(page_count: u32) -> u64 {
        u64::from(page_count) * 4 + CHUNK_BYTES
    }

    pub(crate) fn groups(&self) -> u32 {
        self.page_count.div_ceil(self.group_pages)
    }

    pub(crate) fn group_of(&self, page: u32) -> u32 {
        page / self.group_pages
    }

    fn pages_of(&self, group: u32) -> std::ops::Range<u32> {
        let first = group * self.group_pages;
        first..self.page_count.min(first.saturating_add(self.group_pages))
    }

    /// Updates that wait.
    pub(crate) fn len(&self) -> u64 {
        self.updates.load(Ordering::Relaxed)
    }

    /// Bytes that the waiting updates take.
    pub(crate) fn bytes(&self) -> u64 {
        self.chunks.load(Ordering::Relaxed) * CHUNK_BYTES
    }

    fn read(&self) -> RwLockReadGuard<'_, Waiting> {
        self.waiting.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Waiting> {
        self.waiting.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether `update` waits. Waits for no I/O.
    pub(crate) fn contains(&self, update: Update) -> bool {
        self.len() > 0 && self.read().contains(update)
    }

    /// Adds `update`; `false` if it waited already.
    pub(crate) fn insert(&self, update: Update) -> bool {
        let mut waiting = self.write();
        if waiting.contains(update) {
            return false;
        }
        let Waiting { heads, pool } = &mut *waiting;
        let head = &mut heads[update.page as usize];
        if *head == NONE || pool.chunk(*head).len as usize == CHUNK_VALUES {
            *head = pool.take(*head);
            self.chunks.fetch_add(1, Ordering::Relaxed);
        }
        let chunk = pool.chunk_mut(*head);
        chunk.values[chunk.len as usize] = update.value;
        chunk.len += 1;
        self.updates.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// The pages of `group` that updates wait for, in order.
    pub(crate) fn dirty_pages(&self, group: u32) -> Vec<u32> {
        let waiting = self.read();
        self.pages_of(group).filter(|page| waiting.heads[*page as usize] != NONE).collect()
    }

    /// Lends the values that wait for `page`.
    pub(crate) fn with_values<T>(
        &self,
        page: u32,
        visit: impl FnOnce(&mut dyn Iterator<Item = u64>) -> T,
    ) -> T {
        let waiting = self.read();
        let chain = waiting.pool.chain(waiting.heads[page as usize]);
        visit(&mut chain.flat_map(|chunk| chunk.values().iter().copied()))
    }

    /// The updates of `group`, page after page.
    pub(crate) fn updates_of(&self, group: u32) -> Vec<Update> {
        let waiting = self.read();
        let mut updates = Vec::new();
        for page in self.pages_of(group) {
            for chunk in waiting.pool.chain(waiting.heads[page as usize]) {
                updates.extend(chunk.values().iter().map(|value| Update { page, value: *value }));
            }
        }
        updates
    }

    /// Forgets the updates of `group`, whose pages have been written.
    pub(crate) fn clear(&self, group: u32) {
        let mut waiting = self.write();
        let Waiting { heads, pool } = &mut *waiting;
        for page in self.pages_of(group) {
            let mut head = std::mem::replace(&mut heads[page as usize], NONE);
            while head != NONE {
                let Chunk { len, next, .. } = *pool.chunk(head);
                pool.give_back(head);
                self.updates.fetch_sub(u64::from(len), Ordering::Relaxed);
                self.chunks.fetch_sub(1, Ordering::Relaxed);
                head = next;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(n: u64) -> Update {
        Update { page: (n * 37 % 1000) as u32, value: n.wrapping_mul(0x9e37_79b9_7f4a) }
    }

    #[test]
    fn updates_wait_until_their_group_is_cleared() {
        let pending = Pending::new(1000, 16, u64::MAX, 100_000);
        for n in 0..50_000 {
            assert!(pending.insert(update(n)));
            assert!(!pending.insert(update(n)), "twice is once");
        }
        assert_eq!((pending.len(), pending.groups()), (50_000, 63));
        assert!((0..50_000).all(|n| pending.contains(update(n))));
        assert!(!pending.contains(update(50_000)));
        let of_group = pending.updates_of(62);
        assert!(
            of_group.is_sorted_by_key(|u| u.page) && of_group.len() == 8 * 50,
            "the last group has 8 pages"
        );
        pending.clear(62);
        for n in 0..50_000 {
            assert_eq!(pending.contains(update(n)), pending.group_of(update(n).page) != 62);
        }
        (0..pending.groups()).for_each(|g| pending.clear(g));
        assert_eq!((pending.len(), pending.bytes()), (0, 0));
    }

    #[test]
    fn memory_is_used_well_and_used_again() {
        assert_eq!(CHUNK_BYTES, 128);
        let pending = Pending::new(1000, 16, u64::MAX, 100_000);
        let fill = || (0..100_000).for_each(|n| assert!(pending.insert(update(n))));
        fill();
        let (bytes, chunks) = (pending.bytes(), pending.read().pool.chunks.len());
        assert!((800_000..960_000).contains(&bytes), "{bytes} bytes for 100,000 updates");
        (0..pending.groups()).for_each(|g| pending.clear(g));
        let place = pending.read().pool.chunks.as_ptr();
        fill();
        assert_eq!(pending.read().pool.chunks.as_ptr(), place, "the pool did not move");
        assert_eq!((pending.bytes(), pending.read().pool.chunks.len()), (bytes, chunks));
        assert_eq!(chunks as u64 * CHUNK_BYTES, bytes, "no chunk was free");
    }
}
