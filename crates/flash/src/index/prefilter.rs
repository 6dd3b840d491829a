//! The filter in memory over the entries of one bucket (BloomStore, "pre-filter"): it answers most lookups of absent keys
//! without a read.
//!
//! It knows what the bucket knows, the first bits of each fingerprint, so it can be built whenever the bucket is read.
//! Invariant: no false negative: an entry that knows fewer bits stands for all values that it may have; where these are too
//! many, there is no filter, and every key may match.

use springbloom_filter::{GroupHead, KeyDigest, UnitSettings};

use super::entry::{Entry, fingerprint};
use crate::mix::{GOLDEN, mix};

/// Bits of the fingerprint that are filtered: among 1,400 entries 2.1% of absent keys share theirs with one.
const FILTERED_BITS: u8 = 16;
/// An entry that lacks more bits than this would stand for too many values.
const LACKING_BITS_MAX: u8 = 8;

fn digest_of(value: u32) -> KeyDigest {
    let seed = u64::from(value) + 1;
    KeyDigest { lo: mix(seed.wrapping_mul(GOLDEN)), hi: mix(!seed.wrapping_mul(GOLDEN)) }
}

/// A filter on its way to where the filters of all partitions lie.
#[derive(Clone, Debug)]
pub(crate) struct Prefilter {
    pub(crate) head: GroupHead,
    pub(crate) words: Vec<u64>,
}

/// The filter over `entries`, or none if they know too little. About 70 ns per entry.
pub(crate) fn build(settings: &UnitSettings, entries: &[Entry]) -> Option<Prefilter> {
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
    let head = GroupHead::new(built.shape, settings.unit_count());
    let mut words = vec![0; head.words()];
    for (unit, bytes) in built.units.iter().enumerate() {
        head.set_unit(&mut words, unit, bytes).ok()?;
    }
    Some(Prefilter { head, words })
}

/// Whether an entry of a key with this digest may be in the bucket; `depth` is that of the partition.
pub(crate) fn may_match(head: GroupHead, words: &[u64], digest: KeyDigest, depth: u8) -> bool {
    head.may_match(words, digest_of(fingerprint(digest, depth, FILTERED_BITS)))
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

    #[test]
    fn entries_match_whatever_they_know() {
        for settings in [UnitSettings::ribbon(4).unwrap(), UnitSettings::bloom(1, 4).unwrap()] {
            let filter = build(&settings, &entries(5, |n| 20 - (n % 13) as u8)).unwrap();
            assert!((0..1400).all(|n| may_match(filter.head, &filter.words, digest(n), 5)));
        }
        assert!(build(&UnitSettings::ribbon(4).unwrap(), &entries(5, |_| 7)).is_none());
    }

    #[test]
    fn absent_keys_pass_at_the_rate_on_paper() {
        let filter = build(&UnitSettings::ribbon(4).unwrap(), &entries(0, |_| 20)).unwrap();
        let passed =
            (10_000..60_000).filter(|n| may_match(filter.head, &filter.words, digest(*n), 0)).count();
        // The filter's own rate, and the chance to share 16 bits with an entry.
        let expected = 1.0 - (1.0 - 1.0 / 16.0) * (1.0 - 1.0 / 65_536.0f64).powi(1400);
        binomial::assert_rate_within(passed as u64, 50_000, expected * 0.85, expected * 1.15, "absent keys");
    }
}
