//! Pending entries: those in memory that no flush has moved to a bucket yet. They are chains of chunks from one pool. The pool reuses its
//! memory and never frees it, so the heap does not fragment and the memory is known to the byte.
//!
//! A chunk is a cache line. Its entries are ordered by page. Each is a fingerprint and the distance to the page of the previous entry: four
//! bytes for up to about 100 million records, and one more for each seven bits beyond. A deeper partition has larger distances and shorter
//! fingerprints.
//!
//! Invariant: the first `used` bytes of a chunk are whole entries. Their fingerprints all have the number of bits that the depth of the
//! partition gives.

use crate::entry::{Entry, FINGERPRINT_BITS_MAX};
use springbloom_page_device::u48_at;

/// Bytes of memory of a chunk.
pub(crate) const CHUNK_BYTES: usize = size_of::<Chunk>();
const BODY_BYTES: usize = 53;
/// Pages of one key that a lookup takes at a time, newest first. Bounds the lookup of a key that is put again and again.
const PAGES_MAX: usize = 64;
/// Chunks that are allocated together: 64 KiB.
const SEGMENT_CHUNKS: usize = 1024;
/// Bits of an entry's first four bytes: the fingerprint, then the lowest bits of the distance as far as there is room. The next bit says
/// that more bytes follow.
const WORD_BITS: u8 = 31;
/// Bytes of the longest entry: a distance of 48 bits, of which the first four bytes hold 3.
const ENTRY_BYTES_MAX: usize = 11;
const _: () = assert!(7 * (ENTRY_BYTES_MAX - 4) + (WORD_BITS - FINGERPRINT_BITS_MAX) as usize >= 48);

/// The chain of one partition, by its newest chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain(u32);

impl Chain {
    pub(crate) const EMPTY: Chain = Chain(u32::MAX);

    pub(crate) fn is_empty(self) -> bool {
        self == Chain::EMPTY
    }
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk {
    /// The previous chunk of the chain, or the next free one.
    next: Chain,
    /// Page of the first entry.
    first_page: [u8; 6],
    used: u8,
    body: [u8; BODY_BYTES],
}

/// The result of pushing an entry to a chunk.
enum Pushed {
    Added,
    /// The chunk holds an equal entry: the key was put before, in the same page.
    IsThere,
    NoRoom,
}

impl Chunk {
    fn new(next: Chain) -> Chunk {
        Chunk { next, first_page: [0; 6], used: 0, body: [0; BODY_BYTES] }
    }

    fn first_page(&self) -> u64 {
        u48_at(&self.first_page, 0)
    }

    /// Fingerprint (of `bits` bits) and page of each entry, oldest first.
    #[inline]
    fn entries(&self, bits: u8) -> impl Iterator<Item = (u32, u64)> + '_ {
        let (mut at, mut page) = (0, self.first_page());
        std::iter::from_fn(move || {
            if at >= usize::from(self.used) {
                return None;
            }
            let word = u32::from_le_bytes(*self.body[at..].first_chunk()?);
            at += 4;
            page += u64::from((word & ((1 << WORD_BITS) - 1)) >> bits);
            let mut has_more = word >> WORD_BITS == 1;
            let mut shift = WORD_BITS - bits;
            while has_more {
                let byte = *self.body.get(at)?;
                at += 1;
                page += u64::from(byte & 0x7f) << shift;
                shift += 7;
                has_more = byte & 0x80 != 0;
            }
            Some((word & ((1 << bits) - 1), page))
        })
    }

    /// Adds an entry after the last one.
    fn push(&mut self, fingerprint: u32, bits: u8, page: u64) -> Pushed {
        if self.used == 0 {
            self.first_page.copy_from_slice(&page.to_le_bytes()[..6]);
        }
        let (mut last_page, mut is_there) = (page, false);
        for (other, its_page) in self.entries(bits) {
            is_there |= (other, its_page) == (fingerprint, page);
            last_page = its_page;
        }
        if is_there {
            return Pushed::IsThere;
        }
        let Some(distance) = page.checked_sub(last_page) else { return Pushed::NoRoom };
        let mut bytes = [0; ENTRY_BYTES_MAX];
        let near_bits = WORD_BITS - bits;
        let mut far = distance >> near_bits;
        let near = (distance & ((1 << near_bits) - 1)) as u32;
        let word = fingerprint | near << bits | u32::from(far > 0) << WORD_BITS;
        bytes[..4].copy_from_slice(&word.to_le_bytes());
        let mut len = 4;
        while far > 0 {
            bytes[len] = (far & 0x7f) as u8 | if far > 0x7f { 0x80 } else { 0 };
            far >>= 7;
            len += 1;
        }
        let at = usize::from(self.used);
        let Some(room) = self.body.get_mut(at..at + len) else { return Pushed::NoRoom };
        room.copy_from_slice(&bytes[..len]);
        self.used += len as u8;
        Pushed::Added
    }
}

