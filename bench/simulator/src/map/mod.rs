//! `springbloom map`: where Springbloom reads less than stock RocksDB with the same total memory, by a model of the block cache.
//!
//! - `cells`: what is compared;
//! - `store`: a modelled store, and what its lookups ask for;
//! - `cache`: RocksDB's LRU cache;
//! - `stock`, `ours`: what is in memory, and what is read;
//! - `indexes`: the part of it that is of indexes;
//! - `estimate`: the same of a store that is known by its tables;
//! - `row`: a row of the map;
//! - `picture`: the map as SVG.

mod cache;
mod cells;
mod estimate;
mod filters;
mod indexes;
mod ours;
mod picture;
mod row;
mod stock;
mod store;

use std::io::Write;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use springbloom_console::sizes::{self, Size};
use springbloom_console::{Step, TextTable, output};
use springbloom_records::{Clock, Figure, Unit, labels, write_whole};

pub use estimate::Estimate;
pub use ours::bookkeeping_bytes;
pub use store::{Described, IndexEntry};

use cells::{MEMORY, Popularity, RECORD_BYTES, Shape};
use row::{EVEN, GAIN, LOSS, Row};

/// Show where Springbloom reads less than stock RocksDB with the same total memory
///
/// Models stores of several shapes, with LRU block caches that pay for data, indexes and filters: RocksDB as recommended, the best of
/// its settings for each memory, and elastic filters with the default settings. Writes nothing, and takes some minutes.
#[derive(Args, Debug)]
pub struct Map {
    /// Only one popularity and one record size
    #[arg(long)]
    quick: bool,
    /// Write the map as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Size of a table. The modelled stores grow with it: of larger ones each modelled key stands for several
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = sizes::within(2 << 20..=1 << 30, 1))]
    table_bytes: Size,
    /// Show what share of Springbloom's reads is of indexes, by key length and record size
    #[arg(long, conflicts_with_all = ["quick", "svg", "json"])]
    indexes: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// What is written down of a map.
#[derive(Serialize)]
struct Settings {
    is_modelled: bool,
    table_bytes: u64,
    memory_bytes_per_key: [f64; MEMORY.len()],
    rows: Vec<Row>,
}

