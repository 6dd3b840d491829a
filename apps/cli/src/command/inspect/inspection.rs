//! The report of `inspect`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use springbloom_console::TextTable;
use springbloom_console::sizes::Size;
use springbloom_rocksdb::Error;
use springbloom_rocksdb::inspect::TableReport;
use springbloom_rocksdb::listed_tables::ListedTable;

/// What the tables of a database add up to, by column family and level.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    levels: BTreeMap<(String, i32), Level>,
    first_damaged: Option<String>,
}

/// The tables of a level of a column family.
#[derive(Clone, Debug, Default, Serialize)]
struct Level {
    column_family: String,
    level: i32,
    tables: u64,
    tables_with_units: u64,
    entries: u64,
    file_bytes: u64,
    index_bytes: u64,
    segments: u64,
    unit_bytes: u64,
    corrupt_units: u64,
}

/// One table file.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    name: String,
    level: i32,
    column_family: String,
    entries: u64,
    file_bytes: u64,
    /// Of its filter block, be it a stock filter or units.
    filter_bytes: u64,
    index_bytes: u64,
    filter_policy: String,
    /// Absent for a table without units.
    units: Option<Units>,
    /// Why it, or its units, cannot be used, if so.
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Units {
    unit_count: u8,
    /// All units of all segments, without checksums and directory.
    unit_bytes: u64,
    corrupt_units: u64,
    segments: Vec<Segment>,
}

#[derive(Debug, Serialize)]
struct Segment {
    first_key: String,
    key_count: u32,
    data_bytes: u64,
    /// Of each unit.
    unit_bytes: u64,
    corrupt_units: Vec<u8>,
}

impl Table {
    /// From what the database says of a table and what its file says of itself.
    pub(crate) fn new(listed: &ListedTable, report: TableReport) -> Self {
        let (units, error) = match report.units {
            None => (None, None),
            Some(Err(error)) => (None, Some(error.to_string())),
            Some(Ok(units)) => {
                let segments: Vec<Segment> = (units.segments.iter())
                    .map(|segment| Segment {
                        first_key: segment.first_key.escape_ascii().to_string(),
                        key_count: segment.key_count,
                        data_bytes: segment.data_bytes,
                        unit_bytes: segment.unit_bytes as u64,
                        corrupt_units: segment.corrupt_units.clone(),
                    })
                    .collect();
                let unit_bytes = segments.iter().map(|segment| segment.unit_bytes).sum::<u64>()
                    * u64::from(units.unit_count);
                let corrupt_units = units.corrupt_unit_count() as u64;
                (Some(Units { unit_count: units.unit_count, unit_bytes, corrupt_units, segments }), None)
            }
        };
        Table {
            name: listed.file_name().display().to_string(),
            level: listed.level,
            column_family: listed.column_family.to_string(),
            entries: report.entries,
            file_bytes: report.file_bytes,
            filter_bytes: report.filter_bytes,
            index_bytes: report.index_bytes,
            filter_policy: report.filter_policy,
            units,
            error,
        }
    }

    /// A table that cannot be read.
    pub(crate) fn unreadable(listed: &ListedTable, error: &Error) -> Self {
        Table { error: Some(error.to_string()), ..Table::new(listed, TableReport::default()) }
    }

    fn corrupt_units(&self) -> u64 {
        self.units.as_ref().map_or(0, |units| units.corrupt_units)
    }

    fn state(&self) -> String {
        match (&self.error, self.corrupt_units(), &self.units) {
            (Some(error), _, _) => error.clone(),
            (None, 0, Some(_)) => "sound".to_owned(),
            (None, 0, None) => "no units".to_owned(),
            (None, corrupt, _) => format!("{corrupt} units corrupt"),
        }
    }
}

/// A JSON array of what comes one after the other, and is not kept.
struct Streamed<I>(RefCell<Option<I>>);

impl<I: Iterator<Item: Serialize>> Serialize for Streamed<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.take().into_iter().flatten())
    }
}

