//! A modelled store: the blocks, index partitions and filter partitions that its lookups ask for, and how often.

use springbloom_workload::hash::mix;

use super::cache::{Kind, Requests};
use super::cells::{Popularity, Shape};

/// A sorted run of one family.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    /// Of all keys of the family.
    pub(super) share: f64,
    /// Tables in it.
    pub(super) tables: f64,
}

/// A store, and its lookups.
pub(super) struct Store {
    pub(super) shape: Shape,
    pub(super) record_bytes: f64,
    pub(super) families: usize,
    /// Keys of each family.
    pub(super) keys: usize,
    pub(super) levels: Vec<Level>,
    pub(super) index: IndexEntry,
    /// Lookups of each rank of what a family is asked for.
    ranks: Vec<f64>,
    traffic: Vec<f64>,
    absent: Vec<f64>,
}

/// What lies in memory and on disk in addition to data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) block_bytes: f64,
    /// Of each block in the index.
    pub(super) index_entry_bytes: f64,
}

/// Bytes of a block in an index.
#[derive(Clone, Copy, Debug)]
pub struct IndexEntry {
    /// With the restart interval that RocksDB has by default, 1.
    pub plain: f64,
    /// With 16.
    pub restart_16: f64,
    /// In a packed index.
    pub packed: f64,
}

impl IndexEntry {
    /// With a key of 24 digits, and packed where blocks vary by a tenth in size.
    pub(super) const OF_24_DIGITS: Self = Self { plain: 23.5, restart_16: 6.8, packed: 3.3 };
}

/// A store, as its tables describe it, and what is looked up. Its column families are taken for alike.
#[derive(Clone, Debug)]
pub struct Described {
    /// All of them.
    pub keys: f64,
    /// Column families, each with a popularity of its own.
    pub families: usize,
    /// Of key and value, as they are in the block cache.
    pub record_bytes: f64,
    /// Sorted runs from the newest on: the share of the keys, and how many tables in all families.
    pub runs: Vec<(f64, f64)>,
    /// Bytes of a block in its indexes.
    pub index: IndexEntry,
    /// Exponent of the popularity of keys; 0: all are alike.
    pub zipf: f64,
    /// Share of the lookups that find nothing.
    pub absent: f64,
}

/// Edges of a source, where lookups are for prefixes.
const EDGES: usize = 10;
/// Of a partition of an index or a filter.
pub(super) const PARTITION_BYTES: f64 = 4096.0;
/// Of a table in the preset `families` of `compare`, whose trees are checked against the model.
pub(super) const SMALL_TABLE_BYTES: f64 = 2.0 * 1024.0 * 1024.0;
/// Of a segment of filter units.
const SEGMENT_BYTES: f64 = 8.0 * 1024.0 * 1024.0;
/// Of the first level, in tables: as with RocksDB's defaults.
const BASE_TABLES: f64 = 4.0;
/// Keys that are modelled of a store.
const KEYS_MAX: usize = 300_000;
/// Of more column families that are alike, some stand for all.
const FAMILIES_MAX: usize = 64;
/// Ranks whose weights are added one by one.
const EXACT_RANKS: f64 = 1e6;

/// How keys that a table does not hold pass its filter: below this random number, one for each key and table.
pub(super) trait Passes {
    /// For a place of a family's level.
    fn rate(&self, family: usize, level: usize, place: f64) -> f64;
}

/// One rate for each family.
pub(super) struct ByFamily(pub(super) Vec<f64>);

impl Passes for ByFamily {
    fn rate(&self, family: usize, _level: usize, _place: f64) -> f64 {
        self.0[family]
    }
}

/// Requests per lookup: of data blocks, of equal parts of indexes and of filters, by family and level.
pub(super) struct Asked {
    pub(super) data: Vec<Vec<f64>>,
    pub(super) index: Vec<Vec<f64>>,
    pub(super) filter: Vec<Vec<f64>>,
}

