//! Collects the prefixes of a table's keys for a block of their own.

use springbloom_filter::UnitSettings;

use super::{BlockWriter, Contents, FinishedBlock};

/// Builds the block over the distinct prefixes of a table's keys. It is a block like that over keys, in the order of the prefixes' bytes,
/// whatever the order of the keys: no comparator is asked about a prefix.
///
/// Memory: the distinct prefixes, and 8 bytes for each, until the table ends. A stock filter keeps 8 bytes for each key and prefix.
pub struct PrefixWriter {
    settings: UnitSettings,
    segment_data_bytes: u64,
    identity: u32,
    /// One after the other.
    bytes: Vec<u8>,
    prefixes: Vec<Prefix>,
    is_sorted: bool,
}

#[derive(Clone, Copy)]
struct Prefix {
    /// Where it ends in the bytes; `u32::MAX`: there are too many.
    end: u32,
    /// Of the table's entries with it.
    data_bytes: u32,
}

impl PrefixWriter {
    /// `identity`: of the table, as its keys' block has it. Units of one are not taken for those of the other.
    pub fn new(settings: UnitSettings, segment_data_bytes: u64, identity: u32) -> Self {
        Self {
            settings,
            segment_data_bytes,
            identity: !identity,
            bytes: Vec::new(),
            prefixes: Vec::new(),
            is_sorted: true,
        }
    }

    /// Adds an entry of `entry_bytes` bytes whose key has this prefix. Keys come in the table's order, in which those of one prefix usually
    /// are neighbours.
    #[inline]
    pub fn add(&mut self, prefix: &[u8], entry_bytes: u64) {
        let entry_bytes = u32::try_from(entry_bytes).unwrap_or(u32::MAX);
        if let Some(last) = self.prefixes.len().checked_sub(1) {
            let before = self.prefix(last);
            if before == prefix {
                let data_bytes = &mut self.prefixes[last].data_bytes;
                *data_bytes = data_bytes.saturating_add(entry_bytes);
                return;
            }
            self.is_sorted &= before < prefix;
        }
        self.bytes.extend_from_slice(prefix);
        let end = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.prefixes.push(Prefix { end, data_bytes: entry_bytes });
    }

    /// Bytes of memory that it takes now.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.prefixes.capacity() * size_of::<Prefix>()
    }

    /// The block. Empty if no prefix was added, or more than 4 GiB of them.
    pub fn end(self) -> FinishedBlock {
        if self.bytes.len() >= u32::MAX as usize {
            return FinishedBlock::empty();
        }
        let mut order: Vec<usize> = (0..self.prefixes.len()).collect();
        if !self.is_sorted {
            order.sort_unstable_by_key(|&at| self.prefix(at));
        }
        let mut writer = BlockWriter::new(self.settings, self.segment_data_bytes)
            .with_bytewise_keys()
            .with_identity(self.identity)
            .with_contents(Contents::Prefixes);
        for at in order {
            writer.add(self.prefix(at), self.prefixes[at].data_bytes.into());
        }
        writer.end()
    }

    fn prefix(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.prefixes[at - 1].end };
        self.bytes.get(start as usize..self.prefixes[at].end as usize).unwrap_or_default()
    }
}
