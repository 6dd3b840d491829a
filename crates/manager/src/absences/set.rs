//! One bucket of the cache: a few absences in 256 bytes, read without a lock.
//!
//! A sequence lock whose words are all atomic: writers take it or give up, never wait; a reader that meets a writer finds nothing, which is
//! always a right answer. What stays is decided as by Misra & Gries' heavy hitters: an absence that saves reads earns points, one without
//! points makes place for a new one, and where all have points a new one costs each of them one. Now and then
//! a write of a full set does so too: what was hot once must go even where new ones are too many to earn points.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::Absence;

/// Words of a set's entries.
const WORDS: usize = 31;
/// Longest key that is kept: a set has room for two of that length.
pub(crate) const KEY_BYTES_MAX: usize = (WORDS / 2 - 1) * size_of::<u64>();

/// A set. Its state has, from the low bits: which of [`CLASSES`] its entries are of; words in use; a version, odd while entries are
/// written (35 bits: a reader would have to sleep through 2^34 writes of one set to miss that there were any).
#[repr(align(64))]
pub(super) struct Set {
    state: AtomicU64,
    words: [AtomicU64; WORDS],
}

// Four cache lines, of which a lookup that finds nothing mostly touches one.
const _: () = assert!(size_of::<Set>() == 256);

const CLASSES: u32 = 24;
const USED_BITS: u32 = 5;
const VERSION_ONE: u64 = 1 << (CLASSES + USED_BITS);

fn has_class(state: u64, class: u64) -> bool {
    state >> class & 1 != 0
}

fn used_of(state: u64) -> usize {
    (state >> CLASSES) as usize & ((1 << USED_BITS) - 1)
}

fn is_being_written(state: u64) -> bool {
    state & VERSION_ONE != 0
}

/// What stands before an entry's key: from the low bits its points, the key's length, its class, and the table's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head(u64);

/// Most points. An entry that has them is only read; it goes some bursts of new entries after it was last of use.
const POINTS_MAX: u64 = 15;
/// Of so many writes of a full set one takes a point from each entry whatever else it does.
const FADING_WRITES: u64 = 256;

impl Head {
    fn new(absence: &Absence<'_>) -> Self {
        let class = ((absence.hash >> 40) * u64::from(CLASSES)) >> 24;
        Self(u64::from(absence.table) << 32 | class << 24 | (absence.key.len() as u64) << 8)
    }

    fn points(self) -> u64 {
        self.0 & 0xFF
    }

    fn with_points(self, points: u64) -> Self {
        Self(self.0 & !0xFF | points)
    }

    fn class(self) -> u64 {
        self.0 >> 24 & 0xFF
    }

    fn table(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Words of the entry, this one included.
    fn words(self) -> usize {
        1 + (self.0 >> 8 & 0xFFFF).div_ceil(8) as usize
    }
}

/// Key bytes as words, the last one filled up with zeros.
fn key_words(key: &[u8]) -> impl Iterator<Item = u64> {
    let (chunks, rest) = key.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let last = (!rest.is_empty()).then(|| u64::from_le_bytes(last));
    chunks.iter().map(|&chunk| u64::from_le_bytes(chunk)).chain(last)
}

/// How an absence was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// In vain.
    No,
    /// It is there.
    Yes,
    /// It is there, but would not be with one entry less in each set; the words of its entry.
    Barely(usize),
}