/// The chains of all partitions.
#[derive(Debug)]
pub(crate) struct Pending {
    segments: Vec<Box<[Chunk]>>,
    free: Chain,
    chunks: usize,
}

impl Pending {
    pub(crate) fn new() -> Pending {
        Pending { segments: Vec::new(), free: Chain::EMPTY, chunks: 0 }
    }

    fn chunk(&self, chain: Chain) -> Option<&Chunk> {
        let number = chain.0 as usize;
        self.segments.get(number / SEGMENT_CHUNKS)?.get(number % SEGMENT_CHUNKS)
    }

    fn chunk_mut(&mut self, chain: Chain) -> Option<&mut Chunk> {
        let number = chain.0 as usize;
        self.segments.get_mut(number / SEGMENT_CHUNKS)?.get_mut(number % SEGMENT_CHUNKS)
    }

    /// Appends an entry to a chain, unless its newest chunk holds an equal one. The fingerprint has `bits` bits, like all of the chain.
    /// `page` must not be before the pages of earlier entries. Returns whether the entry was added.
    pub(crate) fn push(&mut self, chain: &mut Chain, fingerprint: u32, bits: u8, page: u64) -> bool {
        match self.chunk_mut(*chain).map(|chunk| chunk.push(fingerprint, bits, page)) {
            Some(Pushed::Added) => return true,
            Some(Pushed::IsThere) => return false,
            Some(Pushed::NoRoom) | None => {}
        }
        if self.free.is_empty() {
            let first = (self.segments.len() * SEGMENT_CHUNKS) as u32;
            let last = first + SEGMENT_CHUNKS as u32 - 1;
            let next = |number| if number == last { Chain::EMPTY } else { Chain(number + 1) };
            self.segments.push((first..=last).map(|number| Chunk::new(next(number))).collect());
            self.free = Chain(first);
        }
        let taken = self.free;
        let (before, mut free) = (*chain, Chain::EMPTY);
        if let Some(chunk) = self.chunk_mut(taken) {
            free = std::mem::replace(chunk, Chunk::new(before)).next;
            chunk.push(fingerprint, bits, page);
        }
        (self.free, *chain) = (free, taken);
        self.chunks += 1;
        true
    }

    fn chunks(&self, chain: Chain) -> impl Iterator<Item = &Chunk> {
        std::iter::successors(self.chunk(chain), |chunk| self.chunk(chunk.next))
    }

    /// Appends to `pages` the pages before `before` of the entries with this fingerprint, oldest first. Takes the newest, about
    /// [`PAGES_MAX`] at most. Returns whether there may be older ones.
    pub(crate) fn pages_of(
        &self,
        chain: Chain,
        fingerprint: u32,
        bits: u8,
        before: u64,
        pages: &mut Vec<u64>,
    ) -> bool {
        let mut has_older = false;
        for chunk in self.chunks(chain) {
            let of_key = |entry: &(u32, u64)| entry.0 == fingerprint && entry.1 < before;
            pages.extend(chunk.entries(bits).filter(of_key).map(|(_, page)| page));
            if pages.len() >= PAGES_MAX {
                // Chunks come newest first, so the remaining ones are older.
                has_older = !chunk.next.is_empty();
                break;
            }
        }
        pages.sort_unstable();
        has_older
    }

    /// All entries of a chain, oldest first.
    pub(crate) fn entries(&self, chain: Chain, bits: u8) -> Vec<Entry> {
        let whole = |(fingerprint, page)| Entry { page, fingerprint, bits };
        let entries = self.chunks(chain).flat_map(|chunk| chunk.entries(bits));
        let mut entries: Vec<Entry> = entries.map(whole).collect();
        entries.sort_by_key(|entry| entry.page);
        entries
    }