impl Levels {
    fn add(&mut self, table: &Table) {
        let level = self.levels.entry((table.column_family.clone(), table.level)).or_default();
        level.column_family.clone_from(&table.column_family);
        level.level = table.level;
        level.tables += 1;
        level.tables_with_units += u64::from(table.units.is_some());
        level.entries += table.entries;
        level.file_bytes += table.file_bytes;
        level.index_bytes += table.index_bytes;
        level.segments += table.units.as_ref().map_or(0, |units| units.segments.len() as u64);
        level.unit_bytes += table.units.as_ref().map_or(0, |units| units.unit_bytes);
        level.corrupt_units += table.corrupt_units();
        if table.error.is_some() || table.corrupt_units() > 0 {
            self.first_damaged.get_or_insert_with(|| table.name.clone());
        }
    }

    /// The first table that cannot be used, or not with all of its units.
    pub(crate) fn first_damaged(&self) -> Option<&str> {
        self.first_damaged.as_deref()
    }

    /// Adds the tables up, and writes each as it comes.
    pub(crate) fn write_json(
        &mut self,
        tables: impl Iterator<Item = Table>,
        out: &mut impl Write,
    ) -> Result<()> {
        let tables = tables.inspect(|table| self.add(table));
        let mut json = serde_json::Serializer::pretty(&mut *out);
        let mut document = json.serialize_map(Some(2))?;
        document.serialize_entry("tables", &Streamed(RefCell::new(Some(tables))))?;
        document.serialize_entry("levels", &self.levels.values().collect::<Vec<_>>())?;
        document.end()?;
        Ok(writeln!(out)?)
    }

    /// Adds the tables up, and writes one text table by level, one by file.
    pub(crate) fn write_text(
        &mut self,
        tables: impl Iterator<Item = Table>,
        out: &mut impl Write,
    ) -> Result<()> {
        let rows = Self::rows(tables.inspect(|table| self.add(table)));
        let mut levels = TextTable::new([
            "column family",
            "level",
            "tables",
            "with units",
            "entries",
            "file bytes",
            "indexes",
            "segments",
            "unit bytes",
            "corrupt",
        ]);
        for level in self.levels.values() {
            levels.add_row([
                level.column_family.clone(),
                level.level.to_string(),
                level.tables.to_string(),
                level.tables_with_units.to_string(),
                level.entries.to_string(),
                Size { bytes: level.file_bytes }.to_string(),
                Size { bytes: level.index_bytes }.to_string(),
                level.segments.to_string(),
                Size { bytes: level.unit_bytes }.to_string(),
                level.corrupt_units.to_string(),
            ]);
        }
        writeln!(out, "{levels}\n")?;
        Ok(writeln!(out, "{rows}")?)
    }

    /// A row for each table.
    fn rows(tables: impl Iterator<Item = Table>) -> TextTable {
        let mut rows = TextTable::new([
            "table",
            "level",
            "entries",
            "file",
            "filter block",
            "index",
            "segments",
            "units",
            "keys/segment",
            "unit bytes",
            "state",
        ]);
        for table in tables {
            let units = table.units.as_ref();
            let segments = units.map_or(0, |units| units.segments.len() as u64);
            let keys: u64 = units
                .map_or(0, |units| units.segments.iter().map(|segment| u64::from(segment.key_count)).sum());
            rows.add_row([
                table.name.clone(),
                table.level.to_string(),
                table.entries.to_string(),
                Size { bytes: table.file_bytes }.to_string(),
                Size { bytes: table.filter_bytes }.to_string(),
                Size { bytes: table.index_bytes }.to_string(),
                segments.to_string(),
                units.map_or(0, |units| units.unit_count).to_string(),
                keys.checked_div(segments).unwrap_or(0).to_string(),
                Size { bytes: units.map_or(0, |units| units.unit_bytes) }.to_string(),
                table.state(),
            ]);
        }
        rows
    }
}
