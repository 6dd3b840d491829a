//! BloomStore as its slides describe it (Lu, Nam, Du, MSST'12). Keys are hashed to partitions. A partition buffers a page of pairs in
//! memory; a full page goes to flash, where it stays. Each page has a Bloom filter. The newest filters of a partition are in memory (the BF
//! buffer), the others follow one another on flash (the BF chain), which is read whole. A pre-filter over all keys of a partition spares
//! that read for most absent keys.
//!
//! Only the parts that determine lookups: there is no durability and no deletion; both would only add cost.

use std::collections::VecDeque;
use std::sync::Arc;

use springbloom_filter::KeyDigest;
use springbloom_page_device::{
    Access, AlignedBuf, FileStorage, IoEngine, PageDevice, PlannedRead, ReadPlan, Span, Storage,
};

use crate::setup::{KEY_BYTES, Setup, VALUE_BYTES, value_of};
use crate::store::Store;

const PAGE_BYTES: usize = 4096;
const RECORD_BYTES: usize = KEY_BYTES + VALUE_BYTES;
const RECORDS_PER_PAGE: usize = PAGE_BYTES / RECORD_BYTES;
/// Pages of pairs that a partition has on average, as in the slides.
pub(crate) const PARTITION_PAGES: usize = 96;
/// Pages that it may have, since hashing is uneven.
const RESERVED_PAGES: usize = 104;

/// What the slides give of a workload, in bytes of all partitions together but for the chain.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    /// Memory for pages of pairs, one a partition.
    pub(crate) write_buffers: usize,
    /// Memory for the newest filters.
    pub(crate) filter_buffers: usize,
    /// Memory for pre-filters; none without.
    pub(crate) prefilters: usize,
    /// The chain of one partition.
    pub(crate) chain: usize,
}

impl Sizes {
    pub(crate) fn memory_bytes(&self) -> usize {
        self.write_buffers + self.filter_buffers + self.prefilters
    }
}

#[derive(Clone, Copy, Default)]
struct Partition {
    /// Pages on flash.
    pages: usize,
    /// Their filters on flash; those of the other pages are in memory.
    chained: usize,
    /// Records of the page in memory.
    in_page: usize,
}

pub(crate) struct BloomStore {
    partitions: Vec<Partition>,
    write_buffers: AlignedBuf,
    /// For each partition, the filters of its newest pages in order; the last is that of the page in memory.
    filters: Vec<u8>,
    /// Bytes of a filter, and filters in memory for each partition.
    filter_bytes: usize,
    buffered: usize,
    prefilters: Vec<u8>,
    prefilter_bytes: usize,
    /// Bytes reserved for a chain, in whole pages.
    chain_bytes: usize,
    records: Arc<dyn PageDevice>,
    chains: Arc<dyn PageDevice>,
    _storage: FileStorage,
    reads: u64,
    written: u64,
}

impl BloomStore {
    pub(crate) fn make(setup: &Setup, name: &str, sizes: Sizes) -> BloomStore {
        let partitions = sizes.write_buffers / PAGE_BYTES;
        let filter_bytes = sizes.chain / PARTITION_PAGES;
        let buffered = (sizes.filter_buffers / partitions / filter_bytes).max(1);
        let prefilter_bytes = sizes.prefilters / partitions;
        let chain_bytes = (RESERVED_PAGES * filter_bytes).next_multiple_of(PAGE_BYTES);
        let storage =
            FileStorage::open(&setup.fresh(name), Access::Create, IoEngine::Auto).expect("a folder");
        let create = |file, bytes: usize| storage.create(file, bytes as u64).expect("a file");
        BloomStore {
            partitions: vec![Partition::default(); partitions],
            write_buffers: AlignedBuf::new(partitions * PAGE_BYTES),
            filters: vec![0; partitions * buffered * filter_bytes],
            filter_bytes,
            buffered,
            prefilters: vec![0; partitions * prefilter_bytes],
            prefilter_bytes,
            chain_bytes,
            records: create("records", partitions * RESERVED_PAGES * PAGE_BYTES),
            chains: create("chains", partitions * chain_bytes),
            _storage: storage,
            reads: 0,
            written: 0,
        }
    }

    fn partition(&self, digest: KeyDigest) -> usize {
        ((u128::from(digest.hi) * self.partitions.len() as u128) >> 64) as usize
    }

    /// The filters of a partition that are in memory.
    fn in_memory(&self, partition: usize) -> std::ops::Range<usize> {
        let bytes = self.buffered * self.filter_bytes;
        partition * bytes..(partition + 1) * bytes
    }

