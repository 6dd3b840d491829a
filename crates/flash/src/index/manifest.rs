//! A consistent picture of an index, from which recovery starts: written to two files in turn, so that an interrupted
//! writing leaves the one before. Layout: `docs/flash-index.md`.

use springbloom_filter::KeyDigest;

use super::closing::Closing;
use super::entry::{DEPTH_MAX, PAGE_BITS};
use super::partitions::Bucket;
use super::settings::IndexSettings;
use super::zones::Zone;
use crate::AlignedBuf;
use crate::device::{SECTOR_BYTES, Storage};
use crate::error::FlashError;
use crate::header::field;

/// First eight bytes of a manifest.
pub const INDEX_MAGIC: [u8; 8] = *b"SPBLINDX";
/// Version that this program writes, and the newest it reads.
pub const INDEX_VERSION: u32 = 2;

const NAMES: [&str; 2] = ["manifest-a", "manifest-b"];
const HEAD_BYTES: usize = 24;
const ALIGNMENT: usize = 4096;

/// All that is not in buckets and log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Manifest {
    /// Counts manifests; the higher one is the newer.
    pub(crate) sequence: u64,
    /// Counts openings.
    pub(crate) epoch: u32,
    /// Keys the checksums of this index.
    pub(crate) salt: u64,
    pub(crate) settings: IndexSettings,
    /// First page whose records may be missing from the buckets.
    pub(crate) replay_page: u64,
    /// First page whose records the zones' counts do not include.
    pub(crate) counted_page: u64,
    /// Opening in which that page was to be written next: what an earlier one left there is no log.
    pub(crate) counted_epoch: u32,
    /// Buckets ever made.
    pub(crate) births: u32,
    /// Slots of the bucket device.
    pub(crate) bucket_slots: u32,
    /// Slots of the log device.
    pub(crate) zone_slots: u32,
    /// The manifest that the last closing wrote, if no checkpoint followed; else 0. Of any other than that itself, buckets may have been appended to
    /// since.
    pub(crate) closed: u64,
    /// Slots for the next zones, in order.
    pub(crate) free_zone_slots: Vec<u32>,
    pub(crate) zones: Vec<(u64, Zone)>,
    /// Depth and bucket of each partition, in the order of their prefixes.
    pub(crate) partitions: Vec<(u8, Option<Bucket>)>,
}

/// Pages that no index reaches: half an exbibyte.
const PAGES_MAX: u64 = 1 << (PAGE_BITS - 1);
/// How much deeper than the number of partitions explains the deepest one can be: beyond, the writer refuses to divide it. Bounds what is allocated for
/// the directory.
const DEPTH_BEYOND_MAX: u8 = 20;

/// Slot that stands for "no bucket".
const NO_SLOT: u32 = u32::MAX;

