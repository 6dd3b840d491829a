//! Collects the prefixes of a table's keys for a block of their own.

use springbloom_filter::UnitSettings;

use super::further_prefixes::RULES_MAX;
use super::{BlockWriter, FinishedBlock, FurtherPrefixes, SpillFile};

/// Builds the block over the distinct prefixes of a table's keys. It is a block like that over keys, in the order of the prefixes' bytes,
/// whatever the order of the keys: no comparator is asked about a prefix.
///
/// Memory: that of a [`BlockWriter`], and the prefixes while they may have to be sorted, at most [`UNSORTED_BYTES_MAX`].
pub struct PrefixWriter {
    writer: BlockWriter,
    before: Before,
    /// The newest prefix, and the bytes of the table's entries with it so far.
    newest: Option<(Vec<u8>, u64)>,
    /// Lengths of the beginnings of the newest prefix that were added before it.
    begun: Vec<usize>,
    further: FurtherPrefixes,
    of_entry: OfEntry,
}

/// What the newest entry gave.
#[derive(Default)]
struct OfEntry {
    /// Whether it gave something, and each rule did.
    is_complete: bool,
    has_prefix: bool,
    prefix: Vec<u8>,
    /// The longest by a rule.
    further: Vec<u8>,
}

impl OfEntry {
    /// Whether an entry surely gives the same. A key that begins with what a rule gives for another one has no other by that rule.
    #[inline]
    fn is_also_of(&self, prefix: Option<&[u8]>, key: &[u8]) -> bool {
        self.is_complete
            && prefix == self.has_prefix.then_some(&self.prefix)
            && key.starts_with(&self.further)
    }
}

/// Prefixes that come in order go to the writer from so many bytes on. Later ones must be in order too.
const SORTED_BYTES_MAX: usize = 8 << 20;
/// A table with more prefixes that come in no order gets no units over them.
pub const UNSORTED_BYTES_MAX: usize = 64 << 20;

/// The prefixes before the newest one.
enum Before {
    /// They can be sorted.
    Collected(Collected),
    /// They came in order, and the writer has them.
    Written,
    /// The block stays empty.
    GivenUp,
}

#[derive(Default)]
struct Collected {
    /// One after the other.
    bytes: Vec<u8>,
    prefixes: Vec<Prefix>,
    is_unsorted: bool,
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

    fn write_to(&self, writer: &mut BlockWriter) {
        let mut order: Vec<usize> = (0..self.prefixes.len()).collect();
        if self.is_unsorted {
            order.sort_unstable_by_key(|&at| self.prefix(at));
        }
        order.into_iter().for_each(|at| writer.add(self.prefix(at), self.prefixes[at].data_bytes.into()));
    }
}

impl Before {
    /// The newest prefix has another one behind it.
    fn add(&mut self, prefix: &[u8], data_bytes: u64, writer: &mut BlockWriter) {
        match self {
            Before::Collected(collected) => {
                let bytes = (collected.bytes.len() + prefix.len()) as u64;
                let all_bytes = bytes + (collected.prefixes.len() * size_of::<Prefix>()) as u64;
                if all_bytes > UNSORTED_BYTES_MAX as u64 {
                    *self = Before::GivenUp;
                    return;
                }
                collected.bytes.extend_from_slice(prefix);
                let data_bytes = u32::try_from(data_bytes).unwrap_or(u32::MAX);
                collected.prefixes.push(Prefix { end: bytes as u32, data_bytes });
                if all_bytes > SORTED_BYTES_MAX as u64 && !collected.is_unsorted {
                    collected.write_to(writer);
                    *self = Before::Written;
                }
            }
            Before::Written => writer.add(prefix, data_bytes),
            Before::GivenUp => (),
        }
    }

    /// The next prefix is before the one that was added last.
    fn note_disorder(&mut self) {
        match self {
            Before::Collected(collected) => collected.is_unsorted = true,
            Before::Written => *self = Before::GivenUp,
            Before::GivenUp => (),
        }
    }
}

fn copy(from: &[u8], to: &mut Vec<u8>) {
    to.clear();
    to.extend_from_slice(from);
}

impl PrefixWriter {
    /// `identity`: of the table, as its keys' block has it. Units of one are not taken for those of the other.
    pub fn new(settings: UnitSettings, segment_data_bytes: u64, identity: u32) -> Self {
        Self {
            writer: BlockWriter::new(settings, segment_data_bytes)
                .with_bytewise_keys()
                .with_identity(!identity)
                .with_prefixes(FurtherPrefixes::default()),
            before: Before::Collected(Collected::default()),
            newest: None,
            begun: Vec::new(),
            further: FurtherPrefixes::default(),
            of_entry: OfEntry::default(),
        }
    }

