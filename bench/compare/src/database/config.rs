//! The configurations that are compared, by name, such as `bloom:10` or `elastic:4@policy=monkey`. The number is the average of bits per
//! key.

use std::fmt;
use std::str::FromStr;

use springbloom_published_policies::{StockFilter, System};
use springbloom_workload::Shares;

use crate::database::elastic::{AUTO, Elastic};
use crate::database::table_options::TableOptions;

/// One way to filter lookups, with options of the tables.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    pub(crate) filters: Filters,
    pub(crate) tables: TableOptions,
}

/// The filters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Filters {
    /// No filter.
    None,
    /// Filters of RocksDB with this average of bits per key.
    Stock { kind: Stock, bits: f64 },
    /// Stock Ribbon filters of another size in each family, tuned by hand, all in memory.
    RibbonByFamily { bits: Shares },
    /// Springbloom, or a published system as settings of Springbloom. The budget pays for the bookkeeping too.
    Elastic(Elastic),
}

/// Kinds of RocksDB's filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stock {
    /// All of one size, in memory.
    Full(StockFilter),
    /// Bits by level as Monkey (SIGMOD'17) allots them, all in memory.
    ByLevel(StockFilter),
    /// Partitioned filters in a cache that is as large as the budget.
    Partitioned(StockFilter),
}

const STOCK: [(&str, Stock); 6] = [
    ("bloom", Stock::Full(StockFilter::Bloom)),
    ("ribbon", Stock::Full(StockFilter::Ribbon)),
    ("partitioned", Stock::Partitioned(StockFilter::Bloom)),
    ("partitioned-ribbon", Stock::Partitioned(StockFilter::Ribbon)),
    ("monkey-bloom", Stock::ByLevel(StockFilter::Bloom)),
    ("monkey-ribbon", Stock::ByLevel(StockFilter::Ribbon)),
];

/// The names, for errors and help.
pub(crate) const EXPECTED: &str = "none, bloom:BITS, ribbon:BITS, ribbon:BITS/BITS, partitioned:BITS, \
    partitioned-ribbon:BITS, monkey-bloom:BITS, monkey-ribbon:BITS, elastic:BITS, elastic:auto, elasticbf:BITS or elasticbf-file:BITS";
/// More than any filter here can use.
const MAX_BITS: f64 = 100.0;

impl FromStr for Config {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split('@');
        let name = parts.next().unwrap_or_default();
        let own: Vec<&str> = parts.collect();
        let (tables, own) = TableOptions::take(&own).map_err(|error| format!("{text}: {error}"))?;
        let filters = Filters::of(text, name, &own)?;
        if !own.is_empty() && !matches!(filters, Filters::Elastic(_)) {
            let (own, expected) = (own.join("@"), TableOptions::expected());
            return Err(format!(
                "{text}: expected {expected} after @, as others are settings of elastic filters; got @{own}"
            ));
        }
        Ok(Config { filters, tables })
    }
}

impl Filters {
    /// Those that `name` stands for, a part of `text`. Elastic ones have settings of their `own`.
    fn of(text: &str, name: &str, own: &[&str]) -> Result<Self, String> {
        if name == "none" {
            return Ok(Filters::None);
        }
        let unknown = || format!("expected {EXPECTED}; got {text:?}");
        let (name, bits) = name.split_once(':').ok_or_else(unknown)?;
        if name == "ribbon" && bits.contains('/') {
            return Ok(Filters::RibbonByFamily { bits: Shares::bits_per_key(bits, MAX_BITS)? });
        }
        let elastic = |system, bits| {
            let elastic = Elastic::new(system, bits, own).map_err(|error| format!("{text}: {error}"))?;
            Ok(Filters::Elastic(elastic))
        };
        if let (AUTO, Some(system)) = (bits, System::of(name)) {
            return elastic(system, None);
        }
        let bits: f64 = bits
            .parse()
            .map_err(|_| format!("expected a number of bits per key after {name:?}, got {bits:?}"))?;
        if !(bits > 0.0 && bits <= MAX_BITS) {
            return Err(format!("expected more than 0 and at most {MAX_BITS} bits per key, got {bits}"));
        }
        match STOCK.into_iter().find(|(known, _)| *known == name) {
            Some((_, kind)) => Ok(Filters::Stock { kind, bits }),
            None => elastic(System::of(name).ok_or_else(unknown)?, Some(bits)),
        }
    }
}