impl Store {
    /// With tables of `table_bytes`. Where they are larger than small ones, stores are as much larger: each key stands for its neighbours.
    pub(super) fn new(shape: Shape, popularity: Popularity, record_bytes: f64, table_bytes: f64) -> Self {
        let (families, keys) = shape.families();
        let scale = if shape == Shape::Stores { 1.0 } else { table_bytes / SMALL_TABLE_BYTES };
        let data_bytes = keys as f64 * record_bytes;
        let (mut levels, mut left, mut level_bytes) =
            (Vec::new(), data_bytes, BASE_TABLES * table_bytes / scale);
        while left > 0.0 {
            // A remainder that is small compared with the level above it is merged with it.
            let bytes = if left < level_bytes * 1.1 { left } else { level_bytes };
            levels.push(Level {
                share: bytes / data_bytes,
                tables: (bytes * scale / table_bytes).ceil() / scale,
            });
            left -= bytes;
            level_bytes *= 10.0;
        }
        let asked = if shape == Shape::Prefixes { keys / EDGES } else { keys };
        let (traffic, absent) = shape.lookups();
        Self {
            shape,
            record_bytes,
            families,
            keys,
            levels,
            index: IndexEntry::OF_24_DIGITS,
            ranks: ranks(asked as f64 * scale, asked, popularity.exponent()),
            traffic,
            absent,
        }
    }

    /// One that is known by its tables. Of more keys than are modelled, each stands for its neighbours, and memory and tables are as much
    /// smaller.
    pub(super) fn described(store: &Described) -> Self {
        Self::reduced(store, KEYS_MAX)
    }

    fn reduced(store: &Described, keys_max: usize) -> Self {
        let families = store.families.clamp(1, FAMILIES_MAX);
        let of_family = store.keys / store.families.max(1) as f64;
        let keys = (of_family as usize).clamp(1, keys_max / families);
        let part = keys as f64 / (of_family * store.families.max(1) as f64);
        let level = |&(share, tables): &(f64, f64)| Level { share, tables: (tables * part).max(1.0) };
        Self {
            shape: Shape::OneFamily,
            record_bytes: store.record_bytes,
            families,
            keys,
            levels: store.runs.iter().map(level).collect(),
            index: store.index,
            ranks: ranks(of_family, keys, store.zipf),
            traffic: vec![1.0 / families as f64; families],
            absent: vec![store.absent; families],
        }
    }

    pub(super) fn all_keys(&self) -> f64 {
        (self.families * self.keys) as f64
    }

    /// Keys of a level that its filters hold.
    pub(super) fn filter_keys(&self, level: Level) -> f64 {
        if self.shape == Shape::Prefixes {
            (self.keys / EDGES) as f64 * Self::has_edge(level)
        } else {
            self.keys as f64 * level.share
        }
    }

    pub(super) fn tables(&self) -> f64 {
        self.families as f64 * self.levels.iter().map(|level| level.tables).sum::<f64>()
    }

    pub(super) fn blocks(&self, level: Level, block_bytes: f64) -> f64 {
        (self.keys as f64 * level.share * self.record_bytes / block_bytes).max(1.0).ceil()
    }

    /// Parts that metadata of this many bytes is cut into, and their size. Where tables stand for more, a whole number for all of them.
    pub(super) fn parts(level: Level, bytes: f64) -> (f64, f64) {
        let of_table = (bytes / level.tables / PARTITION_BYTES).round().max(1.0);
        let parts = (of_table * level.tables).round().max(1.0);
        (parts, bytes / parts)
    }

    /// Visits per lookup of each family to tables without the key.
    pub(super) fn not_there(&self) -> Vec<f64> {
        let met = self.not_there_by_segment();
        met.chunks(self.levels.len()).map(|levels| levels.iter().flatten().sum()).collect()
    }

    /// The same for each segment, by family and level.
    pub(super) fn not_there_by_segment(&self) -> Vec<Vec<f64>> {
        let segments = self.levels.iter().map(|level| {
            let bytes = self.keys as f64 * level.share * self.record_bytes;
            level.tables.max((bytes / SEGMENT_BYTES).ceil()) as usize
        });
        let segments: Vec<_> = segments.collect();
        let all = vec![segments; self.families].concat();
        let mut met: Vec<Vec<f64>> = all.into_iter().map(|segments| vec![0.0; segments]).collect();
        let visit = |met: &mut Vec<Vec<f64>>, family: usize, number: usize, place: f64, rate: f64| {
            *object(&mut met[family * self.levels.len() + number], place) += rate;
        };
        self.each_key(|family, key| {
            let Key { place, rate, .. } = key;
            for (number, is_there) in self.visits(key) {
                if !is_there {
                    visit(&mut met, family, number, place, rate);
                }
            }
        });
        for family in 0..self.families {
            let rate = self.fresh(family);
            for number in 0..self.levels.len() {
                let segments = &mut met[family * self.levels.len() + number];
                let share = rate / segments.len() as f64;
                segments.iter_mut().for_each(|segment| *segment += share);
            }
        }
        met
    }

