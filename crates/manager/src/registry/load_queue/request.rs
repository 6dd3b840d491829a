//! Requests for units: what is to be read for a segment or for a table, and what was read.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use springbloom_filter::{GroupShape, MAX_UNITS};

use crate::budget::Reservation;
use crate::lookup::group_cell::GroupCell;
use crate::memory::taken_bytes;
use crate::names::SegmentRef;
use crate::plan::{Allocation, SegmentState};
use crate::registry::tables::Tables;
use crate::unit_source::{Place, TableUnits, UnitReadError, UnitSource};

/// Most segments of a table whose units are read as a row.
const ROW_SEGMENTS_MAX: usize = 4096;

/// A segment that lacks units, with what its table's source needs to read them.
pub(crate) struct LoadRequest {
    pub segment: SegmentRef,
    pub(crate) place: Place,
    pub(crate) generation: u32,
    /// Resident units, and so the number of the next one.
    pub resident: u8,
    /// Rows to read, from the wanted unit on: the table lacks at least half of their units, and of the last row's. 0: read one unit.
    pub rows: u8,
    /// It is for a queued table. No other read for that table begins before this one is over.
    pub(crate) is_for_table: bool,
    pub source: Arc<dyn UnitSource>,
    locator: Box<[u8]>,
    /// Of all segments of the table.
    pub shapes: Box<[GroupShape]>,
}

impl LoadRequest {
    /// For a segment with its table; `None` if it lacks no unit.
    pub(crate) fn new(
        tables: &Tables,
        allocation: &Allocation,
        segment: SegmentRef,
        rows: u8,
        is_for_table: bool,
    ) -> Option<Self> {
        let table = tables.get(segment.table)?;
        let states = allocation.table(segment.table);
        let resident = table.shared.resident_units(segment.segment);
        let units = states.get(segment.segment as usize)?.units();
        let shapes = states.iter().map(|state| state.shape).collect();
        let source = tables.source_of(table)?.clone();
        (resident < units).then(|| Self {
            segment,
            place: tables.place_of(table.source),
            generation: table.shared.generation(),
            resident,
            rows,
            is_for_table,
            source,
            locator: table.shared.locator().into(),
            shapes,
        })
    }

    pub(crate) fn units(&self) -> TableUnits<'_> {
        TableUnits { slot: self.segment.table, locator: &self.locator, shapes: &self.shapes }
    }

    pub(crate) fn shape(&self) -> GroupShape {
        self.shapes[self.segment.segment as usize]
    }

    /// Bytes that one unit takes as it is read.
    pub(crate) fn buffer_bytes(&self) -> usize {
        taken_bytes(self.shape().unit_bytes())
    }
}

/// Units that were read, row behind row: an allocation for each would take more than small units do.
#[derive(Default)]
pub(crate) struct ReadUnits {
    /// Where each segment's unit begins in a row, and where the row ends.
    offsets: Vec<usize>,
    bytes: Vec<u8>,
    /// Units of each segment, from the first row on.
    counts: Vec<u8>,
    /// Why a segment has no more.
    errors: BTreeMap<u32, UnitReadError>,
}

impl ReadUnits {
    /// Room for rows of segments with these shapes.
    pub(crate) fn new(shapes: &[GroupShape], rows: u8) -> Self {
        let ends = shapes.iter().scan(0, |end, shape| {
            *end += shape.unit_bytes();
            Some(*end)
        });
        let offsets: Vec<_> = std::iter::once(0).chain(ends).collect();
        let row_bytes = offsets.last().copied().unwrap_or(0);
        Self {
            offsets,
            bytes: vec![0; row_bytes * usize::from(rows)],
            counts: vec![0; shapes.len()],
            errors: BTreeMap::new(),
        }
    }

    /// What that takes.
    pub(crate) fn bytes_for(row_bytes: usize, segments: usize, rows: u8) -> usize {
        row_bytes * usize::from(rows) + (segments + 1) * size_of::<usize>() + segments
    }

    /// One unit of one segment.
    pub(crate) fn one(read: Result<Vec<u8>, UnitReadError>) -> Self {
        let (counts, bytes, errors) = match read {
            Ok(bytes) => (vec![1], bytes, BTreeMap::new()),
            Err(error) => (vec![0], Vec::new(), BTreeMap::from([(0, error)])),
        };
        Self { offsets: vec![0, bytes.len()], bytes, counts, errors }
    }

    /// Takes in a unit of a segment, which lies in a row. It is of use only after those before it.
    pub(crate) fn push(&mut self, segment: u32, row: u8, read: Result<&[u8], UnitReadError>) {
        let at = segment as usize;
        if self.counts.get(at) != Some(&row) || self.errors.contains_key(&segment) {
            return;
        }
        let place = self.place(at, row);
        match (read, self.bytes.get_mut(place)) {
            (Ok(bytes), Some(place)) if bytes.len() == place.len() => {
                place.copy_from_slice(bytes);
                self.counts[at] += 1;
            }
            (Ok(bytes), _) => {
                let what = format!("a unit of {} bytes, or one more than was asked for", bytes.len());
                self.errors.insert(segment, UnitReadError::Corrupt(what));
            }
            (Err(error), _) => _ = self.errors.insert(segment, error),
        }
    }

