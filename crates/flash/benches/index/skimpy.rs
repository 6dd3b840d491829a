//! A baseline like SkimpyStash (Debnath, Sengupta, Li, SIGMOD 2011): a hash table of buckets in memory, each a pointer to the newest of a chain of records on
//! flash and a small Bloom filter. The slides compare with it at one byte per key.
//!
//! Kept to what decides its lookups: records go to a log of pages, each carries the page of the one before it in its bucket;
//! memory per key is `4 / records per bucket + filter bits / 8`. No durability, no deletion: both would only cost it.

use springbloom_filter::KeyDigest;
use springbloom_flash::{
    AlignedBuf,
    device::{FileStorage, IoEngine, PageDevice, Span, Storage},
};

use crate::setup::{KEY_BYTES, Setup, VALUE_BYTES, value_of};
use crate::store::Store;

const PAGE_BYTES: usize = 4096;
const RECORD_BYTES: usize = KEY_BYTES + VALUE_BYTES + 4;
const RECORDS_PER_PAGE: usize = PAGE_BYTES / RECORD_BYTES;
/// Pages that wait in memory and are written together.
const TAIL_PAGES: usize = 64;
const NONE: u32 = u32::MAX;

pub(crate) struct Skimpy {
    heads: Vec<u32>,
    filters: Vec<u8>,
    filter_bytes: usize,
    device: std::sync::Arc<dyn PageDevice>,
    _storage: FileStorage,
    tail: AlignedBuf,
    tail_first: u32,
    page: u32,
    in_page: usize,
    reads: u64,
    written: u64,
}

impl Skimpy {
    /// `records_per_bucket` long chains and `filter_bits` per key of filter.
    pub(crate) fn make(setup: &Setup, records_per_bucket: u64, filter_bits: u64) -> Skimpy {
        let buckets = (setup.keys / records_per_bucket) as usize;
        let filter_bytes = (records_per_bucket * filter_bits / 8) as usize;
        let storage = FileStorage::open(&setup.fresh("skimpy"), true, IoEngine::Auto).expect("a folder");
        let pages = setup.keys as usize / RECORDS_PER_PAGE + TAIL_PAGES;
        let device = storage.create("records", (pages * PAGE_BYTES) as u64).expect("a file");
        Skimpy {
            heads: vec![NONE; buckets],
            filters: vec![0; buckets * filter_bytes],
            filter_bytes,
            device,
            _storage: storage,
            tail: AlignedBuf::new(TAIL_PAGES * PAGE_BYTES),
            tail_first: 0,
            page: 0,
            in_page: 0,
            reads: 0,
            written: 0,
        }
    }

    fn bucket(&self, digest: KeyDigest) -> usize {
        ((u128::from(digest.hi) * self.heads.len() as u128) >> 64) as usize
    }

    /// The bits of a key in its bucket's filter: as many probes as are best at 8 bits per key.
    fn bits(&self, digest: KeyDigest) -> impl Iterator<Item = usize> + use<> {
        let bits = self.filter_bytes as u64 * 8;
        let (lo, step) = (digest.lo, digest.lo.rotate_left(32) | 1);
        (0..6u64).map(move |i| (lo.wrapping_add(i.wrapping_mul(step)) >> 17) as usize % bits.max(1) as usize)
    }

    fn may_match(&self, bucket: usize, digest: KeyDigest) -> bool {
        let filter = &self.filters[bucket * self.filter_bytes..][..self.filter_bytes];
        self.filter_bytes == 0 || self.bits(digest).all(|bit| filter[bit / 8] >> (bit % 8) & 1 == 1)
    }
}

