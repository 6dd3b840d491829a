//! The report of `explain`.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use springbloom_console::TextTable;

use super::asked_table::{AskedTable, Units};

/// A key, and the tables that may hold it.
#[derive(Debug, Serialize)]
pub(crate) struct Lookup {
    pub(crate) key: String,
    pub(crate) column_family: String,
    pub(crate) tables_of_family: usize,
    /// Age of what is known of resident units; absent if nothing is.
    pub(crate) saved_seconds_ago: Option<u64>,
    /// Whether indexes are in the block cache, and not with their open tables; absent if the LOG does not say it.
    pub(crate) are_indexes_cached: Option<bool>,
    /// The newest first.
    pub(crate) tables: Vec<AskedTable>,
}

/// What a lookup reads, and why.
#[derive(Debug, Serialize)]
pub(crate) struct Explanation {
    #[serde(flatten)]
    lookup: Lookup,
    blocks: Blocks,
}

/// Blocks of indexes and data that a lookup asks for until it ends.
#[derive(Debug, Serialize)]
struct Blocks {
    /// With the units that were resident, or more if some were that are not known; absent if nothing is known.
    now: Option<u64>,
    all_units: u64,
    no_units: u64,
}

impl Lookup {
    /// The tables that it asks: those up to one that ends it.
    fn asked(&self, units: Units) -> &[AskedTable] {
        let last = self.tables.iter().position(|table| table.ends_lookup(units));
        &self.tables[..last.map_or(self.tables.len(), |last| last + 1)]
    }

    fn blocks(&self, units: Units) -> u64 {
        self.asked(units).iter().map(|table| table.blocks(units)).sum()
    }
}

impl Explanation {
    pub(crate) fn of(lookup: Lookup) -> Self {
        let blocks = Blocks {
            now: lookup.saved_seconds_ago.map(|_| lookup.blocks(Units::Resident)),
            all_units: lookup.blocks(Units::All),
            no_units: lookup.blocks(Units::None),
        };
        Self { lookup, blocks }
    }

    /// A table that holds the key and rejects it.
    pub(crate) fn wrongly_rejected(&self) -> Option<&str> {
        self.lookup.tables.iter().find(|table| table.rejects_what_it_holds()).map(AskedTable::name)
    }

    /// The first table that cannot be used, or not with all of its units, and why.
    pub(crate) fn first_damaged(&self) -> Option<String> {
        self.lookup.tables.iter().find_map(AskedTable::damage)
    }

    pub(crate) fn write_text(&self, out: &mut impl Write) -> Result<()> {
        let Lookup { key, column_family, tables_of_family, saved_seconds_ago, are_indexes_cached, tables } =
            &self.lookup;
        writeln!(
            out,
            "Key \"{key}\": a lookup asks up to {} of the {tables_of_family} tables of column family {:?}",
            tables.len(),
            column_family
        )?;
        if tables.is_empty() {
            return Ok(writeln!(out, "A lookup reads no block. What is in memtables is not known here.")?);
        }
        let header = ["table", "level", "index", "segment", "units", "resident", "what a lookup does"];
        let mut rows = TextTable::new(header).with_names(header.len());
        let units = saved_seconds_ago.map_or(Units::All, |_| Units::Resident);
        let asked = self.lookup.asked(units).len();
        for (at, table) in tables.iter().enumerate() {
            rows.add_row(table.row(units, at < asked));
        }
        writeln!(out, "\n{rows}\n")?;
        let Blocks { now, all_units, no_units } = self.blocks;
        let most = if tables.iter().any(|table| !table.is_residence_known()) { "at most " } else { "" };
        let now = now.map(|now| format!("{most}{now} now, ")).unwrap_or_default();
        writeln!(
            out,
            "Blocks to read, unless they are in memory: {now}{all_units} with all units, {no_units} without any"
        )?;
        match saved_seconds_ago {
            Some(seconds) => writeln!(out, "Resident units are those of the hotness file, {seconds} s old.")?,
            None => writeln!(
                out,
                "Which units are resident is not known: there is no hotness file that can be used. The table is for all units."
            )?,
        }
        let indexes = match are_indexes_cached {
            Some(false) => "An open table holds its index in memory.",
            Some(true) => {
                "Indexes are read through the block cache, but for pinned ones and those in the budget."
            }
            None => "The LOG does not say where indexes are; they are counted as read.",
        };
        Ok(writeln!(out, "{indexes}")?)
    }
}
