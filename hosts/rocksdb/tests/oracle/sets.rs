//! The option sets under which the same operations must give the same answers.

use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, DBCompactionStyle, DBCompressionType, DataBlockIndexType,
    Options, SliceTransform,
};
use springbloom_published_policies::PolicyKind;
use springbloom_rocksdb::UnitSettings;

use crate::{
    common::{AMPLE_BYTES, unsafe_calls::is_from},
    keys::PREFIX_BYTES,
};

/// What happens to the budget while a run goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Budget {
    /// It stays at this many bytes.
    Fixed(u64),
    /// It is set to a random size now and then, 0 included.
    Wandering,
}

/// The prefixes that an extractor gives.
#[derive(Clone, Copy)]
pub(crate) struct Prefixes {
    pub(crate) bytes: usize,
    /// Whether shorter keys are their own prefixes. Else they have none.
    pub(crate) are_capped: bool,
}

impl Prefixes {
    /// Whether keys shorter than a prefix may be written: a hash index takes a prefix of all of them.
    pub(crate) fn allow_short_keys(self) -> bool {
        self.are_capped || self.bytes > PREFIX_BYTES
    }

    /// That of a key which has one.
    pub(crate) fn of(self, key: &[u8]) -> &[u8] {
        &key[..key.len().min(self.bytes)]
    }
}

const CAPPED_BYTES: usize = 5;

fn capped(key: &[u8]) -> &[u8] {
    &key[..key.len().min(CAPPED_BYTES)]
}

/// One way to set up a database.
pub(crate) struct OptionSet {
    pub(crate) db: Options,
    pub(crate) table: BlockBasedOptions,
    pub(crate) units: UnitSettings,
    pub(crate) segment_size: u64,
    pub(crate) policy: PolicyKind,
    pub(crate) budget: Budget,
    /// Those that the database has, if it has an extractor.
    pub(crate) prefixes: Option<Prefixes>,
    /// Whether indexes have the first key of each block. The Rust crate has no call for it.
    pub(crate) index_with_first_keys: bool,
    /// Lookups must have been rejected by units at the end.
    pub(crate) must_reject: bool,
    /// Indexes must have been resident.
    pub(crate) must_have_indexes: bool,
    pub(crate) inherit_hotness: bool,
    pub(crate) charge_to_block_cache: bool,
    /// Random lookups after each operation.
    pub(crate) lookups_per_operation: u64,
}

/// The plain set, which the others vary: small segments, an ample budget.
pub(crate) fn plain() -> OptionSet {
    let mut db = crate::common::small_tree();
    crate::common::merge_by_append(&mut db);
    OptionSet {
        db,
        table: BlockBasedOptions::default(),
        units: UnitSettings::default(),
        segment_size: 16 << 10,
        policy: PolicyKind::default(),
        budget: Budget::Fixed(AMPLE_BYTES),
        prefixes: None,
        index_with_first_keys: false,
        must_reject: true,
        must_have_indexes: false,
        inherit_hotness: true,
        charge_to_block_cache: false,
        lookups_per_operation: 0,
    }
}

impl OptionSet {
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(crate) fn db(mut self, set: impl FnOnce(&mut Options)) -> Self {
        set(&mut self.db);
        self
    }

    pub(crate) fn table(mut self, set: impl FnOnce(&mut BlockBasedOptions)) -> Self {
        set(&mut self.table);
        self
    }

    pub(crate) fn budget(mut self, budget: Budget) -> Self {
        self.must_reject = matches!(budget, Budget::Fixed(AMPLE_BYTES..));
        self.must_have_indexes &= self.must_reject;
        self.budget = budget;
        self
    }

    pub(crate) fn policy(mut self, policy: PolicyKind) -> Self {
        self.policy = policy;
        self
    }

    pub(crate) fn segment_size(mut self, segment_size: u64) -> Self {
        self.segment_size = segment_size;
        self
    }

