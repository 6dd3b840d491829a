//! Names of segments inside the manager, and arrays with one element per segment.
//!
//! State is kept in one exact allocation per table and array, so that a table's bookkeeping is known when it is
//! registered and gone when it is forgotten; lists link segments by these names, never by pointers.

use std::ops::{Index, IndexMut};

use crate::memory::{allocated_bytes, grow_thriftily, thrifty_bytes};

/// A segment of a known table: the table's slot and the segment's number in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SegmentRef {
    pub table: u32,
    pub segment: u32,
}

impl SegmentRef {
    /// No segment: the end of a list.
    pub(crate) const NONE: SegmentRef = SegmentRef { table: u32::MAX, segment: u32::MAX };

    /// Eight bits that are spread evenly over the segments of any table and stay with a segment.
    pub(crate) fn spread(self) -> u8 {
        let mixed =
            ((u64::from(self.table) << 32) | u64::from(self.segment)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 56) as u8
    }
}

/// One `T` for every segment of every known table.
#[derive(Debug)]
pub(crate) struct PerSegment<T> {
    tables: Vec<Box<[T]>>,
}

impl<T> PerSegment<T> {
    pub(crate) fn new() -> Self {
        Self { tables: Vec::new() }
    }

    /// Bytes of a table with so many segments.
    pub(crate) fn table_bytes(segments: usize) -> usize {
        thrifty_bytes::<Box<[T]>>() + allocated_bytes(segments * size_of::<T>())
    }

    /// Puts in a table's elements, in segment order.
    pub(crate) fn insert_table(&mut self, table: u32, elements: impl IntoIterator<Item = T>) {
        let table = table as usize;
        if self.tables.len() <= table {
            grow_thriftily(&mut self.tables, table + 1);
            self.tables.resize_with(table + 1, Box::default);
        }
        self.tables[table] = elements.into_iter().collect();
    }

    /// Frees a table's elements.
    pub(crate) fn remove_table(&mut self, table: u32) {
        if let Some(elements) = self.tables.get_mut(table as usize) {
            *elements = Box::default();
        }
    }

    /// A table's elements; none for an unknown table.
    pub(crate) fn table(&self, table: u32) -> &[T] {
        self.tables.get(table as usize).map_or(&[], |elements| elements)
    }

    /// All elements with their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (SegmentRef, &T)> {
        self.tables.iter().enumerate().flat_map(|(table, elements)| {
            elements.iter().enumerate().map(move |(segment, element)| {
                (SegmentRef { table: table as u32, segment: segment as u32 }, element)
            })
        })
    }

    /// All elements.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.tables.iter_mut().flatten()
    }

    /// The first segment at or after this name, which need not be one's; from the start again after the last one.
    pub(crate) fn at_or_after(&self, name: SegmentRef) -> Option<SegmentRef> {
        let (from, slots) = (name.table as usize, self.tables.len());
        if (name.segment as usize) < self.table(name.table).len() {
            return Some(name);
        }
        let is_any = |table: &usize| !self.tables[*table].is_empty();
        let table = (from + 1..slots).find(is_any).or_else(|| (0..slots).find(is_any))?;
        Some(SegmentRef { table: table as u32, segment: 0 })
    }

    /// The element of a segment, if there is one.
    pub(crate) fn get(&self, segment: SegmentRef) -> Option<&T> {
        self.table(segment.table).get(segment.segment as usize)
    }

    /// Slots of tables, known or free.
    pub(crate) fn table_slots(&self) -> u32 {
        self.tables.len() as u32
    }
}

impl<T> Index<SegmentRef> for PerSegment<T> {
    type Output = T;

    fn index(&self, segment: SegmentRef) -> &T {
        &self.tables[segment.table as usize][segment.segment as usize]
    }
}

impl<T> IndexMut<SegmentRef> for PerSegment<T> {
    fn index_mut(&mut self, segment: SegmentRef) -> &mut T {
        &mut self.tables[segment.table as usize][segment.segment as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_come_and_go_in_any_order() {
        let mut array = PerSegment::new();
        array.insert_table(2, [1, 2, 3]);
        array.insert_table(0, [7]);
        assert_eq!(array.table_slots(), 3);
        assert_eq!(array[SegmentRef { table: 2, segment: 1 }], 2);
        assert_eq!(array.iter().map(|(_, &element)| element).sum::<i32>(), 13);
        array.remove_table(2);
        array.remove_table(9);
        assert_eq!(array.get(SegmentRef { table: 2, segment: 0 }), None);
        assert_eq!(array.table(1), &[] as &[i32]);
        let name = |table, segment| SegmentRef { table, segment };
        array.insert_table(4, [8, 9]);
        let names = std::iter::successors(Some(name(0, 0)), |&SegmentRef { table, segment }| {
            array.at_or_after(name(table, segment + 1))
        });
        assert_eq!(names.take(4).collect::<Vec<_>>(), [name(0, 0), name(4, 0), name(4, 1), name(0, 0)]);
    }

    #[test]
    fn spread_is_even_over_small_tables() {
        let below_half = (0..1000u32)
            .flat_map(|table| (0..4).map(move |segment| SegmentRef { table, segment }))
            .filter(|segment| segment.spread() < 128)
            .count();
        assert!((1780..2220).contains(&below_half), "{below_half} of 4000"); // 7 standard deviations
    }
}
