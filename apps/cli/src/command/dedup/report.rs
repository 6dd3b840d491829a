//! What a scan found, for people or as JSON.

use serde_json::{Value, json};
use springbloom_flash::index::FlashIndex;

use super::tally::{Sums, Tally};
use crate::report::TextTable;
use crate::sizes::Size;

/// Types of files that get a line of their own.
const KINDS: usize = 15;

/// Prints tables on standard output.
pub(super) fn print(tally: &Tally, index: &FlashIndex) {
    let total = &tally.total;
    let size = |bytes| Size { bytes }.to_string();
    println!("{} in {} files, {} chunks", size(total.bytes), tally.files, total.chunks);
    println!(
        "{} new, {} known from earlier scans, {} repeated in this one; {}",
        size(total.new_bytes),
        size(total.known_bytes),
        size(total.repeated_bytes),
        total.ratio().map_or("nothing new".to_owned(), |ratio| format!("{ratio:.2} bytes for each new one"))
    );
    if tally.unreadable_files > 0 {
        println!("{} files could not be read to their end", tally.unreadable_files);
    }
    let mut kinds: Vec<(&String, &Sums)> = tally.by_kind.iter().collect();
    kinds.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.bytes));
    let mut table = TextTable::new(["type", "size", "new", "duplicate"]);
    for (kind, sums) in kinds.into_iter().take(KINDS) {
        table.add_row([kind.clone(), size(sums.bytes), size(sums.new_bytes), size(sums.duplicate_bytes())]);
    }
    println!("\n{table}");
    if !tally.largest_duplicates.is_empty() {
        println!("\nmost duplicates:");
        for (bytes, name) in &tally.largest_duplicates {
            println!("{:>12}  {name}", size(*bytes));
        }
    }
    let (stats, info) = (index.stats(), index.info());
    println!(
        "\nindex: about {} chunks, {} of memory, {:.3} reads per lookup",
        info.live_records,
        size(info.memory_bytes),
        stats.reads_per_lookup().unwrap_or(0.0)
    );
}

/// The same as one JSON document.
pub(super) fn document(tally: &Tally, index: &FlashIndex) -> Value {
    let (stats, info) = (index.stats(), index.info());
    json!({
        "files": tally.files,
        "unreadable_files": tally.unreadable_files,
        "total": tally.total,
        "ratio": tally.total.ratio(),
        "by_type": tally.by_kind,
        "largest_duplicates": tally
            .largest_duplicates
            .iter()
            .map(|(bytes, name)| json!({ "bytes": bytes, "file": name }))
            .collect::<Vec<_>>(),
        "index": {
            "chunks": info.live_records,
            "memory_bytes": info.memory_bytes,
            "lookups": stats.lookups,
            "bucket_reads": stats.bucket_reads,
            "page_reads": stats.page_reads,
            "chapter_reads": stats.chapter_reads,
            "locality_hits": stats.locality_hits,
            "reads_per_lookup": stats.reads_per_lookup(),
        },
    })
}