impl Set {
    pub(super) fn new() -> Self {
        Self { state: AtomicU64::new(0), words: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    fn word(&self, at: usize) -> u64 {
        self.words[at].load(Ordering::Relaxed)
    }

    /// The absence's entry among the first `used` words; without the right to write they may be changing.
    #[inline]
    fn position(&self, head: Head, key: &[u8], used: usize) -> Option<(usize, Head)> {
        let mut at = 0;
        while at < used {
            let found = Head(self.word(at));
            let next = at + found.words();
            if next > WORDS {
                return None; // torn
            }
            if found.with_points(0) == head && (at + 1..next).map(|at| self.word(at)).eq(key_words(key)) {
                return Some((at, found));
            }
            at = next;
        }
        None
    }

    /// Whether the absence is here; it earns a point then. No lock, no wait.
    #[inline]
    pub(super) fn find(&self, absence: &Absence<'_>) -> Found {
        let head = Head::new(absence);
        let state = self.state.load(Ordering::Acquire);
        if !has_class(state, head.class()) || is_being_written(state) {
            return Found::No;
        }
        let position = self.position(head, absence.key, used_of(state));
        fence(Ordering::Acquire);
        if self.state.load(Ordering::Relaxed) != state {
            return Found::No;
        }
        match position {
            None => Found::No,
            Some((_, head)) if head.points() == POINTS_MAX => Found::Yes,
            Some((at, _)) => self.try_write(state).map_or(Found::Yes, |writer| writer.reward(at)),
        }
    }

    /// Takes the absence in where it is worth more than others; not if another thread is writing.
    pub(super) fn insert(&self, absence: &Absence<'_>) {
        let head = Head::new(absence);
        let Some(mut writer) = self.try_write(self.state.load(Ordering::Relaxed)) else { return };
        if self.position(head, absence.key, writer.used).is_some() {
            return;
        }
        if WORDS - writer.used < head.words() && writer.is_fading() {
            writer.take_points();
        }
        while WORDS - writer.used < head.words() {
            if !writer.remove_first(|head| head.points() == 0) {
                return writer.take_points();
            }
        }
        writer.push(head, absence.key);
    }

    /// Drops the entries of tables that `is_known` does not know.
    pub(super) fn retain(&self, is_known: impl Fn(u32) -> bool) {
        let state = self.state.load(Ordering::Relaxed);
        if used_of(state) > 0
            && let Some(mut writer) = self.try_write(state)
        {
            while writer.remove_first(|head| !is_known(head.table())) {}
        }
    }

    /// The right to write, if nobody has it or had it since `state` was read.
    fn try_write(&self, state: u64) -> Option<Writer<'_>> {
        if is_being_written(state) {
            return None;
        }
        let version = state & !(VERSION_ONE - 1);
        let taken =
            self.state.compare_exchange(state, state | VERSION_ONE, Ordering::Acquire, Ordering::Relaxed);
        taken.ok()?;
        // Whoever reads a word that is written from here on also finds the state changed.
        fence(Ordering::Release);
        Some(Writer { set: self, version, used: used_of(state) })
    }
}

/// The right to write a set; given back when dropped.
struct Writer<'a> {
    set: &'a Set,
    /// The version before, with zeros below.
    version: u64,
    /// Words in use.
    used: usize,
}

