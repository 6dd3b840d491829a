//! RocksDB's LRU block cache, by Che's approximation: an object leaves after a time without a request that is the same for all.
//!
//! The cache has two pools. Half of it is for entries of high priority, which are blocks of indexes and filters and all blocks that were
//! hit; what leaves that pool enters the other one as if it were new. So metadata leaves after both times, and so does a data block that
//! was hit; one that was not, after the second.

use std::collections::BTreeMap;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Data,
    Index,
    Filter,
}

/// Objects of nearly one rate.
#[derive(Clone, Copy, Debug)]
struct Bin {
    kind: Kind,
    /// Requests per lookup of each.
    rate: f64,
    objects: f64,
    bytes: f64,
}

/// What competes for a cache.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    /// Objects and the sum of their rates, by kind, size and logarithm of the rate.
    bins: BTreeMap<(Kind, u64, i64), (f64, f64)>,
}

/// Reads per lookup.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reads {
    pub(super) data: f64,
    pub(super) index: f64,
    pub(super) filter: f64,
}

impl Reads {
    pub(super) fn all(self) -> f64 {
        self.data + self.index + self.filter
    }
}

/// Charged for each entry beyond its block: its handle, its key, and what the allocator rounds up.
const ENTRY_BYTES: f64 = 160.0;
/// Bins for each factor of two in rates.
const STEPS: f64 = 8.0;
/// Objects of nearly one size are of one size.
const SIZE_STEP_BYTES: f64 = 64.0;
/// Share of the cache for entries of high priority.
const HIGH_SHARE: f64 = 0.5;
/// Longer than any object waits, in lookups.
const FOREVER: f64 = 1e15;

impl Requests {
    /// Adds objects of `bytes` each, by their rates.
    pub(super) fn add(&mut self, kind: Kind, bytes: f64, rates: &[f64]) {
        let bytes = ((bytes + ENTRY_BYTES) / SIZE_STEP_BYTES).round() * SIZE_STEP_BYTES;
        for &rate in rates.iter().filter(|&&rate| rate > 0.0) {
            let step = (rate.log2() * STEPS).floor() as i64;
            let sums = self.bins.entry((kind, bytes as u64, step)).or_insert((0.0, 0.0));
            sums.0 += 1.0;
            sums.1 += rate;
        }
    }

    fn bins(&self) -> Vec<Bin> {
        let bin = |(&(kind, bytes, _), &(objects, sum)): (&(Kind, u64, i64), &(f64, f64))| Bin {
            kind,
            rate: sum / objects,
            objects,
            bytes: bytes as f64,
        };
        self.bins.iter().map(bin).collect()
    }

    /// Reads per lookup with a cache of `capacity` bytes, of which `pinned` stay. `None` without room for anything else.
    pub(super) fn reads(&self, capacity: f64, pinned: f64) -> Option<Reads> {
        let free = capacity - pinned;
        if free < 0.02 * capacity {
            return None;
        }
        // Entries of high priority stay while they have room.
        let (limit, bins) = ((HIGH_SHARE * capacity).min(free), self.bins());
        let used = |low| {
            let high = bisect(|high| usage(&bins, high, low).0, limit);
            let (high_bytes, low_bytes) = usage(&bins, high, low);
            (high, high_bytes + low_bytes)
        };
        let low = bisect(|low| used(low).1, free);
        let times = (used(low).0, low);
        let mut reads = Reads::default();
        for bin in &bins {
            let missed = bin.objects * bin.rate * bin.missed(times);
            match bin.kind {
                Kind::Data => reads.data += missed,
                Kind::Index => reads.index += missed,
                Kind::Filter => reads.filter += missed,
            }
        }
        Some(reads)
    }
}