    pub(crate) fn units(mut self, unit_count: u8, bits_per_key: u8) -> Self {
        self.units = UnitSettings::bloom(unit_count, bits_per_key).expect("the settings are sound");
        self
    }

    pub(crate) fn compression(self, kind: DBCompressionType) -> Self {
        self.db(|db| db.set_compression_type(kind))
    }

    pub(crate) fn format_version(self, version: i32) -> Self {
        // From 10.4 on there is version 7.
        let newest = if is_from((10, 4, 0)) { 7 } else { 6 };
        self.table(|table| table.set_format_version(version.min(newest)))
    }

    /// All groups of keys are in almost all tables.
    pub(crate) fn prefix_extractor(self) -> Self {
        self.prefix_extractor_of(PREFIX_BYTES)
    }

    /// Few keys share a prefix, and some are too short to have one.
    pub(crate) fn long_prefixes(self) -> Self {
        self.prefix_extractor_of(8)
    }

    fn prefix_extractor_of(mut self, bytes: usize) -> Self {
        self.prefixes = Some(Prefixes { bytes, are_capped: false });
        self.table(|table| table.set_bloom_filter(10.0, false))
            .db(|db| db.set_prefix_extractor(SliceTransform::create_fixed_prefix(bytes)))
    }

    /// Keys and targets that are shorter are their own prefixes.
    pub(crate) fn capped_prefixes(mut self) -> Self {
        self.prefixes = Some(Prefixes { bytes: CAPPED_BYTES, are_capped: true });
        self.table(|table| table.set_bloom_filter(10.0, false)).db(|db| {
            db.set_prefix_extractor(SliceTransform::create("springbloom.test.Capped", capped, None));
        })
    }

    pub(crate) fn index_with_first_keys(mut self) -> Self {
        self.index_with_first_keys = true;
        self
    }

    pub(crate) fn partitioned_index(self) -> Self {
        self.table(|table| {
            table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
            table.set_metadata_block_size(512);
        })
    }

    /// A stock policy with partitioned filters, which the elastic factory must keep from our builder.
    pub(crate) fn partitioned_stock_filter(self) -> Self {
        self.partitioned_index().table(|table| {
            table.set_bloom_filter(8.0, false);
            table.set_partition_filters(true);
            table.set_cache_index_and_filter_blocks(true);
        })
    }

    pub(crate) fn hash_index(self) -> Self {
        self.prefix_extractor().table(|table| table.set_index_type(BlockBasedIndexType::HashSearch))
    }

    pub(crate) fn data_block_hash(self) -> Self {
        self.table(|table| {
            table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
            table.set_data_block_hash_ratio(0.75);
        })
    }

    pub(crate) fn block_cache(self, bytes: Option<usize>) -> Self {
        self.table(|table| match bytes {
            Some(bytes) => table.set_block_cache(&Cache::new_lru_cache(bytes)),
            None => table.disable_cache(),
        })
    }

    /// A block cache pays for the budget. Indexes that lookups reach often become resident.
    pub(crate) fn charged(mut self, cache_bytes: usize) -> Self {
        self.charge_to_block_cache = true;
        self.must_have_indexes = true;
        self.lookups_per_operation = 50;
        self.block_cache(Some(cache_bytes))
    }

    pub(crate) fn parallel_compression(self) -> Self {
        self.compression(DBCompressionType::Zstd).db(|db| db.set_compression_options_parallel_threads(3))
    }

    /// The builder buffers data blocks until it has seen enough to make a dictionary of them.
    pub(crate) fn compression_dictionary(self) -> Self {
        self.compression(DBCompressionType::Zstd).db(|db| {
            db.set_compression_options(-14, 3, 0, 4 << 10);
            db.set_zstd_max_train_bytes(16 << 10);
        })
    }

    pub(crate) fn universal(self) -> Self {
        self.db(|db| db.set_compaction_style(DBCompactionStyle::Universal))
    }
}
