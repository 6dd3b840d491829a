//! Block caches that pay for all memory.

use anyhow::{Context, Result};
use springbloom_console::sizes::Size as Bytes;
use springbloom_records::Record;

use super::{Table, shown, spread};

/// A line for each block cache that pays for all memory: block reads per lookup of both filters, and the ratio of their lookups.
pub(super) fn table<'a>(records: impl Iterator<Item = &'a Record>) -> Result<Table> {
    let titles = [
        "cache",
        "lookups",
        "partitioned:10: data + index + filter reads per lookup",
        "elastic:8: the same",
        "lookups / partitioned:10",
    ];
    let mut rows = Vec::new();
    let kinds = ["data_reads_per_get", "index_reads_per_get", "filter_reads_per_get"];
    for record in records {
        let of =
            |config: &str, name: &str| record.figure(name, &[("config", config)]).map(|figure| figure.value);
        let reads = |config: &str| {
            let reads =
                kinds.map(|kind| of(config, kind).map_or("-".to_owned(), |reads| format!("{reads:.3}")));
            reads.join(" + ")
        };
        let cache = record.settings.get("block_cache").context("a record of a run with a block cache")?;
        let bytes = cache["bytes"].as_u64().unwrap_or_default();
        let kind = shown(cache["kind"].as_str().unwrap_or("-"));
        let law = shown(record.settings.get("distribution").and_then(|law| law.as_str()).unwrap_or("-"));
        // Of each round, to the first configuration.
        let ratio = record.figure("lookups_ratio", &[("config", "elastic:8")]);
        let ratio = ratio.map_or("-".to_owned(), |figure| spread(figure, 2));
        let (cache, stock, ours) = (Bytes { bytes }, reads("partitioned:10"), reads("elastic:8"));
        rows.push(vec![format!("{kind}, {cache}"), law, stock, ours, ratio]);
    }
    Ok(Table { titles: titles.map(str::to_owned).into(), rows })
}
