//! From a configuration's name to RocksDB's options.

use std::path::Path;

use anyhow::{Error, Result};
use rocksdb::{
    BlockBasedOptions, Cache, DBCompactionStyle, DBCompressionType, Options, SliceTransform,
    UniversalCompactOptions, WriteOptions,
};
use springbloom_baselines as baselines;
use springbloom_index::{LARGE_BLOCK_BYTES, wants_large_blocks};
use springbloom_published_policies::StockFilter;
use springbloom_rocksdb::{ElasticFilters, Settings};
use springbloom_workload::edges;

use crate::database::block_cache::{BlockCache, Built};
use crate::database::config::{Config, Filters, Stock};
use crate::database::elastic::{Elastic, ElasticSettings};
use crate::database::preset::{Style, TreeShape};
use crate::database::shape::Shape;
use crate::database::store::Store;

/// RocksDB's default size of data blocks, the same for all configurations.
pub(crate) const BLOCK_BYTES: u64 = 4096;

/// Loads wait for compaction themselves; stalls would only add waiting.
const NO_L0_LIMIT: i32 = 1 << 20;

/// Settings that all configurations of a comparison share.
#[derive(Clone, Debug)]
pub(crate) struct CommonSettings {
    pub(crate) tree: TreeShape,
    /// Column families.
    pub(crate) families: u32,
    /// Each is the only one of a database.
    pub(crate) family_databases: bool,
    /// Read through the page cache instead of direct I/O.
    pub(crate) buffered: bool,
    /// None by default.
    pub(crate) block_cache: Option<BlockCache>,
    /// None by default.
    pub(crate) prefixes: Option<Prefixes>,
    /// Tables that a get asks where there is no filter: turns lifetimes in gets into lifetimes in visits.
    pub(crate) tables_per_get: f64,
    /// Memory of capped configurations in bytes, if the user gave it.
    pub(crate) budget_bytes: Option<u64>,
    /// Bits per key for capped configurations that have none of their own.
    pub(crate) budget_bits: f64,
}

/// Filters hold the sources of edges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefixes {
    /// And whole keys.
    pub(crate) whole_keys: bool,
}

/// Whether RocksDB may compact by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AutoCompaction {
    On,
    Off,
}

/// Options to open a database with, and the filters that must outlive it.
pub(crate) struct Prepared {
    /// Of each family.
    pub(crate) options: Vec<Options>,
    pub(crate) elastic: Option<ElasticFilters>,
}

impl CommonSettings {
    /// Records of all families, each of which has this many.
    pub(crate) fn all(&self, records: u64) -> u64 {
        records * u64::from(self.families)
    }

    /// Memory of a capped configuration whose databases have `entries`.
    pub(crate) fn budget_bytes(&self, config: &Config, entries: u64) -> u64 {
        let bits = config.elastic().and_then(|elastic| elastic.bits).unwrap_or(self.budget_bits);
        self.budget_bytes.unwrap_or((entries as f64 * bits / 8.0) as u64)
    }

