//! Pending updates: those in memory whose pages are not written yet.
//!
//! An update is stored as the key's tag instead of its bits: 8 bytes per key instead of 12 for six bit positions of 16 bits. It also makes
//! a pending key an exact match.
//!
//! The updates of a page are a chain of chunks from one pool. The pool's memory is reserved at once, reused and never returned. Chunks
//! allocated one by one fragmented the heap and took 8% more memory. Readers walk chains under a shared lock. Only the writer changes them.
//! Flushed updates are removed after their pages were written, so a reader that checks here first and the page second finds a key in at
//! least one of the two.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;

use crate::geometry::Update;
use springbloom_page_device::{FlashError, Purpose, reserved};

const BUDGET: Purpose = ("the budget", "choose a smaller one");

/// Updates per chunk, by the mean number of updates per chain. A chunk takes 8 bytes more. Large chunks waste room in the newest chunk of
/// every chain; small chunks take more links.
const CHUNK_VALUES: [(f64, usize); 4] = [(3.0, 1), (10.0, 3), (30.0, 7), (f64::INFINITY, 15)];
/// Bytes of the largest chunk.
const CHUNK_BYTES_MAX: u64 = 128;
/// Mean updates per chain above which a page gets more chains. An insertion walks one chain, and in a large memory each chunk of it is a
/// cache miss.
const CHAIN_UPDATES: f64 = 24.0;
/// Upper bound of chains per page.
const CHAINS_MAX: u32 = 64;
/// No chunk.
const NONE: u32 = u32::MAX;

/// Chunks by number. A chunk is a head (number of values, number of the next chunk) and room for values.
struct Pool {
    words: Vec<u64>,
    chunk_values: usize,
    free: u32,
}

/// Head of a chunk.
#[derive(Clone, Copy)]
struct Head {
    len: u32,
    next: u32,
}

impl Head {
    fn of(word: u64) -> Head {
        Head { len: (word >> 32) as u32, next: word as u32 }
    }

    fn word(self) -> u64 {
        (u64::from(self.len) << 32) | u64::from(self.next)
    }
}

impl Pool {
    fn chunk_words(&self) -> usize {
        self.chunk_values + 1
    }

    fn head(&self, number: u32) -> Head {
        Head::of(self.words[number as usize * self.chunk_words()])
    }

    fn set_head(&mut self, number: u32, head: Head) {
        let at = number as usize * self.chunk_words();
        self.words[at] = head.word();
    }

    fn values(&self, number: u32) -> &[u64] {
        let at = number as usize * self.chunk_words();
        &self.words[at + 1..][..Head::of(self.words[at]).len as usize]
    }

    /// Adds a value to a chunk that is not full.
    fn push(&mut self, number: u32, value: u64) {
        let Head { len, next } = self.head(number);
        let at = number as usize * self.chunk_words();
        self.words[at + 1 + len as usize] = value;
        self.set_head(number, Head { len: len + 1, next });
    }

    /// Returns an empty chunk that links to `next`.
    fn take(&mut self, next: u32) -> u32 {
        let number = self.free;
        if number == NONE {
            let new = (self.words.len() / self.chunk_words()) as u32;
            self.words.resize(self.words.len() + self.chunk_words(), 0);
            self.set_head(new, Head { len: 0, next });
            return new;
        }
        self.free = self.head(number).next;
        self.set_head(number, Head { len: 0, next });
        number
    }

    fn give_back(&mut self, number: u32) {
        let next = self.free;
        self.set_head(number, Head { len: 0, next });
        self.free = number;
    }

    /// The values of a chain, chunk by chunk.
    fn chain(&self, first: u32) -> impl Iterator<Item = &[u64]> {
        let some = |number: u32| (number != NONE).then_some(number);
        std::iter::successors(some(first), move |number| some(self.head(*number).next))
            .map(|number| self.values(number))
    }
}

/// Layout of the updates of a page, given how many may be pending in total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PendingShape {
    page_count: u32,
    /// A power of two.
    chains_per_page: u32,
    chunk_values: usize,
}

