//! A manifest: a consistent state of an index, from which recovery starts. Manifests alternate between two files, so that an interrupted
//! write leaves the previous one. The write-ahead log holds the sequence number of the valid one. Layout: `docs/index.md`.

use springbloom_filter::KeyDigest;

use crate::block_file::BlockKey;
use crate::entry::{DEPTH_MAX, PAGE_BITS};
use crate::partitions::Bucket;
use crate::settings::IndexSettings;
use springbloom_page_device::{
    AlignedBuf, FlashError, NamedDevice, SECTOR_BYTES, Storage, checksum, field, u32_at, u64_at,
};

/// First eight bytes of a manifest.
pub const INDEX_MAGIC: [u8; 8] = *b"SPBLINDX";
/// The version that this program writes, and the newest that it reads.
pub const INDEX_VERSION: u32 = 4;
/// The oldest that it reads: records of keys of up to 255 bytes only.
const OLDEST_VERSION: u32 = 3;

pub(crate) const NAMES: [&str; 2] = ["manifest-a", "manifest-b"];
/// Earlier versions had a checksum of the fields alone.
const FIRST_KEYED_VERSION: u32 = 3;
const HEAD_BYTES: usize = 24;
const ALIGNMENT: usize = 4096;

/// A zone that holds records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zone {
    /// Place on the device, in zones.
    pub(crate) slot: u32,
    /// Records that begin in it.
    pub(crate) records: u32,
    /// Estimated number of stale records: replaced ones and tombstones.
    pub(crate) stale: u32,
}

/// The state of an index outside buckets and log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Manifest {
    /// Version of the format with which it was read. A manifest is written with the newest one.
    pub(crate) version: u32,
    /// Number of the manifest.
    pub(crate) sequence: u64,
    /// Keys the checksums of this index.
    pub(crate) salt: u64,
    pub(crate) settings: IndexSettings,
    /// First page whose records may be missing from the buckets.
    pub(crate) replay_page: u64,
    /// First page whose records are not in the counts of the zones.
    pub(crate) counted_page: u64,
    /// Of the newest bucket.
    pub(crate) bucket_version: u32,
    /// Slots of the bucket device.
    pub(crate) bucket_slots: u32,
    /// Slots of the log device.
    pub(crate) zone_slots: u32,
    /// Written by a clean close, together with the files `waiting` and `filters`.
    pub(crate) is_closing: bool,
    /// Some of its buckets are not to be appended to.
    pub(crate) has_sealed: bool,
    /// Slots for the next zones, in order.
    pub(crate) free_zone_slots: Vec<u32>,
    pub(crate) zones: Vec<(u64, Zone)>,
    /// Depth and bucket of each partition, in the order of their prefixes.
    pub(crate) partitions: Vec<(u8, Option<Bucket>)>,
}

/// Upper bound of pages: half an exbibyte.
const PAGES_MAX: u64 = 1 << (PAGE_BITS - 1);
/// Maximum depth beyond the logarithm of the number of partitions. The writer splits no further. Bounds the allocation of the directory.
const DEPTH_BEYOND_MAX: u8 = 20;

/// Slot that stands for "no bucket".
const NO_SLOT: u32 = u32::MAX;

impl Manifest {
    /// The stored bytes, padded for direct I/O: 10 bytes per partition.
    fn encode(&self) -> AlignedBuf {
        let mut body = Vec::with_capacity(self.partitions.len() * 10 + self.zones.len() * 20 + 64);
        body.extend(self.sequence.to_le_bytes());
        body.extend(self.salt.to_le_bytes());
        body.extend(self.replay_page.to_le_bytes());
        body.extend(self.counted_page.to_le_bytes());
        body.extend((u64::from(self.is_closing) | u64::from(self.has_sealed) << 1).to_le_bytes());
        body.extend(self.settings.expected_keys.to_le_bytes());
        body.extend(self.settings.zone_pages.to_le_bytes());
        body.extend(self.bucket_version.to_le_bytes());
        body.extend(self.bucket_slots.to_le_bytes());
        body.extend(self.zone_slots.to_le_bytes());
        body.push(self.settings.bucket_sectors);
        body.extend((self.free_zone_slots.len() as u32).to_le_bytes());
        self.free_zone_slots.iter().for_each(|slot| body.extend(slot.to_le_bytes()));
        body.extend((self.zones.len() as u32).to_le_bytes());
        for (number, zone) in &self.zones {
            body.extend(number.to_le_bytes());
            [zone.slot, zone.records, zone.stale].iter().for_each(|n| body.extend(n.to_le_bytes()));
        }
        body.extend((self.partitions.len() as u32).to_le_bytes());
        for (depth, bucket) in &self.partitions {
            let Bucket { slot, version, sectors } =
                bucket.unwrap_or(Bucket { slot: NO_SLOT, version: 0, sectors: 0 });
            body.extend([*depth, sectors]);
            [slot, version].iter().for_each(|n| body.extend(n.to_le_bytes()));
        }
        let mut out = AlignedBuf::new((HEAD_BYTES + body.len()).next_multiple_of(ALIGNMENT));
        out[..8].copy_from_slice(&INDEX_MAGIC);
        out[8..12].copy_from_slice(&INDEX_VERSION.to_le_bytes());
        out[12..16].copy_from_slice(&(body.len() as u32).to_le_bytes());
        let sum = sum(&out[8..16], &body);
        out[16..24].copy_from_slice(&sum.to_le_bytes());
        out[HEAD_BYTES..HEAD_BYTES + body.len()].copy_from_slice(&body);
        out
    }

