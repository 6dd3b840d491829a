//! The stamp of a filter file: the generation of the log from which on its pages are complete. It refuses copies of an open filter that
//! lack keys: see `docs/filter-format.md` and decision 0051.

use springbloom_page_device::{SECTOR_BYTES, checksum, u64_at};

/// Place of the stamp in the block of the header: a sector of its own, so that it is written as a whole.
pub(crate) const STAMP: std::ops::Range<usize> = SECTOR_BYTES..2 * SECTOR_BYTES;
/// The stamp of a file that was just made.
pub(crate) const FIRST_GENERATION: u64 = 1;
/// Key of the checksum in the place of a number of a sector. No page has it.
const PLACE: u64 = u64::MAX;

/// What is found in the place of a stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// The pages are complete for this generation of the log, and for those before it.
    Of(u64),
    /// Nothing was ever written there.
    Blank,
    /// It was torn by a power loss, or damaged.
    Damaged,
}

impl Stamp {
    /// Writes the stamp of a generation into the block of a header.
    pub(crate) fn put(salt: u64, generation: u64, block: &mut [u8]) {
        let sector = &mut block[STAMP];
        sector.fill(0);
        sector[..8].copy_from_slice(&generation.to_le_bytes());
        let sum = checksum(salt, PLACE, &sector[..8]);
        sector[8..16].copy_from_slice(&sum.to_le_bytes());
    }

    /// Reads the stamp in the block of a header. Total.
    pub(crate) fn of(salt: u64, block: &[u8]) -> Stamp {
        let sector = &block[STAMP];
        if sector.iter().all(|byte| *byte == 0) {
            return Stamp::Blank;
        }
        if u64_at(sector, 8) != checksum(salt, PLACE, &sector[..8]) {
            return Stamp::Damaged;
        }
        Stamp::Of(u64_at(sector, 0))
    }
}