    /// What filters hold, where that is not keys.
    fn contents(&self) -> &'static str {
        match self.prefixes {
            None => "",
            Some(Prefixes { whole_keys: true }) => ", prefixes and keys",
            Some(Prefixes { whole_keys: false }) => ", prefixes",
        }
    }

    /// Options of all writes: without a write-ahead log, which costs every configuration the same.
    pub(crate) fn write_options() -> WriteOptions {
        let mut options = WriteOptions::default();
        options.disable_wal(true);
        options
    }

    /// Whether the block cache pays for all memory.
    pub(crate) fn one_cache(&self) -> bool {
        self.block_cache.is_some_and(|cache| cache.pays_for_all)
    }

    /// What the row cache of a configuration has of the memory for caches.
    pub(crate) fn row_cache_bytes(&self, config: &Config) -> Option<u64> {
        let share = config.tables.row_cache?;
        Some((self.block_cache?.bytes as f64 * share) as u64)
    }

    /// Name of the folder for the database of `config` on a tree of `shape`; other units, segments, indexes or blocks have other folders.
    pub(crate) fn folder(&self, config: &Config, shape: &Shape) -> Result<String> {
        let name = match config.elastic() {
            Some(elastic) => {
                let filters = elastic.filters().map_err(Error::msg)?;
                let Settings { units, segment_size, .. } = filters.builder.settings();
                let blocks = if self.large_blocks(shape) { "-large-blocks" } else { "" };
                format!("{config}-{units}-{segment_size}{blocks}")
            }
            None => config.to_string(),
        };
        let name = name.replace([':', '/'], "-");
        Ok(name
            + if self.one_cache() { "-one-cache" } else { "" }
            + &self.contents().replace(", ", "-").replace(' ', "-"))
    }

    /// Whether elastic filters choose large blocks for the tables of a tree of `shape`.
    fn large_blocks(&self, shape: &Shape) -> bool {
        self.one_cache()
            && self.block_cache.is_some_and(|cache| wants_large_blocks(shape.bytes(), cache.bytes))
    }

    /// The settings of the filters of a configuration on a tree of `shape`, apart from the budget.
    fn elastic(&self, elastic: &Elastic, shape: &Shape) -> Result<ElasticSettings> {
        let mut filters = elastic.filters().map_err(Error::msg)?;
        let segments = shape.segments(filters.builder.settings().segment_size);
        if let Some(gets) = elastic.lifetime_gets(segments) {
            filters.lifetime_visits = Some(((gets as f64 * self.tables_per_get) as u64).max(1));
        }
        Ok(filters)
    }

    /// The settings of a configuration that has others than the run, on a tree of `shape`, for reports.
    pub(crate) fn own_settings(&self, config: &Config, shape: &Shape) -> Result<Option<String>> {
        let Some(elastic) = config.elastic().filter(|elastic| elastic.differs()) else { return Ok(None) };
        let filters = self.elastic(elastic, shape)?;
        let lifetime = match filters.lifetime_visits {
            Some(visits) => format!(", segments expire after {visits} visits"),
            None => String::new(),
        };
        Ok(Some(format!("{config}: {}{lifetime}", filters.described())))
    }

    /// Options without a filter, for the tree that all databases are copied from.
    pub(crate) fn tree_options(&self, auto_compaction: AutoCompaction) -> Options {
        let mut options = Options::default();
        options.set_compression_type(DBCompressionType::None);
        options.set_write_buffer_size(self.tree.write_buffer_bytes as usize);
        options.set_target_file_size_base(self.tree.file_bytes);
        options.set_max_bytes_for_level_base(self.tree.base_bytes);
        options.set_max_bytes_for_level_multiplier(10.0);
        options.set_level_compaction_dynamic_level_bytes(false);
        options.set_level_zero_file_num_compaction_trigger(self.tree.l0_trigger as i32);
        options.set_level_zero_slowdown_writes_trigger(NO_L0_LIMIT);
        options.set_level_zero_stop_writes_trigger(NO_L0_LIMIT);
        options.set_disable_auto_compactions(auto_compaction == AutoCompaction::Off);
        if self.tree.style == Style::Universal {
            options.set_compaction_style(DBCompactionStyle::Universal);
            let mut universal = UniversalCompactOptions::default();
            universal.set_max_size_amplification_percent(200);
            options.set_universal_compaction_options(&universal);
        }
        // A second compaction at the same time would make the tree depend on timing.
        options.set_max_background_jobs(2);
        options.set_max_subcompactions(1);
        options.set_max_open_files(-1);
        options.set_use_direct_reads(!self.buffered);
        options.set_use_direct_io_for_flush_and_compaction(!self.buffered);
        options.set_stats_dump_period_sec(0);
        options.set_keep_log_file_num(2);
        if self.prefixes.is_some() {
            options.set_prefix_extractor(SliceTransform::create_fixed_prefix(edges::SOURCE_BYTES));
        }
        let mut tables = BlockBasedOptions::default();
        tables.set_block_size(BLOCK_BYTES as usize);
        tables.disable_cache();
        options.set_block_based_table_factory(&tables);
        options
    }

    /// Opens the tree at `path` to be read.
    pub(crate) fn open_tree(&self, path: &Path) -> Result<Store> {
        let options = vec![self.tree_options(AutoCompaction::Off); self.families as usize];
        Store::open_for_read_only(path, self.family_databases, &options)
    }

    fn tables(&self, cache: Option<&Built>) -> BlockBasedOptions {
        let mut tables = BlockBasedOptions::default();
        tables.set_block_size(BLOCK_BYTES as usize);
        tables.set_whole_key_filtering(self.prefixes.is_none_or(|prefixes| prefixes.whole_keys));
        match cache {
            Some(cache) => cache.for_tables(&mut tables),
            None => tables.disable_cache(),
        }
        if self.one_cache() {
            baselines::one_cache(&mut tables);
        }
        tables
    }

    /// Options of a configuration for a tree of `shape`. All families share the block cache and the elastic filters.
    pub(crate) fn prepare(
        &self,
        config: &Config,
        shape: &Shape,
        auto_compaction: AutoCompaction,
    ) -> Result<Prepared> {
        let row_bytes = self.row_cache_bytes(config);
        let row_cache = row_bytes.map(|bytes| Cache::new_lru_cache(bytes as usize));
        let cache = self.block_cache.map(|cache| {
            let kind = config.tables.cache_kind.unwrap_or(cache.kind);
            BlockCache { kind, bytes: cache.bytes - row_bytes.unwrap_or(0), ..cache }.build()
        });
        let elastic = match config.elastic() {
            Some(elastic) => {
                let mut filters = self.elastic(elastic, shape)?;
                if elastic.bits.is_some() {
                    filters.builder =
                        filters.builder.budget_bytes(self.budget_bytes(config, shape.entries()));
                }
                if self.one_cache() {
                    filters.builder = filters.builder.charge_to_block_cache(true);
                }
                Some(filters.build()?)
            }
            None => None,
        };
        let options = (0..self.families as usize).map(|family| {
            let mut options = self.tree_options(auto_compaction);
            row_cache.iter().for_each(|rows| options.set_row_cache(rows));
            let mut tables = self.tables(cache.as_ref());
            if elastic.is_some() && self.prefixes.is_some() {
                // Units over prefixes are for options with a filter policy.
                tables.set_bloom_filter(10.0, false);
            }
            if elastic.is_some() && self.large_blocks(shape) {
                // As they would choose, if RocksDB told them of tables that are rewritten one by one.
                tables.set_block_size(LARGE_BLOCK_BYTES as usize);
            }
            options.set_block_based_table_factory(&tables);
            self.filter(config, family, shape, tables, &mut options)?;
            if let Some(cache) = &cache {
                cache.for_options(&mut options);
            }
            let mut options = config.tables.apply(options)?;
            if let Some(elastic) = &elastic {
                elastic.install(&mut options)?;
            }
            Ok(options)
        });
        Ok(Prepared { options: options.collect::<Result<_>>()?, elastic })
    }

    /// Gives options the filters of a configuration that is not of ours.
    fn filter(
        &self,
        config: &Config,
        family: usize,
        shape: &Shape,
        mut tables: BlockBasedOptions,
        options: &mut Options,
    ) -> Result<()> {
        match config.filters {
            Filters::None | Filters::Elastic(_) => {}
            Filters::Stock { kind: Stock::Full(filter), bits } => {
                baselines::full(options, tables, filter, bits)
            }
            Filters::RibbonByFamily { ref bits } => match bits.of(family) {
                bits if bits > 0.0 => baselines::full(options, tables, StockFilter::Ribbon, bits),
                _ => {}
            },
            Filters::Stock { kind: Stock::Partitioned(filter), bits } if self.one_cache() => {
                baselines::partitioned_in_block_cache(options, &mut tables, filter, bits);
            }
            Filters::Stock { kind: Stock::Partitioned(filter), bits } => {
                let budget_bytes = self.budget_bytes(config, shape.entries());
                baselines::partitioned(options, tables, filter, bits, budget_bytes)?;
            }
            Filters::Stock { kind: Stock::ByLevel(filter), bits } => {
                baselines::monkey(options, &tables, filter, &shape.keys_by_level(), bits)?;
            }
        }
        Ok(())
    }
}