impl PendingShape {
    /// The layout for about `updates` in total.
    pub(crate) fn for_updates(page_count: u32, updates: u64) -> PendingShape {
        let per_page = updates as f64 / f64::from(page_count);
        let wanted = ((per_page / CHAIN_UPDATES) as u32).clamp(1, CHAINS_MAX);
        let chains_per_page = 1 << wanted.ilog2();
        let per_chain = per_page / f64::from(chains_per_page);
        let fitting = CHUNK_VALUES.iter().find(|(most, _)| per_chain < *most);
        PendingShape { page_count, chains_per_page, chunk_values: fitting.map_or(1, |(_, values)| *values) }
    }

    /// Memory of the empty structure, in bytes.
    pub(crate) fn fixed_bytes(&self) -> u64 {
        self.chains() * size_of::<u32>() as u64 + CHUNK_BYTES_MAX
    }

    /// Updates that take `bytes`, about: the newest chunk of a chain is half full.
    pub(crate) fn updates_in(&self, bytes: u64) -> f64 {
        let (chunks, values) = (bytes as f64 / self.chunk_bytes() as f64, self.chunk_values as f64);
        (chunks * values - self.chains() as f64 * (values - 1.0) / 2.0).max(chunks)
    }

    fn chains(&self) -> u64 {
        u64::from(self.page_count) * u64::from(self.chains_per_page)
    }

    fn chunk_bytes(&self) -> u64 {
        (self.chunk_values + 1) as u64 * size_of::<u64>() as u64
    }

    /// Index of the chain of `update`. Values are halves of digests or bit numbers, whose low bits are evenly distributed.
    fn chain_of(&self, update: Update) -> usize {
        let within = update.value as u32 & (self.chains_per_page - 1);
        update.page as usize * self.chains_per_page as usize + within as usize
    }

    fn chains_of(&self, page: u32) -> std::ops::Range<usize> {
        let first = page as usize * self.chains_per_page as usize;
        first..first + self.chains_per_page as usize
    }
}

struct Waiting {
    /// First chunk of each chain, by page.
    heads: Vec<u32>,
    pool: Pool,
}

impl Waiting {
    fn contains(&self, shape: PendingShape, update: Update) -> bool {
        let chain = self.heads[shape.chain_of(update)];
        self.pool.chain(chain).any(|values| values.contains(&update.value))
    }

    /// The pending values for `page`, in pieces.
    fn values_of(&self, shape: PendingShape, page: u32) -> impl Iterator<Item = &[u64]> {
        self.heads[shape.chains_of(page)].iter().flat_map(|first| self.pool.chain(*first))
    }
}

/// The pending updates of one filter, by page. Pages are flushed in groups.
pub(crate) struct Pending {
    waiting: RwLock<Waiting>,
    shape: PendingShape,
    group_pages: u32,
    updates: AtomicU64,
    chunks: AtomicU64,
}

impl Pending {
    /// Reserves memory for `bytes_max` or `updates_max`, whichever is reached first.
    pub(crate) fn new(
        shape: PendingShape,
        group_pages: u32,
        bytes_max: u64,
        updates_max: u64,
    ) -> Result<Pending, FlashError> {
        let chunks_for_updates = updates_max / shape.chunk_values as u64 + updates_max.min(shape.chains());
        // One more, because the limit is checked after adding an update.
        let chunks = (bytes_max / shape.chunk_bytes()).min(chunks_for_updates) + 1;
        // Reserved memory is not used before it is written.
        let words = reserved(chunks as usize * (shape.chunk_values + 1), BUDGET)?;
        let mut heads = reserved(shape.chains() as usize, BUDGET)?;
        heads.resize(shape.chains() as usize, NONE);
        let pool = Pool { words, chunk_values: shape.chunk_values, free: NONE };
        Ok(Pending {
            waiting: RwLock::new(Waiting { heads, pool }),
            shape,
            group_pages,
            updates: AtomicU64::new(0),
            chunks: AtomicU64::new(0),
        })
    }

    pub(crate) fn groups(&self) -> u32 {
        self.shape.page_count.div_ceil(self.group_pages)
    }

    pub(crate) fn group_of(&self, page: u32) -> u32 {
        page / self.group_pages
    }

