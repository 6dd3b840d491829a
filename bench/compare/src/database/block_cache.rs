//! The block cache of a run.

use std::fmt;

use clap::ValueEnum;
use rocksdb::{BlockBasedOptions, Cache, LruCacheOptions, Options};
use serde::Serialize;
use springbloom_baselines::TieredCache;
use springbloom_console::sizes::Size;

/// How the cache chooses what it evicts, and its shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CacheKind {
    /// LRU with RocksDB's number of shards: each has half a megabyte or more, at most 64 shards
    Lru,
    /// LRU in one shard
    LruOneShard,
    /// HyperClockCache: one shard below 64 MiB
    HyperClock,
    /// LRU, and compressed blocks in three tenths of the memory
    Tiered,
}

/// A block cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct BlockCache {
    pub(crate) bytes: u64,
    pub(crate) kind: CacheKind,
    /// Whether indexes, filters and the budget of elastic filters are in it, with the data.
    pub(crate) pays_for_all: bool,
}

impl BlockCache {
    /// A new one, without contents.
    pub(crate) fn build(&self) -> Built {
        let capacity = self.bytes as usize;
        Built::One(match self.kind {
            CacheKind::Lru => Cache::new_lru_cache(capacity),
            CacheKind::LruOneShard => {
                let mut options = LruCacheOptions::default();
                options.set_capacity(capacity);
                options.set_num_shard_bits(0);
                Cache::new_lru_cache_opts(&options)
            }
            CacheKind::HyperClock => Cache::new_hyper_clock_cache(capacity, 0),
            CacheKind::Tiered => return Built::Tiered(TieredCache::new(self.bytes)),
        })
    }
}

/// A block cache that options can share.
pub(crate) enum Built {
    One(Cache),
    Tiered(TieredCache),
}

impl Built {
    /// Gives it to tables. A tiered one follows with their options.
    pub(crate) fn for_tables(&self, tables: &mut BlockBasedOptions) {
        if let Built::One(cache) = self {
            tables.set_block_cache(cache);
        }
    }

    /// Gives it to options of such tables.
    pub(crate) fn for_options(&self, options: &mut Options) {
        if let Built::Tiered(cache) = self {
            cache.install(options);
        }
    }
}

impl fmt::Display for BlockCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            CacheKind::Lru => "LRU",
            CacheKind::LruOneShard => "LRU in one shard",
            CacheKind::HyperClock => "HyperClockCache",
            CacheKind::Tiered => "LRU and compressed blocks",
        };
        write!(f, "block cache {}, {kind}", Size { bytes: self.bytes })?;
        f.write_str(if self.pays_for_all { ", which pays for data, indexes and filters" } else { "" })
    }
}
