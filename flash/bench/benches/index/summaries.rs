//! Two ways to find the page of a record in a partition: the paper's chain of Bloom filters, one per page, against entries of fingerprint
//! and page.
//!
//! Runs in memory. Counted are the pages read in vain, each of which costs a read, and the bits per key, which a lookup reads before.

use springbloom_filter::{FilterGroup, KeyDigest, UnitSettings};

use crate::setup::Setup;

/// Pairs of 64 bytes in a page of 4 KiB.
const KEYS_PER_PAGE: u64 = 63;
const LOOKUPS: u64 = 20_000;

pub(crate) fn run(setup: &Setup) {
    println!(
        "pages per partition | 16-bit filters: false pages per absent, per hit | fingerprints of 16, 20 bits: per absent"
    );
    for pages in [24, 96, 256] {
        let digest = |n: u64| KeyDigest::of(&setup.key(n));
        let units = UnitSettings::bloom(2, 8).expect("two units of eight bits");
        let chain: Vec<FilterGroup> = (0..pages)
            .map(|page| {
                let keys: Vec<KeyDigest> =
                    (page * KEYS_PER_PAGE..(page + 1) * KEYS_PER_PAGE).map(digest).collect();
                let built = units.build(&keys);
                let units: Vec<&[u8]> = built.units.iter().map(Vec::as_slice).collect();
                FilterGroup::from_units(built.shape, &units).expect("a filter")
            })
            .collect();
        let keys = pages * KEYS_PER_PAGE;
        let false_pages =
            |n: u64, pages: &[FilterGroup]| pages.iter().filter(|page| page.may_match(digest(n))).count();
        let absent: usize = (0..LOOKUPS).map(|n| false_pages(keys + n, &chain)).sum();
        // Newest page first, so only pages newer than the key's own are read in vain.
        let hits: usize = (0..LOOKUPS)
            .map(|n| n % keys)
            .map(|n| false_pages(n, &chain[(n / KEYS_PER_PAGE) as usize + 1..]))
            .sum();
        let fingerprints = |bits: u32| {
            let mut there: Vec<u64> = (0..keys).map(|n| digest(n).hi >> (64 - bits)).collect();
            there.sort_unstable();
            let matches = |n: u64| {
                let wanted = digest(keys + n).hi >> (64 - bits);
                there.partition_point(|f| *f <= wanted) - there.partition_point(|f| *f < wanted)
            };
            (0..LOOKUPS).map(matches).sum::<usize>() as f64 / LOOKUPS as f64
        };
        println!(
            "{pages:>19} | {:.4}, {:.4} | {:.4}, {:.4}",
            absent as f64 / LOOKUPS as f64,
            hits as f64 / LOOKUPS as f64,
            fingerprints(16),
            fingerprints(20)
        );
    }
}
