//! The report of `advise`: what the database is, the verdict, and what was measured.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use springbloom_console::sizes::Size;
use springbloom_console::{Column, TextTable};

use super::advice::Advice;
use super::indexes::Indexes;
use super::log::{Log, Tickers};
use super::modelled::Modelled;
use super::survey::{Level, Survey};
use super::verdict::{Answer, Verdict};

/// Larger records fill a good part of a block.
const ROW_BYTES_MAX: u64 = 1024;

/// All that is told.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) database: Survey,
    /// Absent where no table could be measured, such as with keys in another order than that of bytes.
    pub(crate) indexes: Option<Indexes>,
    /// Of RocksDB's LOG; absent if there is none, or it cannot be read.
    pub(crate) log: Option<Log>,
    /// Why it cannot.
    pub(crate) log_fault: Option<String>,
    /// What other settings and other memory would read; absent of an empty database.
    pub(crate) modelled: Option<Modelled>,
    pub(crate) verdict: Verdict,
    /// Absent if nothing was measured.
    pub(crate) measured: Option<Advice>,
    /// Why.
    pub(crate) not_measured: Option<String>,
}

fn size(bytes: u64) -> String {
    Size { bytes }.to_string()
}

impl Report {
    pub(crate) fn write_text(&self, out: &mut impl Write) -> Result<()> {
        self.write_levels(out)?;
        self.write_indexes(out)?;
        self.write_log(out)?;
        if let Some(modelled) = &self.modelled {
            modelled.write_text(out)?;
        }
        self.write_verdict(out)?;
        match (&self.measured, &self.not_measured) {
            (Some(advice), _) => {
                writeln!(out, "\nMeasured with elastic filters:")?;
                advice.write_text(out)
            }
            (None, Some(why)) => Ok(writeln!(out, "\nNothing was measured with elastic filters: {why}.")?),
            (None, None) => Ok(()),
        }
    }

    fn write_levels(&self, out: &mut impl Write) -> Result<()> {
        let columns: [Column<&Level>; _] = [
            ("column family", |level| level.column_family.clone()),
            ("level", |level| level.level.to_string()),
            ("tables", |level| level.tables.to_string()),
            ("entries", |level| level.entries.to_string()),
            ("files", |level| size(level.file_bytes)),
            ("filters", |level| size(level.filter_bytes)),
            ("bits/entry", |level| format!("{:.1}", level.filter_bits_per_entry)),
            ("indexes", |level| size(level.index_bytes)),
            ("filter", |level| level.kinds_of_filters()),
        ];
        writeln!(out, "{}\n", TextTable::of(&columns, self.database.levels.values()))?;
        let Survey { tables, entries, file_bytes, filter_bytes, index_bytes, .. } = self.database;
        let families = self.database.column_families();
        let [files, filters, indexes] = [file_bytes, filter_bytes, index_bytes].map(size);
        writeln!(
            out,
            "Column families: {families}; tables: {tables}; entries: {entries}; files {files}, filters {filters}, indexes {indexes}\n"
        )?;
        Ok(())
    }

    fn write_indexes(&self, out: &mut impl Write) -> Result<()> {
        let Some(indexes) = self.indexes else { return Ok(()) };
        let [now, small, smallest] =
            [indexes.bytes, indexes.restart_16_bytes, indexes.large_blocks_bytes].map(size);
        let option = "index_block_restart_interval=16";
        if indexes.can_shrink() {
            writeln!(out, "Set {option}: {now} of indexes become {small} as compactions rewrite the tables")?;
        } else {
            writeln!(out, "Indexes of {now} would be {small} with {option}")?;
        }
        let tables = indexes.tables;
        writeln!(out, "(with block_size=16K as well {smallest}; measured on parts of {tables} tables)\n")?;
        Ok(())
    }

