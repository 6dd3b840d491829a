//! Databases opened for a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use rocksdb::properties;
use springbloom_console::bad_input;
use springbloom_rocksdb::testing::digests_computed;
use springbloom_rocksdb::{ElasticFilters, HOTNESS_FILE_NAME, inspect};

use crate::database::config::Config;
use crate::database::options::{AutoCompaction, CommonSettings, Prepared};
use crate::database::remove;
use crate::database::shape::Shape;
use crate::database::store::{self, Family, Store};

/// The part of a budget that filters take.
pub(crate) const UNITS: &str = "filter units";

/// RocksDB's text about what is in the block cache.
const CACHE_STATS: &str = "rocksdb.block-cache-entry-stats";

/// Open databases and what can be asked about their filters.
pub(crate) struct Database {
    pub(crate) store: Store,
    elastic: Option<ElasticFilters>,
    /// Whether stock filters are in a cache instead of table readers.
    filters_are_cached: bool,
    /// Whether one block cache pays for all.
    has_one_cache: bool,
    /// Of RocksDB's row cache.
    row_cache_bytes: u64,
    /// Last, so that the database is closed before its folder goes.
    _scratch: Option<Scratch>,
}

impl Database {
    /// Opens the databases at `path` for lookups alone.
    pub(crate) fn open(config: &Config, path: &Path, shape: &Shape, common: &CommonSettings) -> Result<Self> {
        Self::open_at(config, path, None, shape, common, AutoCompaction::Off)
    }

    /// Opens a clone of the databases at `path`, which is removed at the end with all that the run wrote.
    pub(crate) fn open_scratch(
        config: &Config,
        path: &Path,
        shape: &Shape,
        common: &CommonSettings,
    ) -> Result<Self> {
        let folder = scratch_of(path);
        remove::folder(&folder)?;
        common.open_tree(path)?.clone_to(&folder)?;
        let scratch = Scratch { path: folder.clone() };
        Self::open_at(config, &folder, Some(scratch), shape, common, AutoCompaction::On)
    }

    fn open_at(
        config: &Config,
        path: &Path,
        scratch: Option<Scratch>,
        shape: &Shape,
        common: &CommonSettings,
        auto_compaction: AutoCompaction,
    ) -> Result<Self> {
        // Every run starts cold: the saved hotness belongs to another workload.
        for database in 0..common.families as usize {
            remove::file(&store::folder(path, database).join(HOTNESS_FILE_NAME))?;
        }
        let Prepared { options, elastic } = common.prepare(config, shape, auto_compaction)?;
        let store = Store::open(path, common.family_databases, &options)
            .with_context(|| format!("remove {} to make it again", path.display()))?;
        if let Some(elastic) = &elastic {
            check_units(elastic, &store, path)?;
        }
        let filters_are_cached = common.one_cache() || config.is_cached();
        Ok(Database {
            store,
            elastic,
            filters_are_cached,
            has_one_cache: common.one_cache(),
            row_cache_bytes: common.row_cache_bytes(config).unwrap_or(0),
            _scratch: scratch,
        })
    }

    /// Waits for unit loads in progress, so that they do not slow down the next configuration.
    pub(crate) fn wait_idle(&self) {
        self.elastic.iter().for_each(wait_idle);
    }

    /// Filter bytes in memory now, with the bookkeeping of elastic ones.
    pub(crate) fn resident_filter_bytes(&self) -> Result<u64> {
        Ok(match &self.elastic {
            Some(elastic) => elastic.stats().used_bytes as u64,
            None if self.filters_are_cached => {
                // All databases share the cache.
                let stats = self.store.databases[0].property_value(CACHE_STATS)?;
                cached_filter_bytes(&stats.unwrap_or_default())
            }
            // Read when a table is opened and kept as long as it is open.
            None => Shape::of(&self.store)?.filter_bytes,
        })
    }

    /// The memory of the block cache that pays for all, and of the row cache: capacities, or the block cache's contents where those that
    /// stay in it take more.
    pub(crate) fn memory_bytes(&self) -> Result<Option<u64>> {
        if !self.has_one_cache {
            return Ok(None);
        }
        // All databases share it.
        let database = &self.store.databases[0];
        let of = |property| database.property_int_value(property);
        let block_bytes = of(properties::BLOCK_CACHE_CAPACITY)?.max(of(properties::BLOCK_CACHE_USAGE)?);
        Ok(block_bytes.map(|bytes| bytes + self.row_cache_bytes))
    }

