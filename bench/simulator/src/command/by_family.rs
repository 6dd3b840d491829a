//! What each column family wastes, and the memory that it has.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use springbloom_console::TextTable;

use crate::FamilyRun;
use crate::command::report::filters;
use crate::command::{Cell, Header, median};

/// A family under one contender at one memory: medians over the hot-key mappings.
#[derive(Debug, Serialize)]
pub(super) struct FamilyCell {
    wasted_reads_per_lookup: f64,
    resident_bits_per_key: f64,
}

impl FamilyCell {
    /// Those of `runs`, where there are several families.
    pub(super) fn of(runs: &[Vec<FamilyRun>]) -> Vec<Self> {
        let families = runs.first().map_or(0, Vec::len);
        let median_of = |family: usize, value: fn(&FamilyRun) -> f64| {
            let mut values: Vec<_> = runs.iter().map(|run| value(&run[family])).collect();
            values.sort_by(f64::total_cmp);
            median(&values)
        };
        let cell = |family| Self {
            wasted_reads_per_lookup: median_of(family, |run| FamilyRun::wasted_per_lookup(&[*run])),
            resident_bits_per_key: median_of(family, |run| run.resident_bits_per_key),
        };
        if families > 1 { (0..families).map(cell).collect() } else { Vec::new() }
    }
}

/// A line for each family at the middle one of the memories.
pub(super) fn write_text(out: &mut impl Write, header: &Header, cells: &[Cell]) -> Result<()> {
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
        let figures = row.iter().map(|cell| match cell.families.get(family) {
            Some(of) => format!("{:.4} ({:.1})", of.wasted_reads_per_lookup, of.resident_bits_per_key),
            None => "no room".to_owned(),
        });
        table.add_row([(family + 1).to_string()].into_iter().chain(shares).chain(figures));
    }
    Ok(writeln!(out, "{table}")?)
}
