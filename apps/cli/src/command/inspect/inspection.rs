//! The report of `inspect`.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use rocksdb::LiveFile;
use serde::Serialize;
use springbloom_console::TextTable;
use springbloom_console::sizes::Size;
use springbloom_rocksdb::inspect::TableReport;

/// A database.
#[derive(Debug, Serialize)]
pub(crate) struct Inspection {
    levels: Vec<Level>,
    tables: Vec<Table>,
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
    segments: u64,
    unit_bytes: u64,
    corrupt_units: u64,
}

/// One table file.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) level: i32,
    column_family: String,
    entries: u64,
    file_bytes: u64,
    /// Of its filter block, be it a stock filter or units.
    filter_bytes: u64,
    filter_policy: String,
    /// Absent for a table without units.
    units: Option<Units>,
    /// Why its units cannot be used, if so.
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
    /// From what the database says of a file and what the file says of itself.
    pub(crate) fn new(file: &LiveFile, report: TableReport) -> Self {
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
            name: file.name.trim_start_matches('/').to_owned(),
            level: file.level,
            column_family: file.column_family_name.clone(),
            entries: report.entries,
            file_bytes: report.file_bytes,
            filter_bytes: report.filter_bytes,
            filter_policy: report.filter_policy,
            units,
            error,
        }
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

impl Inspection {
    /// Sums `tables` by level.
    pub(crate) fn new(tables: Vec<Table>) -> Self {
        let mut levels: BTreeMap<(String, i32), Level> = BTreeMap::new();
        for table in &tables {
            let level = levels.entry((table.column_family.clone(), table.level)).or_default();
            level.column_family.clone_from(&table.column_family);
            level.level = table.level;
            level.tables += 1;
            level.tables_with_units += u64::from(table.units.is_some());
            level.entries += table.entries;
            level.file_bytes += table.file_bytes;
            level.segments += table.units.as_ref().map_or(0, |units| units.segments.len() as u64);
            level.unit_bytes += table.units.as_ref().map_or(0, |units| units.unit_bytes);
            level.corrupt_units += table.corrupt_units();
        }
        Inspection { levels: levels.into_values().collect(), tables }
    }

    /// Whether every unit that is there can be used.
    pub(crate) fn sound(&self) -> bool {
        self.tables.iter().all(|table| table.error.is_none() && table.corrupt_units() == 0)
    }

    pub(crate) fn write_json(&self, out: &mut impl Write) -> Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        Ok(writeln!(out)?)
    }

    /// One table by level, one by file.
    pub(crate) fn write_tables(&self, out: &mut impl Write) -> Result<()> {
        let mut levels = TextTable::new([
            "column family",
            "level",
            "tables",
            "with units",
            "entries",
            "file bytes",
            "segments",
            "unit bytes",
            "corrupt",
        ]);
        for level in &self.levels {
            levels.add_row([
                level.column_family.clone(),
                level.level.to_string(),
                level.tables.to_string(),
                level.tables_with_units.to_string(),
                level.entries.to_string(),
                Size { bytes: level.file_bytes }.to_string(),
                level.segments.to_string(),
                Size { bytes: level.unit_bytes }.to_string(),
                level.corrupt_units.to_string(),
            ]);
        }
        writeln!(out, "{levels}\n")?;
        let mut tables = TextTable::new([
            "table",
            "level",
            "entries",
            "file",
            "filter block",
            "segments",
            "units",
            "keys/segment",
            "unit bytes",
            "state",
        ]);
        for table in &self.tables {
            let units = table.units.as_ref();
            let segments = units.map_or(0, |units| units.segments.len() as u64);
            let keys: u64 = units
                .map_or(0, |units| units.segments.iter().map(|segment| u64::from(segment.key_count)).sum());
            tables.add_row([
                table.name.clone(),
                table.level.to_string(),
                table.entries.to_string(),
                Size { bytes: table.file_bytes }.to_string(),
                Size { bytes: table.filter_bytes }.to_string(),
                segments.to_string(),
                units.map_or(0, |units| units.unit_count).to_string(),
                keys.checked_div(segments).unwrap_or(0).to_string(),
                Size { bytes: units.map_or(0, |units| units.unit_bytes) }.to_string(),
                table.state(),
            ]);
        }
        Ok(writeln!(out, "{tables}")?)
    }
}
