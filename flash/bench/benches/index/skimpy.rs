//! A baseline like SkimpyStash (Debnath, Sengupta, Li, SIGMOD 2011): a hash table of buckets in memory. Each bucket has a small Bloom
//! filter and points to the newest of a chain of records on flash. The slides of BloomStore compare with it at one byte per key.
//!
//! Only the parts that determine lookups: records go to a log of pages, and each holds the page of the previous record in its bucket.
//! Memory per key is `4 / records per bucket + filter bits / 8` bytes. There is no durability and no deletion; both would only add cost.

use std::collections::VecDeque;

use springbloom_filter::KeyDigest;
use springbloom_page_device::{
    Access, AlignedBuf, FileStorage, IoEngine, PageDevice, PlannedRead, ReadPlan, Span, Storage,
};

use crate::setup::{KEY_BYTES, Setup, VALUE_BYTES, value_of};
use crate::store::Store;

const PAGE_BYTES: usize = 4096;
const RECORD_BYTES: usize = KEY_BYTES + VALUE_BYTES + 4;
const RECORDS_PER_PAGE: usize = PAGE_BYTES / RECORD_BYTES;
/// Full pages that are kept in memory and written together.
const TAIL_PAGES: usize = 64;
const NONE: u32 = u32::MAX;

pub(crate) struct Skimpy {
    heads: Vec<u32>,
    filters: Vec<u8>,
    filter_bytes: usize,
    /// The best number for the filter's size.
    probes: u64,
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
    /// Chains of `records_per_bucket` records, and `filter_bits` of filter per key.
    pub(crate) fn make(setup: &Setup, records_per_bucket: u64, filter_bits: u64) -> Skimpy {
        let filter_bytes = records_per_bucket * filter_bits / 8;
        Self::of(setup, setup.keys / records_per_bucket, filter_bytes as usize, filter_bits)
    }

    /// As many buckets as `memory_bytes` has room for, with `filter_bits` of filter per key.
    pub(crate) fn with_memory(setup: &Setup, memory_bytes: u64, filter_bits: u64) -> Skimpy {
        // A bucket has a pointer of four bytes and the filter of its keys.
        let heads = memory_bytes.saturating_sub(setup.keys * filter_bits / 8);
        let filter_bytes = (setup.keys * filter_bits / 8 * 4) as f64 / heads as f64;
        let filter_bytes = filter_bytes.round().max(1.0) as u64;
        Self::of(setup, memory_bytes / (4 + filter_bytes), filter_bytes as usize, filter_bits)
    }

    fn of(setup: &Setup, buckets: u64, filter_bytes: usize, filter_bits: u64) -> Skimpy {
        let buckets = buckets as usize;
        let storage =
            FileStorage::open(&setup.fresh("skimpy"), Access::Create, IoEngine::Auto).expect("a folder");
        let pages = setup.keys as usize / RECORDS_PER_PAGE + TAIL_PAGES;
        let device = storage.create("records", (pages * PAGE_BYTES) as u64).expect("a file");
        Skimpy {
            heads: vec![NONE; buckets],
            filters: vec![0; buckets * filter_bytes],
            filter_bytes,
            probes: (filter_bits as f64 * std::f64::consts::LN_2).round().max(1.0) as u64,
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

    /// The bits of a key in the filter of its bucket.
    fn bits(&self, digest: KeyDigest) -> impl Iterator<Item = usize> + use<> {
        let bits = self.filter_bytes as u64 * 8;
        let (lo, step) = (digest.lo, digest.lo.rotate_left(32) | 1);
        (0..self.probes)
            .map(move |i| (lo.wrapping_add(i.wrapping_mul(step)) >> 17) as usize % bits.max(1) as usize)
    }

    fn may_match(&self, bucket: usize, digest: KeyDigest) -> bool {
        let filter = &self.filters[bucket * self.filter_bytes..][..self.filter_bytes];
        self.filter_bytes == 0 || self.bits(digest).all(|bit| filter[bit / 8] >> (bit % 8) & 1 == 1)
    }
}

/// Searches the records of a page for `key`, newest first. Otherwise returns the next page of the chain.
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

/// The chains being followed. All their reads are in flight together.
struct Walks<'s> {
    store: &'s Skimpy,
    keys: &'s [[u8; KEY_BYTES]],
    /// Keys by number, and the next page of each.
    queue: VecDeque<(usize, u32)>,
    found: usize,
    reads: u64,
}

impl Walks<'_> {
    fn go_to(&mut self, i: usize, page: u32) {
        if page == NONE {
            return;
        }
        if page < self.store.tail_first {
            self.queue.push_back((i, page));
            return;
        }
        let store = self.store;
        let at = (page - store.tail_first) as usize * PAGE_BYTES;
        let in_page = if page == store.page { store.in_page } else { RECORDS_PER_PAGE };
        self.step(i, in_page, &store.tail[at..at + PAGE_BYTES]);
    }

    fn step(&mut self, i: usize, in_page: usize, bytes: &[u8]) {
        let (store, key) = (self.store, &self.keys[i]);
        let bucket = store.bucket(KeyDigest::of(key));
        match look(bytes, in_page, key, |key| store.bucket(KeyDigest::of(key)) == bucket) {
            Ok(value) => {
                assert_eq!(value, value_of(key));
                self.found += 1;
            }
            Err(page) => self.go_to(i, page),
        }
    }
}

impl ReadPlan for Walks<'_> {
    fn next_read(&mut self) -> Option<PlannedRead> {
        let (tag, page) = self.queue.pop_front()?;
        self.reads += 1;
        let span = Span { offset: u64::from(page) * PAGE_BYTES as u64, len_bytes: PAGE_BYTES };
        Some(PlannedRead { tag, is_other: false, span })
    }

    fn arrived(&mut self, tag: usize, bytes: std::io::Result<&[u8]>) {
        self.step(tag, RECORDS_PER_PAGE, bytes.expect("read"));
    }
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
        let mut walks = Walks { store: self, keys, queue: VecDeque::new(), found: 0, reads: 0 };
        for (i, key) in keys.iter().enumerate() {
            let digest = KeyDigest::of(key);
            let bucket = self.bucket(digest);
            if self.may_match(bucket, digest) {
                walks.go_to(i, self.heads[bucket]);
            }
        }
        self.device.read_planned(&*self.device, PAGE_BYTES, &mut walks);
        let (found, reads) = (walks.found, walks.reads);
        self.reads += reads;
        found
    }

    fn reads(&self) -> Option<u64> {
        Some(self.reads)
    }

    fn written_bytes(&self) -> Option<u64> {
        Some(self.written)
    }
    fn counted_bytes(&self) -> Option<u64> {
        Some((self.heads.len() * 4 + self.filters.len() + self.tail.len()) as u64)
    }
}