    /// Reads a stored manifest. Total: for any bytes, returns a valid manifest or an error.
    fn decode(name: &str, bytes: &[u8]) -> Result<Manifest, FlashError> {
        let truncated = |expected: usize| FlashError::Truncated {
            name: name.to_owned(),
            got_bytes: bytes.len() as u64,
            expected_bytes: expected as u64,
        };
        if bytes.len() < HEAD_BYTES {
            return Err(truncated(HEAD_BYTES));
        }
        let magic: [u8; 8] = field(bytes, 0);
        if magic != INDEX_MAGIC {
            let (got, expected) = (format!("{magic:02x?} at its beginning"), format!("{INDEX_MAGIC:02x?}"));
            return Err(FlashError::damaged(name, "the manifest", got, expected));
        }
        let body_bytes = u32_at(bytes, 12) as usize;
        let body = bytes[HEAD_BYTES..].get(..body_bytes).ok_or_else(|| truncated(HEAD_BYTES + body_bytes))?;
        let (stored, sum) = (u64_at(bytes, 16), sum(&bytes[8..16], body));
        if stored != sum {
            let got = u32_at(bytes, 8);
            if got < FIRST_KEYED_VERSION && stored == KeyDigest::of(body).lo {
                return Err(FlashError::OlderVersion { name: name.to_owned(), got, expected: INDEX_VERSION });
            }
            let (got, expected) = (format!("{stored:016x}"), format!("{sum:016x}"));
            return Err(FlashError::damaged(name, "the manifest's checksum", got, expected));
        }
        // Checked after the checksum, so that a flipped bit is reported as damage and not as another version.
        let (got, expected) = (u32_at(bytes, 8), INDEX_VERSION);
        if got > expected {
            return Err(FlashError::NewerVersion { name: name.to_owned(), got, expected });
        }
        if got < OLDEST_VERSION {
            return Err(FlashError::OlderVersion { name: name.to_owned(), got, expected });
        }
        let manifest = Reader { rest: body }.manifest(got);
        let manifest = manifest
            .ok_or_else(|| FlashError::damaged(name, "the manifest", "too few bytes", "every field"))?;
        match manifest.fault() {
            None => Ok(manifest),
            Some(part) => {
                Err(FlashError::damaged(name, part, "an impossible value", "values within their ranges"))
            }
        }
    }

