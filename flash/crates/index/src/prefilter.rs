//! The filters in memory over the entries of one bucket, one for each half (BloomStore, "pre-filter"). They answer most lookups of absent
//! keys without a read. For other lookups they tell which half to read.
//!
//! They hold the first bits of each fingerprint, which the bucket holds as well, so they can be built whenever the bucket is read.
//! Invariant: no false negative. An entry with fewer bits is stored as all values that it may have. If these are too many, there is no
//! filter, and every key may match.

use springbloom_filter::{GroupLayout, GroupShape, KeyDigest, SHAPE_BYTES, UnitSettings};

use crate::entry::{Entry, fingerprint};
use springbloom_page_device::{GOLDEN, mix};

/// Bits of the fingerprint in the filter. 2.1% of absent keys share them with one of 1,400 entries.
const FILTERED_BITS: u8 = 16;
/// An entry that lacks more bits than this has too many possible values.
const LACKING_BITS_MAX: u8 = 8;

fn digest_of(value: u32) -> KeyDigest {
    let seed = u64::from(value) + 1;
    KeyDigest { lo: mix(seed.wrapping_mul(GOLDEN)), hi: mix(!seed.wrapping_mul(GOLDEN)) }
}

/// The filter over one half of a bucket.
#[derive(Clone, Debug)]
pub(crate) struct HalfFilter {
    shape: GroupShape,
    words: Vec<u64>,
}

/// Bytes of the stored form of [`Heads`].
pub(crate) const SHAPES_BYTES: usize = 2 * SHAPE_BYTES;

/// The layout of the words of both filters: those of the front, then those of the back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heads {
    front: GroupShape,
    back: GroupShape,
}

fn head(shape: GroupShape) -> GroupLayout {
    GroupLayout::new(shape, shape.unit_count())
}

impl Heads {
    pub(crate) fn words(&self) -> usize {
        head(self.front).words() + head(self.back).words()
    }

    /// Units of the filters of front and back.
    pub(crate) fn units(&self) -> [u8; 2] {
        [self.front.unit_count(), self.back.unit_count()]
    }

    pub(crate) fn encode(&self) -> [u8; SHAPES_BYTES] {
        let mut bytes = [0; SHAPES_BYTES];
        bytes[..SHAPE_BYTES].copy_from_slice(&self.front.encode());
        bytes[SHAPE_BYTES..].copy_from_slice(&self.back.encode());
        bytes
    }

    /// Total: `None` for bytes that are no valid shapes.
    pub(crate) fn decode(bytes: &[u8; SHAPES_BYTES]) -> Option<Heads> {
        let (front, back) = bytes.split_at(SHAPE_BYTES);
        Some(Heads { front: GroupShape::decode(front).ok()?, back: GroupShape::decode(back).ok()? })
    }

    /// Whether the front and the back half may hold entries for `digest`. `depth` is that of the partition.
    pub(crate) fn may_match(&self, words: &[u64], digest: KeyDigest, depth: u8) -> (bool, bool) {
        let filtered = digest_of(fingerprint(digest, depth, FILTERED_BITS));
        let (front, back) = (head(self.front), head(self.back));
        let (front_words, back_words) = words.split_at(front.words());
        (front.may_match(front_words, filtered), back.may_match(back_words, filtered))
    }

    /// The front's filter, from the `words` of both.
    pub(crate) fn front_filter(&self, words: &[u64]) -> HalfFilter {
        HalfFilter { shape: self.front, words: words[..head(self.front).words()].to_vec() }
    }
}

/// The filters of a bucket before they are stored in [`FilterStore`](crate::filters::FilterStore).
#[derive(Clone, Debug)]
pub(crate) struct Prefilter {
    pub(crate) heads: Heads,
    pub(crate) words: Vec<u64>,
}

impl Prefilter {
    pub(crate) fn new(front: HalfFilter, back: HalfFilter) -> Prefilter {
        let heads = Heads { front: front.shape, back: back.shape };
        let mut words = front.words;
        words.extend_from_slice(&back.words);
        Prefilter { heads, words }
    }
}