impl Writer<'_> {
    /// Entries and where they are, oldest first.
    fn entries(&self) -> impl Iterator<Item = (usize, Head)> {
        let entry = |at: usize| (at < self.used).then(|| (at, Head(self.set.word(at))));
        std::iter::successors(entry(0), move |&(at, head)| entry(at + head.words()))
    }

    fn write(&self, at: usize, word: u64) {
        self.set.words[at].store(word, Ordering::Relaxed);
    }

    fn reward(self, rewarded: usize) -> Found {
        let head = Head(self.set.word(rewarded));
        // Where another entry would fit, a smaller set would have done.
        let is_full = WORDS - self.used < head.words();
        let next_to_go = self.entries().min_by_key(|(_, head)| head.points()).map(|(at, _)| at);
        self.write(rewarded, head.with_points(head.points() + 1).0);
        if is_full && next_to_go == Some(rewarded) { Found::Barely(head.words()) } else { Found::Yes }
    }

    /// Whether this write is one in [`FADING_WRITES`].
    fn is_fading(&self) -> bool {
        (self.version / (2 * VERSION_ONE)).is_multiple_of(FADING_WRITES)
    }

    fn take_points(&self) {
        for (at, head) in self.entries() {
            self.write(at, head.with_points(head.points().saturating_sub(1)).0);
        }
    }

    /// Removes the oldest entry of that kind; `false` if there is none.
    fn remove_first(&mut self, is_such: impl Fn(Head) -> bool) -> bool {
        let Some((at, head)) = self.entries().find(|&(_, head)| is_such(head)) else { return false };
        (at + head.words()..self.used).for_each(|from| self.write(from - head.words(), self.set.word(from)));
        self.used -= head.words();
        true
    }

    fn push(&mut self, head: Head, key: &[u8]) {
        let words = std::iter::once(head.0).chain(key_words(key));
        words.zip(self.used..).for_each(|(word, at)| self.write(at, word));
        self.used += head.words();
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        let classes = self.entries().fold(0, |classes, (_, head)| classes | 1 << head.class());
        let state = classes | (self.used as u64) << CLASSES | self.version.wrapping_add(2 * VERSION_ONE);
        self.set.state.store(state, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn absence(table: u32, key: &[u8]) -> Absence<'_> {
        Absence::new(table, key, springbloom_filter::KeyDigest::of(key))
    }

    #[test]
    fn what_saves_reads_outlives_what_does_not() {
        let set = Set::new();
        set.insert(&absence(1, b"hot"));
        for n in 0..1000u32 {
            assert_ne!(set.find(&absence(1, b"hot")), Found::No, "after {n}");
            set.insert(&absence(1, &n.to_le_bytes()));
        }
        // Not hot any more: it goes when others are.
        for n in 0..10_000u32 {
            let warm = (n % 17).to_le_bytes();
            if set.find(&absence(2, &warm)) == Found::No {
                set.insert(&absence(2, &warm));
            }
        }
        assert_eq!(set.find(&absence(1, b"hot")), Found::No);
    }

    #[test]
    fn the_last_entry_of_a_full_set_is_found_barely() {
        let set = Set::new();
        let keys: Vec<[u8; 24]> = (0..7).map(|n| [n; 24]).collect();
        keys.iter().for_each(|key| set.insert(&absence(9, key)));
        for key in &keys[1..] {
            assert_eq!(set.find(&absence(9, key)), Found::Yes);
        }
        assert_eq!(set.find(&absence(9, &keys[0])), Found::Barely(4), "nobody has fewer points");
        assert_eq!(set.find(&absence(8, &keys[0])), Found::No, "another table's");
    }

    #[test]
    fn entries_of_forgotten_tables_go() {
        let set = Set::new();
        (0..7).for_each(|table| set.insert(&absence(table, b"key")));
        set.retain(|table| table % 2 == 0);
        let found = (0..7).map(|table| set.find(&absence(table, b"key")) != Found::No);
        assert_eq!(found.collect::<Vec<_>>(), [true, false, true, false, true, false, true]);
    }

    /// Writers that write the same absences over and over; a reader that asks for ones that were never written.
    #[test]
    fn nobody_finds_what_was_never_put_in() {
        let set = Set::new();
        std::thread::scope(|scope| {
            for writer in 0..2u8 {
                let set = &set;
                scope.spawn(move || {
                    for round in 0..200_000u32 {
                        let key = [writer * 100 + (round % 50) as u8; 20];
                        set.insert(&absence(round % 3, &key[..4 + round as usize % 16]));
                    }
                });
            }
            let set = &set;
            scope.spawn(move || {
                for round in 0..400_000u32 {
                    let mut key = [(round % 50) as u8; 20];
                    key[3] = 0xFF; // no key that is written has two different bytes
                    assert_eq!(set.find(&absence(round % 3, &key[..4 + round as usize % 16])), Found::No);
                }
            });
        });
    }

    proptest! {
        /// Whatever is done, only what was put in is found, and the set's words add up.
        #[test]
        fn finds_nothing_else(steps in prop::collection::vec((0..4u32, 0..40u8, 0..KEY_BYTES_MAX, 0..3u8), 1..200)) {
            let set = Set::new();
            let mut put_in = std::collections::HashSet::new();
            for (table, fill, length, what) in steps {
                let key = vec![fill; length];
                match what {
                    0 => {
                        set.insert(&absence(table, &key));
                        put_in.insert((table, key));
                    }
                    1 => prop_assert!(set.find(&absence(table, &key)) == Found::No || put_in.contains(&(table, key))),
                    _ => {
                        set.retain(|known| known != table);
                        put_in.retain(|(known, _)| *known != table);
                    }
                }
                let state = set.state.load(Ordering::Relaxed);
                prop_assert!(used_of(state) <= WORDS && !is_being_written(state));
            }
        }
    }
}
