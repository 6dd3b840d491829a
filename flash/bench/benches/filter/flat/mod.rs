//! The baseline of the paper: a flat Bloom filter on flash. The bits of a key lie anywhere in the file, so a lookup reads up to [`PROBES`]
//! pages.
//!
//! It shares with the flash filter: the device with direct I/O, pages of 4 KiB, groups of pages, the flush order and the number of groups
//! per flush, the page cache, and a memory in bytes (or in pending bits) for pending updates. Differences, and the side that they favour:
//!
//! - It has no checksums: 0.8% fewer pages hold the same bits, and a lookup computes no sum. Favours the flat filter.
//! - It has no locks, since one thread uses it. Favours the flat filter.
//! - It has no log. The flash filters in the comparison have none either, but their memory has room for one, and pays for the pages that
//!   batched lookups read. Favours the flat filter.
//! - The lists of pending bits come from the heap. Their fragmentation is not counted. Favours the flat filter.
//! - A pending bit takes 2 bytes, so a key takes 12, against 8 in the flash filter. This is inherent: the bits of a key belong to different
//!   pages.
//! - Each page has one list of pending bits, searched from its beginning. The flash filter uses several lists if they are long. Favours the
//!   flash filter.
//! - A flush looks at the counts of all groups. The flash filter keeps them in a tree. Favours the flash filter.
//!
//! The last two cost little against one read from the device.

mod cache;
mod waiting;

use std::ops::Range;
use std::sync::Arc;

use springbloom_filter::KeyDigest;
use springbloom_flash_filter::{BufferSettings, MemorySize};
use springbloom_page_device::{AlignedBuf, GOLDEN, PageDevice, Span, Storage, mix, scale};

use crate::measured::{Measured, PageCounts};
use crate::setup::PROBES;
use cache::Cache;
use waiting::Waiting;

const PAGE_BYTES: usize = 4096;
const PAGE_BITS: u64 = PAGE_BYTES as u64 * 8;
const NAME: &str = "flat";
/// Groups that one flush reads, changes and writes together, at most.
const FLUSH_GROUPS_MAX: u64 = 16;
/// Share of the memory that the buffer for them takes, at most.
const FLUSH_SHARE: u64 = 8;
/// Keys of a batched lookup that are worked on together, at least and at most, what each takes, and the share of the memory that
/// they take.
const LOOKUP_KEYS_MIN: u64 = 256;
const LOOKUP_KEYS_MAX: u64 = 16_384;
const LOOKUP_KEY_BYTES: u64 = 48;
const LOOKUP_SHARE: u64 = 16;

/// Where a bit of a key is.
#[derive(Clone, Copy)]
struct Place {
    page: u32,
    bit: u16,
}

/// A key of a batch and one of its bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Question {
    page: u32,
    bit: u16,
    key: u32,
}

pub(crate) struct FlatFilter {
    device: Arc<dyn PageDevice>,
    bits: u64,
    waiting: Waiting,
    cache: Cache,
    flush_groups: usize,
    lookup_keys: usize,
    /// Where a lookup of one key reads.
    page: AlignedBuf,
    /// Where flushes change pages.
    scratch: AlignedBuf,
    /// Whether a lookup of one key reads the pages of all of its bits, even after one that is not set.
    pub(crate) reads_all: bool,
    counts: PageCounts,
}

impl FlatFilter {
    /// Makes a filter of `bits` bits that holds nothing.
    pub(crate) fn create(storage: &dyn Storage, bits: u64, buffer: &BufferSettings) -> FlatFilter {
        let len_bytes = u64::from(page_count(bits)) * PAGE_BYTES as u64;
        let device = storage.create(NAME, len_bytes).expect("create");
        // Pages that were never written would be read without the device.
        let zeros = AlignedBuf::new(PAGE_BYTES * 256);
        for offset in (0..len_bytes).step_by(zeros.len()) {
            let len = (len_bytes - offset).min(zeros.len() as u64) as usize;
            device.write_at(offset, &zeros[..len]).expect("write");
        }
        device.sync().expect("sync");
        FlatFilter::over(device, bits, buffer)
    }

    /// Opens what [`FlatFilter::create`] made with as many bits.
    pub(crate) fn open(storage: &dyn Storage, bits: u64, buffer: &BufferSettings) -> FlatFilter {
        FlatFilter::over(storage.open(NAME).expect("open"), bits, buffer)
    }

    fn over(device: Arc<dyn PageDevice>, bits: u64, buffer: &BufferSettings) -> FlatFilter {
        let pages = page_count(bits);
        let group_bytes = u64::from(buffer.group_pages.min(pages)) * PAGE_BYTES as u64;
        let (flush_groups, lookup_keys) = match buffer.memory {
            MemorySize::Bytes(bytes) => (
                (bytes / FLUSH_SHARE / group_bytes).clamp(1, FLUSH_GROUPS_MAX),
                (bytes / LOOKUP_SHARE / LOOKUP_KEY_BYTES).clamp(LOOKUP_KEYS_MIN, LOOKUP_KEYS_MAX),
            ),
            MemorySize::CacheSizeFactor(_) => (FLUSH_GROUPS_MAX, LOOKUP_KEYS_MAX),
        };
        let scratch = AlignedBuf::new((flush_groups * group_bytes) as usize);
        let other_bytes = scratch.len() as u64 + lookup_keys * LOOKUP_KEY_BYTES + buffer.cache_bytes;
        FlatFilter {
            device,
            bits,
            waiting: Waiting::new(pages, buffer, other_bytes),
            cache: Cache::new(buffer.cache_bytes),
            flush_groups: flush_groups as usize,
            lookup_keys: lookup_keys as usize,
            page: AlignedBuf::new(PAGE_BYTES),
            scratch,
            reads_all: false,
            counts: PageCounts::default(),
        }
    }