/// Looks for `key` from the end of a page's records; its page in the chain otherwise.
fn look(
    bytes: &[u8],
    in_page: usize,
    key: &[u8; KEY_BYTES],
    is_mine: impl Fn(&[u8]) -> bool,
) -> Result<Vec<u8>, u32> {
    let mut next = NONE;
    for record in bytes.chunks_exact(RECORD_BYTES).take(in_page).rev() {
        if &record[..KEY_BYTES] == key {
            return Ok(record[KEY_BYTES..KEY_BYTES + VALUE_BYTES].to_vec());
        }
        if is_mine(&record[..KEY_BYTES]) {
            next = u32::from_le_bytes(record[RECORD_BYTES - 4..].try_into().expect("four bytes"));
        }
    }
    Err(next)
}

impl Store for Skimpy {
    fn put_many(&mut self, keys: &[[u8; KEY_BYTES]]) {
        for key in keys {
            let digest = KeyDigest::of(key);
            let bucket = self.bucket(digest);
            if self.in_page == RECORDS_PER_PAGE {
                (self.page, self.in_page) = (self.page + 1, 0);
                if (self.page - self.tail_first) as usize == TAIL_PAGES {
                    self.device
                        .write_at(u64::from(self.tail_first) * PAGE_BYTES as u64, &self.tail)
                        .expect("write");
                    self.written += self.tail.len() as u64;
                    self.tail_first = self.page;
                }
            }
            let at = (self.page - self.tail_first) as usize * PAGE_BYTES + self.in_page * RECORD_BYTES;
            let record = &mut self.tail[at..at + RECORD_BYTES];
            record[..KEY_BYTES].copy_from_slice(key);
            record[KEY_BYTES..KEY_BYTES + VALUE_BYTES].copy_from_slice(&value_of(key));
            record[RECORD_BYTES - 4..].copy_from_slice(&self.heads[bucket].to_le_bytes());
            self.heads[bucket] = self.page;
            self.in_page += 1;
            for bit in self.bits(digest).collect::<Vec<_>>() {
                if self.filter_bytes > 0 {
                    self.filters[bucket * self.filter_bytes + bit / 8] |= 1 << (bit % 8);
                }
            }
        }
    }

    fn flush(&mut self) {}

    fn get_many(&mut self, keys: &[[u8; KEY_BYTES]]) -> usize {
        let mut walks: Vec<(usize, usize, u32)> = Vec::new();
        for (i, key) in keys.iter().enumerate() {
            let digest = KeyDigest::of(key);
            let bucket = self.bucket(digest);
            if self.may_match(bucket, digest) {
                walks.push((i, bucket, self.heads[bucket]));
            }
        }
        let mut found = 0;
        // Each round follows every chain by one page; all reads of a round are in flight together.
        while !walks.is_empty() {
            let mut next = Vec::new();
            let (in_memory, on_device): (Vec<_>, Vec<_>) =
                walks.into_iter().partition(|walk| walk.2 >= self.tail_first);
            let mut step = |(i, bucket, page): (usize, usize, u32), bytes: &[u8]| {
                let in_page = if page == self.page { self.in_page } else { RECORDS_PER_PAGE };
                match look(bytes, in_page, &keys[i], |key| self.bucket(KeyDigest::of(key)) == bucket) {
                    Ok(value) => {
                        assert_eq!(value, value_of(&keys[i]));
                        found += 1;
                    }
                    Err(NONE) => {}
                    Err(page) => next.push((i, bucket, page)),
                }
            };
            for walk in in_memory.into_iter().filter(|walk| walk.2 != NONE) {
                step(walk, &self.tail[(walk.2 - self.tail_first) as usize * PAGE_BYTES..][..PAGE_BYTES]);
            }
            let spans: Vec<Span> = on_device
                .iter()
                .map(|walk| Span { offset: u64::from(walk.2) * PAGE_BYTES as u64, len_bytes: PAGE_BYTES })
                .collect();
            self.device.read_each(&spans, &mut |n, bytes| step(on_device[n], bytes.expect("read")));
            self.reads += spans.len() as u64;
            walks = next;
        }
        found
    }

    fn reads(&self) -> Option<u64> {
        Some(self.reads)
    }

    fn written_bytes(&self) -> Option<u64> {
        Some(self.written)
    }
}
