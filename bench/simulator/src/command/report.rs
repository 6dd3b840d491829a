//! The report of a simulation.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use springbloom_console::sizes::Size;
use springbloom_console::{TextTable, percent};
use springbloom_records::{Build, Clock, Figure, Unit, distinct, labels};

use crate::FamilyRun;

/// What is simulated, for reports.
#[derive(Debug, Serialize)]
pub(super) struct Header {
    pub(super) tree: String,
    pub(super) records: u64,
    pub(super) record_bytes: u64,
    pub(super) table_bytes: u64,
    pub(super) segment_size: u64,
    pub(super) families: u32,
    /// Bytes of the sorted runs of each family, newest first.
    pub(super) run_bytes: Vec<u64>,
    pub(super) units: String,
    pub(super) distribution: String,
    pub(super) absent_share: f64,
    /// Shares of each column family, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) family_traffic: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) family_absent: Option<Vec<f64>>,
    pub(super) absent: String,
    pub(super) movement: String,
    pub(super) simulated_segments: u32,
    pub(super) simulated_share: f64,
    pub(super) warmup_lookups: usize,
    pub(super) measured_lookups: usize,
    pub(super) compaction: bool,
    pub(super) hot_key_seeds: u32,
    #[serde(skip)]
    pub(super) seed: u64,
    #[serde(skip)]
    pub(super) clock: Clock,
}

/// One contender at one memory.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) filter: String,
    pub(super) bits_per_key: f64,
    pub(super) memory_bytes: u64,
    /// What the families waste under each hot-key mapping; none where the memory has no room for the bookkeeping.
    pub(super) runs: Vec<Vec<FamilyRun>>,
}

impl Cell {
    fn figure(
        &self,
        name: &str,
        family: Option<usize>,
        unit: Unit,
        of: impl Fn(&[FamilyRun]) -> f64,
    ) -> Option<Figure> {
        let bits = self.bits_per_key.to_string();
        let mut labels = labels([("config", self.filter.clone()), ("bits_per_key", bits)]);
        labels.extend(family.map(|family| ("family".to_owned(), (family + 1).to_string())));
        Figure::over(name, labels, self.runs.iter().map(|run| of(run)), unit)
    }

    /// Wasted reads per lookup.
    fn wasted(&self) -> Option<Figure> {
        self.figure("wasted_reads_per_get", None, Unit::PerLookup, FamilyRun::wasted_per_lookup)
    }

    /// Wasted reads per lookup and resident bits per key of a column family.
    fn of_family(&self, family: usize) -> Option<[Figure; 2]> {
        let wasted = |run: &[FamilyRun]| FamilyRun::wasted_per_lookup(&run[family..=family]);
        let bits = |run: &[FamilyRun]| run[family].resident_bits_per_key;
        Some([
            self.figure("family_wasted_reads_per_get", Some(family), Unit::PerLookup, wasted)?,
            self.figure("family_bits_per_key", Some(family), Unit::BitsPerKey, bits)?,
        ])
    }
}

/// The record of the run as one JSON document.
pub(super) fn write_json(out: &mut impl Write, header: &Header, cells: &[Cell]) -> Result<()> {
    let families = if header.families > 1 { header.families as usize } else { 0 };
    let mut figures = Vec::new();
    for cell in cells {
        figures.extend(cell.wasted());
        figures.extend((0..families).filter_map(|family| cell.of_family(family)).flatten());
    }
    header.clock.write_record(out, header.seed, header, figures)
}

/// In place of a figure: the memory has no room for the bookkeeping.
const NO_ROOM: &str = "no room";

/// A line for each memory with a column for each filter.
pub(super) fn write_text(out: &mut impl Write, header: &Header, cells: &[Cell]) -> Result<()> {
    write_header(out, header)?;
    writeln!(out, "wasted reads per lookup")?;
    let filters = filters(cells);
    let mut table = TextTable::new(["bits/key", "memory"].into_iter().chain(filters.iter().copied()));
    for row in cells.chunk_by(|one, next| one.bits_per_key == next.bits_per_key) {
        let names = [row[0].bits_per_key.to_string(), Size { bytes: row[0].memory_bytes }.to_string()];
        let figures = filters.iter().map(|filter| match row.iter().find(|cell| cell.filter == *filter) {
            Some(cell) => cell.wasted().map_or(NO_ROOM.to_owned(), |wasted| format!("{:.4}", wasted.value)),
            // Its own bits are others.
            None => String::new(),
        });
        table.add_row(names.into_iter().chain(figures));
    }
    writeln!(out, "{table}")?;
    write_families(out, header, cells)
}

/// What is simulated, with the empty line behind it.
fn write_header(out: &mut impl Write, header: &Header) -> Result<()> {
    let data = Size { bytes: (header.records as f64 * header.record_bytes as f64) as u64 };
    let runs: Vec<_> = header.run_bytes.iter().map(|&bytes| Size { bytes }.to_string()).collect();
    writeln!(out, "springbloom {}, a simulation: no store was run", Build::this().version)?;
    let families = match header.families {
        1 => String::new(),
        families => format!("in each of {families} column families a "),
    };
    writeln!(
        out,
        "{} records of {} B ({data}); {families}{} tree of {} sorted runs: {}",
        header.records,
        header.record_bytes,
        header.tree,
        runs.len(),
        runs.join(", ")
    )?;
    let absent = percent(header.absent_share);
    let Header { absent: kind, distribution, movement, .. } = header;
    Ok(writeln!(
        out,
        "{absent} of lookups for {kind} absent keys, {distribution}, movement {movement}; {} segments simulated ({} of all), \
         {} lookups to warm up and {} measured, {} hot-key mappings, seed {}; {}\n",
        header.simulated_segments,
        share(header.simulated_share),
        header.warmup_lookups,
        header.measured_lookups,
        header.hot_key_seeds,
        header.seed,
        if header.compaction { "compaction rewrites tables" } else { "no table is rewritten" },
    )?)
}

/// `100%`, `12.5%` or `1.2e-5`.
fn share(share: f64) -> String {
    if share >= 0.01 { percent(share) } else { format!("{share:.1e}") }
}

/// The filters that were simulated.
fn filters(cells: &[Cell]) -> Vec<&str> {
    distinct(cells.iter().map(|cell| cell.filter.as_str()))
}

/// A line for each column family, where there are several, at the middle one of the memories.
fn write_families(out: &mut impl Write, header: &Header, cells: &[Cell]) -> Result<()> {
    let (Some(traffic), Some(absent)) = (&header.family_traffic, &header.family_absent) else {
        return Ok(());
    };
    let mut rows: Vec<_> = cells.chunk_by(|one, next| one.bits_per_key == next.bits_per_key).collect();
    rows.sort_by(|one, next| one[0].bits_per_key.total_cmp(&next[0].bits_per_key));
    let row = rows[rows.len() / 2];
    writeln!(
        out,
        "with {} bits/key: wasted reads per lookup of each column family, and its resident bits per key",
        row[0].bits_per_key
    )?;
    let mut table = TextTable::new(["family", "traffic", "absent"].into_iter().chain(filters(row)));
    for (family, (traffic, absent)) in traffic.iter().zip(absent).enumerate() {
        let shares = [traffic, absent].map(|share| format!("{:.1}%", share * 100.0));
        let figures = row.iter().map(|cell| match cell.of_family(family) {
            Some([wasted, bits]) => format!("{:.4} ({:.1})", wasted.value, bits.value),
            None => NO_ROOM.to_owned(),
        });
        table.add_row([(family + 1).to_string()].into_iter().chain(shares).chain(figures));
    }
    Ok(writeln!(out, "{table}")?)
}
