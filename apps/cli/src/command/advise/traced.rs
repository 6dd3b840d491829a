//! What the lookups in a block cache trace read.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use springbloom_console::{TextTable, bad_input};
use springbloom_rocksdb::cache_trace::{self, TracedBlocks};

/// Blocks of a kind, for each lookup.
#[derive(Clone, Copy, Debug, Serialize)]
struct PerLookup {
    asked: f64,
    read: f64,
    read_bytes: f64,
}

/// The lookups of a column family.
#[derive(Debug, Serialize)]
struct Family {
    column_family: String,
    lookups: u64,
    data: PerLookup,
    index: PerLookup,
    filters: PerLookup,
}

/// All lookups of a trace.
#[derive(Debug, Serialize)]
pub(crate) struct Traced {
    families: Vec<Family>,
}

impl Traced {
    /// Reads a trace.
    ///
    /// # Errors
    /// A file that is no trace, or one without lookups.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let there = path.display();
        let families = cache_trace::read(path).map_err(|error| {
            bad_input(format!("--cache-trace: {error}; expected what RocksDB's StartBlockCacheTrace writes"))
        })?;
        if families.is_empty() {
            return Err(bad_input(format!("--cache-trace {there}: no lookup is in this trace")));
        }
        let families = families.into_iter().map(|family| {
            let of = |blocks: TracedBlocks| {
                let each = |count: u64| count as f64 / family.lookups.max(1) as f64;
                PerLookup {
                    asked: each(blocks.asked),
                    read: each(blocks.missing),
                    read_bytes: each(blocks.missing_bytes),
                }
            };
            let (data, index, filters) = (of(family.data), of(family.index), of(family.filters));
            Family { column_family: family.name, lookups: family.lookups, data, index, filters }
        });
        Ok(Self { families: families.collect() })
    }

    /// The answers in words.
    pub(crate) fn write_text(&self, out: &mut impl Write) -> Result<()> {
        let header = ["blocks read per lookup", "lookups", "all", "data", "index", "filters", "KiB read"];
        let mut table = TextTable::new(header).with_names(1);
        for Family { column_family, lookups, data, index, filters } in &self.families {
            let kinds = [data, index, filters];
            let all: f64 = kinds.iter().map(|kind| kind.read).sum();
            let kib = kinds.iter().map(|kind| kind.read_bytes).sum::<f64>() / 1024.0;
            let [data, index, filters] = kinds.map(|kind| format!("{:.3}", kind.read));
            table.add_row([
                column_family.clone(),
                lookups.to_string(),
                format!("{all:.3}"),
                data,
                index,
                filters,
                format!("{kib:.1}"),
            ]);
        }
        Ok(writeln!(out, "Block cache trace:\n{table}\n")?)
    }
}
