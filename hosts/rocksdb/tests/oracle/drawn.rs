//! Option sets drawn at random: combinations that no named set has.

use rand::RngExt;
use rocksdb::DBCompressionType;
use springbloom_published_policies::PolicyKind;
use springbloom_rocksdb::UnitSettings;
use springbloom_testkit::seed::TestRng;

use crate::{
    common::AMPLE_BYTES,
    sets::{Budget, OptionSet, plain},
};

/// An option set and what it is made of.
pub(crate) fn option_set(rng: &mut TestRng) -> (OptionSet, String) {
    let mut draw = Draw { set: Some(plain()), words: Vec::new() };
    draw.blocks(rng);
    draw.index_and_cache(rng);
    draw.database(rng);
    draw.filters(rng);
    let mut set = draw.set.expect("every draw gives the set back");
    set.lookups_per_operation = [0, 50, 500, 5_000][rng.random_range(0..4)];
    // Some compositions reject nothing: tables without whole keys, budgets without room for a unit.
    set.must_reject = false;
    (set, draw.words.join(", "))
}

struct Draw {
    set: Option<OptionSet>,
    words: Vec<String>,
}

impl Draw {
    fn apply(&mut self, word: impl Into<String>, change: impl FnOnce(OptionSet) -> OptionSet) {
        self.words.push(word.into());
        self.set = self.set.take().map(change);
    }

    fn blocks(&mut self, rng: &mut TestRng) {
        match rng.random_range(0..6) {
            0 => self.apply("lz4", |set| set.compression(DBCompressionType::Lz4)),
            1 => self.apply("zstd", |set| set.compression(DBCompressionType::Zstd)),
            2 => self.apply("parallel compression", OptionSet::parallel_compression),
            3 => self.apply("compression dictionary", OptionSet::compression_dictionary),
            _ => {}
        }
        let version = rng.random_range(2..=7);
        self.apply(format!("format version {version}"), |set| set.format_version(version));
        if rng.random_bool(0.2) {
            self.apply("data block hash", OptionSet::data_block_hash);
        }
        let block_bytes = [256, 1 << 10, 4 << 10, 32 << 10][rng.random_range(0..4)];
        self.apply(format!("blocks of {block_bytes} B"), |set| {
            set.table(|table| table.set_block_size(block_bytes))
        });
    }

    fn index_and_cache(&mut self, rng: &mut TestRng) {
        let index = rng.random_range(0..7);
        let caches_index = [1, 3].contains(&index);
        match index {
            0 => self.apply("partitioned index", OptionSet::partitioned_index),
            1 => self.apply("partitioned stock filter", OptionSet::partitioned_stock_filter),
            2 => self.apply("hash index", OptionSet::hash_index),
            3 => self.apply("index in the block cache", |set| {
                set.table(|table| table.set_cache_index_and_filter_blocks(true))
            }),
            4 => self.apply("index with first keys", OptionSet::index_with_first_keys),
            _ => {}
        }
        if rng.random_bool(0.3) {
            self.apply("stock ribbon", |set| set.table(|table| table.set_ribbon_filter(10.0)));
        }
        match rng.random_range(0..4) {
            0 if !caches_index => self.apply("no block cache", |set| set.block_cache(None)),
            1 => self.apply("block cache of 64 KiB", |set| set.block_cache(Some(64 << 10))),
            2 => self.apply("budget charged to a block cache of 4 MiB", |set| {
                set.block_cache(Some(4 << 20)).with(|set| set.charge_to_block_cache = true)
            }),
            _ => {}
        }
    }

    fn database(&mut self, rng: &mut TestRng) {
        match rng.random_range(0..5) {
            0 => self.apply("mmap", |set| set.db(|db| db.set_allow_mmap_reads(true))),
            1 => self.apply("direct I/O", |set| {
                set.db(|db| {
                    db.set_use_direct_reads(true);
                    db.set_use_direct_io_for_flush_and_compaction(true);
                })
            }),
            _ => {}
        }
        if rng.random_bool(0.3) {
            self.apply("20 open files", |set| set.db(|db| db.set_max_open_files(20)));
        }
        if rng.random_bool(0.2) {
            self.apply("universal compaction", OptionSet::universal);
        }
        if rng.random_bool(0.2) {
            self.apply("subcompactions", |set| set.db(|db| db.set_max_subcompactions(3)));
        }
        if rng.random_bool(0.2) {
            self.apply("tables of 8 KiB", |set| set.db(|db| db.set_target_file_size_base(8 << 10)));
        }
        if rng.random_bool(0.2) {
            self.apply("optimize_filters_for_hits", |set| {
                set.db(|db| db.set_optimize_filters_for_hits(true))
            });
        }
        match rng.random_range(0..10) {
            0..2 => self.apply("prefix extractor", OptionSet::prefix_extractor),
            // A hash index would take a prefix of keys that have none.
            2..4 if self.set.as_ref().is_some_and(|set| set.prefixes.is_none()) => {
                self.apply("long prefixes", OptionSet::long_prefixes);
            }
            4..6 => self.apply("capped prefixes", OptionSet::capped_prefixes),
            _ => {}
        }
        if rng.random_bool(0.2) {
            self.apply("no whole keys", |set| set.table(|table| table.set_whole_key_filtering(false)));
        }
    }

    fn filters(&mut self, rng: &mut TestRng) {
        let units = match rng.random_range(0..4) {
            0 => UnitSettings::ribbon(rng.random_range(1..=16)),
            1 => UnitSettings::bloom(rng.random_range(1..=6), rng.random_range(1..=4)),
            _ => Ok(UnitSettings::default()),
        }
        .expect("the settings are sound");
        self.apply(format!("{units:?}"), |set| set.with(|set| set.units = units));
        let segment_size = [16 << 10, 64 << 10, 4 << 20][rng.random_range(0..3)];
        self.apply(format!("segments of {segment_size} B"), |set| set.segment_size(segment_size));
        let policy = PolicyKind::ALL[rng.random_range(0..PolicyKind::ALL.len())];
        self.apply(policy.to_string(), |set| set.policy(policy));
        let budget = match rng.random_range(0..4) {
            0 => Budget::Fixed(AMPLE_BYTES),
            1 => Budget::Fixed(rng.random_range(0..100 << 10)),
            _ => Budget::Wandering,
        };
        self.apply(format!("budget {budget:?}"), |set| set.budget(budget));
        if rng.random_bool(0.2) {
            self.apply("hotness is not inherited", |set| set.with(|set| set.inherit_hotness = false));
        }
    }
}