impl Manifest {
    /// As stored, padded to what direct I/O writes. Length: 10 bytes per partition.
    fn encode(&self) -> AlignedBuf {
        let mut body = Vec::with_capacity(self.partitions.len() * 10 + self.zones.len() * 20 + 64);
        body.extend(self.sequence.to_le_bytes());
        body.extend(self.salt.to_le_bytes());
        body.extend(self.replay_page.to_le_bytes());
        body.extend(self.counted_page.to_le_bytes());
        body.extend(self.closed.to_le_bytes());
        body.extend(self.settings.expected_keys.to_le_bytes());
        body.extend(self.epoch.to_le_bytes());
        body.extend(self.counted_epoch.to_le_bytes());
        body.extend(self.settings.zone_pages.to_le_bytes());
        body.extend(self.births.to_le_bytes());
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
            let Bucket { slot, birth, sectors } =
                bucket.unwrap_or(Bucket { slot: NO_SLOT, birth: 0, sectors: 0 });
            body.extend([*depth, sectors]);
            [slot, birth].iter().for_each(|n| body.extend(n.to_le_bytes()));
        }
        let mut out = AlignedBuf::new((HEAD_BYTES + body.len()).next_multiple_of(ALIGNMENT));
        out[..8].copy_from_slice(&INDEX_MAGIC);
        out[8..12].copy_from_slice(&INDEX_VERSION.to_le_bytes());
        out[12..16].copy_from_slice(&(body.len() as u32).to_le_bytes());
        out[16..24].copy_from_slice(&KeyDigest::of(&body).lo.to_le_bytes());
        out[HEAD_BYTES..HEAD_BYTES + body.len()].copy_from_slice(&body);
        out
    }

    /// Reads a stored manifest. Total: any bytes give one that describes an index that can be, or an error.
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
            return Err(FlashError::Foreign { name: name.to_owned(), got: magic, expected: INDEX_MAGIC });
        }
        let version = u32::from_le_bytes(field(bytes, 8));
        if version > INDEX_VERSION {
            return Err(FlashError::NewerVersion {
                name: name.to_owned(),
                got: version,
                expected: INDEX_VERSION,
            });
        }
        let body_bytes = u32::from_le_bytes(field(bytes, 12)) as usize;
        let body = bytes[HEAD_BYTES..].get(..body_bytes).ok_or_else(|| truncated(HEAD_BYTES + body_bytes))?;
        let (stored, sum) = (u64::from_le_bytes(field(bytes, 16)), KeyDigest::of(body).lo);
        let damaged = |part, got: String, expected: &str| FlashError::Damaged {
            name: name.to_owned(),
            part,
            got,
            expected: expected.to_owned(),
        };
        if stored != sum {
            return Err(damaged("the manifest's checksum", format!("{stored:016x}"), &format!("{sum:016x}")));
        }
        let manifest = Reader { rest: body }.manifest();
        let manifest =
            manifest.ok_or_else(|| damaged("the manifest", "too few bytes".to_owned(), "every field"))?;
        match manifest.fault() {
            None if version == INDEX_VERSION => Ok(manifest),
            None => Err(damaged("the version", version.to_string(), "1")),
            Some(part) => Err(damaged(part, "an impossible value".to_owned(), "values within their ranges")),
        }
    }

    /// A field that no program would have written so.
    fn fault(&self) -> Option<&'static str> {
        let buckets = || self.partitions.iter().filter_map(|(_, bucket)| *bucket);
        if self.settings.check().is_err() {
            return Some("a setting");
        }
        if self.sequence >= 1 << 63 || self.epoch == u32::MAX {
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

    /// Writes this manifest over the older of the two. Durable on return.
    pub(crate) fn write(&self, storage: &dyn Storage) -> Result<u64, FlashError> {
        let file = NAMES[(self.sequence % 2) as usize];
        let name = storage.describe(file);
        let bytes = self.encode();
        let device = storage.create(file, bytes.len() as u64).map_err(FlashError::io("create", &name))?;
        device.write_at(0, &bytes).map_err(FlashError::io("write", &name))?;
        device.sync().map_err(FlashError::io("sync", &name))?;
        Ok(bytes.len() as u64)
    }

    /// The last closing, if no checkpoint followed.
    pub(crate) fn closing(&self) -> Option<Closing> {
        (self.closed > 0).then_some(Closing { salt: self.salt, sequence: self.closed })
    }

    /// Whether an index was ever made here. A file without contents is what an interrupted making leaves.
    pub(crate) fn exists(storage: &dyn Storage) -> bool {
        NAMES.iter().any(|file| {
            let mut sector = AlignedBuf::new(ALIGNMENT);
            let read = storage.open(file).and_then(|device| device.read_at(0, &mut sector));
            read.is_ok() && sector[..8] != [0; 8]
        })
    }

    /// The newer of the two that can be read; if neither can, what is wrong with the one that seems closest.
    pub(crate) fn read(storage: &dyn Storage) -> Result<Manifest, FlashError> {
        let mut found = NAMES.map(|file| {
            let name = storage.describe(file);
            let device = storage.open(file).map_err(FlashError::io("open", &name))?;
            let len = device.len_bytes() as usize / SECTOR_BYTES * SECTOR_BYTES;
            let mut bytes = AlignedBuf::new(len);
            device.read_at(0, &mut bytes).map_err(FlashError::io("read", &name))?;
            Manifest::decode(&name, &bytes)
        });
        // An unreadable one sorts first; of two, one that was never made is the less telling.
        found.sort_by_key(|found| match found {
            Ok(manifest) => (2, manifest.sequence),
            Err(FlashError::Io { .. }) => (0, 0),
            Err(_) => (1, 0),
        });
        let [_, newest] = found;
        newest
    }
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

    /// As many items as the next word says; what is not there ends it, so nothing is reserved for them.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.u32()?;
        (0..count).map(|_| item(self)).collect()
    }

    fn manifest(mut self) -> Option<Manifest> {
        let (sequence, salt, replay_page) = (self.u64()?, self.u64()?, self.u64()?);
        let (counted_page, closed, expected_keys) = (self.u64()?, self.u64()?, self.u64()?);
        let (epoch, counted_epoch) = (self.u32()?, self.u32()?);
        let (zone_pages, births) = (self.u32()?, self.u32()?);
        let (bucket_slots, zone_slots) = (self.u32()?, self.u32()?);
        let bucket_sectors = self.u8()?;
        let free_zone_slots = self.list(Self::u32)?;
        let zones =
            self.list(|r| Some((r.u64()?, Zone { slot: r.u32()?, records: r.u32()?, stale: r.u32()? })))?;
        let partitions = self.list(|r| {
            let (depth, sectors, slot, birth) = (r.u8()?, r.u8()?, r.u32()?, r.u32()?);
            Some((depth, (slot != NO_SLOT).then_some(Bucket { slot, birth, sectors })))
        })?;
        let settings = IndexSettings { expected_keys, bucket_sectors, zone_pages };
        Some(Manifest {
            sequence,
            epoch,
            salt,
            settings,
            replay_page,
            counted_page,
            closed,
            counted_epoch,
            births,
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
    use crate::device::{SimPower, SimStorage};

    fn manifest(sequence: u64) -> Manifest {
        Manifest {
            sequence,
            epoch: 3,
            salt: 99,
            settings: IndexSettings::new(1000),
            replay_page: 12,
            counted_page: 14,
            closed: 0,
            counted_epoch: 2,
            births: 8,
            bucket_slots: 5,
            zone_slots: 3,
            free_zone_slots: vec![2],
            zones: vec![(4, Zone { slot: 1, records: 10, stale: 2 })],
            partitions: vec![(1, None), (1, Some(Bucket { slot: 4, birth: 7, sectors: 3 }))],
        }
    }

    #[test]
    fn the_newer_of_two_is_read_and_the_other_if_it_is_damaged() {
        let storage = SimStorage::new(SimPower::steady());
        assert!(matches!(Manifest::read(&storage), Err(FlashError::Io { .. })), "none yet");
        manifest(0).write(&storage).unwrap();
        manifest(1).write(&storage).unwrap();
        assert_eq!(Manifest::read(&storage).unwrap(), manifest(1));
        storage.damage("manifest-b", 30, |bytes| bytes[0] ^= 1);
        assert_eq!(Manifest::read(&storage).unwrap(), manifest(0));
        storage.damage("manifest-a", 30, |bytes| bytes[0] ^= 1);
        assert!(matches!(Manifest::read(&storage), Err(FlashError::Damaged { .. })));
    }

    #[test]
    fn every_kind_of_wrong_file_has_its_own_error() {
        let good = manifest(1).encode();
        let with = |at: usize, byte: u8| {
            let mut bytes = good.to_vec();
            bytes[at] = byte;
            Manifest::decode("m", &bytes)
        };
        assert!(matches!(with(0, b'X'), Err(FlashError::Foreign { .. })));
        assert!(matches!(with(8, 9), Err(FlashError::NewerVersion { got: 9, expected: 2, .. })));
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
            Manifest { epoch: u32::MAX, ..manifest(1) },
            Manifest { partitions: deep(40), ..manifest(1) },
        ] {
            assert!(wrong.fault().is_some(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn decoding_is_total(at in 24usize..140, bytes in proptest::collection::vec(any::<u8>(), 1..40)) {
            // Sealed again, so that the checks behind the checksum are reached.
            let mut block = manifest(1).encode();
            block[at..at + bytes.len()].copy_from_slice(&bytes);
            let body_bytes = u32::from_le_bytes(field(&block, 12)) as usize;
            let sum = KeyDigest::of(&block[HEAD_BYTES..HEAD_BYTES + body_bytes]).lo;
            block[16..24].copy_from_slice(&sum.to_le_bytes());
            if let Ok(manifest) = Manifest::decode("m", &block) {
                prop_assert!(manifest.settings.check().is_ok());
            }
        }
    }
}
