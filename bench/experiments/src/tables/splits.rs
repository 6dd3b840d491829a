//! Splits of a block cache between blocks and filters.

use anyhow::{Context, Result};
use springbloom_console::sizes::Size as Bytes;
use springbloom_records::Record;

use super::{Table, shown};

const AUTO: &str = "elastic:auto";

/// A line for each block cache: block reads per lookup with the best of the fixed splits and with the split that was measured.
pub(super) fn table<'a>(records: impl Iterator<Item = &'a Record>) -> Result<Table> {
    let titles = [
        "memory for each key",
        "lookups",
        "cache",
        "best fixed split, bits per key",
        "its block reads per lookup",
        "budget=auto, bits per key",
        "its block reads per lookup",
        "ratio",
    ];
    let mut rows = Vec::new();
    for record in records {
        let setting = |name: &str| record.settings.get(name);
        let cache = setting("block_cache").context("a record of a run with a block cache")?;
        let bytes = cache["bytes"].as_u64().unwrap_or_default();
        let keys =
            setting("records").and_then(|records| records.as_u64()).context("a record of some keys")? as f64;
        let reads = record.figures.iter().filter(|figure| figure.name == "data_reads_per_get");
        let mut reads: Vec<_> =
            reads.filter_map(|figure| Some((figure.of.get("config")?.as_str(), figure.value))).collect();
        let auto =
            reads.iter().position(|(config, _)| *config == AUTO).context("a record with elastic:auto")?;
        let (_, auto) = reads.remove(auto);
        let (config, best) = reads
            .into_iter()
            .min_by(|(_, a), (_, b)| a.total_cmp(b))
            .context("a record with fixed splits")?;
        let bits = config.trim_start_matches("elastic:").split('@').next().unwrap_or_default();
        let budget = record.figures.iter().filter(|figure| figure.name == "budget_bytes");
        let budget: f64 = budget
            .filter(|figure| figure.of.get("config").is_some_and(|config| config == AUTO))
            .map(|figure| figure.value)
            .sum();
        let text =
            |value: Option<&serde_json::Value>| shown(value.and_then(|value| value.as_str()).unwrap_or("-"));
        let movement = text(setting("movement"));
        let law = text(setting("distribution"))
            + &if movement == "none" { String::new() } else { format!(", {movement}") };
        rows.push(vec![
            format!("{:.1} B", bytes as f64 / keys),
            law,
            format!("{}, {}", text(cache.get("kind")), Bytes { bytes }),
            bits.to_owned(),
            format!("{best:.3}"),
            format!("{:.1}", budget * 8.0 / keys),
            format!("{auto:.3}"),
            format!("{:.3}", auto / best),
        ]);
    }
    Ok(Table { titles: titles.map(str::to_owned).into(), rows })
}
