//! Measured use of a closed database, read from its hotness file and the directories of its tables.

use std::path::{Path, PathBuf};

use springbloom_format::{BlockHeader, Directory, StoredHotness};
use springbloom_host_core::{from_stored, hotness_file, stored_id};
use springbloom_manager::{Hotness, Lately, MeasuredUse, MemoryCurve, SegmentDemand, SegmentUse};

use crate::{Error, ffi};

/// The hotness file of one folder.
#[derive(Clone, Debug)]
pub struct Usage {
    stored: StoredHotness,
}

/// A segment of a table on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentUsage {
    /// Its use in the hotness file.
    pub remembered: SegmentUse,
    /// Visits that a filter could save.
    pub demand: SegmentDemand,
}

/// A table with filter units on disk.
#[derive(Clone, Debug)]
pub struct TableUsage {
    /// Its segments in key order.
    pub segments: Vec<SegmentUsage>,
    /// Whether the hotness file has it.
    pub is_remembered: bool,
}

impl Usage {
    /// Reads the file of a database's folder; `None` if there is none. Errors on one that cannot be used.
    pub fn of_folder(folder: &Path) -> Result<Option<Self>, Error> {
        Ok(hotness_file::read(ffi::engine(), folder)?.map(|stored| Self { stored }))
    }

    /// Budget in force when the file was written.
    pub fn budget_bytes(&self) -> u64 {
        self.stored.budget_bytes
    }

    /// Visits to segments that a lookup made on average, if that was known.
    pub fn visits_per_lookup(&self) -> Option<f64> {
        let visits = f64::from(self.stored.visits_per_lookup);
        (visits > 0.0).then_some(visits)
    }

    /// Wasted reads of late, in all tables that shared the budget.
    pub fn wasted_reads_seen(&self) -> u64 {
        self.stored.late_wasted_reads as u64
    }

    /// Looks a table file up; `None` for one without filter units. Reads its properties and its filter block's directory.
    pub fn of_table(&self, path: &Path) -> Result<Option<TableUsage>, Error> {
        let failed = |message: String| Error::Table { path: PathBuf::from(path), message };
        let found = ffi::inspect_table(path, |table| {
            if table.block_offset == 0 {
                return Ok(None);
            }
            let start = table.head.get();
            let directory = Directory::parse(start).map_err(|error| failed(error.to_string()))?;
            let head_bytes = BlockHeader::parse(start).map_or(0, |header| header.head_bytes() as usize);
            let head = start.get(..head_bytes).unwrap_or_default();
            Ok(Some((directory, stored_id(table.session.get(), table.orig_file_number, head))))
        });
        let Some((directory, id)) = found.map_err(failed)?? else { return Ok(None) };
        let number = ffi::engine().folder_and_number(path).map(|(_, number)| number);
        let same = || self.stored.tables.iter().filter(|table| table.id == id);
        let known = same().find(|table| Some(table.file_number) == number).or_else(|| same().next());
        let segments = (0..directory.segment_count()).map(|segment| {
            let stored = known.and_then(|table| table.segments.get(segment as usize));
            let remembered = stored.copied().map(from_stored).unwrap_or_default();
            let shape = directory.shape(segment);
            let negatives = f64::from(remembered.hotness.negatives);
            SegmentUsage {
                remembered,
                demand: SegmentDemand { shape, units_max: shape.unit_count(), negatives },
            }
        });
        Ok(Some(TableUsage { segments: segments.collect(), is_remembered: known.is_some() }))
    }

    /// The memory curve of these tables.
    pub fn memory_curve(&self, tables: &[TableUsage]) -> MemoryCurve {
        let segments = || tables.iter().flat_map(|table| &table.segments);
        let sum = |count: fn(&Hotness) -> f32| {
            segments().map(|segment| f64::from(count(&segment.remembered.hotness))).sum::<f64>()
        };
        let stored = &self.stored;
        let measured = MeasuredUse {
            visits: sum(|hotness| hotness.access_count),
            wasted_reads: sum(|hotness| hotness.wasted_reads),
            budget_bytes: stored.budget_bytes,
            bookkeeping_bytes: stored.bookkeeping_bytes,
            lately: Lately {
                visits: stored.late_visits.into(),
                wasted_reads: stored.late_wasted_reads.into(),
            },
        };
        MemoryCurve::of(segments().map(|segment| segment.demand), &measured)
    }
}
