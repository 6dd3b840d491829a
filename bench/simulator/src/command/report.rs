//! The report of a simulation.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use springbloom_console::sizes::Size;
use springbloom_console::{TextTable, distinct, percent};
use springbloom_records::Build;

use crate::command::{Cell, Header, by_family};

/// The record of the run, with all cells, as one JSON document.
pub(super) fn write_json(out: &mut impl Write, header: &Header, cells: &[Cell]) -> Result<()> {
    #[derive(Serialize)]
    struct Detail<'a> {
        cells: &'a [Cell],
        summary: Vec<String>,
    }
    let figures = cells.iter().filter_map(Cell::figure).collect();
    header.clock.write_record(out, header.seed, header, figures, &Detail { cells, summary: sentences(cells) })
}

/// A line for each memory with a column for each filter, then what to take from it.
pub(super) fn write_text(out: &mut impl Write, header: &Header, cells: &[Cell]) -> Result<()> {
    write_header(out, header)?;
    writeln!(out, "wasted reads per lookup")?;
    let filters = filters(cells);
    let mut table = TextTable::new(["bits/key", "memory"].into_iter().chain(filters.iter().copied()));
    for row in cells.chunk_by(|one, next| one.bits_per_key == next.bits_per_key) {
        let names = [row[0].bits_per_key.to_string(), Size { bytes: row[0].memory_bytes }.to_string()];
        let figures = filters.iter().map(|filter| match row.iter().find(|cell| cell.filter == *filter) {
            Some(cell) => cell.median().map_or("no room".to_owned(), |wasted| format!("{wasted:.4}")),
            // Its own bits are others.
            None => String::new(),
        });
        table.add_row(names.into_iter().chain(figures));
    }
    writeln!(out, "{table}")?;
    by_family::write_text(out, header, cells)?;
    for sentence in sentences(cells) {
        writeln!(out, "{sentence}")?;
    }
    Ok(())
}

/// What is simulated, with the empty line behind it.
pub(super) fn write_header(out: &mut impl Write, header: &Header) -> Result<()> {
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
    let absent = percent(header.zero_result_ratio);
    let Header { absent: kind, distribution, movement, .. } = header;
    Ok(writeln!(
        out,
        "{absent} of lookups for {kind} absent keys, {distribution}, movement {movement}; {} segments simulated ({} of all), \
         {} lookups to warm up and {} measured, {} hot-key mappings, seed {}; {}\n",
        header.simulated_segments,
        share(header.simulated_share),
        header.warmup_lookups,
        header.measured_lookups,
        header.salts,
        header.seed,
        if header.compaction { "compaction rewrites tables" } else { "no table is rewritten" },
    )?)
}

/// `100%`, `12.5%` or `1.2e-5`.
fn share(share: f64) -> String {
    if share >= 0.01 { percent(share) } else { format!("{share:.1e}") }
}

/// The filters that were simulated.
pub(super) fn filters(cells: &[Cell]) -> Vec<&str> {
    distinct(cells.iter().map(|cell| cell.filter.as_str()))
}

/// Memory and wasted reads of a filter, by ascending memory.
pub(super) fn points<'a>(cells: &'a [Cell], filter: &'a str) -> Vec<(f64, f64)> {
    let of_filter = cells.iter().filter(|cell| cell.filter == filter);
    let mut points: Vec<_> =
        of_filter.filter_map(|cell| Some((cell.memory_bytes as f64, cell.median()?))).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    points
}

/// The least memory that wastes no more than `wasted`, between points on a line of the logarithm of wasted reads.
fn memory_for(points: &[(f64, f64)], wasted: f64) -> Option<f64> {
    let reached = points.iter().position(|&(_, reads)| reads <= wasted)?;
    let (memory, reads) = points[reached];
    let Some(&(memory_before, reads_before)) = reached.checked_sub(1).and_then(|before| points.get(before))
    else {
        return Some(memory);
    };
    let share = if reads > 0.0 { (reads_before / wasted).ln() / (reads_before / reads).ln() } else { 1.0 };
    Some(memory_before + share * (memory - memory_before))
}

