//! Short ranges of integers, filtered by units: how often an empty range of up to 16 keys passes, at how many bits per key.
//!
//! A group of one unit holds each of the lowest four dyadic prefixes of the keys (the key without its last 1 to 4 bits), another group the
//! keys themselves. A range is a few dyadic pieces. A piece may hold a key if its prefix passes, and one of its halves, down to the keys.
//! If the larger prefixes of a piece are asked too, most empty ranges are rejected sooner, but not those next to a key.

use std::ops::Range;

use rand::RngExt;
use springbloom_filter::{FilterGroup, KeyDigest, UnitSettings};
use springbloom_testkit::{binomial::assert_rate_within, seed::rng};

const LEVELS: u32 = 4;
const LENGTH: u64 = 1 << LEVELS;
const KEYS: u64 = 60_000;

struct RangeFilter {
    /// By the bits that prefixes leave out; first the keys.
    groups: Vec<FilterGroup>,
    bytes: usize,
}

fn digest(prefix: u64, level: u32) -> KeyDigest {
    KeyDigest::seeded(&prefix.to_be_bytes(), level.into())
}

impl RangeFilter {
    fn new(keys: &[u64], units_of_keys: u8) -> Self {
        let mut bytes = 0;
        let groups = (0..=LEVELS).map(|level| {
            let units = UnitSettings::ribbon(if level == 0 { units_of_keys } else { 1 }).unwrap();
            let mut prefixes: Vec<u64> = keys.iter().map(|key| key >> level).collect();
            prefixes.dedup();
            let built =
                units.build(&prefixes.iter().map(|prefix| digest(*prefix, level)).collect::<Vec<_>>());
            bytes += built.units.iter().map(|unit| unit.len()).sum::<usize>();
            let units: Vec<&[u8]> = built.units.iter().map(|unit| &unit[..]).collect();
            FilterGroup::from_units(built.shape, &units).unwrap()
        });
        Self { groups: groups.collect(), bytes }
    }

    fn passes(&self, key: u64, level: u32) -> bool {
        self.groups[level as usize].may_match(digest(key >> level, level))
    }

    fn piece_passes(&self, first: u64, level: u32) -> bool {
        self.passes(first, level)
            && (level == 0
                || self.piece_passes(first, level - 1)
                || self.piece_passes(first + (1 << (level - 1)), level - 1))
    }

    fn may_hold_one_of(&self, range: Range<u64>, asks_larger: bool) -> bool {
        let mut first = range.start;
        while first < range.end {
            let fits = (range.end - first).ilog2();
            let level = first.trailing_zeros().min(fits).min(LEVELS);
            let larger_pass = !asks_larger || (level + 1..=LEVELS).all(|level| self.passes(first, level));
            if larger_pass && self.piece_passes(first, level) {
                return true;
            }
            first += 1 << level;
        }
        false
    }
}

#[test]
fn empty_short_ranges_pass_as_rarely_as_calculated() {
    let mut rng = rng("empty_short_ranges_pass_as_rarely_as_calculated");
    let mut keys: Vec<u64> = (0..KEYS).map(|_| rng.random_range(0..1 << 48)).collect();
    keys.sort_unstable();
    keys.dedup();
    let is_empty = |range: &Range<u64>| {
        let at = keys.partition_point(|key| *key < range.start);
        keys.get(at).is_none_or(|key| *key >= range.end)
    };
    eprintln!(
        "bits per key: pieces alone, behind a key, with larger prefixes, behind a key; Grafite, Rosetta"
    );
    // By calculation with 9, 10 and 12 units: 4.06 pieces on average.
    for (units_of_keys, calculated) in [(5, 0.118), (6, 0.061), (8, 0.016)] {
        let filter = RangeFilter::new(&keys, units_of_keys);
        let mut rates = Vec::new();
        for asks_larger in [false, true] {
            for is_behind_a_key in [false, true] {
                let (mut asked, mut passed) = (0, 0);
                while asked < 200_000 {
                    let near = keys[rng.random_range(0..keys.len())];
                    let start = if is_behind_a_key { near + 1 } else { rng.random_range(0..1 << 48) };
                    let range = start..start + LENGTH;
                    if is_empty(&range) {
                        asked += 1;
                        passed += u64::from(filter.may_hold_one_of(range, asks_larger));
                    }
                    let holds_near = near - rng.random_range(0..LENGTH.min(near + 1));
                    let length = rng.random_range(near - holds_near + 1..=LENGTH);
                    assert!(filter.may_hold_one_of(holds_near..holds_near + length, asks_larger));
                }
                rates.push(passed as f64 / asked as f64);
                if !asks_larger && !is_behind_a_key {
                    let what = format!("{units_of_keys} units of keys");
                    assert_rate_within(passed, asked, 0.93 * calculated, 1.03 * calculated, &what);
                }
            }
        }
        // Whatever is next to it, a piece of an empty range has an absent prefix.
        assert!(rates[1] < 1.1 * rates[0], "{rates:?}");
        assert!(rates[2] < 0.4 * rates[0] && rates[3] < rates[1], "{rates:?}");
        let units = f64::from(units_of_keys) + f64::from(LEVELS);
        // Both by their papers' formulas: L / 2^(B - 2), and B = 1.44 log2(L / rate).
        let (length, nominal) = (LENGTH as f64, units);
        let grafite = length / 2f64.powf(nominal - 2.0);
        let rosetta = length / 2f64.powf(nominal / std::f64::consts::LOG2_E);
        let bits = 8.0 * filter.bytes as f64 / keys.len() as f64;
        eprintln!("{bits:.2}: {rates:.4?}; {grafite:.4}, {rosetta:.4}");
    }
}