    /// Adds prefixes by these rules, too.
    pub fn with_further(self, further: FurtherPrefixes) -> Self {
        Self { writer: self.writer.with_prefixes(further), further, ..self }
    }

    /// As of [`BlockWriter::with_spill`].
    pub fn with_spill(self, file: Box<dyn SpillFile + Send>, window_bytes: usize) -> Self {
        Self { writer: self.writer.with_spill(file, window_bytes), ..self }
    }

    /// Adds an entry of `entry_bytes` bytes under `key`: its prefix, if it has one, and those that the rules give. Keys come in the table's
    /// order, in which those of one prefix usually are neighbours.
    #[inline]
    pub fn add(&mut self, prefix: Option<&[u8]>, key: &[u8], entry_bytes: u64) {
        if self.further.is_empty() {
            prefix.into_iter().for_each(|prefix| self.add_one(prefix, entry_bytes));
        } else if self.of_entry.is_also_of(prefix, key)
            && let Some((_, data_bytes)) = &mut self.newest
        {
            *data_bytes = data_bytes.saturating_add(entry_bytes);
        } else {
            self.add_all(prefix, key, entry_bytes);
        }
    }

    #[inline(never)]
    fn add_all(&mut self, prefix: Option<&[u8]>, key: &[u8], entry_bytes: u64) {
        let mut prefixes = [key; 1 + RULES_MAX];
        let mut count = 0;
        for given in prefix.into_iter().chain(self.further.of(key)) {
            prefixes[count] = given;
            count += 1;
        }
        let prefixes = &mut prefixes[..count];
        let further = &prefixes[usize::from(prefix.is_some())..];
        let longest = further.iter().max_by_key(|prefix| prefix.len());
        self.of_entry.is_complete = count > 0 && further.len() == self.further.count();
        self.of_entry.has_prefix = prefix.is_some();
        copy(prefix.unwrap_or_default(), &mut self.of_entry.prefix);
        copy(longest.copied().unwrap_or_default(), &mut self.of_entry.further);
        // In the order in which the block has them.
        prefixes.sort_unstable();
        for (at, prefix) in prefixes.iter().enumerate() {
            self.add_one(prefix, if at == 0 { entry_bytes } else { 0 });
        }
    }

    #[inline]
    fn add_one(&mut self, prefix: &[u8], entry_bytes: u64) {
        match &mut self.newest {
            Some((newest, data_bytes)) if newest == prefix => {
                *data_bytes = data_bytes.saturating_add(entry_bytes)
            }
            _ => self.add_other(prefix, entry_bytes),
        }
    }

    /// Another one than the newest.
    #[inline(never)]
    fn add_other(&mut self, prefix: &[u8], entry_bytes: u64) {
        let Some((newest, data_bytes)) = &mut self.newest else {
            self.newest = Some((prefix.to_vec(), entry_bytes));
            return;
        };
        if self.begun.contains(&prefix.len()) && newest.starts_with(prefix) {
            *data_bytes = data_bytes.saturating_add(entry_bytes);
            return;
        }
        self.before.add(newest, *data_bytes, &mut self.writer);
        self.begun.retain(|&begun| prefix.starts_with(&newest[..begun]));
        if prefix.starts_with(newest) {
            self.begun.push(newest.len());
        }
        if prefix < newest.as_slice() {
            self.before.note_disorder();
        }
        copy(prefix, newest);
        *data_bytes = entry_bytes;
    }

    /// Bytes of memory that it takes now.
    pub fn memory_bytes(&self) -> usize {
        let newest = self.newest.as_ref().map_or(0, |(newest, _)| newest.capacity());
        let before = match &self.before {
            Before::Collected(collected) => collected.memory_bytes(),
            Before::Written | Before::GivenUp => 0,
        };
        let of_entry = self.of_entry.prefix.capacity() + self.of_entry.further.capacity();
        self.writer.memory_bytes() + newest + before + of_entry
    }

    /// The block. Empty if no prefix was added, or too many that were in no order.
    pub fn end(mut self) -> FinishedBlock {
        if let Some((newest, data_bytes)) = self.newest {
            self.before.add(&newest, data_bytes, &mut self.writer);
        }
        match self.before {
            Before::Collected(collected) => collected.write_to(&mut self.writer),
            Before::Written => (),
            Before::GivenUp => return FinishedBlock::empty(),
        }
        self.writer.end()
    }
}
