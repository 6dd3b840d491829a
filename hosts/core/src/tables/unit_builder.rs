//! Filter units of a table that is being written.

use springbloom_format::{BlockHeader, BlockWriter, Directory, HEADER_BYTES};

use crate::{
    filters::Filters,
    warm_start::{block_identity, stored_id},
};

/// Collects the table's keys, and gives its filter block at the end.
pub(crate) struct UnitBuilder {
    writer: Option<BlockWriter>,
    /// Of the table's properties.
    session: Vec<u8>,
    file_number: u64,
    block: Vec<u8>,
    key_count: u64,
    bits_per_key: u64,
}

impl UnitBuilder {
    /// `is_bytewise`: keys come in the order of their bytes. `session` and `file_number` are those of the table's properties.
    pub(crate) fn new(filters: &Filters, is_bytewise: bool, session: &[u8], file_number: u64) -> Self {
        let writer = BlockWriter::new(filters.units, filters.segment_data_bytes)
            .with_identity(block_identity(session, file_number));
        Self {
            writer: Some(if is_bytewise { writer.with_bytewise_keys() } else { writer }),
            session: session.to_vec(),
            file_number,
            block: Vec::new(),
            key_count: 0,
            bits_per_key: u64::from(filters.units.bits_per_key()) * u64::from(filters.units.unit_count()),
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, key: &[u8], entry_bytes: u64) {
        if let Some(writer) = &mut self.writer {
            writer.add(key, entry_bytes);
            self.key_count += 1;
        }
    }

    /// Entries added; versions of one key count each.
    pub(crate) fn key_count(&self) -> u64 {
        self.key_count
    }

    pub(crate) fn block_bytes_estimate(&self) -> u64 {
        self.key_count * self.bits_per_key / 8
    }

    /// The block; the same one each time.
    pub(crate) fn finish(&mut self) -> &[u8] {
        if let Some(writer) = self.writer.take() {
            self.block = writer.finish();
        }
        &self.block
    }

    /// Gives up after a fault: the table has no filter block then.
    pub(crate) fn give_up(&mut self) {
        self.writer = None;
        self.block = Vec::new();
    }

    /// Offers unit 0 of each segment to the reader that will open `path`.
    pub(crate) fn hand_over(&self, filters: &Filters, path: &[u8]) {
        let Some(head) = self.head() else { return };
        let Ok(directory) = Directory::parse(head) else { return };
        let span = directory.row_span(0);
        let Some(row) = self.block.get(span.start as usize..span.end as usize) else { return };
        let units = directory.decode_row(0, row).map(|(_, unit)| unit.ok().map(<[u8]>::to_vec)).collect();
        let stored_id = stored_id(&self.session, self.file_number, head);
        let files = filters.databases.files_of(&self.session);
        filters.handover.offer(&filters.manager, path, stored_id, files, units);
    }

    fn head(&self) -> Option<&[u8]> {
        let header = BlockHeader::parse(self.block.get(..HEADER_BYTES)?).ok()?;
        self.block.get(..header.head_bytes() as usize)
    }
}