    fn prefilter(&self, partition: usize) -> std::ops::Range<usize> {
        partition * self.prefilter_bytes..(partition + 1) * self.prefilter_bytes
    }

    fn page(&self, partition: usize) -> std::ops::Range<usize> {
        partition * PAGE_BYTES..(partition + 1) * PAGE_BYTES
    }

    fn put(&mut self, key: &[u8; KEY_BYTES]) {
        let digest = KeyDigest::of(key);
        let at = self.partition(digest);
        let Partition { in_page, pages, chained } = self.partitions[at];
        let page = self.page(at);
        let record = &mut self.write_buffers[page][in_page * RECORD_BYTES..][..RECORD_BYTES];
        record[..KEY_BYTES].copy_from_slice(key);
        record[KEY_BYTES..].copy_from_slice(&value_of(key));
        let filters = self.in_memory(at);
        let newest = (pages - chained) * self.filter_bytes;
        set(&mut self.filters[filters][newest..newest + self.filter_bytes], digest, RECORDS_PER_PAGE);
        let prefilter = self.prefilter(at);
        set(&mut self.prefilters[prefilter], digest, PARTITION_PAGES * RECORDS_PER_PAGE);
        self.partitions[at].in_page += 1;
        if in_page + 1 == RECORDS_PER_PAGE {
            self.write_page(at);
        }
    }

    fn write_page(&mut self, at: usize) {
        let Partition { pages, chained, .. } = self.partitions[at];
        assert!(pages < RESERVED_PAGES, "a partition has no more room");
        let offset = (at * RESERVED_PAGES + pages) * PAGE_BYTES;
        self.records.write_at(offset as u64, &self.write_buffers[self.page(at)]).expect("write");
        self.written += PAGE_BYTES as u64;
        self.partitions[at].in_page = 0;
        self.partitions[at].pages += 1;
        if pages + 1 - chained == self.buffered {
            self.chain_filters(at);
        }
    }

    /// Appends the filters in memory to the chain.
    fn chain_filters(&mut self, at: usize) {
        let chained = self.partitions[at].chained;
        let start = chained * self.filter_bytes;
        let end = start + self.buffered * self.filter_bytes;
        let first = start / PAGE_BYTES * PAGE_BYTES;
        let mut pages = AlignedBuf::new(end.next_multiple_of(PAGE_BYTES) - first);
        let offset = (at * self.chain_bytes + first) as u64;
        // The page that the chain ended in.
        if start > first {
            self.chains.read_at(offset, &mut pages[..PAGE_BYTES]).expect("read");
        }
        let filters = self.in_memory(at);
        pages[start - first..end - first].copy_from_slice(&self.filters[filters.clone()]);
        self.chains.write_at(offset, &pages).expect("write");
        self.written += pages.len() as u64;
        self.filters[filters].fill(0);
        self.partitions[at].chained += self.buffered;
    }

    /// The bytes of a chain that hold filters, in whole pages.
    fn chain_span(&self, at: usize) -> Span {
        let used = self.partitions[at].chained * self.filter_bytes;
        Span { offset: (at * self.chain_bytes) as u64, len_bytes: used.next_multiple_of(PAGE_BYTES) }
    }

    /// The pages whose filters, of `first` on, may have the key; newest last.
    fn matching<'a>(
        &'a self,
        filters: &'a [u8],
        first: usize,
        digest: KeyDigest,
    ) -> impl Iterator<Item = usize> + 'a {
        let each = filters.chunks_exact(self.filter_bytes).zip(first..);
        each.filter(move |(filter, _)| may_match(filter, digest, RECORDS_PER_PAGE)).map(|(_, page)| page)
    }
}

/// The bits of a key in a filter of this many bytes for this many keys, with the best number of probes.
fn bits(bytes: usize, keys: usize, digest: KeyDigest) -> impl Iterator<Item = usize> {
    let bits = bytes as u64 * 8;
    let probes = (bits as f64 / keys as f64 * std::f64::consts::LN_2).round().max(1.0) as u64;
    let (lo, step) = (digest.lo, digest.lo.rotate_left(32) | 1);
    (0..probes).map(move |i| (lo.wrapping_add(i.wrapping_mul(step)) >> 17) as usize % bits.max(1) as usize)
}

fn set(filter: &mut [u8], digest: KeyDigest, keys: usize) {
    if !filter.is_empty() {
        bits(filter.len(), keys, digest).for_each(|bit| filter[bit / 8] |= 1 << (bit % 8));
    }
}

