//! The entries of a bucket, in two halves with a pre-filter each, so that a lookup reads one half. The front half is the first half of the
//! sectors of a full bucket: 4 KiB, a page of most devices. Reading less than a page costs the same, and reading across its end nearly
//! twice as much. Sectors are only appended, so a full front does not change.

use crate::bucket::{BucketKey, decode, runs};
use crate::entry::Entry;
use springbloom_page_device::SECTOR_BYTES;

/// The entries of a bucket, in the order of its sectors.
#[derive(Debug, Default)]
pub(crate) struct Halves {
    pub(crate) entries: Vec<Entry>,
    /// Number of entries in the front half.
    front: usize,
}

impl Halves {
    /// Decodes the used sectors of a bucket. The error is the number of a damaged sector.
    pub(crate) fn decoded(key: BucketKey, front_sectors: usize, bytes: &[u8]) -> Result<Halves, usize> {
        let mut entries = Vec::with_capacity(bytes.len() / 4);
        let (front_bytes, back_bytes) = bytes.split_at(bytes.len().min(front_sectors * SECTOR_BYTES));
        decode(key, 0, front_bytes, |entry| entries.push(entry))?;
        let front = entries.len();
        decode(key, front_sectors, back_bytes, |entry| entries.push(entry))?;
        Ok(Halves { entries, front })
    }

    /// Adds the entries of the sectors from `first_sector` on, cut into sectors as by `runs`.
    pub(crate) fn append(&mut self, first_sector: usize, front_sectors: usize, entries: &[Entry]) {
        self.entries.extend_from_slice(entries);
        let in_front = runs(entries).take(front_sectors.saturating_sub(first_sector));
        self.front += in_front.map(<[Entry]>::len).sum::<usize>();
    }

    pub(crate) fn front(&self) -> &[Entry] {
        &self.entries[..self.front]
    }

    pub(crate) fn back(&self) -> &[Entry] {
        &self.entries[self.front..]
    }
}
