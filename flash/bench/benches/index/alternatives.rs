//! Alternatives to the design of the index that were rejected, measured in memory by counting.

use springbloom_filter::{FilterGroup, KeyDigest, UnitSettings};

use crate::setup::{Setup, mix};

/// Bits of an entry at 50 million records, and the bits of them that a sector holds.
const ENTRY_BITS: usize = 37;
const SECTOR_BYTES: usize = 512;
const ENTRIES_PER_SECTOR: usize = (SECTOR_BYTES - 14) * 8 / ENTRY_BITS;
const BUCKET_SECTORS: usize = 16;

/// A partition's bucket: the entries of each sector.
type Bucket = Vec<usize>;

fn packed(entries: usize) -> Bucket {
    let full = std::iter::repeat_n(ENTRIES_PER_SECTOR, entries / ENTRIES_PER_SECTOR);
    full.chain(Some(entries % ENTRIES_PER_SECTOR).filter(|rest| *rest > 0)).collect()
}

/// Entries of a split partition fall into either half.
fn halves(entries: usize, draw: &mut u64) -> [usize; 2] {
    let lower = (0..entries)
        .filter(|_| {
            *draw = draw.wrapping_add(1);
            mix(*draw) & 1 == 0
        })
        .count();
    [lower, entries - lower]
}

/// Appending sectors to buckets, against rewriting each bucket at every flush.
pub(crate) fn buckets(setup: &Setup) {
    println!("buckets: entries pending at a flush, bytes written per entry, sectors read per lookup");
    for waiting in [50, 100, 200] {
        for appends in [true, false] {
            let mut draw = setup.seed;
            let mut buckets: Vec<Bucket> = vec![Vec::new(); 64];
            let (mut inserted, mut written, mut sectors, mut seen) = (0, 0, 0, 0);
            // Four doublings. The first two, from an empty index, are not counted.
            for round in 0.. {
                let counts = buckets.len() >= 64 * 4;
                let mut next = Vec::new();
                for mut bucket in buckets {
                    // As many as hashing gives: about its mean, give or take its root.
                    draw = draw.wrapping_add(1);
                    let spread = (waiting as f64).sqrt() as u64;
                    let new = (waiting as u64 - spread + mix(draw) % (2 * spread + 1)) as usize;
                    let appended = packed(new);
                    let entries = bucket.iter().sum::<usize>() + new;
                    let (parts, bytes) = if appends && bucket.len() + appended.len() <= BUCKET_SECTORS {
                        bucket.extend(&appended);
                        (vec![bucket], appended.len())
                    } else if packed(entries).len() <= if appends { 12 } else { BUCKET_SECTORS } {
                        let whole = packed(entries);
                        let len = whole.len();
                        (vec![whole], len)
                    } else {
                        let parts: Vec<Bucket> = halves(entries, &mut draw).map(packed).into();
                        let len = parts.iter().map(Vec::len).sum();
                        (parts, len)
                    };
                    if counts {
                        inserted += new;
                        written += bytes * SECTOR_BYTES;
                        sectors += parts.iter().map(Vec::len).sum::<usize>();
                        seen += parts.len();
                    }
                    next.extend(parts);
                }
                buckets = next;
                if buckets.len() >= 64 * 16 {
                    println!(
                        "  {waiting:>4} pending, {}: {:>6.2} B per entry, {:>5.2} sectors ({round} flushes)",
                        if appends { "sectors appended" } else { "buckets rewritten" },
                        written as f64 / inserted as f64,
                        sectors as f64 / seen as f64
                    );
                    break;
                }
            }
        }
    }
}

/// Pre-filters of the same size for each partition, against units where they save the most reads, with the same memory in total. Absent
/// keys under a Zipf distribution. Half of the lookups decide, the other half is measured.
pub(crate) fn prefilters(setup: &Setup) {
    const PARTITIONS: usize = 400;
    const ENTRIES: u64 = 1200;
    const UNITS: u8 = 8;
    const UNITS_EACH: usize = 3;
    const ABSENT: u64 = 1 << 20;
    const LOOKUPS: u64 = 400_000;
    let settings = UnitSettings::ribbon(UNITS).expect("eight units");
    let digest = |n: u64| KeyDigest { lo: mix(n ^ setup.seed << 40), hi: mix(mix(n) ^ setup.seed) };
    let groups: Vec<FilterGroup> = (0..PARTITIONS as u64)
        .map(|p| {
            let keys: Vec<KeyDigest> = (p * ENTRIES..(p + 1) * ENTRIES).map(digest).collect();
            let built = settings.build(&keys);
            let units: Vec<&[u8]> = built.units.iter().map(Vec::as_slice).collect();
            FilterGroup::from_units(built.shape, &units).expect("a filter")
        })
        .collect();
    println!(
        "pre-filters of {UNITS_EACH} units on average: reads per absent key, the same everywhere / where they save most"
    );
    for skew in [0.0, 0.8, 0.99, 1.2] {
        let weights: Vec<f64> = (0..ABSENT)
            .scan(0.0, |sum, rank| {
                *sum += 1.0 / ((rank + 1) as f64).powf(skew);
                Some(*sum)
            })
            .collect();
        let total = weights[weights.len() - 1];
        let mut draw = setup.seed;
        let mut lookups = || -> Vec<(usize, KeyDigest)> {
            let one = |_| {
                draw = draw.wrapping_add(1);
                let point = mix(draw) as f64 / u64::MAX as f64 * total;
                let digest = digest(1 << 32 | weights.partition_point(|w| *w < point) as u64);
                (mix(digest.hi) as usize % PARTITIONS, digest)
            };
            (0..LOOKUPS).map(one).collect()
        };
        // Number of lookups that pass exactly the first n units: what the next unit would save.
        let mut passed = vec![[0u32; UNITS as usize + 1]; PARTITIONS];
        for (partition, digest) in lookups() {
            let first = groups[partition].rejecting_unit(digest).unwrap_or(UNITS);
            passed[partition][usize::from(first)] += 1;
        }
        let mut units = vec![0usize; PARTITIONS];
        for _ in 0..PARTITIONS * UNITS_EACH {
            let open = (0..PARTITIONS).filter(|p| units[*p] < usize::from(UNITS));
            if let Some(best) = open.max_by_key(|p| passed[*p][units[*p]]) {
                units[best] += 1;
            }
        }
        let test = lookups();
        let reads = |resident: &dyn Fn(usize) -> u8| {
            let passes =
                |p: usize, digest| groups[p].rejecting_unit(digest).is_none_or(|unit| unit >= resident(p));
            test.iter().filter(|(p, digest)| passes(*p, *digest)).count() as f64 / LOOKUPS as f64
        };
        println!("  skew {skew:<4}: {:.4} / {:.4}", reads(&|_| UNITS_EACH as u8), reads(&|p| units[p] as u8));
    }
}
