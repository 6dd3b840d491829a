//! Options of RocksDB's tables and caches that a configuration has of its own, such as `@index_block_restart_interval=16`.

use std::fmt;

use clap::ValueEnum;
use rocksdb::Options;

use crate::database::block_cache::CacheKind;

/// The kind of the block cache, which tables do not depend on.
const CACHE_KIND: &str = "cache_kind";
/// The share of the block cache's memory that RocksDB's `row_cache` has, neither.
const ROW_CACHE: &str = "row_cache";
/// Options of `BlockBasedTableOptions`, by their names in option strings.
const NAMES: [&str; 5] =
    ["block_size", "index_block_restart_interval", "index_shortening", "index_type", "metadata_block_size"];

/// Names and values, as they were given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableOptions {
    own: Vec<(String, String)>,
    pub(crate) cache_kind: Option<CacheKind>,
    pub(crate) row_cache: Option<f64>,
}

impl TableOptions {
    pub(crate) const NONE: Self = Self { own: Vec::new(), cache_kind: None, row_cache: None };

    /// From parts in the form `NAME=VALUE`; gives those with other names back.
    ///
    /// # Errors
    /// A value that RocksDB refuses, or a name that is given twice.
    pub(crate) fn take<'a>(parts: &[&'a str]) -> Result<(Self, Vec<&'a str>), String> {
        let (mut options, mut others) = (Self::NONE, Vec::new());
        for part in parts {
            match part.split_once('=') {
                Some((CACHE_KIND, kind)) if options.cache_kind.is_none() => {
                    options.cache_kind = Some(CacheKind::from_str(kind, false).map_err(|_| {
                        format!("{part}: expected lru, lru-one-shard, hyper-clock or tiered")
                    })?);
                }
                Some((ROW_CACHE, share)) if options.row_cache.is_none() => {
                    let parsed = share.parse().ok().filter(|share| (0.01..=0.99).contains(share));
                    options.row_cache =
                        Some(parsed.ok_or_else(|| format!("{part}: expected a share from .01 to .99"))?);
                }
                Some((name, _))
                    if [CACHE_KIND, ROW_CACHE].contains(&name)
                        || options.own.iter().any(|(own, _)| own == name) =>
                {
                    return Err(format!("expected each setting once, got {name} again"));
                }
                Some((name, value)) if NAMES.contains(&name) => {
                    options.own.push((name.to_owned(), value.to_owned()));
                }
                _ => others.push(*part),
            }
        }
        // Tried here so that a bad value is reported before minutes of loading.
        options.apply(Options::default()).map_err(|error| error.to_string())?;
        Ok((options, others))
    }

    /// What a stock configuration can have behind an `@`, for errors.
    pub(crate) fn expected() -> String {
        format!("{}, {CACHE_KIND}, {ROW_CACHE}", NAMES.join(", "))
    }

    /// Sets them in block-based `options`, whose block cache and filters stay.
    pub(crate) fn apply(&self, mut options: Options) -> Result<Options, rocksdb::Error> {
        if self.own.is_empty() {
            return Ok(options);
        }
        let text: Vec<_> = self.own.iter().map(|(name, value)| format!("{name}={value}")).collect();
        options.get_options_from_string(format!("block_based_table_factory={{{}}}", text.join(";")))
    }

    /// Without those of caches.
    pub(crate) fn of_tables(&self) -> Self {
        Self { own: self.own.clone(), ..Self::NONE }
    }
}

impl fmt::Display for TableOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.own.iter().try_for_each(|(name, value)| write!(f, "@{name}={value}"))?;
        if let Some(kind) = self.cache_kind.and_then(|kind| kind.to_possible_value()) {
            write!(f, "@{CACHE_KIND}={}", kind.get_name())?;
        }
        self.row_cache.map_or(Ok(()), |share| write!(f, "@{ROW_CACHE}={share}"))
    }
}
