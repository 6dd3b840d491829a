//! The memory of the pre-filters: slabs that are filled one after the other. Flushes replace filters in about the order in which they were
//! stored, so most slabs become empty. Filters that lookups build come in no order. Their slabs are compacted: the live filters are stored
//! again. So the heap does not fragment, and little more than a sixteenth of the memory is unused.
//!
//! Invariant: a word with the owner's number and the length precedes the words of each filter, so a slab can be walked.

/// Words of a slab: 64 KiB. A longer filter has a slab of its own.
const SLAB_WORDS: usize = 8192;
/// At most this fraction of the stored words, and some slabs, may be unused.
const LOST_PART: usize = 16;
const LOST_SLABS: usize = 2;

/// The place of a filter's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilterSlot {
    slab: u32,
    first: u32,
}

impl FilterSlot {
    pub(crate) const NONE: FilterSlot = FilterSlot { slab: u32::MAX, first: 0 };
}

#[derive(Debug, Default)]
struct Slab {
    words: Vec<u64>,
    /// Words of live filters.
    live: usize,
}

/// The words of all pre-filters.
#[derive(Debug, Default)]
pub(crate) struct FilterStore {
    slabs: Vec<Slab>,
    /// The slab being filled.
    open: usize,
    empty: Vec<usize>,
}

/// A slab taken out of the store for compaction.
pub(crate) struct Taken {
    slab: usize,
    words: Vec<u64>,
}

impl Taken {
    /// Owner, place and words of each filter stored in the slab, live or removed.
    pub(crate) fn filters(&self) -> impl Iterator<Item = (u32, FilterSlot, &[u64])> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let head = *self.words.get(at)?;
            let (first, count) = (at + 1, (head >> 32) as usize);
            at = first + count;
            let place = FilterSlot { slab: self.slab as u32, first: first as u32 };
            Some((head as u32, place, &self.words[first..at]))
        })
    }
}

impl FilterStore {
    /// The `count` words at `place`, which is not [`FilterSlot::NONE`].
    #[inline]
    pub(crate) fn words(&self, place: FilterSlot, count: usize) -> &[u64] {
        &self.slabs[place.slab as usize].words[place.first as usize..][..count]
    }

    pub(crate) fn store(&mut self, owner: u32, words: &[u64]) -> FilterSlot {
        let needed = words.len() + 1;
        let has_room = |slab: &Slab| slab.words.len() + needed <= slab.words.capacity();
        if !self.slabs.get(self.open).is_some_and(has_room) {
            self.open_next(needed);
        }
        let slab = &mut self.slabs[self.open];
        slab.words.push(u64::from(owner) | (words.len() as u64) << 32);
        let place = FilterSlot { slab: self.open as u32, first: slab.words.len() as u32 };
        slab.words.extend_from_slice(words);
        slab.live += needed;
        place
    }

    fn open_next(&mut self, needed: usize) {
        let full = self.open;
        self.open = self.empty.pop().unwrap_or_else(|| {
            self.slabs.push(Slab::default());
            self.slabs.len() - 1
        });
        self.slabs[self.open].words.reserve_exact(needed.max(SLAB_WORDS));
        if self.slabs[full].live == 0 && full != self.open {
            self.give_back(full);
        }
    }

    /// Removes the `count` words at `place`.
    pub(crate) fn remove(&mut self, place: FilterSlot, count: usize) {
        let number = place.slab as usize;
        self.slabs[number].live -= count + 1;
        if self.slabs[number].live == 0 && number != self.open {
            self.give_back(number);
        }
    }

    fn give_back(&mut self, number: usize) {
        let words = &mut self.slabs[number].words;
        words.clear();
        if words.capacity() > SLAB_WORDS {
            *words = Vec::new();
        }
        self.empty.push(number);
    }

