//! One bucket of the cache: some twenty absences in 256 bytes, read without a lock.
//!
//! It is a sequence lock over atomic words. A writer takes it or gives up. A reader copies the words; if somebody wrote meanwhile it finds
//! nothing, which is always a right answer. Replacement follows Misra & Gries' heavy hitters: an entry that saves a read earns a point, a
//! new entry replaces one without points, and if all have points each loses one. One in some writes takes a point from each entry in any
//! case: an entry that was hot once must go even where new ones come too fast to earn points.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::absent_key::AbsentKey;
use super::entry::{self, Entry};

/// Words of a bucket's entries.
const WORDS: usize = 31;
const BYTES: usize = WORDS * size_of::<u64>();
const _: () = assert!(BYTES >= 2 * entry::BYTES_MAX);

/// A bucket. Its state has, from the low bits: which of [`entry::CLASSES`] its entries are of; bytes in use; a version, odd while entries
/// are written (32 bits: a reader would have to sleep through 2^31 writes of one bucket to miss that there were any).
#[repr(align(64))]
pub(super) struct Bucket {
    state: AtomicU64,
    words: [AtomicU64; WORDS],
}

// Four cache lines, of which a lookup that finds nothing often touches one.
const _: () = assert!(size_of::<Bucket>() == 256);

const USED_BITS: u32 = 8;
const VERSION_ONE: u64 = 1 << (entry::CLASSES + USED_BITS);

fn has_class(state: u64, class: u64) -> bool {
    state >> class & 1 != 0
}

fn used_of(state: u64) -> usize {
    (state >> entry::CLASSES) as usize & ((1 << USED_BITS) - 1)
}

fn is_being_written(state: u64) -> bool {
    state & VERSION_ONE != 0
}

/// Of so many writes of a full bucket one takes a point from each entry whatever else it does.
const FADING_WRITES: u64 = 256;

/// A copy of a bucket's entries, one after the other.
struct Entries {
    bytes: [u8; BYTES],
    used: usize,
}

impl Entries {
    /// Entries and where they are, oldest first.
    fn iter(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let at = |at: usize| {
            let rest = self.bytes.get(at..self.used).filter(|rest| rest.len() >= entry::BYTES_MIN)?;
            Some((at, rest.get(..entry::bytes_of(rest))?))
        };
        std::iter::successors(at(0), move |&(begin, entry)| at(begin + entry.len()))
    }

    fn position(&self, sought: &Entry) -> Option<usize> {
        self.iter().find(|(_, entry)| sought.same_key(entry)).map(|(at, _)| at)
    }
}

