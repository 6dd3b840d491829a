//! Arrays with one element per segment.
//!
//! The state of some tables with neighbouring slots is one allocation of exactly their segments. So the bytes of a table are known when it
//! is registered, and freed when it is forgotten. Lists link segments by table and number, never by pointers.

use std::ops::{Index, IndexMut, Range};

use crate::memory::{ALLOCATION_BYTES, grow_thriftily, thrifty_bytes};
use crate::names::SegmentRef;

/// Tables whose elements lie in one allocation.
const BLOCK_TABLES: usize = 16;

/// The elements of some tables, one table's behind the other's: most tables have few, and an allocation for each would take more for
/// its owner and the allocator than for them.
#[derive(Debug)]
struct Block<T> {
    elements: Box<[T]>,
    /// Where each table's elements end.
    ends: [u32; BLOCK_TABLES],
}

impl<T> Block<T> {
    fn new() -> Self {
        Self { elements: Box::default(), ends: [0; BLOCK_TABLES] }
    }

    fn range(&self, table: usize) -> Range<usize> {
        let start = table.checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[table] as usize
    }

    /// Puts these in place of what a table has.
    fn replace(&mut self, table: usize, elements: impl ExactSizeIterator<Item = T>) {
        let (range, added) = (self.range(table), elements.len());
        let mut all = std::mem::take(&mut self.elements).into_vec();
        all.reserve_exact(added.saturating_sub(range.len()));
        all.splice(range.clone(), elements);
        self.elements = all.into_boxed_slice();
        self.ends[table..].iter_mut().for_each(|end| *end = *end - range.len() as u32 + added as u32);
    }
}

/// One `T` for every segment of every known table.
#[derive(Debug)]
pub struct PerSegment<T> {
    blocks: Vec<Block<T>>,
}

/// A table's block, and its place there.
fn place(table: u32) -> (usize, usize) {
    (table as usize / BLOCK_TABLES, table as usize % BLOCK_TABLES)
}

impl<T> Default for PerSegment<T> {
    fn default() -> Self {
        Self { blocks: Vec::new() }
    }
}

impl<T> PerSegment<T> {
    /// Bytes of a table with this many segments.
    pub fn table_bytes(segments: usize) -> usize {
        let block_bytes = thrifty_bytes::<Block<T>>() + ALLOCATION_BYTES;
        segments * size_of::<T>() + block_bytes.div_ceil(BLOCK_TABLES)
    }

    /// Puts in a table's elements, in segment order. Moves those of the other tables of its block.
    pub fn insert_table(&mut self, table: u32, elements: impl ExactSizeIterator<Item = T>) {
        let (block, table) = place(table);
        if self.blocks.len() <= block {
            grow_thriftily(&mut self.blocks, block + 1);
            self.blocks.resize_with(block + 1, Block::new);
        }
        self.blocks[block].replace(table, elements);
    }

    /// Frees a table's elements.
    pub fn remove_table(&mut self, table: u32) {
        let (block, table) = place(table);
        if let Some(block) = self.blocks.get_mut(block) {
            block.replace(table, std::iter::empty());
        }
    }

    /// A table's elements; none for an unknown table.
    pub fn table(&self, table: u32) -> &[T] {
        let (block, table) = place(table);
        self.blocks.get(block).map_or(&[], |block| &block.elements[block.range(table)])
    }

    /// All elements with their names.
    pub fn iter(&self) -> impl Iterator<Item = (SegmentRef, &T)> {
        (0..self.table_places()).flat_map(|table| {
            let elements = (0..).zip(self.table(table));
            elements.map(move |(segment, element)| (SegmentRef { table, segment }, element))
        })
    }

    /// All elements.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.blocks.iter_mut().flat_map(|block| &mut block.elements)
    }

    /// The first segment at or after this name, which need not be one's.
    pub fn at_or_after(&self, name: SegmentRef) -> Option<SegmentRef> {
        if (name.segment as usize) < self.table(name.table).len() {
            return Some(name);
        }
        let after = name.table.saturating_add(1)..self.table_places();
        let table = after.into_iter().find(|&table| !self.table(table).is_empty())?;
        Some(SegmentRef { table, segment: 0 })
    }

    /// As [`at_or_after`](Self::at_or_after), but from the start again after the last one.
    pub fn at_or_after_in_circle(&self, name: SegmentRef) -> Option<SegmentRef> {
        self.at_or_after(name).or_else(|| self.at_or_after(SegmentRef::FIRST))
    }

    /// The element of a segment, if there is one.
    pub fn get(&self, segment: SegmentRef) -> Option<&T> {
        self.table(segment.table).get(segment.segment as usize)
    }

    /// Slots of tables, known or free.
    pub fn table_places(&self) -> u32 {
        (self.blocks.len() * BLOCK_TABLES) as u32
    }
}

impl<T> Index<SegmentRef> for PerSegment<T> {
    type Output = T;

    fn index(&self, segment: SegmentRef) -> &T {
        &self.table(segment.table)[segment.segment as usize]
    }
}

impl<T> IndexMut<SegmentRef> for PerSegment<T> {
    fn index_mut(&mut self, segment: SegmentRef) -> &mut T {
        let (block, table) = place(segment.table);
        let block = &mut self.blocks[block];
        let range = block.range(table);
        &mut block.elements[range][segment.segment as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_come_and_go_in_any_order() {
        let mut array = PerSegment::default();
        array.insert_table(2, [1, 2, 3].into_iter());
        array.insert_table(0, [7].into_iter());
        assert_eq!(array.table(2), [1, 2, 3]);
        assert_eq!(array[SegmentRef { table: 2, segment: 1 }], 2);
        assert_eq!(array.iter().map(|(_, &element)| element).sum::<i32>(), 13);
        array.remove_table(2);
        array.remove_table(9);
        assert_eq!(array.get(SegmentRef { table: 2, segment: 0 }), None);
        assert_eq!(array.table(1), &[] as &[i32]);
        let name = |table, segment| SegmentRef { table, segment };
        array.insert_table(4, [8, 9].into_iter());
        let names = std::iter::successors(Some(name(0, 0)), |&SegmentRef { table, segment }| {
            array.at_or_after_in_circle(name(table, segment + 1))
        });
        assert_eq!(names.take(4).collect::<Vec<_>>(), [name(0, 0), name(4, 0), name(4, 1), name(0, 0)]);
        assert_eq!(array.at_or_after(name(4, 2)), None);
    }
}