/// Builds the filter over `entries`. `None` if they have too few bits. Cost: about 70 ns per entry.
pub(crate) fn build(settings: &UnitSettings, entries: &[Entry]) -> Option<HalfFilter> {
    let mut values = Vec::with_capacity(entries.len());
    for entry in entries {
        if entry.bits >= FILTERED_BITS {
            values.push(entry.truncated(FILTERED_BITS).fingerprint);
            continue;
        }
        let lacking = FILTERED_BITS - entry.bits;
        if lacking > LACKING_BITS_MAX {
            return None;
        }
        let first = entry.fingerprint << lacking;
        values.extend(first..first + (1 << lacking));
    }
    values.sort_unstable();
    values.dedup();
    let digests: Vec<KeyDigest> = values.into_iter().map(digest_of).collect();
    let built = settings.build(&digests);
    let head = head(built.shape);
    let mut words = vec![0; head.words()];
    for (unit, bytes) in built.units.iter().enumerate() {
        head.set_unit(&mut words, unit, bytes).ok()?;
    }
    Some(HalfFilter { shape: built.shape, words })
}

#[cfg(test)]
mod tests {
    use springbloom_testkit::binomial;

    use super::*;

    fn digest(n: u64) -> KeyDigest {
        KeyDigest::of(&n.to_le_bytes())
    }

    fn entries(depth: u8, bits: impl Fn(u64) -> u8) -> Vec<Entry> {
        (0..1400)
            .map(|n| Entry { page: n, fingerprint: fingerprint(digest(n), depth, bits(n)), bits: bits(n) })
            .collect()
    }

    fn over(settings: &UnitSettings, (front, back): (&[Entry], &[Entry])) -> Prefilter {
        Prefilter::new(build(settings, front).unwrap(), build(settings, back).unwrap())
    }

    #[test]
    fn an_empty_half_matches_nothing() {
        let entries = entries(0, |_| 20);
        let filter = over(&UnitSettings::ribbon(3).unwrap(), (&entries, &[]));
        assert!((0..1400).all(|n| filter.heads.may_match(&filter.words, digest(n), 0) == (true, false)));
        let front = filter.heads.front_filter(&filter.words);
        assert_eq!(front.words, filter.words);
    }

    #[test]
    fn entries_match_whatever_they_know() {
        for settings in [UnitSettings::ribbon(4).unwrap(), UnitSettings::bloom(1, 4).unwrap()] {
            let entries = entries(5, |n| 20 - (n % 13) as u8);
            let filter = over(&settings, entries.split_at(800));
            let may_match = |n| filter.heads.may_match(&filter.words, digest(n), 5);
            assert!((0..800).all(|n| may_match(n).0));
            assert!((800..1400).all(|n| may_match(n).1));
        }
        assert!(build(&UnitSettings::ribbon(4).unwrap(), &entries(5, |_| 7)).is_none());
    }

    #[test]
    fn absent_keys_pass_at_the_rate_on_paper() {
        let filter = over(&UnitSettings::ribbon(4).unwrap(), entries(0, |_| 20).split_at(700));
        let passed = |which: fn(&(bool, bool)) -> bool| {
            let passed = (10_000..60_000).map(|n| filter.heads.may_match(&filter.words, digest(n), 0));
            passed.filter(which).count() as u64
        };
        // The filter's own rate, and the chance to share 16 bits with an entry.
        let half = 1.0 - (1.0 - 1.0 / 16.0) * (1.0 - 1.0 / 65_536.0f64).powi(700);
        let either = 1.0 - (1.0 - half) * (1.0 - half);
        binomial::assert_rate_within(passed(|p| p.0), 50_000, half * 0.85, half * 1.15, "front");
        binomial::assert_rate_within(passed(|p| p.1), 50_000, half * 0.85, half * 1.15, "back");
        binomial::assert_rate_within(passed(|p| p.0 || p.1), 50_000, either * 0.85, either * 1.15, "either");
    }
}
