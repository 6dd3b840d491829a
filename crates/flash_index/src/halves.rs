//! A bucket's entries by half, each of which has a pre-filter, so that a lookup reads one half: the front are the first sectors, as many as half of
//! a full bucket has (4 KiB: a page of most devices, where reading less costs the same and reading across its end nearly twice as much), the
//! back those behind. Sectors are appended, so a full front stays as it is.

use crate::bucket::{BucketKey, decode, runs};
use crate::entry::Entry;
use springbloom_page_device::SECTOR_BYTES;

/// The entries of a bucket in the order of its sectors.
#[derive(Debug, Default)]
pub(crate) struct Halves {
    pub(crate) entries: Vec<Entry>,
    /// So many of them are in the front.
    front: usize,
}

impl Halves {
    /// Of the bucket whose used sectors are `bytes`. On a damaged sector: its number.
    pub(crate) fn decoded(key: BucketKey, front_sectors: usize, bytes: &[u8]) -> Result<Halves, usize> {
        let mut entries = Vec::with_capacity(bytes.len() / 4);
        let (front_bytes, back_bytes) = bytes.split_at(bytes.len().min(front_sectors * SECTOR_BYTES));
        decode(key, 0, front_bytes, |entry| entries.push(entry))?;
        let front = entries.len();
        decode(key, front_sectors, back_bytes, |entry| entries.push(entry))?;
        Ok(Halves { entries, front })
    }

    /// Adds the entries of the sectors from number `first_sector` on, which are cut as `runs` cuts them.
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