    /// Takes the sparsest slab out if too much memory is unused. The caller stores its live filters again and then returns it with
    /// [`put_back`](Self::put_back).
    pub(crate) fn take_sparsest(&mut self) -> Option<Taken> {
        let (stored, live) = self.words_stored_and_live();
        if stored - live <= live / LOST_PART + LOST_SLABS * SLAB_WORDS {
            return None;
        }
        let closed = self.slabs.iter().enumerate().filter(|(number, _)| *number != self.open);
        let (slab, _) = closed.max_by_key(|(_, slab)| slab.words.len() - slab.live)?;
        self.slabs[slab].live = 0;
        Some(Taken { slab, words: std::mem::take(&mut self.slabs[slab].words) })
    }

    pub(crate) fn put_back(&mut self, taken: Taken) {
        self.slabs[taken.slab].words = taken.words;
        self.give_back(taken.slab);
    }

    fn words_stored_and_live(&self) -> (usize, usize) {
        self.slabs.iter().fold((0, 0), |(stored, live), slab| (stored + slab.words.len(), live + slab.live))
    }

    /// Memory in bytes, unused words included.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let words: usize = self.slabs.iter().map(|slab| slab.words.capacity()).sum();
        (words * 8 + self.slabs.capacity() * size_of::<Slab>() + self.empty.capacity() * 8) as u64
    }

    /// Bytes of the filters alone.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.words_stored_and_live().1 as u64 * 8
    }
}

#[cfg(test)]
mod tests {
    use springbloom_testkit::seed::seed;

    use super::*;

    fn words_of(owner: u32, version: u64, count: usize) -> Vec<u64> {
        (0..count as u64).map(|n| u64::from(owner) << 40 | version << 20 | n).collect()
    }

    /// Random stores, replacements and removals. Afterwards every filter has its words.
    #[test]
    fn replaced_in_any_order_everything_is_found_and_little_is_lost() {
        let mut draw = seed("filter-store");
        let mut next = move || {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (draw >> 33) as usize
        };
        let mut store = FilterStore::default();
        let mut places: Vec<(FilterSlot, Vec<u64>)> = vec![(FilterSlot::NONE, Vec::new()); 4000];
        for version in 0..40_000u64 {
            let owner = next() % places.len();
            let (place, words) = &mut places[owner];
            if *place != FilterSlot::NONE {
                store.remove(*place, words.len());
            }
            // Now and then a filter that is longer than a slab.
            let count = if version % 5000 == 0 { SLAB_WORDS + 7 } else { 40 + next() % 60 };
            *words = words_of(owner as u32, version, count);
            *place = store.store(owner as u32, words);
            while let Some(taken) = store.take_sparsest() {
                for (owner, old, words) in taken.filters() {
                    let (place, _) = &mut places[owner as usize];
                    if *place == old {
                        *place = store.store(owner, words);
                    }
                }
                store.put_back(taken);
            }
        }
        let stored = places.iter().filter(|(place, _)| *place != FilterSlot::NONE);
        let mut bytes = 0;
        for (place, words) in stored {
            assert_eq!(store.words(*place, words.len()), words);
            bytes += (words.len() as u64 + 1) * 8;
        }
        assert_eq!(store.live_bytes(), bytes);
        let most = bytes + bytes / 8 + 8 * SLAB_WORDS as u64 * 8;
        assert!(store.memory_bytes() < most, "{} bytes for {bytes}", store.memory_bytes());
    }

    #[test]
    fn replaced_in_order_slabs_empty_themselves() {
        let mut store = FilterStore::default();
        let mut places = vec![FilterSlot::NONE; 5000];
        for version in 0..10 {
            for (owner, place) in places.iter_mut().enumerate() {
                if *place != FilterSlot::NONE {
                    store.remove(*place, 64);
                }
                *place = store.store(owner as u32, &words_of(owner as u32, version, 64));
            }
        }
        assert!(store.take_sparsest().is_none());
        assert!(store.slabs.len() <= 5000 * 65 / SLAB_WORDS + 4, "{} slabs", store.slabs.len());
    }
}
