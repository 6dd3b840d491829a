//! Elastic filters, charged to the block cache: the part of it that reads least, with units where most absent keys are met.

use springbloom_index::wants_large_blocks;

use super::cache::{Reads, Requests};
use super::stock::{BLOCK_BYTES, PINNED_BYTES, top_bytes};
use super::store::{Cached, Layout, Passes, Store};

/// Bookkeeping of an open table with a segment, and of a further segment; measured (6b679189, and what a table takes less since).
const TABLE_BYTES: f64 = 345.0;
const SEGMENT_BYTES: f64 = 45.0;
/// Of a table's index in memory, beyond its entries and with its place.
const INDEX_BYTES: f64 = 265.0;
/// Of a budget, for buffers and what is free.
const NOT_FOR_UNITS: f64 = 0.035;
/// Of a Ribbon unit, beyond a bit for each key.
const UNIT_OVERHEAD: f64 = 1.02;
const UNITS_MAX: u32 = 16;
/// Of a block cache, that a budget may take.
const SHARE_MAX: f64 = 0.875;
/// Budgets that are tried, in bits per key beyond bookkeeping.
const BITS: [f64; 11] = [0.0, 0.3, 0.6, 1.0, 1.5, 2.2, 3.0, 4.0, 5.5, 7.5, 10.0];

/// Units of the segments of each family's levels.
struct Units {
    levels: usize,
    rates: Vec<Vec<f64>>,
}

impl Passes for Units {
    fn rate(&self, family: usize, level: usize, place: f64) -> f64 {
        let segments = &self.rates[family * self.levels + level];
        segments[(place * segments.len() as f64) as usize]
    }
}

/// What this number of open tables takes of a budget before their units; each has a segment at least.
pub fn bookkeeping_bytes(tables: f64, segments: f64) -> f64 {
    tables * TABLE_BYTES + (segments - tables).max(0.0) * SEGMENT_BYTES
}

/// Reads per lookup at each memory (bytes for each key), with the blocks that new tables get, and with the best of two sizes.
pub(super) fn reads_of_each(store: &Store, memories: &[f64]) -> [Vec<Option<Reads>>; 2] {
    // A record that is larger than a block has one of its own.
    let [small, large] = BLOCK_BYTES.map(|bytes| reads(store, bytes.max(store.record_bytes), memories));
    let data_bytes = store.all_keys() * store.record_bytes;
    let chosen = memories.iter().enumerate().map(|(at, memory)| {
        let are_large = wants_large_blocks(data_bytes as u64, (memory * store.all_keys()) as u64);
        if are_large { large[at] } else { small[at] }
    });
    let best = small.iter().zip(&large).map(|(&small, &large)| better(small, large));
    [chosen.collect(), best.collect()]
}

/// Reads per lookup at each memory (bytes for each key), with the best budget: indexes come and go in parts, or all are packed in the
/// budget, as is better.
fn reads(store: &Store, block_bytes: f64, memories: &[f64]) -> Vec<Option<Reads>> {
    let layout = Layout { block_bytes, index_entry_bytes: store.index.restart_16 };
    let met = store.not_there_by_segment();
    let segments = met.iter().map(Vec::len).sum::<usize>() as f64;
    let bookkeeping = bookkeeping_bytes(store.tables(), segments);
    let blocks = |at: usize| store.blocks(store.levels[at], layout.block_bytes);
    let families = store.families as f64;
    let of_parts = families * top_bytes(store, |at| blocks(at) * layout.index_entry_bytes);
    let packed = families * (0..store.levels.len()).map(blocks).sum::<f64>() * store.index.packed
        + store.tables() * INDEX_BYTES;
    let no_filters = vec![0.0; store.families];
    let mut best = vec![None; memories.len()];
    for bits in BITS {
        let units = bits * store.all_keys() / 8.0;
        let budget = if bits > 0.0 { (bookkeeping + units) / (1.0 - NOT_FOR_UNITS) } else { 0.0 };
        let asked = store.asked(&allot(store, &met, units), layout, &[]);
        for (index, pinned, indexes) in [(true, of_parts, 0.0), (false, 0.0, packed)] {
            let mut requests = Requests::default();
            asked.put(store, layout, &no_filters, Cached { index, filter: false }, &mut requests);
            for (memory, best) in memories.iter().zip(&mut best) {
                let capacity = memory * store.all_keys();
                if budget + indexes <= SHARE_MAX * capacity {
                    *best = better(*best, requests.reads(capacity, pinned + budget + indexes));
                }
            }
        }
    }
    best
}

fn better(one: Option<Reads>, other: Option<Reads>) -> Option<Reads> {
    one.into_iter().chain(other).min_by(|one, other| one.all().total_cmp(&other.all()))
}

/// Units for `bytes`: each next one where it saves most for its bytes.
fn allot(store: &Store, met: &[Vec<f64>], bytes: f64) -> Units {
    let levels = store.levels.len();
    let mut savings = Vec::new();
    for (at, segments) in met.iter().enumerate() {
        let keys = store.filter_keys(store.levels[at % levels]) / segments.len() as f64;
        let unit = keys / 8.0 * UNIT_OVERHEAD + PINNED_BYTES / f64::from(UNITS_MAX);
        for (segment, met) in segments.iter().enumerate() {
            let saved = |units: u32| met * 0.5f64.powi(units as i32) / unit;
            savings.extend((1..=UNITS_MAX).map(|units| (saved(units), unit, at, segment)));
        }
    }
    savings.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    let mut rates: Vec<Vec<f64>> = met.iter().map(|segments| vec![1.0; segments.len()]).collect();
    let mut left = bytes;
    for (_, unit, at, segment) in savings {
        if left < unit {
            break;
        }
        left -= unit;
        rates[at][segment] *= 0.5;
    }
    Units { levels, rates }
}