    /// Lookups for keys that are asked for once.
    fn fresh(&self, family: usize) -> f64 {
        if self.shape == Shape::Fresh { self.traffic[family] * self.absent[family] } else { 0.0 }
    }

    /// All keys that are asked for more than once.
    fn each_key(&self, mut with: impl FnMut(usize, Key)) {
        for family in 0..self.families {
            let (traffic, absent) = (self.traffic[family], self.absent[family]);
            for (rank, weight) in self.ranks.iter().enumerate() {
                let identity = mix((family as u64) << 40 | (rank as u64) << 1);
                for (is_absent, share) in [(false, 1.0 - absent), (true, absent)] {
                    let identity = if is_absent { mix(identity + 1) } else { identity };
                    let rate = traffic * share * weight;
                    if rate > 0.0 && !(is_absent && self.shape == Shape::Fresh) {
                        with(family, Key { identity, place: unit(identity), rate, is_absent });
                    }
                }
            }
        }
    }

    /// The levels that lookups of a key come to if no filter stops them, and whether it is there.
    fn visits(&self, key: Key) -> impl Iterator<Item = (usize, bool)> {
        let mut home = unit(mix(key.identity ^ 0x5eed));
        let mut is_found = false;
        self.levels.iter().enumerate().map_while(move |(number, level)| {
            if is_found {
                return None;
            }
            let is_there = !key.is_absent
                && if self.shape == Shape::Prefixes {
                    unit(mix(key.salt(number) ^ 3)) < Self::has_edge(*level)
                } else {
                    home < level.share
                };
            home -= level.share;
            is_found = is_there && self.shape != Shape::Prefixes;
            Some((number, is_there))
        })
    }

    /// The chance that a level has an edge of a source.
    fn has_edge(level: Level) -> f64 {
        1.0 - (1.0 - level.share).powi(EDGES as i32)
    }

    /// What lookups ask for with filters of such rates, in parts of `filter_bits` for each key of a filter.
    pub(super) fn asked(&self, passes: &impl Passes, layout: Layout, filter_bits: &[f64]) -> Asked {
        let levels = self.levels.len();
        let zeros = |objects: f64| vec![0.0; objects as usize];
        let (mut data, mut index, mut filter) = (Vec::new(), Vec::new(), Vec::new());
        for family in 0..self.families {
            for &level in &self.levels {
                let blocks = self.blocks(level, layout.block_bytes);
                data.push(zeros(blocks));
                index.push(zeros(Self::parts(level, blocks * layout.index_entry_bytes).0));
                let bytes = self.filter_keys(level) * filter_bits.get(family).copied().unwrap_or(0.0) / 8.0;
                filter.push(zeros(Self::parts(level, bytes).0));
            }
        }
        let mut asked = Asked { data, index, filter };
        self.each_key(|family, key| {
            for (number, is_there) in self.visits(key) {
                let at = family * levels + number;
                *object(&mut asked.filter[at], key.place) += key.rate;
                if !is_there && unit(key.salt(number)) >= passes.rate(family, number, key.place) {
                    continue;
                }
                *object(&mut asked.index[at], key.place) += key.rate;
                *object(&mut asked.data[at], key.place) += key.rate;
                if is_there && self.shape == Shape::Prefixes {
                    self.read_on(&mut asked.data[at], self.levels[number], key, number, layout);
                }
            }
        });
        for at in 0..self.families * levels {
            let (family, number) = (at / levels, at % levels);
            let rate = self.fresh(family);
            // Each block is asked as often as the others; segments of a level, too, which have one rate.
            let passed = rate * passes.rate(family, number, 0.5);
            for (objects, rate) in
                [(&mut asked.filter[at], rate), (&mut asked.index[at], passed), (&mut asked.data[at], passed)]
            {
                let share = rate / objects.len() as f64;
                objects.iter_mut().for_each(|object| *object += share);
            }
        }
        asked
    }

