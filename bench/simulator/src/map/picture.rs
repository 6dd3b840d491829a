//! The map as SVG: a line for each shape and size of records, a group of columns for each popularity.

use std::fmt::Write;

use super::cells::{MEMORY, Popularity, RECORD_BYTES};
use super::row::{EVEN, GAIN, LOSS, Row};

const CELL: (usize, usize) = (38, 20);
const LEFT: usize = 290;
const TOP: usize = 76;
const GAP: usize = 10;

pub(super) fn svg(rows: &[Row]) -> String {
    let popularities: Vec<_> = Popularity::ALL.iter().map(|popularity| popularity.name()).collect();
    let group = MEMORY.len() * CELL.0 + GAP;
    let mut lines: Vec<(&str, u32)> = Vec::new();
    for row in rows {
        if !lines.contains(&(row.shape, row.record_bytes)) {
            lines.push((row.shape, row.record_bytes));
        }
    }
    let place = |line: usize| TOP + line * CELL.1 + line / RECORD_BYTES.len() * GAP;
    let (width, height) = (LEFT + group * popularities.len(), place(lines.len()) + GAP);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    let mut put = |x: usize, y: usize, anchor: &str, what: &str| {
        _ = writeln!(text, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{what}</text>");
    };
    put(
        8,
        20,
        "start",
        "Blocks read per lookup: Springbloom to the best settings of RocksDB, at the same total memory (modelled)",
    );
    for (number, name) in popularities.iter().enumerate() {
        let left = LEFT + number * group;
        put(left, 44, "start", &format!("{name}; bytes of memory for each key:"));
        for (at, memory) in MEMORY.iter().enumerate() {
            put(left + at * CELL.0 + CELL.0 / 2, 64, "middle", &memory.to_string());
        }
    }
    for (line, (shape, record)) in lines.iter().enumerate() {
        if line % RECORD_BYTES.len() == 0 || rows.len() <= lines.len() {
            put(8, place(line) + 14, "start", shape);
        }
        put(LEFT - 8, place(line) + 14, "end", &format!("{record} B"));
    }
    for row in rows {
        let line = lines.iter().position(|line| *line == (row.shape, row.record_bytes)).unwrap_or_default();
        let number = popularities.iter().position(|name| *name == row.popularity).unwrap_or_default();
        for memory in 0..MEMORY.len() {
            let (x, y) = (LEFT + number * group + memory * CELL.0, place(line));
            let ratio = row.ratio(memory);
            let (colour, what) = (colour(ratio), ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")));
            let (wide, high) = (CELL.0 - 2, CELL.1 - 2);
            _ = writeln!(
                text,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\" fill=\"{colour}\"/>"
            );
            let (x, y) = (x + wide / 2, y + 13);
            _ = writeln!(
                text,
                "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" font-size=\"10\">{what}</text>"
            );
        }
    }
    text + "</svg>\n"
}

/// Green where it reads less, red where it reads more.
fn colour(ratio: Option<f64>) -> &'static str {
    match ratio {
        None => "#eee",
        Some(ratio) if ratio <= GAIN => "#7bc47f",
        Some(ratio) if ratio < EVEN => "#c9e8c5",
        Some(ratio) if ratio <= LOSS => "#eeeee4",
        Some(ratio) if ratio <= 1.15 => "#f8d7b0",
        Some(_) => "#ee9c86",
    }
}