/// Bytes in both pools.
fn usage(bins: &[Bin], high: f64, low: f64) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    for bin in bins {
        let Bin { rate, objects, bytes, .. } = *bin;
        let [left_high, left_low] = [high, low].map(|time| (-rate * time).exp());
        let left_both = left_high * left_low;
        // A share of the time since a hit, or since a miss.
        let new = if bin.kind == Kind::Data { left_both / (left_both + 1.0 - left_low) } else { 0.0 };
        let hit = 1.0 - new;
        sums.0 += objects * bytes * hit * (1.0 - left_high);
        sums.1 += objects * bytes * (new * (1.0 - left_low) + hit * (left_high - left_both));
    }
    sums
}

impl Bin {
    /// Share of the requests that miss.
    fn missed(&self, (high, low): (f64, f64)) -> f64 {
        let both = (-self.rate * (high + low)).exp();
        match self.kind {
            Kind::Data => {
                // A request misses after a miss if none came for the time in the lower pool, and after a hit if none came for both.
                let alone = (-self.rate * low).exp();
                both / (both + 1.0 - alone)
            }
            Kind::Index | Kind::Filter => both,
        }
    }
}

/// The time at which `bytes`, which grow with it, reach `limit`; long if they do not.
fn bisect(bytes: impl Fn(f64) -> f64, limit: f64) -> f64 {
    if bytes(FOREVER) <= limit {
        return FOREVER;
    }
    let (mut least, mut most) = (1e-3f64.ln(), FOREVER.ln());
    for _ in 0..26 {
        let middle = (least + most) / 2.0;
        if bytes(middle.exp()) < limit { least = middle } else { most = middle }
    }
    most.exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zipf(objects: usize) -> Vec<f64> {
        let sum: f64 = (1..=objects).map(|rank| 1.0 / rank as f64).sum();
        (1..=objects).map(|rank| 1.0 / rank as f64 / sum).collect()
    }

    /// Of metadata alone, which has one time: LRU.
    #[test]
    fn a_cache_of_metadata_is_lru() {
        let rates = zipf(10_000);
        let mut requests = Requests::default();
        requests.add(Kind::Index, 4096.0, &rates);
        let entry = 4096.0 + ENTRY_BYTES;
        let reads = requests.reads(1_000.0 * entry, 0.0).expect("room").index;
        // Of an LRU cache of 1,000 of 10,000 objects under this law, by simulation.
        let mut lru: Vec<usize> = Vec::new();
        let (mut missed, mut random) = (0, 1u64);
        let sums: Vec<f64> = rates
            .iter()
            .scan(0.0, |sum, rate| {
                *sum += rate;
                Some(*sum)
            })
            .collect();
        const LOOKUPS: usize = 30_000;
        for lookup in 0..2 * LOOKUPS {
            random = springbloom_workload::hash::mix(random + 1);
            let at = sums.partition_point(|&sum| sum < random as f64 / u64::MAX as f64).min(rates.len() - 1);
            match lru.iter().rposition(|&object| object == at) {
                Some(place) => drop(lru.remove(place)),
                None if lookup >= LOOKUPS => missed += 1,
                None => {}
            }
            lru.push(at);
            if lru.len() > 1_000 {
                lru.remove(0);
            }
        }
        let simulated = f64::from(missed) / LOOKUPS as f64;
        assert!((reads / simulated - 1.0).abs() < 0.04, "{reads} {simulated}");
    }

    #[test]
    fn more_memory_reads_less_and_all_of_it_nothing() {
        let mut requests = Requests::default();
        requests.add(Kind::Data, 4096.0, &zipf(1_000));
        requests.add(Kind::Filter, 4096.0, &[0.1; 50]);
        let reads = |entries: f64, pinned: f64| requests.reads(entries * 4300.0, pinned).map(Reads::all);
        let all: Vec<_> = [5.0, 50.0, 500.0].map(|entries| reads(entries, 0.0).expect("room")).to_vec();
        assert!(all.is_sorted_by(|a, b| a > b), "{all:?}");
        assert!(reads(500.0, 400.0 * 4300.0).expect("room") > all[2]);
        assert!(reads(3_000.0, 0.0).expect("room") < 1e-6);
        assert_eq!(reads(5.0, 5.0 * 4300.0), None);
    }
}