fn may_match(filter: &[u8], digest: KeyDigest, keys: usize) -> bool {
    filter.is_empty() || bits(filter.len(), keys, digest).all(|bit| filter[bit / 8] >> (bit % 8) & 1 == 1)
}

/// The value of a key among records.
fn look(records: &[u8], key: &[u8; KEY_BYTES]) -> bool {
    let found = records.chunks_exact(RECORD_BYTES).find(|record| &record[..KEY_BYTES] == key);
    found.inspect(|record| assert_eq!(record[KEY_BYTES..], value_of(key))).is_some()
}

/// One lookup.
struct Walk {
    digest: KeyDigest,
    partition: usize,
    /// Pages to read, the next one last.
    pages: Vec<usize>,
    is_at_chain: bool,
    chain_is_done: bool,
}

/// The lookups of a batch, whose reads are in flight together.
struct Walks<'s> {
    store: &'s BloomStore,
    keys: &'s [[u8; KEY_BYTES]],
    walks: Vec<Walk>,
    queue: VecDeque<PlannedRead>,
    found: usize,
    reads: u64,
}

impl Walks<'_> {
    fn begin(&mut self, tag: usize) {
        let (store, key) = (self.store, &self.keys[tag]);
        let digest = KeyDigest::of(key);
        let at = store.partition(digest);
        let Partition { in_page, chained, .. } = store.partitions[at];
        let mut walk =
            Walk { digest, partition: at, pages: Vec::new(), is_at_chain: false, chain_is_done: false };
        if look(&store.write_buffers[store.page(at)][..in_page * RECORD_BYTES], key) {
            self.found += 1;
            walk.chain_is_done = true;
        } else {
            let pages = store.partitions[at].pages;
            let filters = &store.filters[store.in_memory(at)][..(pages - chained) * store.filter_bytes];
            walk.pages.extend(store.matching(filters, chained, digest));
        }
        self.walks.push(walk);
        self.go_on(tag);
    }

    /// Queues the next read of a lookup, if there is one.
    fn go_on(&mut self, tag: usize) {
        let (store, walk) = (self.store, &mut self.walks[tag]);
        let at = walk.partition;
        if let Some(page) = walk.pages.pop() {
            let offset = ((at * RESERVED_PAGES + page) * PAGE_BYTES) as u64;
            self.queue.push_back(PlannedRead {
                tag,
                is_other: false,
                span: Span { offset, len_bytes: PAGE_BYTES },
            });
        } else if !walk.chain_is_done {
            walk.chain_is_done = true;
            let prefilter = &store.prefilters[store.prefilter(at)];
            let all = PARTITION_PAGES * RECORDS_PER_PAGE;
            if store.partitions[at].chained > 0 && may_match(prefilter, walk.digest, all) {
                walk.is_at_chain = true;
                self.queue.push_back(PlannedRead { tag, is_other: true, span: store.chain_span(at) });
            }
        }
    }
}

impl ReadPlan for Walks<'_> {
    fn next_read(&mut self) -> Option<PlannedRead> {
        let read = self.queue.pop_front()?;
        self.reads += 1;
        Some(read)
    }

    fn arrived(&mut self, tag: usize, bytes: std::io::Result<&[u8]>) {
        let (store, bytes) = (self.store, bytes.expect("read"));
        let walk = &mut self.walks[tag];
        if std::mem::take(&mut walk.is_at_chain) {
            let filters = &bytes[..store.partitions[walk.partition].chained * store.filter_bytes];
            walk.pages.extend(store.matching(filters, 0, walk.digest));
        } else if look(bytes, &self.keys[tag]) {
            self.found += 1;
            walk.pages.clear();
            walk.chain_is_done = true;
        }
        self.go_on(tag);
    }
}

impl Store for BloomStore {
    fn put_many(&mut self, keys: &[[u8; KEY_BYTES]]) {
        keys.iter().for_each(|key| self.put(key));
    }

    fn flush(&mut self) {}

    fn get_many(&mut self, keys: &[[u8; KEY_BYTES]]) -> usize {
        let mut walks =
            Walks { store: self, keys, walks: Vec::new(), queue: VecDeque::new(), found: 0, reads: 0 };
        (0..keys.len()).for_each(|tag| walks.begin(tag));
        self.records.read_planned(&*self.chains, self.chain_bytes.max(PAGE_BYTES), &mut walks);
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
        let counters = self.partitions.len() * size_of::<Partition>();
        Some((self.write_buffers.len() + self.filters.len() + self.prefilters.len() + counters) as u64)
    }
}