    /// Frees the chunks of the chain.
    pub(crate) fn clear(&mut self, chain: &mut Chain) {
        let mut at = std::mem::replace(chain, Chain::EMPTY);
        let mut free = self.free;
        while let Some(chunk) = self.chunk_mut(at) {
            let before = std::mem::replace(&mut chunk.next, free);
            (free, at) = (at, before);
            self.chunks -= 1;
        }
        self.free = free;
    }

    /// Bytes of the chunks that hold entries.
    pub(crate) fn used_bytes(&self) -> u64 {
        (self.chunks * CHUNK_BYTES) as u64
    }

    /// Memory in bytes, free chunks included.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let segment = SEGMENT_CHUNKS * CHUNK_BYTES + size_of::<Box<[Chunk]>>();
        (self.segments.len() * segment) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_chunk_is_a_cache_line_and_holds_thirteen_entries() {
        assert_eq!(CHUNK_BYTES, 64);
        let (mut pending, mut chain) = (Pending::new(), Chain::EMPTY);
        assert!((0..13).all(|n| pending.push(&mut chain, n, 20, u64::from(n) * 2000)));
        assert!(!pending.push(&mut chain, 12, 20, 12 * 2000), "it is there");
        assert_eq!(pending.used_bytes(), 64);
        assert!(pending.push(&mut chain, 13, 20, 13 * 2000));
        assert_eq!(pending.used_bytes(), 128);
    }

    #[test]
    fn pages_of_a_hot_key_are_given_some_at_a_time() {
        let (mut pending, mut chain) = (Pending::new(), Chain::EMPTY);
        for page in 0..1000 {
            assert!(pending.push(&mut chain, 7, 20, page) && pending.push(&mut chain, 8, 20, page));
        }
        let (mut before, mut seen, mut rounds) = (u64::MAX, 1000, 0);
        loop {
            let mut pages = Vec::new();
            let has_older = pending.pages_of(chain, 7, 20, before, &mut pages);
            assert!(
                pages.len() < 2 * PAGES_MAX
                    && pages.iter().rev().all(|page| {
                        seen -= 1;
                        *page == seen
                    })
            );
            rounds += 1;
            before = seen;
            if !has_older {
                break;
            }
        }
        assert!(seen == 0 && rounds > 5, "{rounds} rounds");
    }

    #[test]
    fn chunks_are_used_again() {
        let mut pending = Pending::new();
        for round in 0..10u64 {
            let mut chains = [Chain::EMPTY; 300];
            for n in 0..12_000u64 {
                pending.push(&mut chains[n as usize % 300], 7, 20, round * 1_000_000 + n);
            }
            chains.iter_mut().for_each(|chain| pending.clear(chain));
            assert!(chains.iter().all(|chain| chain.is_empty() && pending.entries(*chain, 20).is_empty()));
            assert_eq!(pending.used_bytes(), 0);
        }
        assert!(pending.segments.len() <= 2, "{} segments", pending.segments.len());
    }

    proptest! {
        #[test]
        fn entries_come_back_as_pushed(
            pushed in proptest::collection::vec((any::<u32>(), 0u8..47, any::<u64>(), 0usize..3), 1..200),
            bits in 20u8..=FINGERPRINT_BITS_MAX,
        ) {
            let (mut pending, mut chains) = (Pending::new(), [Chain::EMPTY; 3]);
            let mut expected = [const { Vec::new() }; 3];
            let mut page = 0u64;
            for (fingerprint, width, distance, to) in pushed {
                let next = page + distance % (1 << width);
                page = if next < 1 << 48 { next } else { page };
                let fingerprint = fingerprint >> (32 - bits);
                let entry = Entry { page, fingerprint, bits };
                if pending.push(&mut chains[to], fingerprint, bits, page) {
                    expected[to].push(entry);
                } else {
                    prop_assert!(expected[to].contains(&entry));
                }
            }
            for (chain, expected) in chains.iter().zip(&expected) {
                // Entries of the same page have no order.
                let order = |mut entries: Vec<Entry>| {
                    entries.sort_by_key(|entry| (entry.page, entry.fingerprint));
                    entries
                };
                prop_assert_eq!(order(pending.entries(*chain, bits)), order(expected.clone()));
                if let Some(entry) = expected.first() {
                    let mut pages = Vec::new();
                    pending.pages_of(*chain, entry.fingerprint, bits, u64::MAX, &mut pages);
                    prop_assert!(pages.is_sorted() && pages.contains(&entry.page));
                }
            }
        }
    }
}