impl fmt::Display for Config {
    /// The form that [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.filters {
            Filters::None => f.write_str("none"),
            Filters::Stock { kind, bits } => {
                let name = STOCK.iter().find(|(_, known)| known == kind).map_or("", |(name, _)| name);
                write!(f, "{name}:{bits}")
            }
            Filters::RibbonByFamily { bits } => write!(f, "ribbon:{bits}"),
            Filters::Elastic(elastic) => elastic.fmt(f),
        }?;
        self.tables.fmt(f)
    }
}

impl Config {
    /// No filter, and tables as they are.
    pub(crate) const NONE: Self = Self { filters: Filters::None, tables: TableOptions::NONE };

    /// Whether its filters are in a cache of RocksDB, instead of table readers.
    pub(crate) fn is_cached(&self) -> bool {
        matches!(self.filters, Filters::Stock { kind: Stock::Partitioned(_), .. })
    }

    /// Its settings, if it is made of Springbloom.
    pub(crate) fn elastic(&self) -> Option<&Elastic> {
        match &self.filters {
            Filters::Elastic(elastic) => Some(elastic),
            _ => None,
        }
    }

    /// The same without what tables do not depend on.
    pub(crate) fn of_tables(&self) -> Self {
        Self { tables: self.tables.of_tables(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for text in [
            "none",
            "bloom:4",
            "ribbon:4.2",
            "ribbon:13/0.5/0",
            "partitioned:10",
            "partitioned:10@index_block_restart_interval=16@cache_kind=hyper-clock",
            "ribbon:4@block_size=16384@cache_kind=lru@row_cache=0.5",
            "elastic:auto@row_cache=0.25",
            "partitioned-ribbon:3.5",
            "ribbon:5/1@index_type=kBinarySearch@block_size=16384",
            "none@block_size=1024",
            "monkey-bloom:4",
            "monkey-ribbon:4",
            "elastic:0.5",
            "elastic:auto",
            "elastic:auto@policy=monkey",
            "elastic:auto@index_block_restart_interval=16",
            "elastic:6@charge_to_block_cache=true",
            "elastic:4@policy=monkey@units=bloom:6x4",
            "elasticbf:4",
            "elasticbf:4@segment_lifetime_gets=10000",
            "elasticbf-file:4",
        ] {
            assert_eq!(text.parse::<Config>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn wrong_names_are_refused_with_the_right_ones() {
        for text in [
            "",
            "bloom",
            "bloom:",
            "bloom:x",
            "bloom:0",
            "bloom:-4",
            "bloom:NaN",
            "bloom:101",
            "bloom:4/2",
            "ribbon:0/0",
            "ribbon:4/x",
            "ribbon:4/101",
            "cuckoo:8",
            "none:4",
            "bloom:4@pool",
            "bloom:4@policy=",
            "ribbon:4@cache",
            "ribbon:4@cache_kind=fifo",
            "ribbon:4@row_cache=1",
            "ribbon:4@row_cache=many",
            "ribbon:4@row_cache=.5@row_cache=.4",
            "ribbon:4@cache_kind=lru@cache_kind=lru",
            "ribbon:4@block_size=4096@block_size=4096",
            "ribbon:4@policy=monkey",
            "elastic:4@cache",
            "bloom:auto",
            "elastic:4@",
            "elastic:4@=1",
            "elastic:4@policy=monkey@policy=uniform",
            "elastic:4@policy=guess",
            "elastic:4@segment_size=1",
            "elasticbf:4@segment_lifetime_gets=0",
        ] {
            let error = text.parse::<Config>().expect_err(text);
            assert!(error.contains("expected"), "{text}: {error}");
            let name = text.split_once(":4@").map_or("", |(name, _)| name);
            assert!(
                error.contains(name) && (name.is_empty() || !error.contains("none, bloom:BITS")),
                "{text}: {error}"
            );
        }
    }
}