    fn place(&self, segment: usize, row: u8) -> Range<usize> {
        let row_bytes = self.offsets.last().copied().unwrap_or(0);
        let [begin, end] = [segment, segment + 1].map(|at| usize::from(row) * row_bytes + self.offsets[at]);
        begin..end
    }

    /// Segments that were read.
    pub(crate) fn segments(&self) -> u32 {
        self.counts.len() as u32
    }

    pub(crate) fn are_none(&self) -> bool {
        self.counts.iter().all(|&count| count == 0)
    }

    /// The units of a segment.
    pub(crate) fn of(&self, segment: u32) -> Vec<&[u8]> {
        let at = segment as usize;
        (0..self.counts[at]).map(|row| &self.bytes[self.place(at, row)]).collect()
    }

    /// Why a segment has no more.
    pub(crate) fn take_error(&mut self, segment: u32) -> Option<UnitReadError> {
        self.errors.remove(&segment)
    }
}

/// What was read for a [`LoadRequest`].
pub(crate) struct LoadResult {
    pub request: LoadRequest,
    pub is_row: bool,
    /// Of the wanted segment, or of each segment of the rows.
    pub units: ReadUnits,
    /// Why a row ended early.
    pub broke_off: Option<UnitReadError>,
    /// For the bytes of the units.
    pub buffer: Reservation,
}

/// The segment of the table that lacks the lowest unit, and how many rows should be read from that unit on.
pub(crate) fn lacking_segment(
    tables: &Tables,
    allocation: &Allocation,
    table: u32,
) -> Option<(SegmentRef, u8)> {
    let cells = tables.get(table)?.shared.cells();
    let planned = allocation.table(table).iter().map(SegmentState::units);
    let units = std::iter::zip(cells.iter().map(GroupCell::resident_units), planned);
    let lacking: Vec<_> = (0..).zip(units).filter(|(_, (resident, planned))| resident < planned).collect();
    let &(segment, (first, _)) = lacking.iter().min_by_key(|(_, (resident, _))| *resident)?;
    let lacking = lacking.iter().map(|&(_, units)| units);
    Some((SegmentRef { table, segment }, rows_worth_reading(cells.len(), lacking, first)))
}

/// How many rows of a table to read together, from the unit `first` on; 0 if too little is lacking. `lacking`: resident and planned units
/// of those of its segments that lack some.
fn rows_worth_reading(segments: usize, lacking: impl Iterator<Item = (u8, u8)>, first: u8) -> u8 {
    if segments > ROW_SEGMENTS_MAX {
        return 0;
    }
    // Segments whose lacking units begin at a row, less those whose lacking units end before it.
    let mut changes = [0i32; MAX_UNITS as usize + 1];
    for (resident, planned) in lacking {
        changes[usize::from(resident)] += 1;
        changes[usize::from(planned)] -= 1;
    }
    let segments = segments as i32;
    let (mut rows, mut lack_row, mut lacking_units) = (0, 0, 0);
    for (row, change) in (1..).zip(&changes[usize::from(first)..]) {
        lack_row += change;
        lacking_units += lack_row;
        if lack_row * 2 >= segments && lacking_units * 2 >= segments * row {
            rows = row;
        }
    }
    // One unit of one segment is read as fast by itself.
    let is_worth_it = rows * segments > 1;
    if is_worth_it { rows as u8 } else { 0 }
}

#[cfg(test)]
mod tests {
    use springbloom_filter::{KeyDigest, UnitSettings};

    use super::*;

    #[test]
    fn a_unit_is_of_use_only_after_those_before_it() {
        let digests: Vec<_> = (0..300u32).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
        let built: Vec<_> =
            [300, 7, 0].map(|keys| UnitSettings::bloom(4, 4).unwrap().build(&digests[..keys])).into();
        let shapes: Vec<_> = built.iter().map(|group| group.shape).collect();
        let mut read = ReadUnits::new(&shapes, 3);
        assert!(read.are_none());
        let unit = |segment: usize, row: u8| Ok(built[segment].units[usize::from(row)].as_slice());
        for row in 0..3 {
            read.push(0, row, unit(0, row));
            read.push(2, row, unit(2, row));
        }
        // One too many, one twice, one behind a gap, one of a segment that is not there.
        read.push(0, 3, unit(0, 3));
        read.push(0, 0, unit(1, 0));
        read.push(1, 1, unit(1, 1));
        read.push(3, 0, unit(1, 0));
        assert_eq!(
            (read.of(0), read.of(1).len()),
            (built[0].units[..3].iter().map(Vec::as_slice).collect(), 0)
        );
        assert_eq!(read.of(2), [[0u8; 0]; 3], "a segment without keys has units without bytes");
        read.push(1, 0, unit(1, 0));
        read.push(1, 1, unit(0, 1));
        read.push(1, 1, unit(1, 1));
        assert_eq!(read.of(1), [built[1].units[0].as_slice()], "behind one of the wrong length");
        assert!(matches!(read.take_error(1), Some(UnitReadError::Corrupt(_))) && !read.are_none());
        let mut one = ReadUnits::one(Err(UnitReadError::Gone));
        assert!(one.are_none() && one.segments() == 1 && one.take_error(0).is_some());
    }
}