impl Map {
    /// Models all cells, and prints them.
    pub fn run(&self) -> Result<()> {
        if self.indexes {
            return indexes::print(self.table_bytes.bytes as f64);
        }
        let clock = Clock::start();
        let mut wanted = Vec::new();
        for shape in Shape::ALL {
            for record_bytes in
                RECORD_BYTES.into_iter().filter(|&bytes| !self.quick || bytes == RECORD_BYTES[1])
            {
                let popularities = Popularity::ALL
                    .into_iter()
                    .filter(|popularity| !self.quick || *popularity == Popularity::ALL[0]);
                wanted.extend(popularities.map(|popularity| (shape, record_bytes, popularity)));
            }
        }
        let step = Step::start("modelling", wanted.len() as u64);
        let rows = modelled(&wanted, self.table_bytes.bytes as f64, &step);
        drop(step);
        if let Some(path) = &self.svg {
            write_whole(path, picture::svg(&rows).as_bytes())
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        let figures = counts(&rows);
        output::report(|out| {
            if self.json {
                let settings = Settings {
                    is_modelled: true,
                    table_bytes: self.table_bytes.bytes,
                    memory_bytes_per_key: MEMORY,
                    rows: rows.clone(),
                };
                return clock.write_record(out, 1, &settings, figures);
            }
            writeln!(
                out,
                "reads per lookup of RocksDB as recommended / with its best settings / of Springbloom, modelled"
            )?;
            let memories = MEMORY.map(|memory| format!("{memory} B/key"));
            let titles = ["shape", "record", "popularity"].into_iter();
            let mut table = TextTable::new(titles.chain(memories.iter().map(String::as_str)));
            for row in &rows {
                let head =
                    [row.shape.to_owned(), format!("{} B", row.record_bytes), row.popularity.to_owned()];
                table.add_row(head.into_iter().chain((0..MEMORY.len()).map(|memory| cell(row, memory))));
            }
            writeln!(out, "{table}")?;
            for figure in &figures {
                let what = figure.of.get("config").map_or("", String::as_str);
                writeln!(out, "{what}: {} cells", figure.value)?;
            }
            Ok(())
        })
    }
}

/// The rows of these, as many at a time as the machine has processors.
fn modelled(wanted: &[(Shape, u32, Popularity)], table_bytes: f64, step: &Step) -> Vec<Row> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut rows = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(&(shape, record_bytes, popularity)) = wanted.get(at) else { return rows };
            rows.push((at, Row::of(shape, record_bytes, popularity, table_bytes)));
            step.advance(1);
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let mut rows: Vec<(usize, Row)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let rows = threads.into_iter().map(|thread| thread.join());
        rows.flat_map(|rows| rows.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    rows.sort_by_key(|(at, _)| *at);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn cell(row: &Row, memory: usize) -> String {
    let reads = [row.recommended[memory], row.best_stock[memory], row.springbloom[memory]];
    reads.map(|reads| reads.map_or("-".to_owned(), |reads| format!("{reads:.3}"))).join(" / ")
}

/// Reads at a memory, as parts of those of the best stock settings.
type Ratio = fn(&Row, usize) -> Option<f64>;

/// How many cells are gains, even, and losses, with the default settings and with the best.
fn counts(rows: &[Row]) -> Vec<Figure> {
    let settings: [(&str, Ratio, RangeInclusive<f64>); 3] = [
        ("default", Row::ratio, 0.0..=f64::INFINITY),
        ("best block size", Row::ratio_by_hand, 0.0..=f64::INFINITY),
        ("best block size, 1 to 4 B/key", Row::ratio_by_hand, 1.0..=4.0),
    ];
    let of_settings = |(name, ratio, within): (&str, Ratio, RangeInclusive<f64>)| {
        let memories = (0..MEMORY.len()).filter(|&memory| within.contains(&MEMORY[memory]));
        let ratios: Vec<f64> =
            memories.flat_map(|memory| rows.iter().filter_map(move |row| ratio(row, memory))).collect();
        let count = |what: &str, from: f64, to: f64| {
            let cells = ratios.iter().filter(|ratio| (from..to).contains(*ratio)).count();
            Figure::new("cells", labels([("config", format!("{name}: {what}"))]), cells as f64, Unit::Count)
        };
        vec![
            count("at most .8", 0.0, GAIN),
            count(".8 to .97", GAIN, EVEN),
            count("even", EVEN, LOSS),
            count("more than 1.03", LOSS, f64::INFINITY),
        ]
    };
    settings.into_iter().flat_map(of_settings).collect()
}

#[cfg(test)]
mod tests {
    use super::store::SMALL_TABLE_BYTES;
    use super::*;

    /// The store, with three seeds, at 1, 2 and 4 B a key (`total-memory`).
    #[test]
    fn the_model_agrees_with_the_store() {
        let row = Row::of(Shape::Halving, 424, Popularity::Zipf99, SMALL_TABLE_BYTES);
        for (memory, recommended, ours) in MEASURED {
            let at = MEMORY.iter().position(|&known| known == memory).expect("a memory of the map");
            for (modelled, measured) in [(row.recommended[at], recommended), (row.springbloom[at], ours)] {
                let modelled = modelled.expect("room");
                assert!(
                    (modelled / measured - 1.0).abs() < DEVIATION,
                    "{memory} B: {modelled}, measured {measured}"
                );
            }
        }
    }

    const DEVIATION: f64 = 0.15;
    const MEASURED: [(f64, f64, f64); 3] = [(1.0, 1.080, 0.457), (2.0, 0.669, 0.340), (4.0, 0.423, 0.283)];
}
