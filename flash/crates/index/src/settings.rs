//! Settings of an index and of its memory.

use springbloom_filter::UnitSettings;

use crate::entry::DEPTH_MAX;
use crate::record::INDEX_PAGE_BYTES;
use springbloom_page_device::{FlashError, require};

/// Average number of entries in a bucket of 16 sectors. Gives the initial number of partitions.
const ENTRIES_PER_PARTITION: u64 = 1200;
/// The initial number of partitions is at least 256 (25 kB of memory). With fewer, entries would be split again and again, and lose one bit
/// each time.
const EXPECTED_KEYS_MIN: u64 = 256 * ENTRIES_PER_PARTITION;
/// Longest prefix of an initial partition, in bits.
const FIRST_DEPTH_MAX: u8 = DEPTH_MAX / 2;
/// Sectors of the largest bucket.
const BUCKET_SECTORS_MAX: u8 = 128;
/// Largest [`IndexSettings::expected_keys`] that makes a difference: as many as the most initial partitions hold, with the largest buckets.
pub const EXPECTED_KEYS_MAX: u64 =
    (ENTRIES_PER_PARTITION * BUCKET_SECTORS_MAX as u64 / 16) << FIRST_DEPTH_MAX;
/// Memory for pending entries, in bytes per initial partition. With less, an index far below its expected size would write a bucket for
/// every few keys. A partition that is as full as expected has more from its records.
const PENDING_BYTES_PER_PARTITION: u64 = 256;

/// Fixed when an index is created, and stored in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexSettings {
    /// Expected number of keys: a hint for the initial number of partitions. The index grows beyond it.
    pub expected_keys: u64,
    /// Sectors of a bucket, 4 to 128. A lookup reads at most this much.
    pub bucket_sectors: u8,
    /// Pages of a zone of the log, 32 to 2^20. Zones are reclaimed as a whole.
    pub zone_pages: u32,
}

impl IndexSettings {
    /// Buckets of 16 sectors (8 KiB), zones of 64 MiB.
    pub fn new(expected_keys: u64) -> IndexSettings {
        let expected_keys = expected_keys.max(EXPECTED_KEYS_MIN);
        IndexSettings { expected_keys, bucket_sectors: 16, zone_pages: (64 << 20) / INDEX_PAGE_BYTES as u32 }
    }

    pub(crate) fn check(&self) -> Result<(), FlashError> {
        let (sectors, pages) = (4..=BUCKET_SECTORS_MAX, 32..=1 << 20);
        require(
            sectors.contains(&self.bucket_sectors),
            "bucket size",
            self.bucket_sectors,
            "4 to 128 sectors",
        )?;
        require(pages.contains(&self.zone_pages), "zone size", self.zone_pages, "32 to 1048576 pages")
    }

    /// Sectors in the front half of a bucket.
    pub(crate) fn front_sectors(&self) -> u8 {
        self.bucket_sectors / 2
    }

    /// Depth of the initial partitions.
    pub(crate) fn first_depth(&self) -> u8 {
        let per_partition = ENTRIES_PER_PARTITION * u64::from(self.bucket_sectors) / 16;
        let partitions = (self.expected_keys / per_partition.max(1)).max(1);
        (partitions.ilog2() as u8).min(FIRST_DEPTH_MAX)
    }

    /// Memory for pending entries that an index with these partitions has at least, in bytes.
    pub(crate) fn pending_bytes_min(&self) -> u64 {
        PENDING_BYTES_PER_PARTITION << self.first_depth()
    }
}

/// Memory of an open index, chosen at each opening. Memory per key does not depend on the number of keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndexMemory {
    /// Memory for pending entries, in bytes per record of the index. Less memory causes more writes, because flushes append emptier
    /// sectors.
    pub pending_bytes_per_record: f64,
    /// Minimum memory for pending entries, in bytes.
    pub pending_bytes_min: u64,
    /// Units of the pre-filters over the front and the back half of each bucket. Without pre-filters, every lookup of an absent key reads a
    /// whole bucket.
    pub prefilter: Option<[UnitSettings; 2]>,
}

impl IndexMemory {
    /// About 0.9 bytes per key in total, half of it for pre-filters of 3 and 4 ribbon units of one bit per key.
    pub fn standard() -> IndexMemory {
        let units = UnitSettings::ribbon(3).ok().zip(UnitSettings::ribbon(4).ok());
        IndexMemory {
            pending_bytes_per_record: 0.25,
            pending_bytes_min: 1 << 20,
            prefilter: units.map(|(front, back)| [front, back]),
        }
    }

    /// About 0.3 bytes per key in total, for the most keys: pre-filters of 1 and 2 ribbon units, and a fifth of the memory for pending
    /// entries. Up to 0.63 reads per absent key, instead of 0.2, and more writes.
    pub fn lean() -> IndexMemory {
        let units = UnitSettings::ribbon(1).ok().zip(UnitSettings::ribbon(2).ok());
        let prefilter = units.map(|(front, back)| [front, back]);
        IndexMemory { pending_bytes_per_record: 0.05, prefilter, ..IndexMemory::standard() }
    }

    pub(crate) fn pending_bytes(&self, records: u64) -> u64 {
        self.pending_bytes_min.max((records as f64 * self.pending_bytes_per_record) as u64)
    }

    pub(crate) fn check(&self) -> Result<(), FlashError> {
        let share = self.pending_bytes_per_record;
        require(
            (0.0..=64.0).contains(&share),
            "memory for waiting entries",
            share,
            "0 to 64 bytes per record",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insane_settings_are_refused() {
        let fine = IndexSettings::new(1000);
        assert!(fine.check().is_ok());
        for wrong in [
            IndexSettings { bucket_sectors: 3, ..fine },
            IndexSettings { bucket_sectors: 200, ..fine },
            IndexSettings { zone_pages: 8, ..fine },
        ] {
            assert!(matches!(wrong.check(), Err(FlashError::InvalidSetting { .. })), "{wrong:?}");
        }
        let nonsense = IndexMemory { pending_bytes_per_record: f64::NAN, ..IndexMemory::standard() };
        assert!(nonsense.check().is_err());
    }

    #[test]
    fn the_first_depth_follows_the_hint() {
        assert_eq!(IndexSettings::new(0).first_depth(), 8);
        assert_eq!(IndexSettings::new(1200 * 1024).first_depth(), 10);
        assert!(IndexSettings::new(u64::MAX).first_depth() <= 20);
        let depth = |expected_keys| {
            IndexSettings { bucket_sectors: BUCKET_SECTORS_MAX, ..IndexSettings::new(expected_keys) }
                .first_depth()
        };
        assert_eq!((depth(EXPECTED_KEYS_MAX - 1), depth(EXPECTED_KEYS_MAX), depth(u64::MAX)), (19, 20, 20));
    }
}