    /// What open table readers take outside of it, as RocksDB estimates it.
    pub(crate) fn reader_bytes(&self) -> Result<Option<u64>> {
        if !self.has_one_cache {
            return Ok(None);
        }
        let of = |Family { db, handle, .. }: Family<'_>| {
            db.property_int_value_cf(handle, properties::ESTIMATE_TABLE_READERS_MEM)
        };
        let bytes = self.store.families()?.into_iter().map(of).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(bytes.into_iter().flatten().sum()))
    }

    /// What the budget of elastic filters is spent on now; empty for others.
    pub(crate) fn budget_bytes(&self) -> BTreeMap<&'static str, u64> {
        let Some(elastic) = &self.elastic else { return BTreeMap::new() };
        let stats = elastic.stats();
        let used = stats.used;
        let parts = [
            (UNITS, used.units),
            ("bookkeeping", used.bookkeeping),
            ("buffers of threads", used.buffers),
            ("being loaded or freed", used.loading + used.garbage),
            ("free", stats.budget_bytes.saturating_sub(stats.used_bytes)),
        ];
        parts.into_iter().map(|(part, bytes)| (part, bytes as u64)).collect()
    }

    /// The work of elastic filters so far.
    pub(crate) fn filter_work(&self) -> FilterWork {
        self.elastic.as_ref().map_or(FilterWork::default(), |elastic| {
            let stats = elastic.stats();
            let outcomes = stats.outcomes;
            FilterWork {
                unit_reads: stats.load_reads,
                visits: outcomes.rejected + outcomes.wasted_reads + outcomes.true_positives,
                digests: digests_computed(elastic),
            }
        })
    }
}

/// An error if no table has filter units that can be used: such a database would be measured as one without filters.
fn check_units(elastic: &ElasticFilters, store: &Store, folder: &Path) -> Result<()> {
    let stats = elastic.stats();
    if stats.tables > 0 || stats.refused_tables > 0 {
        return Ok(());
    }
    let Some(file) = store.databases[0].live_files()?.into_iter().next() else { return Ok(()) };
    let table = folder.join(file.name.trim_start_matches('/'));
    match inspect::table(&table)?.units {
        Some(Err(error)) => Err(bad_input(format!(
            "{}: its filter units cannot be used: {error}; choose another --dir to rebuild the databases",
            table.display()
        ))),
        _ => Ok(()),
    }
}

/// Work of elastic filters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FilterWork {
    /// Reads of filter units, by the background thread.
    pub(crate) unit_reads: u64,
    /// Visits of lookups to tables.
    pub(crate) visits: u64,
    /// Digests of keys that lookups computed.
    pub(crate) digests: u64,
}

/// Waits for unit loads in progress.
pub(crate) fn wait_idle(elastic: &ElasticFilters) {
    const PATIENCE: Duration = Duration::from_secs(10);
    if !elastic.wait_idle(PATIENCE) {
        log::warn!("filter units are still being loaded after {PATIENCE:?}");
    }
}

/// The folder next to a database for what a run writes. Names of databases have dots, so it is no extension.
fn scratch_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".scratch");
    name.into()
}

/// A folder that goes away.
struct Scratch {
    path: PathBuf,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = remove::folder(&self.path) {
            log::warn!("{error:#}");
        }
    }
}

/// Sum of the roles `FilterBlock` and `FilterMetaBlock` in RocksDB's text, such as `FilterBlock(610,2.38 MB,99.9%)`.
fn cached_filter_bytes(stats: &str) -> u64 {
    ["FilterBlock(", "FilterMetaBlock("]
        .iter()
        .filter_map(|role| {
            let (_, rest) = stats.split_once(&format!(" {role}"))?;
            let (_, rest) = rest.split_once(',')?;
            let (size, _) = rest.split_once(',')?;
            let (number, unit) = size.trim().split_once(' ')?;
            let factor = match unit {
                "B" => 1u64,
                "KB" => 1 << 10,
                "MB" => 1 << 20,
                "GB" => 1 << 30,
                _ => return None,
            };
            Some((number.parse::<f64>().ok()? * factor as f64) as u64)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_whose_names_differ_behind_a_dot_have_folders_of_their_own() {
        assert_eq!(scratch_of(Path::new("dir/elastic-0.5-a")), Path::new("dir/elastic-0.5-a.scratch"));
    }

    #[test]
    fn filter_roles_are_summed() {
        let stats = "Block cache LRUCache capacity: 34.00 MB\nBlock cache entry stats(count,size,portion): \
                     DataBlock(3,12.21 KB,0.1%) FilterBlock(610,2.50 MB,7.3%) FilterMetaBlock(340,102.00 KB,0.3%) \
                     IndexBlock(340,30.00 MB,90%) Misc(1,0.00 KB,0%)\n";
        assert_eq!(cached_filter_bytes(stats), (5 << 19) + (102 << 10));
        assert_eq!(cached_filter_bytes(""), 0);
    }
}
