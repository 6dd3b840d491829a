//! RocksDB's own settings, as recommended and as experts choose them.

use springbloom_index::LARGE_BLOCK_BYTES;

use super::cache::Requests;
use super::filters::{bloom_rate, ribbon_rate};
use super::store::{Asked, ByFamily, Cached, Layout, Store};

/// Charged for a block that stays in the cache, beyond its contents.
pub(super) const PINNED_BYTES: f64 = 160.0;
/// Of a partition in the block above partitions.
const TOP_ENTRY_BYTES: f64 = 30.0;

/// One way to set up tables, with its reads at each memory.
pub(super) struct Stock {
    pub(super) name: String,
    /// None where what stays in memory does not fit.
    pub(super) reads: Vec<Option<f64>>,
}

/// Filters by family.
struct Choice {
    name: String,
    bits: Vec<f64>,
    rates: Vec<f64>,
}

pub(super) const BLOCK_BYTES: [f64; 2] = [4096.0, LARGE_BLOCK_BYTES as f64];
/// Families that differ by less in the absent keys that they meet are alike.
const ALIKE: f64 = 0.05;
/// That are tried for all families.
const RIBBON_BITS: [f64; 8] = [1.4, 2.1, 2.8, 4.2, 5.6, 7.0, 8.5, 10.0];

/// Bytes of the blocks above partitions of a table, in all tables.
pub(super) fn top_bytes(store: &Store, table_metadata: impl Fn(usize) -> f64) -> f64 {
    let of_level = |(at, level): (usize, _)| {
        let (parts, _) = Store::parts(level, table_metadata(at));
        parts * TOP_ENTRY_BYTES + level.tables * PINNED_BYTES
    };
    store.levels.iter().copied().enumerate().map(of_level).sum::<f64>()
}

/// The fewest reads at one of the memories, and with which settings.
pub(super) fn best(all: &[Stock], memory: usize) -> Option<(f64, &str)> {
    let fitting = all.iter().filter_map(|stock| Some((stock.reads[memory]?, stock.name.as_str())));
    fitting.min_by(|(one, _), (other, _)| one.total_cmp(other))
}

/// RocksDB's recommendation comes first, then the same with a small index. `memories`: bytes for each key.
pub(super) fn all(store: &Store, memories: &[f64]) -> Vec<Stock> {
    let same = |name: &str, bits: f64, rate: f64| Choice {
        name: name.to_owned(),
        bits: vec![bits; store.families],
        rates: vec![rate; store.families],
    };
    let bloom = same("Bloom 10", 10.0, bloom_rate(10.0));
    let mut found = Vec::new();
    for (at, block_bytes) in BLOCK_BYTES.into_iter().enumerate() {
        let layout = |restart: usize| Layout {
            block_bytes: block_bytes.max(store.record_bytes),
            index_entry_bytes: [store.index.plain, store.index.restart_16][restart],
        };
        let blocks = if at == 0 { "" } else { ", 16 KiB blocks" };
        if at == 0 {
            found.push(tried(
                store,
                memories,
                "Bloom 10, all in partitions".to_owned(),
                &bloom,
                layout(0),
                true,
                true,
            ));
            found.push(tried(
                store,
                memories,
                "Bloom 10, all in partitions, restart 16".to_owned(),
                &bloom,
                layout(1),
                true,
                true,
            ));
        }
        let mut choices = vec![same("no filter", 0.0, 1.0)];
        for bits in RIBBON_BITS {
            choices.push(same(&format!("Ribbon {bits}"), bits, ribbon_rate(bits)));
        }
        choices.extend([2.0, 3.0, 4.5, 6.0].into_iter().filter_map(|bits| by_hand(store, bits)));
        for choice in &choices {
            let asked = asked(store, choice, layout(1));
            for (what, index, filter) in [
                ("all in partitions", true, true),
                ("filters pinned", true, false),
                ("indexes pinned", false, true),
                ("all pinned", false, false),
            ] {
                if filter && choice.bits[0] == 0.0 && choice.bits.iter().all(|&bits| bits == 0.0) {
                    continue;
                }
                let name = format!("{}, {what}, restart 16{blocks}", choice.name);
                found.push(with(store, memories, name, choice, &asked, layout(1), Cached { index, filter }));
            }
        }
    }
    found
}

fn asked(store: &Store, choice: &Choice, layout: Layout) -> Asked {
    store.asked(&ByFamily(choice.rates.clone()), layout, &choice.bits)
}

fn tried(
    store: &Store,
    memories: &[f64],
    name: String,
    choice: &Choice,
    layout: Layout,
    index: bool,
    filter: bool,
) -> Stock {
    with(store, memories, name, choice, &asked(store, choice, layout), layout, Cached { index, filter })
}

fn with(
    store: &Store,
    memories: &[f64],
    name: String,
    choice: &Choice,
    asked: &Asked,
    layout: Layout,
    cached: Cached,
) -> Stock {
    let mut requests = Requests::default();
    asked.put(store, layout, &choice.bits, cached, &mut requests);
    let index = |at: usize| store.blocks(store.levels[at], layout.block_bytes) * layout.index_entry_bytes;
    let filters = |at: usize| store.filter_keys(store.levels[at]) * choice.bits.iter().sum::<f64>() / 8.0;
    let families = store.families as f64;
    let whole = |bytes: f64| bytes + store.tables() * PINNED_BYTES;
    let levels = 0..store.levels.len();
    let of_index = if cached.index {
        families * top_bytes(store, index)
    } else {
        whole(levels.clone().map(|at| families * index(at)).sum())
    };
    let of_filters = if choice.bits.iter().all(|&bits| bits == 0.0) {
        0.0
    } else if cached.filter {
        families * top_bytes(store, |at| filters(at) / families)
    } else {
        whole(levels.map(filters).sum())
    };
    let reads = memories.iter().map(|memory| {
        let reads = requests.reads(memory * store.all_keys(), of_index + of_filters)?;
        Some(reads.all())
    });
    Stock { name, reads: reads.collect() }
}

/// Bits for each family by the absent keys that its filters meet, this many on average: what somebody chooses who knows the lookups.
fn by_hand(store: &Store, mean: f64) -> Option<Choice> {
    let met = store.not_there();
    if met.iter().all(|of| (of / met[0] - 1.0).abs() < ALIKE) {
        return None;
    }
    // A filter of less than a bit is none.
    let bits_at = |height: f64| -> Vec<f64> {
        let bits = met.iter().map(|of| (of.log2() + height).min(10.0));
        bits.map(|bits| if bits < 1.0 { 0.0 } else { (bits * 2.0).round() / 2.0 }).collect()
    };
    let (mut least, mut most) = (-40.0, 40.0);
    for _ in 0..40 {
        let middle = (least + most) / 2.0;
        let sum: f64 = bits_at(middle).iter().sum();
        if sum < mean * store.families as f64 { least = middle } else { most = middle }
    }
    let bits = bits_at(most);
    let rates = bits.iter().map(|&bits| ribbon_rate(bits)).collect();
    Some(Choice { name: format!("Ribbon {mean} by hand"), bits, rates })
}
