//! Filter units of a table that is being written.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use springbloom_format::{BlockWriter, PrefixWriter};

use crate::{identity::block_identity, settings::Settings};

/// How often memory is counted. This many digests take 64 KiB.
const KEYS_PER_COUNT: u64 = 4096;

/// Collects the table's keys and their prefixes, and gives its filter block at the end.
pub(crate) struct UnitBuilder {
    /// A table may have units over its keys, over their prefixes, or both.
    writers: Option<(BlockWriter, PrefixWriter)>,
    block: Vec<u8>,
    key_count: u64,
    prefix_count: u64,
    bits_per_key: u64,
    counted_bytes: u64,
    bytes_of_all: Arc<AtomicU64>,
}

impl UnitBuilder {
    /// `is_bytewise`: keys come in the order of their bytes. `session` and `file_number` are those of the table's properties.
    pub(crate) fn new(
        settings: &Settings,
        bytes_of_all: &Arc<AtomicU64>,
        is_bytewise: bool,
        session: &[u8],
        file_number: u64,
    ) -> Self {
        let (units, segment_size) = (settings.units, settings.segment_size);
        let identity = block_identity(session, file_number);
        let mut keys = BlockWriter::new(units, segment_size).with_identity(identity);
        let mut prefixes = PrefixWriter::new(units, segment_size, identity);
        if is_bytewise {
            keys = keys.with_bytewise_keys();
            prefixes = prefixes.with_bytewise_keys();
        }
        Self {
            writers: Some((keys, prefixes)),
            block: Vec::new(),
            key_count: 0,
            prefix_count: 0,
            bits_per_key: u64::from(settings.units.bits_per_key()) * u64::from(settings.units.unit_count()),
            counted_bytes: 0,
            bytes_of_all: bytes_of_all.clone(),
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, key: &[u8], entry_bytes: u64) {
        if let Some((keys, _)) = &mut self.writers {
            keys.add(key, entry_bytes);
            if self.key_count.is_multiple_of(KEYS_PER_COUNT) {
                self.count_memory();
            }
            self.key_count += 1;
        }
    }

    /// Adds the prefix of an entry's key.
    #[inline]
    pub(crate) fn add_prefix(&mut self, prefix: &[u8], entry_bytes: u64) {
        if let Some((_, prefixes)) = &mut self.writers
            && prefixes.add(prefix, entry_bytes)
        {
            if self.prefix_count.is_multiple_of(KEYS_PER_COUNT) {
                self.count_memory();
            }
            self.prefix_count += 1;
        }
    }

    /// Bytes of memory that it takes now.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let writers = self.writers.as_ref();
        let writers = writers.map_or(0, |(keys, prefixes)| keys.memory_bytes() + prefixes.memory_bytes());
        (writers + self.block.capacity()) as u64
    }

    /// Counts what it takes among that of all tables that are being written.
    fn count_memory(&mut self) {
        let bytes = self.memory_bytes();
        // Wraps where it shrinks, and so does the sum.
        self.bytes_of_all.fetch_add(bytes.wrapping_sub(self.counted_bytes), Relaxed);
        self.counted_bytes = bytes;
    }

    /// Keys added, or prefixes if they are more; versions of one key count each.
    pub(crate) fn key_count(&self) -> u64 {
        self.key_count.max(self.prefix_count)
    }

    pub(crate) fn block_bytes_estimate(&self) -> u64 {
        self.key_count * self.bits_per_key / 8
    }

    /// The block; the same one each time. Empty: the table has no units.
    pub(crate) fn finish(&mut self) -> &[u8] {
        if let Some((keys, prefixes)) = self.writers.take() {
            self.block = keys.end_before(prefixes.end()).into_bytes().unwrap_or_default();
            self.count_memory();
        }
        &self.block
    }

    /// Gives up after a fault: the table has no filter block then.
    pub(crate) fn give_up(&mut self) {
        self.writers = None;
        self.block = Vec::new();
        self.count_memory();
    }
}

impl Drop for UnitBuilder {
    fn drop(&mut self) {
        self.give_up();
    }
}