    fn pages_of(&self, group: u32) -> std::ops::Range<u32> {
        let first = group * self.group_pages;
        first..self.shape.page_count.min(first.saturating_add(self.group_pages))
    }

    /// Number of pending updates.
    pub(crate) fn len(&self) -> u64 {
        self.updates.load(Ordering::Relaxed)
    }

    /// Counts updates that a reader leaves in the log.
    pub(crate) fn count_logged(&self, updates: u64) {
        self.updates.fetch_add(updates, Ordering::Relaxed);
    }

    /// Memory of the pending updates, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.chunks.load(Ordering::Relaxed) * self.shape.chunk_bytes()
    }

    /// Whether `update` is pending. Does not wait for I/O.
    pub(crate) fn contains(&self, update: Update) -> bool {
        self.len() > 0 && self.waiting.read().contains(self.shape, update)
    }

    /// Adds `update`. Returns `false` if it is pending already.
    pub(crate) fn insert(&self, update: Update) -> bool {
        let mut waiting = self.waiting.write();
        if waiting.contains(self.shape, update) {
            return false;
        }
        let Waiting { heads, pool } = &mut *waiting;
        let head = &mut heads[self.shape.chain_of(update)];
        if *head == NONE || pool.head(*head).len as usize == pool.chunk_values {
            *head = pool.take(*head);
            self.chunks.fetch_add(1, Ordering::Relaxed);
        }
        pool.push(*head, update.value);
        self.updates.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// The pages of `group` with pending updates, in order.
    pub(crate) fn dirty_pages(&self, group: u32) -> Vec<u32> {
        let waiting = self.waiting.read();
        self.pages_of(group).filter(|page| waiting.values_of(self.shape, *page).next().is_some()).collect()
    }

    /// Passes the pending values for `page` to a function.
    pub(crate) fn with_values<T>(
        &self,
        page: u32,
        visit: impl FnOnce(&mut dyn Iterator<Item = u64>) -> T,
    ) -> T {
        let waiting = self.waiting.read();
        visit(&mut waiting.values_of(self.shape, page).flat_map(|values| values.iter().copied()))
    }

    /// The pending updates of `group`, by page.
    pub(crate) fn updates_of(&self, group: u32) -> Vec<Update> {
        let waiting = self.waiting.read();
        let mut updates = Vec::new();
        for page in self.pages_of(group) {
            for values in waiting.values_of(self.shape, page) {
                updates.extend(values.iter().map(|value| Update { page, value: *value }));
            }
        }
        updates
    }

    /// Removes the updates of `group`, whose pages have been written.
    pub(crate) fn clear(&self, group: u32) {
        let mut waiting = self.waiting.write();
        let Waiting { heads, pool } = &mut *waiting;
        for chain in self.pages_of(group).flat_map(|page| self.shape.chains_of(page)) {
            let mut head = std::mem::replace(&mut heads[chain], NONE);
            while head != NONE {
                let Head { len, next } = pool.head(head);
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
        let pending = Pending::new(PendingShape::for_updates(1000, 100_000), 16, u64::MAX, 100_000).unwrap();
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
    fn memory_is_used_well_whatever_the_updates_per_page_and_used_again() {
        for (updates, bytes_per_update) in [(500, 16), (2000, 16), (5000, 17), (20_000, 13), (100_000, 13)] {
            let pending =
                Pending::new(PendingShape::for_updates(1000, updates), 16, u64::MAX, updates).unwrap();
            let fill = || (0..updates).for_each(|n| assert!(pending.insert(update(n))));
            fill();
            let (bytes, words) = (pending.bytes(), pending.waiting.read().pool.words.len());
            assert!(bytes <= updates * bytes_per_update, "{bytes} bytes for {updates} updates");
            let place = pending.waiting.read().pool.words.as_ptr();
            assert_eq!(words as u64 * 8, bytes, "no chunk was free");
            (0..pending.groups()).for_each(|g| pending.clear(g));
            fill();
            assert_eq!((pending.bytes(), pending.waiting.read().pool.words.len()), (bytes, words));
            assert_eq!(pending.waiting.read().pool.words.as_ptr(), place, "the pool did not move");
        }
    }
}