    /// The edges of a source may go on in blocks that follow.
    fn read_on(&self, data: &mut [f64], level: Level, key: Key, number: usize, layout: Layout) {
        let edges = EDGES as f64 * level.share / Self::has_edge(level);
        let more = (edges - 1.0).max(0.0) * self.record_bytes / layout.block_bytes;
        let first = (key.place * data.len() as f64) as usize;
        let count = more.floor() as usize + usize::from(unit(mix(key.salt(number) ^ 5)) < more.fract());
        for next in 1..=count {
            let at = (first + next).min(data.len() - 1);
            data[at] += key.rate;
        }
    }
}

/// What is asked for.
#[derive(Clone, Copy)]
struct Key {
    identity: u64,
    /// In the order of keys, from 0 to 1.
    place: f64,
    /// Lookups for it, of all.
    rate: f64,
    is_absent: bool,
}

impl Key {
    /// Differs by level.
    fn salt(self, level: usize) -> u64 {
        mix(self.identity.wrapping_add(level as u64 + 1))
    }
}

impl Asked {
    /// Adds data blocks, and parts of indexes and filters that are cached, to what competes for a cache.
    pub(super) fn put(
        &self,
        store: &Store,
        layout: Layout,
        filter_bits: &[f64],
        cached: Cached,
        to: &mut Requests,
    ) {
        for (at, data) in self.data.iter().enumerate() {
            let (family, level) = (at / store.levels.len(), store.levels[at % store.levels.len()]);
            to.add(Kind::Data, layout.block_bytes, data);
            if cached.index {
                let bytes = store.blocks(level, layout.block_bytes) * layout.index_entry_bytes;
                to.add(Kind::Index, Store::parts(level, bytes).1, &self.index[at]);
            }
            if cached.filter && filter_bits[family] > 0.0 {
                let bytes = store.filter_keys(level) * filter_bits[family] / 8.0;
                to.add(Kind::Filter, Store::parts(level, bytes).1, &self.filter[at]);
            }
        }
    }
}

/// Which metadata comes and goes in the block cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cached {
    pub(super) index: bool,
    pub(super) filter: bool,
}

/// Lookups of the ranks that are modelled of `all`, for those that each stands for. The hottest stand for themselves: they are cached.
fn ranks(all: f64, modelled: usize, exponent: f64) -> Vec<f64> {
    let step = all / modelled as f64;
    let weight = |rank: f64| rank.powf(-exponent);
    // What is beyond the exact part is a sum of many small ones: an integral.
    let exact = all.min(EXACT_RANKS);
    let rest = match exponent {
        1.0 => (all / exact).ln(),
        _ => (all.powf(1.0 - exponent) - exact.powf(1.0 - exponent)) / (1.0 - exponent),
    };
    let sum = (1..=exact as u64).map(|rank| weight(rank as f64)).sum::<f64>() + rest;
    (0..modelled).map(|at| step * weight(at as f64 * step + (step + 1.0) / 2.0) / sum).collect()
}

fn object(objects: &mut [f64], place: f64) -> &mut f64 {
    let at = (place * objects.len() as f64) as usize;
    &mut objects[at]
}

/// From 0 to 1.
fn unit(random: u64) -> f64 {
    (random >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::super::stock;
    use super::*;

    /// Eight families with 4 and 20 tables each, of which fewer keys leave parts of a table.
    #[test]
    fn a_part_of_the_keys_reads_as_much_as_all() {
        let described = Described {
            keys: 800_000.0,
            families: 8,
            record_bytes: 424.0,
            runs: vec![(0.17, 32.0), (0.83, 160.0)],
            index: IndexEntry::OF_24_DIGITS,
            zipf: 0.99,
            absent: 0.5,
        };
        let reads = |keys_max| {
            let found = stock::all(&Store::reduced(&described, keys_max), &[2.0]);
            [0, 1].map(|at| found[at].reads[0].expect("room"))
        };
        let all = reads(800_000);
        for keys_max in [75_000, 150_000, 300_000] {
            let part = reads(keys_max);
            for (part, all) in part.iter().zip(all) {
                assert!((part / all - 1.0).abs() < 0.05, "{keys_max} keys: {part}, all: {all}");
            }
        }
    }
}
