//! The report of `compare`.

use std::io::Write;

use anyhow::Result;
use springbloom_records::{Figure, Unit, distinct};

use crate::report::{Header, summary, table, total_memory};
use crate::run::{Row, labels_of};

/// One line for each configuration and number of threads: medians over mappings, with least and greatest. Or one JSON document.
pub(crate) fn write(out: &mut impl Write, header: &Header, rows: &[Row], json: bool) -> Result<()> {
    let baseline = &header.baseline;
    let figures = figures(rows, baseline);
    if json {
        return header.write_record(out, figures);
    }
    header.write_text(out)?;
    let one_cache = header.block_cache.is_some_and(|cache| cache.pays_for_all);
    let lines = groups(rows).into_iter().map(|(config, threads)| labels_of(config, threads));
    if one_cache {
        writeln!(out, "reads per lookup of blocks and filter units, and times of a lookup")?;
        writeln!(out, "{}", table(["filters", "threads"], lines, &TOTAL_MEMORY, &figures))?;
        for sentence in total_memory::sentences(&figures) {
            writeln!(out, "{sentence}")?;
        }
        return Ok(());
    }
    writeln!(out, "reads of blocks per lookup, and lookups per second in turns with {baseline}")?;
    let columns = [
        ("memory", "filter_bytes"),
        ("wasted reads", "wasted_reads_per_get"),
        ("all data reads", "data_reads_per_get"),
        ("filter reads", "filter_reads_per_get"),
        (&format!("lookups/s to {baseline}"), "lookups_ratio"),
    ];
    writeln!(out, "{}", table(["filters", "threads"], lines, &columns, &figures))?;
    for sentence in summary::sentences(rows, &figures) {
        writeln!(out, "{sentence}")?;
    }
    Ok(())
}

/// Where one block cache pays for all.
const TOTAL_MEMORY: [(&str, &str); 9] = [
    ("memory", "memory_bytes"),
    ("table readers", "reader_bytes"),
    ("all reads", "all_reads_per_get"),
    ("wasted reads", "wasted_reads_per_get"),
    ("index reads", "index_reads_per_get"),
    ("filter reads", "filter_reads_per_get"),
    ("data reads", "data_reads_per_get"),
    ("p99, us", "get_p99_us"),
    ("processor, us", "cpu_us_per_op"),
];

/// Configurations and numbers of threads.
fn groups(rows: &[Row]) -> Vec<(&str, u32)> {
    let mut groups = distinct(rows.iter().map(|row| (row.config.as_str(), row.threads)));
    groups.sort_by_key(|&(_, threads)| threads);
    groups
}

/// All figures over mappings, and lookups per second as ratios to those of the baseline in the same round under the same mapping.
pub(super) fn figures(rows: &[Row], baseline: &str) -> Vec<Figure> {
    let all = || rows.iter().flat_map(|row| &row.figures);
    let kinds = distinct(all().map(|Figure { name, of, unit, .. }| (name, of, *unit)));
    let medians = kinds.into_iter().filter_map(|(name, of, unit)| {
        let values =
            all().filter(|figure| figure.name == *name && figure.of == *of).map(|figure| figure.value);
        Figure::over(name, of.clone(), values, unit)
    });
    let ratios = groups(rows).into_iter().filter_map(|(config, threads)| {
        let ratios = summary::lookups_ratios(rows, (config, baseline), threads);
        Figure::over("lookups_ratio", labels_of(config, threads), ratios, Unit::TimeRatio)
    });
    let mut figures: Vec<_> = medians.chain(ratios).collect();
    figures.extend(total_memory::to_best_stock(rows, &figures));
    figures
}
