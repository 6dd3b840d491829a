//! Options of RocksDB's tables that a configuration has of its own, such as `@index_block_restart_interval=16`.

use std::fmt;

use clap::ValueEnum;
use rocksdb::Options;

use crate::database::block_cache::CacheKind;

/// The kind of the block cache, which tables do not depend on.
const CACHE_KIND: &str = "cache_kind";
/// Options of `BlockBasedTableOptions`, by their names in option strings.
const NAMES: [&str; 5] =
    ["block_size", "index_block_restart_interval", "index_shortening", "index_type", "metadata_block_size"];

/// Names and values, as they were given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableOptions {
    own: Vec<(String, String)>,
    pub(crate) cache_kind: Option<CacheKind>,
}

impl TableOptions {
    pub(crate) const NONE: Self = Self { own: Vec::new(), cache_kind: None };

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
                Some((name, _)) if name == CACHE_KIND || options.own.iter().any(|(own, _)| own == name) => {
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
        format!("{}, {CACHE_KIND}", NAMES.join(", "))
    }

    /// Sets them in block-based `options`, whose block cache and filters stay.
    pub(crate) fn apply(&self, mut options: Options) -> Result<Options, rocksdb::Error> {
        if self.own.is_empty() {
            return Ok(options);
        }
        let text: Vec<_> = self.own.iter().map(|(name, value)| format!("{name}={value}")).collect();
        options.get_options_from_string(format!("block_based_table_factory={{{}}}", text.join(";")))
    }

    /// Without the kind of the cache.
    pub(crate) fn of_tables(&self) -> Self {
        Self { cache_kind: None, ..self.clone() }
    }
}

impl fmt::Display for TableOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.own.iter().try_for_each(|(name, value)| write!(f, "@{name}={value}"))?;
        match self.cache_kind.and_then(|kind| Some(kind.to_possible_value()?.get_name().to_owned())) {
            Some(kind) => write!(f, "@{CACHE_KIND}={kind}"),
            None => Ok(()),
        }
    }
}