impl Bucket {
    pub(super) fn new() -> Self {
        Self { state: AtomicU64::new(0), words: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    /// Bytes of all entries.
    pub(super) fn used_bytes(&self) -> usize {
        used_of(self.state.load(Ordering::Relaxed))
    }

    /// The first `used` bytes; without the right to write they may be changing.
    #[inline]
    fn copy(&self, used: usize) -> Entries {
        let mut bytes = [0; BYTES];
        let (places, _) = bytes.as_chunks_mut::<8>();
        for (place, word) in places.iter_mut().zip(&self.words[..used.div_ceil(8).min(WORDS)]) {
            *place = word.load(Ordering::Relaxed).to_le_bytes();
        }
        Entries { bytes, used }
    }

    /// Whether an absence is here; it earns a point then. No lock, no wait.
    #[inline]
    pub(super) fn find(&self, absence: &AbsentKey<'_>) -> bool {
        let state = self.state.load(Ordering::Acquire);
        if used_of(state) == 0 || is_being_written(state) {
            return false;
        }
        let Some(sought) = Entry::new(absence) else { return false };
        if !has_class(state, sought.class()) {
            return false;
        }
        let entries = self.copy(used_of(state));
        fence(Ordering::Acquire);
        if self.state.load(Ordering::Relaxed) != state {
            return false;
        }
        let Some(at) = entries.position(&sought) else { return false };
        if entry::points(entries.bytes[at]) < entry::POINTS_MAX
            && let Some(mut writer) = self.try_write(state)
        {
            entry::add_point(&mut writer.entries.bytes[at]);
        }
        true
    }

    /// Puts an absence in if it finds room or an entry without points, and nobody else is writing. Gives the bytes of free room that it
    /// took.
    pub(super) fn insert(&self, absence: &AbsentKey<'_>) -> usize {
        let Some(new) = Entry::new(absence) else { return 0 };
        let Some(mut writer) = self.try_write(self.state.load(Ordering::Relaxed)) else { return 0 };
        if writer.entries.position(&new).is_some() {
            return 0;
        }
        let used_before = writer.entries.used;
        if writer.free() < new.bytes().len() && writer.is_fading() {
            writer.take_points();
        }
        while writer.free() < new.bytes().len() {
            if !writer.remove_first(|entry| entry::points(entry[0]) == 0) {
                writer.take_points();
                return 0;
            }
        }
        writer.push(new.bytes());
        writer.entries.used.saturating_sub(used_before)
    }

    /// Drops the entries of tables that `is_known` does not know.
    pub(super) fn retain(&self, is_known: impl Fn(u32) -> bool) {
        let state = self.state.load(Ordering::Relaxed);
        if used_of(state) > 0
            && let Some(mut writer) = self.try_write(state)
        {
            while writer.remove_first(|entry| !is_known(entry::table_of(entry))) {}
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
        // A reader that sees a word written from here on also sees the state changed.
        fence(Ordering::Release);
        Some(Writer { bucket: self, version, entries: self.copy(used_of(state)) })
    }
}

/// The right to write a bucket. Dropping it writes the changes and gives the right back.
struct Writer<'a> {
    bucket: &'a Bucket,
    /// The version before, with zeros below.
    version: u64,
    entries: Entries,
}

impl Writer<'_> {
    fn free(&self) -> usize {
        BYTES - self.entries.used
    }

    /// Whether this write is one in [`FADING_WRITES`].
    fn is_fading(&self) -> bool {
        (self.version / (2 * VERSION_ONE)).is_multiple_of(FADING_WRITES)
    }

    fn take_points(&mut self) {
        let mut at = 0;
        while at < self.entries.used {
            entry::take_point(&mut self.entries.bytes[at]);
            at += entry::bytes_of(&self.entries.bytes[at..]);
        }
    }

    /// Removes the oldest entry of that kind; `false` if there is none.
    fn remove_first(&mut self, is_such: impl Fn(&[u8]) -> bool) -> bool {
        let found = self.entries.iter().find(|(_, entry)| is_such(entry));
        let Some((at, bytes)) = found.map(|(at, entry)| (at, entry.len())) else { return false };
        self.entries.bytes.copy_within(at + bytes..self.entries.used, at);
        self.entries.used -= bytes;
        true
    }

    /// There must be room.
    fn push(&mut self, entry: &[u8]) {
        self.entries.bytes[self.entries.used..][..entry.len()].copy_from_slice(entry);
        self.entries.used += entry.len();
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        let (words, _) = self.entries.bytes.as_chunks::<8>();
        for (place, word) in self.bucket.words.iter().zip(&words[..self.entries.used.div_ceil(8)]) {
            place.store(u64::from_le_bytes(*word), Ordering::Relaxed);
        }
        let classes =
            self.entries.iter().fold(0, |classes, (_, entry)| classes | 1 << entry::class_of(entry));
        let used = (self.entries.used as u64) << entry::CLASSES;
        self.bucket
            .state
            .store(classes | used | self.version.wrapping_add(2 * VERSION_ONE), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::entry::KEY_BYTES_MAX;
    use super::*;

    fn absence(table: u32, key: &[u8]) -> AbsentKey<'_> {
        AbsentKey::new(table, key, springbloom_filter::KeyDigest::of(key))
    }

    #[test]
    fn what_saves_reads_outlives_what_does_not() {
        let bucket = Bucket::new();
        bucket.insert(&absence(1, b"hot"));
        for n in 0..1000u32 {
            assert!(bucket.find(&absence(1, b"hot")), "after {n}");
            bucket.insert(&absence(1, &n.to_le_bytes()));
        }
        // Not hot any more: it goes when others are.
        for n in 0..10_000u32 {
            let warm = (n % 61).to_le_bytes();
            if !bucket.find(&absence(2, &warm)) {
                bucket.insert(&absence(2, &warm));
            }
        }
        assert!(!bucket.find(&absence(1, b"hot")));
    }

    #[test]
    fn a_full_bucket_has_the_absences_of_one_table_and_not_of_another() {
        let bucket = Bucket::new();
        let keys: Vec<[u8; 24]> = (0..9).map(|n| [n; 24]).collect();
        keys.iter().for_each(|key| _ = bucket.insert(&absence(9, key)));
        for key in &keys {
            assert!(bucket.find(&absence(9, key)) && !bucket.find(&absence(8, key)));
        }
    }

    #[test]
    fn entries_of_forgotten_tables_go() {
        let bucket = Bucket::new();
        (0..7).for_each(|table| _ = bucket.insert(&absence(table, b"key")));
        bucket.retain(|table| table % 2 == 0);
        let found = (0..7).map(|table| bucket.find(&absence(table, b"key")));
        assert_eq!(found.collect::<Vec<_>>(), [true, false, true, false, true, false, true]);
    }

    /// Writers that write the same absences over and over; a reader that asks for ones that were never written.
    #[test]
    fn nobody_finds_what_was_never_put_in() {
        let bucket = Bucket::new();
        std::thread::scope(|scope| {
            for writer in 0..2u8 {
                let bucket = &bucket;
                scope.spawn(move || {
                    for round in 0..200_000u32 {
                        let key = [writer * 100 + (round % 50) as u8; 20];
                        bucket.insert(&absence(round % 3, &key[..4 + round as usize % 16]));
                    }
                });
            }
            let bucket = &bucket;
            scope.spawn(move || {
                for round in 0..400_000u32 {
                    let mut key = [(round % 50) as u8; 20];
                    key[3] = 0xFF; // no key that is written has two different bytes
                    assert!(!bucket.find(&absence(round % 3, &key[..4 + round as usize % 16])));
                }
            });
        });
    }

    proptest! {
        /// Whatever is done, only what was put in is found, and the bucket's words add up.
        #[test]
        fn finds_nothing_else(steps in prop::collection::vec((0..4u32, 0..40u8, 0..KEY_BYTES_MAX, 0..3u8), 1..200)) {
            let bucket = Bucket::new();
            let mut put_in = std::collections::HashSet::new();
            for (table, fill, length, what) in steps {
                let key = vec![fill; length];
                match what {
                    0 => {
                        bucket.insert(&absence(table, &key));
                        put_in.insert((table, key));
                    }
                    1 => prop_assert!(!bucket.find(&absence(table, &key)) || put_in.contains(&(table, key))),
                    _ => {
                        bucket.retain(|known| known != table);
                        put_in.retain(|(known, _)| *known != table);
                    }
                }
                let state = bucket.state.load(Ordering::Relaxed);
                prop_assert!(used_of(state) <= BYTES && !is_being_written(state));
            }
        }
    }
}
