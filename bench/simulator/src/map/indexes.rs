//! `springbloom map --indexes`: which part of the reads is of indexes once these are small.

use std::io::Write;

use anyhow::Result;
use springbloom_console::{Step, TextTable, output};

use super::cells::{MEMORY, Popularity, Shape};
use super::ours;
use super::store::{IndexEntry, Store};

/// Keys, and bytes of an entry in an index with restart interval 16 and in a packed one: random ones of 16 bytes, 24 digits, URLs.
const KEYS: [(&str, f64, f64); 3] = [
    ("16 B", 5.5, 3.3),
    ("24 digits", IndexEntry::OF_24_DIGITS.restart_16, IndexEntry::OF_24_DIGITS.packed),
    ("URL of 80 B", 17.0, 10.0),
];
const RECORD_BYTES: [f64; 5] = [100.0, 400.0, 1000.0, 4000.0, 16000.0];
const MEMORY_SHOWN: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

/// Models two shapes with the popularity of hot keys, and prints both.
pub(super) fn print(table_bytes: f64) -> Result<()> {
    let shapes = [Shape::OneFamily, Shape::Halving];
    let step = Step::start("modelling", (shapes.len() * RECORD_BYTES.len() * KEYS.len()) as u64);
    let memories = MEMORY_SHOWN.map(|memory| format!("{memory} B/key"));
    let titles = ["shape", "record", "key"].into_iter();
    let mut table = TextTable::new(titles.chain(memories.iter().map(String::as_str)));
    for shape in shapes {
        for record_bytes in RECORD_BYTES {
            let mut store = Store::new(shape, Popularity::Zipf99, record_bytes, table_bytes);
            for (key, restart_16, packed) in KEYS {
                store.index = IndexEntry { restart_16, packed, ..store.index };
                let [ours, _] = ours::reads_of_each(&store, &MEMORY);
                let share = |memory: &f64| {
                    let at = MEMORY.iter().position(|known| known == memory)?;
                    let reads = ours[at].filter(|reads| reads.all() > 0.0)?;
                    Some(format!("{:.0}% of {:.3}", 100.0 * reads.index / reads.all(), reads.all()))
                };
                let shares = MEMORY_SHOWN.iter().map(|memory| share(memory).unwrap_or("-".to_owned()));
                let head = [shape.name().to_owned(), format!("{record_bytes} B"), key.to_owned()];
                table.add_row(head.into_iter().chain(shares));
                step.advance(1);
            }
        }
    }
    drop(step);
    output::report(|out| {
        writeln!(out, "part of the blocks read per lookup that are of indexes, Zipf .99, modelled")?;
        Ok(writeln!(out, "{table}")?)
    })
}