    fn place(&self, key: KeyDigest, n: u8) -> Place {
        let word = mix(key.lo ^ key.hi.wrapping_add(GOLDEN.wrapping_mul(u64::from(n) + 1)));
        let bit = scale(word, self.bits);
        Place { page: (bit / PAGE_BITS) as u32, bit: (bit % PAGE_BITS) as u16 }
    }

    fn has(&mut self, place: Place) -> bool {
        if self.waiting.contains(place) {
            return true;
        }
        if let Some(bytes) = self.cache.get(place.page) {
            return is_set(bytes, place.bit);
        }
        self.counts.reads += 1;
        self.device.read_at(offset(place.page), &mut self.page).expect("read");
        self.cache.keep(place.page, &self.page);
        is_set(&self.page, place.bit)
    }

    /// The first bit of every key, the second bit of those that have it, and so on: clears the answers of those that lack one.
    fn ask_bit_after_bit(&mut self, keys: &[KeyDigest], answers: &mut [bool]) {
        for n in 0..PROBES {
            let alive = keys.iter().zip(&*answers).enumerate().filter(|(_, (_, answer))| **answer);
            let mut questions: Vec<Question> = alive
                .map(|(number, (key, _))| (number, self.place(*key, n)))
                .filter(|(_, place)| !self.waiting.contains(*place))
                .map(|(number, place)| Question { page: place.page, bit: place.bit, key: number as u32 })
                .collect();
            questions.sort_unstable();
            let mut answer = |of_page: &[Question], bytes: &[u8]| {
                of_page
                    .iter()
                    .for_each(|question| answers[question.key as usize] = is_set(bytes, question.bit));
            };
            let mut unread: Vec<&[Question]> = Vec::new();
            for of_page in questions.chunk_by(|a, b| a.page == b.page) {
                match self.cache.get(of_page[0].page) {
                    Some(bytes) => answer(of_page, bytes),
                    None => unread.push(of_page),
                }
            }
            let span =
                |of_page: &&[Question]| Span { offset: offset(of_page[0].page), len_bytes: PAGE_BYTES };
            let spans: Vec<Span> = unread.iter().map(span).collect();
            self.counts.reads += spans.len() as u64;
            self.device.read_each(&spans, &mut |i, page| {
                let bytes = page.expect("read");
                self.cache.keep(unread[i][0].page, bytes);
                answer(unread[i], bytes);
            });
        }
    }

    /// Writes the next few groups.
    fn flush_some(&mut self) {
        let runs = self.waiting.next_runs(self.flush_groups);
        let mut rest = &mut self.scratch[..];
        let mut pieces: Vec<(u64, &mut [u8])> = Vec::with_capacity(runs.len());
        for run in &runs {
            let (piece, after) = std::mem::take(&mut rest).split_at_mut(run.len() * PAGE_BYTES);
            pieces.push((offset(run.start), piece));
            rest = after;
        }
        self.device.read_into(&mut pieces).expect("read");
        for (page, bytes) in runs.iter().zip(&mut pieces).flat_map(|(run, (_, piece))| pages_of(run, piece)) {
            for bit in self.waiting.take(page) {
                bytes[usize::from(bit / 8)] |= 1 << (bit % 8);
            }
            self.cache.forget(page);
            self.counts.writes += 1;
        }
        let writes: Vec<(u64, &[u8])> = pieces.iter().map(|(offset, piece)| (*offset, &**piece)).collect();
        self.device.write_each(&writes).expect("write");
    }
}

impl Measured for FlatFilter {
    fn insert_many(&mut self, keys: &[KeyDigest]) {
        for key in keys {
            for n in 0..PROBES {
                self.waiting.insert(self.place(*key, n));
                while self.waiting.is_too_much() {
                    self.flush_some();
                }
            }
        }
    }

    fn flush(&mut self) {
        while !self.waiting.is_empty() {
            self.flush_some();
        }
        self.device.sync().expect("sync");
    }

    fn contains(&mut self, key: KeyDigest) -> bool {
        let mut has_all = true;
        for n in 0..PROBES {
            has_all &= self.has(self.place(key, n));
            if !has_all && !self.reads_all {
                break;
            }
        }
        has_all
    }

    fn contains_many(&mut self, keys: &[KeyDigest]) -> Vec<bool> {
        let mut answers = vec![true; keys.len()];
        let at_a_time = self.lookup_keys;
        for (keys, answers) in keys.chunks(at_a_time).zip(answers.chunks_mut(at_a_time)) {
            self.ask_bit_after_bit(keys, answers);
        }
        answers
    }

    fn pages(&self) -> PageCounts {
        self.counts
    }
}

fn page_count(bits: u64) -> u32 {
    u32::try_from(bits.div_ceil(PAGE_BITS)).expect("fewer than 2^32 pages")
}

fn offset(page: u32) -> u64 {
    u64::from(page) * PAGE_BYTES as u64
}

fn is_set(bytes: &[u8], bit: u16) -> bool {
    bytes[usize::from(bit / 8)] & (1 << (bit % 8)) != 0
}

fn pages_of<'a>(run: &Range<u32>, piece: &'a mut [u8]) -> impl Iterator<Item = (u32, &'a mut [u8])> {
    run.clone().zip(piece.chunks_mut(PAGE_BYTES))
}
