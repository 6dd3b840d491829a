//! Collects the prefixes of a table's keys for a block of their own.

use springbloom_filter::UnitSettings;

use super::{BlockWriter, FinishedBlock};

/// Builds the block over the distinct prefixes of a table's keys. It is a block like that over keys, in the order of the prefixes' bytes,
/// whatever the order of the keys: no comparator is asked about a prefix.
///
/// Memory: that of a [`BlockWriter`], and the prefixes if they have to be sorted, at most [`UNSORTED_BYTES_MAX`].
pub struct PrefixWriter {
    writer: BlockWriter,
    order: Order,
    /// The one that was added last, if any was.
    newest: Option<Vec<u8>>,
    /// Of the entries since then.
    entry_bytes: u64,
}

/// A table with more prefixes in another order than that of their bytes gets no units over them.
pub const UNSORTED_BYTES_MAX: usize = 64 << 20;

/// In which prefixes come.
enum Order {
    /// That of their bytes. The writer has them.
    Sorted,
    /// Another one.
    Unsorted(Collected),
    /// They are too many, or came in another order than was said. The block stays empty.
    GivenUp,
}

#[derive(Default)]
struct Collected {
    /// One after the other.
    bytes: Vec<u8>,
    prefixes: Vec<Prefix>,
}

struct Prefix {
    /// Where it ends in the bytes.
    end: u32,
    /// Of the table's entries with it.
    data_bytes: u32,
}

impl Collected {
    fn prefix(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.prefixes[at - 1].end };
        &self.bytes[start as usize..self.prefixes[at].end as usize]
    }

    fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.prefixes.capacity() * size_of::<Prefix>()
    }

    /// Returns `false` if they are too many.
    fn add(&mut self, prefix: &[u8]) -> bool {
        let end = self.bytes.len() + prefix.len();
        let has_room = end + self.prefixes.len() * size_of::<Prefix>() <= UNSORTED_BYTES_MAX;
        if has_room {
            self.bytes.extend_from_slice(prefix);
            self.prefixes.push(Prefix { end: end as u32, data_bytes: 0 });
        }
        has_room
    }

    fn write_to(&self, writer: &mut BlockWriter) {
        let mut order: Vec<usize> = (0..self.prefixes.len()).collect();
        order.sort_unstable_by_key(|&at| self.prefix(at));
        order.into_iter().for_each(|at| writer.add(self.prefix(at), self.prefixes[at].data_bytes.into()));
    }
}

impl PrefixWriter {
    /// `identity`: of the table, as its keys' block has it. Units of one are not taken for those of the other.
    pub fn new(settings: UnitSettings, segment_size: u64, identity: u32) -> Self {
        Self {
            writer: BlockWriter::new(settings, segment_size)
                .with_bytewise_keys()
                .with_identity(!identity)
                .with_prefixes(),
            order: Order::Unsorted(Collected::default()),
            newest: None,
            entry_bytes: 0,
        }
    }

    /// Declares that keys come in byte order. So do their prefixes, unless the engine's extractor breaks that order.
    pub fn with_bytewise_keys(self) -> Self {
        Self { order: Order::Sorted, ..self }
    }

    /// Adds an entry of `entry_bytes` bytes whose key has this prefix. Keys come in the table's order, in which those of one prefix usually
    /// are neighbours. Returns whether it is another prefix than that of the entry before.
    #[inline]
    pub fn add(&mut self, prefix: &[u8], entry_bytes: u64) -> bool {
        let is_other = !self.newest.as_ref().is_some_and(|newest| is_surely_equal(newest, prefix))
            && self.add_other(prefix);
        self.entry_bytes = self.entry_bytes.saturating_add(entry_bytes);
        is_other
    }

    /// Returns `false` if it is the one that was added last.
    #[inline(never)]
    fn add_other(&mut self, prefix: &[u8]) -> bool {
        if self.newest.as_deref() == Some(prefix) {
            return false;
        }
        self.end_newest();
        let is_added = match &mut self.order {
            Order::Sorted if self.newest.as_deref().is_some_and(|newest| prefix < newest) => false,
            Order::Sorted => {
                self.writer.add(prefix, 0);
                true
            }
            Order::Unsorted(collected) => collected.add(prefix),
            Order::GivenUp => false,
        };
        if !is_added {
            self.order = Order::GivenUp;
        }
        let newest = self.newest.get_or_insert_default();
        newest.clear();
        newest.extend_from_slice(prefix);
        true
    }

    /// No more entries have the prefix that was added last.
    fn end_newest(&mut self) {
        let entry_bytes = std::mem::take(&mut self.entry_bytes);
        match &mut self.order {
            Order::Sorted => self.writer.add_bytes(entry_bytes),
            Order::Unsorted(collected) => {
                if let Some(Prefix { data_bytes, .. }) = collected.prefixes.last_mut() {
                    *data_bytes = u32::try_from(entry_bytes).unwrap_or(u32::MAX);
                }
            }
            Order::GivenUp => (),
        }
    }

    /// Bytes of memory that it takes now.
    pub fn memory_bytes(&self) -> usize {
        let collected = match &self.order {
            Order::Unsorted(collected) => collected.memory_bytes(),
            Order::Sorted | Order::GivenUp => 0,
        };
        let newest = self.newest.as_ref().map_or(0, Vec::capacity);
        self.writer.memory_bytes() + collected + newest
    }

    /// The block. Empty if no prefix was added, or too many that were in another order.
    pub fn end(mut self) -> FinishedBlock {
        self.end_newest();
        match self.order {
            Order::Sorted => (),
            Order::Unsorted(collected) => collected.write_to(&mut self.writer),
            Order::GivenUp => return FinishedBlock::default(),
        }
        self.writer.end()
    }
}

/// Whether they have an equal and usual length and the same bytes. Calls nothing.
#[inline(always)]
fn is_surely_equal(a: &[u8], b: &[u8]) -> bool {
    fn ends<const N: usize>(bytes: &[u8]) -> Option<(&[u8; N], &[u8; N])> {
        Some((bytes.first_chunk()?, bytes.last_chunk()?))
    }
    a.len() == b.len()
        && match a.len() {
            8..=16 => ends::<8>(a) == ends::<8>(b),
            4..8 => ends::<4>(a) == ends::<4>(b),
            _ => false,
        }
}
