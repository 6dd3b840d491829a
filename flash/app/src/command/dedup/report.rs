//! The report of a scan, as text or JSON.

use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};
use springbloom_console::sizes::Size;
use springbloom_console::{TextTable, escaped};

use super::duplicates::Group;
use super::files::Source;
use super::tally::{Sums, Tally};
use super::walk::Found;
use crate::flash::{IndexInfo, IndexStats};

/// Types of files that get a line of their own.
const KINDS: usize = 15;

/// The contents of the report.
pub(super) struct Report<'r> {
    pub(super) tally: &'r Tally,
    pub(super) found: &'r Found,
    /// `None` if they were not requested.
    pub(super) duplicates: Option<Vec<Group>>,
    pub(super) stats: IndexStats,
    pub(super) info: IndexInfo,
}

impl Report<'_> {
    /// Prints tables.
    pub(super) fn print(&self, out: &mut impl Write) -> Result<()> {
        self.print_sums(out)?;
        self.print_kinds(out)?;
        if !self.tally.most_duplicates.is_empty() {
            writeln!(out, "\nmost duplicate bytes:")?;
            for (bytes, source) in self.most_duplicates() {
                writeln!(out, "{:>12}  {}", size(bytes), escaped(&source.name()))?;
            }
        }
        if let Some(groups) = &self.duplicates {
            print_groups(groups, out)?;
        }
        writeln!(
            out,
            "\nindex: about {} chunks, {} of memory, {:.3} reads per lookup",
            self.info.live_records,
            size(self.info.memory_bytes),
            self.stats.reads_per_lookup().unwrap_or(0.0)
        )?;
        Ok(())
    }

    fn print_sums(&self, out: &mut impl Write) -> Result<()> {
        let (tally, found, total) = (self.tally, self.found, &self.tally.total);
        let (files, chunks) = (counted(tally.files, "file"), counted(total.chunks, "chunk"));
        writeln!(out, "{} in {files}, {chunks}", size(total.bytes))?;
        writeln!(
            out,
            "{} new, {} known from earlier scans, {} repeated in this one; {}",
            size(total.new_bytes),
            size(total.known_bytes),
            size(total.repeated_bytes),
            total
                .ratio()
                .map_or("nothing new".to_owned(), |ratio| format!("{ratio:.2} bytes for each new one"))
        )?;
        if total.hole_bytes > 0 {
            writeln!(
                out,
                "{} of holes beside that, which take no space and were not read",
                size(total.hole_bytes)
            )?;
        }
        if found.hard_links > 0 {
            writeln!(
                out,
                "{} to these files ({}) not counted",
                counted(found.hard_links, "hard link"),
                size(found.hard_link_bytes)
            )?;
        }
        for (count, what) in [(tally.unreadable_files, "file"), (found.unreadable_folders, "folder")] {
            if count > 0 {
                writeln!(out, "{} could not be read to the end", counted(count, what))?;
            }
        }
        Ok(())
    }

    fn print_kinds(&self, out: &mut impl Write) -> Result<()> {
        let mut kinds: Vec<(&String, &Sums)> = self.tally.by_kind.iter().collect();
        kinds.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.bytes));
        let mut table = TextTable::new(["type", "size", "new", "duplicate"]);
        for (kind, sums) in kinds.iter().take(KINDS) {
            let kind = kind.escape_debug().to_string();
            table.add_row([kind, size(sums.bytes), size(sums.new_bytes), size(sums.duplicate_bytes())]);
        }
        writeln!(out, "\n{table}")?;
        if let Some(more) = kinds.len().checked_sub(KINDS).filter(|more| *more > 0) {
            writeln!(out, "and {more} more types; --json has them all")?;
        }
        Ok(())
    }

    fn most_duplicates(&self) -> impl Iterator<Item = (u64, &Source)> {
        self.tally
            .most_duplicates
            .iter()
            .filter_map(|(bytes, source)| Some((*bytes, self.found.sources.get(*source)?)))
    }

    /// The same as one JSON document.
    pub(super) fn document(&self) -> Value {
        let (tally, found, stats, info) = (self.tally, self.found, &self.stats, &self.info);
        let mut document = json!({
            "files": tally.files,
            "unreadable_files": tally.unreadable_files,
            "unreadable_folders": found.unreadable_folders,
            "hard_links": found.hard_links,
            "hard_link_bytes": found.hard_link_bytes,
            "total": tally.total,
            "ratio": tally.total.ratio(),
            "by_type": tally.by_kind,
            "largest_duplicates": self
                .most_duplicates()
                .map(|(bytes, source)| json!({ "bytes": bytes, "file": source.name() }))
                .collect::<Vec<_>>(),
            "index": {
                "chunks": info.live_records,
                "memory_bytes": info.memory_bytes,
                "lookups": stats.lookups,
                "bucket_reads": stats.bucket_reads,
                "page_reads": stats.page_reads,
                "readahead_reads": stats.readahead_reads,
                "readahead_hits": stats.readahead_hits,
                "reads_per_lookup": stats.reads_per_lookup(),
            },
        });
        if let Some(groups) = &self.duplicates {
            document["duplicates"] = groups.iter().map(Group::document).collect();
        }
        document
    }
}

fn size(bytes: u64) -> String {
    Size { bytes }.to_string()
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn print_groups(groups: &[Group], out: &mut impl Write) -> Result<()> {
    if groups.is_empty() {
        writeln!(out, "\nno duplicate files")?;
        return Ok(());
    }
    let excess = groups.iter().map(|group| group.excess_bytes).sum();
    writeln!(out, "\nduplicate files, in which {} could be saved:", size(excess))?;
    for group in groups {
        writeln!(out, "  {} files of {}", group.names.len(), size(group.bytes))?;
        for name in &group.names {
            writeln!(out, "    {}", escaped(name))?;
        }
    }
    Ok(())
}
