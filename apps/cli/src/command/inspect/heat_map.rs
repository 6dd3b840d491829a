//! The heat map of `inspect`: levels as rows, keys in order as columns, in each cell what is remembered of the segments there.
//!
//! Columns are even shares of all segments' first keys, in byte order: where there are more segments, there are more columns.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use springbloom_rocksdb::usage::TableUsage;

const COLUMNS: usize = 100;
const SHADES: [char; 6] = [' ', '.', ':', '+', '#', '@'];

/// What is remembered of the segments of one level in one range of keys.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cell {
    segments: f64,
    negatives: f64,
    units: f64,
}

/// One level of a column family.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// `None` where the level has no segment.
    pub(crate) cells: Vec<Option<Cell>>,
}

/// The whole map.
#[derive(Debug)]
pub(crate) struct HeatMap {
    pub(crate) columns: usize,
    pub(crate) rows: Vec<Row>,
    negatives_max: f64,
    units_max: f64,
}

impl HeatMap {
    /// Tables with their row: column family and level.
    pub(crate) fn new(tables: &[((String, i32), TableUsage)]) -> Self {
        let mut fences: Vec<&[u8]> =
            tables.iter().flat_map(|(_, table)| &table.segments).map(|segment| &*segment.first_key).collect();
        fences.sort_unstable();
        fences.dedup();
        let columns = fences.len().clamp(1, COLUMNS);
        let column_of = |key: &[u8]| {
            let rank = fences.partition_point(|fence| *fence <= key).saturating_sub(1);
            rank * columns / fences.len().max(1)
        };
        let mut rows: BTreeMap<&(String, i32), Vec<Option<Cell>>> = BTreeMap::new();
        for (row, table) in tables {
            let cells = rows.entry(row).or_insert_with(|| vec![None; columns]);
            let ends = table.segments.iter().skip(1).map(|next| column_of(&next.first_key));
            let ends = ends.chain([column_of(&table.last_key) + 1]);
            for (segment, end) in table.segments.iter().zip(ends) {
                let begin = column_of(&segment.first_key);
                for cell in &mut cells[begin..end.clamp(begin + 1, columns.max(begin + 1))] {
                    let cell = cell.get_or_insert_default();
                    cell.segments += 1.0;
                    cell.negatives += f64::from(segment.remembered.hotness.negatives);
                    cell.units += f64::from(segment.remembered.units);
                }
            }
        }
        let has_families = tables.iter().any(|((family, _), _)| family != "default");
        let rows: Vec<Row> = rows
            .into_iter()
            .map(|((family, level), cells)| Row {
                name: if has_families { format!("{family} {level}") } else { format!("level {level}") },
                cells,
            })
            .collect();
        let most = |value: fn(&Cell) -> f64| {
            rows.iter().flat_map(|row| &row.cells).flatten().map(value).fold(0.0, f64::max)
        };
        let (negatives_max, units_max) =
            (most(|cell| cell.negatives / cell.segments), most(|cell| cell.units / cell.segments));
        Self { columns, rows, negatives_max, units_max }
    }

    /// How much a cell is used beside the most used one, 0..=1, on a logarithmic scale over four orders of magnitude.
    pub(crate) fn visits_share(&self, cell: &Cell) -> f64 {
        let share = cell.negatives / cell.segments / self.negatives_max.max(f64::MIN_POSITIVE);
        if share > 0.0 { (1.0 + share.log10() / 4.0).clamp(0.02, 1.0) } else { 0.0 }
    }

    /// How many units a cell has beside the one that has most, 0..=1.
    pub(crate) fn units_share(&self, cell: &Cell) -> f64 {
        cell.units / cell.segments / self.units_max.max(1.0)
    }

    /// Both maps as characters.
    pub(crate) fn write_text(&self, out: &mut impl Write) -> Result<()> {
        let shades: String = SHADES.iter().skip(1).collect();
        type Share = fn(&HeatMap, &Cell) -> f64;
        let visits: Share = Self::visits_share;
        let units: Share = Self::units_share;
        let maps = [("visits for absent keys by key range", visits), ("resident units by key range", units)];
        for (title, share) in maps {
            writeln!(out, "\n{title} (few {shades} many; blank: none; -: no segment)")?;
            for row in &self.rows {
                let cells = row.cells.iter().map(|cell| match cell {
                    None => '-',
                    Some(cell) => SHADES[(share(self, cell) * (SHADES.len() - 1) as f64).ceil() as usize],
                });
                writeln!(out, "{:>12} |{}|", row.name, cells.collect::<String>())?;
            }
        }
        Ok(())
    }
}