    /// The name of a field with an impossible value.
    fn fault(&self) -> Option<&'static str> {
        let buckets = || self.partitions.iter().filter_map(|(_, bucket)| *bucket);
        if self.settings.check().is_err() {
            return Some("a setting");
        }
        if self.sequence >= 1 << 63 {
            return Some("a counter");
        }
        let zone_pages = u64::from(self.settings.zone_pages);
        let slot_pages = u64::from(self.zone_slots) * zone_pages;
        if self.replay_page.max(self.counted_page).max(slot_pages) >= PAGES_MAX
            || self.zones.iter().any(|(number, _)| *number >= PAGES_MAX / zone_pages)
        {
            return Some("a page");
        }
        let depth_max = DEPTH_MAX.min(self.partitions.len().max(1).ilog2() as u8 + DEPTH_BEYOND_MAX);
        if self.partitions.iter().any(|(depth, _)| *depth > depth_max)
            || buckets().any(|b| b.slot >= self.bucket_slots || b.sectors == 0)
            || buckets().any(|b| b.sectors > self.settings.bucket_sectors)
        {
            return Some("a partition");
        }
        let slots = self.zones.iter().map(|(_, zone)| zone.slot).chain(self.free_zone_slots.iter().copied());
        slots.into_iter().any(|slot| slot >= self.zone_slots).then_some("a zone")
    }

    /// Writes this manifest over the older one. Durable on return. Returns the bytes written.
    pub(crate) fn write(&self, storage: &dyn Storage) -> Result<u64, FlashError> {
        let bytes = self.encode();
        let device = NamedDevice::create(storage, file_of(self.sequence), bytes.len() as u64)?;
        device.write(0, &bytes)?;
        device.sync()?;
        Ok(bytes.len() as u64)
    }

    /// The key of the files written by the same close.
    pub(crate) fn closing(&self) -> Option<BlockKey> {
        self.is_closing.then_some(BlockKey { salt: self.salt, sequence: self.sequence })
    }

    /// Reads the manifest with this salt and sequence number.
    pub(crate) fn read(storage: &dyn Storage, salt: u64, sequence: u64) -> Result<Manifest, FlashError> {
        let manifest = Manifest::read_file(storage, file_of(sequence))?;
        if (manifest.salt, manifest.sequence) == (salt, sequence) {
            return Ok(manifest);
        }
        let got = format!("number {} of the index {:016x}", manifest.sequence, manifest.salt);
        let expected = format!("number {sequence} of the index {salt:016x}, which the write-ahead log names");
        Err(FlashError::damaged(&storage.describe(file_of(sequence)), "the manifest", got, expected))
    }

    /// The newest readable manifest, for salvage. It may be an outdated one.
    pub(crate) fn newest(storage: &dyn Storage) -> Result<Option<Manifest>, FlashError> {
        let mut newest: Option<Manifest> = None;
        for file in NAMES {
            match Manifest::read_file(storage, file) {
                Ok(found) if newest.as_ref().is_none_or(|newest| found.sequence > newest.sequence) => {
                    newest = Some(found);
                }
                Err(error) if error.is_other_version() => return Err(error),
                _ => {}
            }
        }
        Ok(newest)
    }

    fn read_file(storage: &dyn Storage, file: &str) -> Result<Manifest, FlashError> {
        let device = NamedDevice::open(storage, file)?;
        let len = device.len_bytes() as usize / SECTOR_BYTES * SECTOR_BYTES;
        let mut bytes = AlignedBuf::new(len);
        device.read(0, &mut bytes)?;
        Manifest::decode(device.name(), &bytes)
    }
}

fn file_of(sequence: u64) -> &'static str {
    NAMES[(sequence % 2) as usize]
}

