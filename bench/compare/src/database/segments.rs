//! The use of each segment of elastic filters at the end of a run.

use std::path::Path;

use anyhow::Result;
use rocksdb::LiveFile;
use serde::{Serialize, Serializer};
use springbloom_console::output;
use springbloom_rocksdb::usage::{SegmentUsage, Usage};

/// A table with filter units.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TableUse {
    level: i32,
    file: String,
    entries: u64,
    #[serde(serialize_with = "escaped")]
    last_key: Vec<u8>,
    segments: Vec<SegmentUse>,
}

/// A segment of it. Counts are of visits; older ones have faded.
#[derive(Clone, Debug, Serialize)]
struct SegmentUse {
    /// Of the segment, or a prefix of it that is greater than all keys before.
    #[serde(serialize_with = "escaped")]
    first_key: Vec<u8>,
    keys: u32,
    /// In memory or about to be.
    units: u8,
    visits: f32,
    /// Visits for keys that the segment does not hold.
    negatives: f32,
    wasted_reads: f32,
}

/// Of the tables `files` of a closed database in `folder`.
pub(crate) fn of_tables(folder: &Path, files: &[LiveFile]) -> Result<Vec<TableUse>> {
    let Some(usage) = Usage::of_folder(folder)? else {
        output::warn(format_args!(
            "{}: the use of segments was not saved when it was closed, as with a budget without room for bookkeeping",
            folder.display()
        ));
        return Ok(Vec::new());
    };
    let mut tables = Vec::new();
    for file in files {
        let path = folder.join(file.name.trim_start_matches('/'));
        let Some(table) = usage.of_table(&path)? else { continue };
        tables.push(TableUse {
            level: file.level,
            file: file.name.trim_start_matches('/').to_owned(),
            entries: file.num_entries,
            last_key: table.last_key,
            segments: table.segments.into_iter().map(SegmentUse::from).collect(),
        });
    }
    Ok(tables)
}

impl From<SegmentUsage> for SegmentUse {
    fn from(segment: SegmentUsage) -> Self {
        let SegmentUsage { first_key, key_count, remembered, .. } = segment;
        Self {
            first_key,
            keys: key_count,
            units: remembered.units,
            visits: remembered.hotness.access_count,
            negatives: remembered.hotness.negatives,
            wasted_reads: remembered.hotness.wasted_reads,
        }
    }
}

fn escaped<S: Serializer>(key: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&key.escape_ascii())
}