/// What `benefit` needs, and what each other filter needs for as few wasted reads.
fn sentences(cells: &[Cell]) -> Vec<String> {
    const OURS: &str = "benefit";
    let ours = points(cells, OURS);
    let Some(&(memory, wasted)) = ours.get(ours.len() / 2) else {
        let most = cells.iter().filter(|cell| cell.filter == OURS).map(|cell| cell.memory_bytes).max();
        return most.into_iter().map(no_room).collect();
    };
    let others = filters(cells).into_iter().filter(|&filter| filter != OURS);
    let needs: Vec<_> = others
        .filter_map(|filter| {
            let points = points(cells, filter);
            let (least, most) = (points.first()?, points.last()?);
            Some(match memory_for(&points, wasted) {
                None => (filter, format!("more than {}", Size { bytes: most.0 as u64 })),
                Some(needed) if needed <= least.0 => {
                    (filter, format!("{} or less", Size { bytes: least.0 as u64 }))
                }
                Some(needed) => (
                    filter,
                    format!("{} ({:.2} times as much)", Size { bytes: needed as u64 }, needed / memory),
                ),
            })
        })
        .enumerate()
        .map(|(at, (filter, needed))| format!("{filter}{} {needed}", if at == 0 { " needs" } else { "" }))
        .collect();
    let ours = format!(
        "With {} of memory, {OURS} wastes {wasted:.3} reads per lookup.",
        Size { bytes: memory as u64 }
    );
    if needs.is_empty() { vec![ours] } else { vec![ours, format!("For as few, {}.", needs.join(", "))] }
}

/// Where none of the memories is enough.
fn no_room(most_bytes: u64) -> String {
    format!(
        "{} are no room for the bookkeeping of the tables: simulate more --bits, or more --records.",
        Size { bytes: most_bytes }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(filter: &str, bits_per_key: f64, wasted: f64) -> Cell {
        let memory_bytes = (bits_per_key * 1_048_576.0) as u64;
        Cell {
            filter: filter.to_owned(),
            bits_per_key,
            memory_bytes,
            wasted_reads_per_lookup: vec![wasted],
            families: Vec::new(),
        }
    }

    #[test]
    fn memory_for_as_few_reads_is_between_the_points() {
        let cells = [
            cell("benefit", 1.0, 0.4),
            cell("monkey", 1.0, 0.8),
            cell("ribbon", 1.0, 0.9),
            cell("best", 1.0, 0.1),
            cell("benefit", 2.0, 0.2),
            cell("monkey", 2.0, 0.4),
            cell("ribbon", 2.0, 0.8),
            cell("benefit", 4.0, 0.05),
            cell("monkey", 4.0, 0.1),
            cell("ribbon", 4.0, 0.7),
        ];
        let expected = [
            "With 2 MiB of memory, benefit wastes 0.200 reads per lookup.",
            "For as few, monkey needs 3 MiB (1.50 times as much), ribbon more than 4 MiB, best 1 MiB or less.",
        ];
        assert_eq!(sentences(&cells), expected);
        let without_room = [("benefit", 1.0), ("benefit", 2.0), ("bloom", 8.0)]
            .map(|(filter, bits)| Cell { wasted_reads_per_lookup: Vec::new(), ..cell(filter, bits, 0.0) });
        assert_eq!(sentences(&without_room), [no_room(2 << 20)]);
        assert!(sentences(&without_room[2..]).is_empty());
    }

    #[test]
    fn medians() {
        let of = |values: &[f64]| {
            Cell { wasted_reads_per_lookup: values.to_vec(), ..cell("x", 1.0, 0.0) }.median()
        };
        assert_eq!(
            (of(&[]), of(&[1.0]), of(&[1.0, 3.0]), of(&[1.0, 2.0, 9.0])),
            (None, Some(1.0), Some(2.0), Some(2.0))
        );
    }
}
