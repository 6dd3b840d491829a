//! The report of `compare`.

use std::io::Write;

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::bench::Row;
use crate::machine::Machine;
use crate::report::median::Spread;
use crate::sizes::Size;
use crate::store::preset::Preset;
use crate::store::shape::{LevelShape, Shape};

/// Where the figures come from.
#[derive(Debug, Serialize)]
pub(crate) struct Header {
    pub(crate) machine: Machine,
    pub(crate) preset: Preset,
    pub(crate) keys: String,
    pub(crate) records: u64,
    pub(crate) value_bytes: usize,
    pub(crate) workload: &'static str,
    pub(crate) distribution: String,
    pub(crate) zero_result_ratio: f64,
    pub(crate) warmup_ops: u64,
    pub(crate) ops: u64,
    pub(crate) rounds: u32,
    pub(crate) salts: u32,
    pub(crate) seed: u64,
    pub(crate) direct_io: bool,
    pub(crate) block_cache_bytes: u64,
    /// Memory of `partitioned`, and of `elastic` configurations that name no other.
    pub(crate) budget_bytes: u64,
    pub(crate) elastic: String,
    pub(crate) levels: Vec<LevelShape>,
    pub(crate) tree: String,
}

impl Header {
    /// The parts that describe the tree.
    pub(crate) fn describe_tree(shape: &Shape) -> (Vec<LevelShape>, String) {
        (shape.levels.clone(), shape.summary())
    }
}

/// All rows with medians over salts, as one JSON document.
pub(crate) fn write_json(out: &mut impl Write, header: &Header, rows: &[Row]) -> Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        header: &'a Header,
        rows: &'a [Row],
        medians: Vec<Medians>,
    }
    serde_json::to_writer_pretty(&mut *out, &Document { header, rows, medians: medians(rows) })?;
    Ok(writeln!(out)?)
}

/// One line for each configuration and number of threads: medians over salts, with least and greatest where it matters.
pub(crate) fn write_table(out: &mut impl Write, header: &Header, rows: &[Row]) -> Result<()> {
    write_header(out, header)?;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "config",
        "threads",
        "kops/s",
        "p50 us",
        "p99 us",
        "data reads/get",
        "wasted/get",
        "filter reads/get",
        "filter memory",
        "unit reads",
        "CPU us/op",
        "load s",
    ]);
    for line in medians(rows) {
        let rate = |spread: Option<Spread>| {
            spread.map_or_else(|| "-".to_owned(), |spread| format!("{:.3}", spread.median))
        };
        table.add_row([
            line.config.clone(),
            line.threads.to_string(),
            Spread {
                median: line.ops_per_s.median / 1e3,
                min: line.ops_per_s.min / 1e3,
                max: line.ops_per_s.max / 1e3,
            }
            .text(1),
            format!("{:.0}", line.p50_us),
            format!("{:.0}", line.p99_us),
            rate(line.data_reads_per_get),
            line.wasted_reads_per_get.map_or_else(|| "-".to_owned(), |spread| spread.text(3)),
            rate(line.filter_reads_per_get),
            Size { bytes: line.resident_filter_bytes as u64 }.to_string(),
            format!("{:.0}", line.unit_reads),
            format!("{:.1}", line.cpu_us_per_op),
            format!("{:.1}", line.load_s),
        ]);
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    writeln!(out, "{}", table.trim_fmt())?;
    Ok(())
}

fn write_header(out: &mut impl Write, header: &Header) -> Result<()> {
    let Machine { cpu, cores, memory_bytes, kernel, commit, version, rocksdb } = &header.machine;
    let memory = Size { bytes: *memory_bytes };
    writeln!(
        out,
        "springbloom {version} ({commit}), RocksDB {rocksdb}; {cpu}, {cores} cores, {memory}, Linux {kernel}"
    )?;
    writeln!(
        out,
        "{} records ({}, {} B values), {}; {}",
        header.records,
        header.keys,
        header.value_bytes,
        header.tree,
        if header.direct_io { "direct I/O" } else { "buffered I/O" },
    )?;
    writeln!(
        out,
        "workload {}, {}, {:.0}% zero-result lookups; {} warm-up + {} measured operations, {} rounds, {} hot-key mappings, seed {}",
        header.workload,
        header.distribution,
        header.zero_result_ratio * 100.0,
        header.warmup_ops,
        header.ops,
        header.rounds,
        header.salts,
        header.seed,
    )?;
    writeln!(out, "budget {}; elastic: {}", Size { bytes: header.budget_bytes }, header.elastic)?;
    if header.block_cache_bytes > 0 {
        writeln!(out, "block cache {}", Size { bytes: header.block_cache_bytes })?;
    }
    Ok(writeln!(out)?)
}

/// The figures of a configuration over all salts.
#[derive(Debug, Serialize)]
struct Medians {
    config: String,
    threads: u32,
    ops_per_s: Spread,
    p50_us: f64,
    p99_us: f64,
    data_reads_per_get: Option<Spread>,
    wasted_reads_per_get: Option<Spread>,
    filter_reads_per_get: Option<Spread>,
    index_reads_per_get: Option<Spread>,
    resident_filter_bytes: f64,
    unit_reads: f64,
    cpu_us_per_op: f64,
    load_s: f64,
}

/// By configuration and number of threads, in the order of the rows.
fn medians(rows: &[Row]) -> Vec<Medians> {
    let mut groups: Vec<(&str, u32)> = Vec::new();
    for row in rows {
        let group = (row.config.as_str(), row.threads);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups.sort_by_key(|&(_, threads)| threads);
    groups
        .into_iter()
        .filter_map(|(config, threads)| {
            let group = || rows.iter().filter(move |row| row.config == config && row.threads == threads);
            let middle =
                |figure: fn(&Row) -> f64| Spread::of(group().map(figure)).map(|spread| spread.median);
            let rate = |figure: fn(&Row) -> Option<f64>| Spread::of(group().filter_map(figure));
            Some(Medians {
                config: config.to_owned(),
                threads,
                ops_per_s: Spread::of(group().map(|row| row.ops_per_s))?,
                p50_us: middle(|row| row.p50_us)?,
                p99_us: middle(|row| row.p99_us)?,
                data_reads_per_get: rate(|row| row.data_reads_per_get),
                wasted_reads_per_get: rate(|row| row.wasted_reads_per_get),
                filter_reads_per_get: rate(|row| row.filter_reads_per_get),
                index_reads_per_get: rate(|row| row.index_reads_per_get),
                resident_filter_bytes: middle(|row| row.resident_filter_bytes as f64)?,
                unit_reads: middle(|row| row.unit_reads as f64)?,
                cpu_us_per_op: middle(|row| row.cpu_us_per_op)?,
                load_s: middle(|row| row.load_s)?,
            })
        })
        .collect()
}