    fn write_log(&self, out: &mut impl Write) -> Result<()> {
        if let Some(fault) = &self.log_fault {
            return Ok(writeln!(out, "LOG: it cannot be read, so settings are not known: {fault}\n")?);
        }
        let Some(log) = &self.log else {
            return Ok(writeln!(out, "LOG: there is none in this folder, so settings are not known\n")?);
        };
        let caches = match log.block_cache_bytes() {
            Some(bytes) => size(bytes),
            None if log.has_no_block_cache() => {
                "none (blocks are in the page cache of the system)".to_owned()
            }
            None => "not told".to_owned(),
        };
        let place = match log.are_filters_cached() {
            Some(true) => "in the block cache",
            Some(false) => "in memory of their own, for each open table",
            None => "not told, or not the same for all column families",
        };
        writeln!(out, "LOG: block cache {caches}; filters and indexes: {place}")?;
        if let Some(tickers) = &log.tickers {
            write_tickers(tickers, out)?;
        }
        writeln!(out)?;
        self.write_row_cache(log, out)
    }

    /// Whether RocksDB's cache of records is to be tried: a hot record in it takes no whole block.
    fn write_row_cache(&self, log: &Log, out: &mut impl Write) -> Result<()> {
        let Survey { file_bytes, entries, .. } = self.database;
        let record_bytes = file_bytes / entries.max(1);
        if log.row_cache_bytes != Some(0) || entries == 0 || record_bytes > ROW_BYTES_MAX {
            return Ok(());
        }
        writeln!(
            out,
            "row_cache is not set. If most lookups are gets of hot keys, try it with the memory that exceeds a byte per entry, or with a \
             fifth of it if that is more: with records of some {record_bytes} bytes a block of 4 KiB in the block cache keeps one hot \
             record and several others.\n"
        )?;
        Ok(())
    }

    fn write_verdict(&self, out: &mut impl Write) -> Result<()> {
        let Verdict { answer, because, to_measure, budget_bytes, .. } = &self.verdict;
        let begin = match answer {
            Answer::Needed => "You need it, because",
            Answer::NotNeeded => "You do not need it, because",
            Answer::Unknown => "The database alone cannot tell whether you need it",
        };
        writeln!(out, "{begin}{}", if because.is_empty() { "." } else { ":" })?;
        because.iter().try_for_each(|reason| writeln!(out, "- {reason}."))?;
        let has_cache = self.log.as_ref().is_some_and(|log| log.block_cache_bytes().is_some());
        if *answer != Answer::NotNeeded && has_cache {
            writeln!(out, "Install it with its defaults: a part of the block cache becomes the budget.")?;
        } else if *answer != Answer::NotNeeded && self.database.entries > 0 {
            let saved = match self.verdict.saved_bytes {
                0 => String::new(),
                bytes => format!(", {} less than the filters of now", size(bytes)),
            };
            writeln!(out, "Begin with a budget of {}{saved}.", size(*budget_bytes))?;
        }
        if !to_measure.is_empty() {
            writeln!(out, "To measure:")?;
            to_measure.iter().try_for_each(|what| writeln!(out, "- {what}."))?;
        }
        Ok(())
    }
}

fn write_tickers(tickers: &Tickers, out: &mut impl Write) -> Result<()> {
    let told = [
        tickers.keys_read.map(|lookups| format!("{lookups} lookups")),
        tickers.filter_useful.map(|useful| format!("{useful} reads saved by filters")),
        tickers.wasted_reads().map(|wasted| format!("{wasted} wasted in spite of them")),
        tickers.hit_share().map(|share| format!("{:.1}% of blocks found in the cache", 100.0 * share)),
        tickers.reads_per_lookup().map(|[data, index, filter]| {
            format!("blocks read per lookup: data {data:.3}, index {index:.3}, filters {filter:.3}")
        }),
    ];
    let told: Vec<_> = told.into_iter().flatten().collect();
    Ok(writeln!(out, "LOG, since the database was opened: {}", told.join(", "))?)
}