/// Checksum of version, length and fields.
fn sum(head: &[u8], body: &[u8]) -> u64 {
    checksum(u64_at(head, 0), 0, body)
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// A list with its length in front. Nothing is reserved for a length that the bytes cannot hold.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.u32()?;
        (0..count).map(|_| item(self)).collect()
    }

    fn manifest(mut self, version: u32) -> Option<Manifest> {
        let (sequence, salt, replay_page) = (self.u64()?, self.u64()?, self.u64()?);
        let (counted_page, flags, expected_keys) = (self.u64()?, self.u64()?, self.u64()?);
        let (zone_pages, bucket_version) = (self.u32()?, self.u32()?);
        let (bucket_slots, zone_slots) = (self.u32()?, self.u32()?);
        let bucket_sectors = self.u8()?;
        let free_zone_slots = self.list(Self::u32)?;
        let zones =
            self.list(|r| Some((r.u64()?, Zone { slot: r.u32()?, records: r.u32()?, stale: r.u32()? })))?;
        let partitions = self.list(|r| {
            let (depth, sectors, slot, version) = (r.u8()?, r.u8()?, r.u32()?, r.u32()?);
            Some((depth, (slot != NO_SLOT).then_some(Bucket { slot, version, sectors })))
        })?;
        let settings = IndexSettings { expected_keys, bucket_sectors, zone_pages };
        Some(Manifest {
            version,
            sequence,
            salt,
            settings,
            replay_page,
            counted_page,
            is_closing: flags & 1 != 0,
            has_sealed: flags & 2 != 0,
            bucket_version,
            bucket_slots,
            zone_slots,
            free_zone_slots,
            zones,
            partitions,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use springbloom_flash_testkit::{SimPower, SimStorage};

    fn manifest(sequence: u64) -> Manifest {
        Manifest {
            version: INDEX_VERSION,
            sequence,
            salt: 99,
            settings: IndexSettings::new(1000),
            replay_page: 12,
            counted_page: 14,
            is_closing: true,
            has_sealed: true,
            bucket_version: 8,
            bucket_slots: 5,
            zone_slots: 3,
            free_zone_slots: vec![2],
            zones: vec![(4, Zone { slot: 1, records: 10, stale: 2 })],
            partitions: vec![(1, None), (1, Some(Bucket { slot: 4, version: 7, sectors: 3 }))],
        }
    }

    #[test]
    fn the_one_in_force_is_read_and_no_other() {
        let storage = SimStorage::new(SimPower::steady());
        assert!(matches!(Manifest::read(&storage, 99, 0), Err(FlashError::Io { .. })), "none yet");
        manifest(0).write(&storage).unwrap();
        manifest(1).write(&storage).unwrap();
        assert_eq!(Manifest::read(&storage, 99, 1).unwrap(), manifest(1));
        assert_eq!(Manifest::read(&storage, 99, 0).unwrap(), manifest(0));
        for (salt, sequence) in [(98, 1), (99, 3), (99, 2)] {
            assert!(matches!(Manifest::read(&storage, salt, sequence), Err(FlashError::Damaged { .. })));
        }
        storage.damage("manifest-b", 30, |bytes| bytes[0] ^= 1);
        assert!(matches!(Manifest::read(&storage, 99, 1), Err(FlashError::Damaged { .. })), "no step back");
        assert_eq!(Manifest::newest(&storage).unwrap(), Some(manifest(0)));
    }

    #[test]
    fn every_kind_of_wrong_file_has_its_own_error() {
        let good = manifest(1).encode();
        let with = |at: usize, byte: u8| {
            let mut bytes = good.to_vec();
            bytes[at] = byte;
            Manifest::decode("m", &bytes)
        };
        assert!(matches!(with(0, b'X'), Err(FlashError::Damaged { .. })));
        let of_version = |version: u8, is_keyed: bool| {
            let mut bytes = good.to_vec();
            bytes[8] = version;
            let end = HEAD_BYTES + u32_at(&bytes, 12) as usize;
            let body = &bytes[HEAD_BYTES..end];
            let sum = if is_keyed { sum(&bytes[8..16], body) } else { KeyDigest::of(body).lo };
            bytes[16..24].copy_from_slice(&sum.to_le_bytes());
            Manifest::decode("m", &bytes)
        };
        assert!(matches!(of_version(9, true), Err(FlashError::NewerVersion { got: 9, expected: 4, .. })));
        assert!(matches!(of_version(1, false), Err(FlashError::OlderVersion { got: 1, expected: 4, .. })));
        assert_eq!(of_version(3, true).unwrap(), Manifest { version: 3, ..manifest(1) });
        assert!(matches!(with(8, 9), Err(FlashError::Damaged { .. })), "a flipped bit is no version");
        assert!(matches!(Manifest::decode("m", &good[..20]), Err(FlashError::Truncated { .. })));
        assert!(matches!(Manifest::decode("m", &good[..40]), Err(FlashError::Truncated { .. })));
        assert!(matches!(with(100, !good[100]), Err(FlashError::Damaged { .. })));
    }

    #[test]
    fn manifests_of_indexes_that_cannot_be_are_refused() {
        assert_eq!(manifest(1).fault(), None);
        let deep = |depth| vec![(1, None), (depth, None), (depth, None)];
        for wrong in [
            Manifest { replay_page: u64::MAX, ..manifest(1) },
            Manifest { counted_page: 1 << 47, ..manifest(1) },
            Manifest { zones: vec![(u64::MAX, Zone { slot: 1, records: 1, stale: 0 })], ..manifest(1) },
            Manifest {
                zone_slots: u32::MAX,
                settings: IndexSettings { zone_pages: 1 << 20, ..manifest(1).settings },
                ..manifest(1)
            },
            Manifest { partitions: deep(40), ..manifest(1) },
        ] {
            assert!(wrong.fault().is_some(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn decoding_is_total(at in 24usize..140, bytes in proptest::collection::vec(any::<u8>(), 1..40)) {
            // With a valid checksum, so that the checks after it are reached.
            let mut block = manifest(1).encode();
            block[at..at + bytes.len()].copy_from_slice(&bytes);
            let body_bytes = u32_at(&block, 12) as usize;
            let sum = sum(&block[8..16], &block[HEAD_BYTES..HEAD_BYTES + body_bytes]);
            block[16..24].copy_from_slice(&sum.to_le_bytes());
            if let Ok(manifest) = Manifest::decode("m", &block) {
                prop_assert!(manifest.settings.check().is_ok());
            }
        }
    }
}
