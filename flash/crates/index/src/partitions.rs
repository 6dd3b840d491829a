//! The partitions in memory, and the directory that finds them: extendible hashing over the first bits of the digest.
//!
//! Each partition takes 36 bytes, its entries in the directory (4 bytes each), a chain of pending entries in [`Pending`] and a pre-filter
//! in [`FilterStore`]. Partitions own no heap blocks, so the counted memory equals the memory of the process.
//!
//! Invariants: the prefixes of the partitions cover every digest exactly once. The directory has an entry for every prefix of `depth` bits,
//! where `depth` is that of the deepest partition.

use springbloom_filter::KeyDigest;

use crate::bucket::BucketKey;
use crate::entry::{Entry, fingerprint, fingerprint_bits};
use crate::filters::{FilterSlot, FilterStore};
use crate::pending::{Chain, Pending};
use crate::prefilter::{HalfFilter, Heads, Prefilter};

/// The bucket of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bucket {
    /// Place on the device, in buckets.
    pub(crate) slot: u32,
    pub(crate) version: u32,
    /// Sectors in use, at least 1.
    pub(crate) sectors: u8,
}

impl Bucket {
    pub(crate) fn key(&self, salt: u64) -> BucketKey {
        BucketKey { salt, slot: self.slot, version: self.version }
    }
}

/// A range of a bucket's sectors, read with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BucketPart {
    pub(crate) bucket: Bucket,
    pub(crate) first: u8,
    pub(crate) end: u8,
}

/// One partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partition {
    /// Length of its prefix in bits.
    pub(crate) depth: u8,
    /// Sectors of its bucket in use. 0 before the first flush.
    sectors: u8,
    slot: u32,
    version: u32,
    /// Entries that are not in the bucket.
    pending: Chain,
    /// The filters over the halves of the bucket. Without them, every digest may match.
    filter: FilterSlot,
    /// Layout of the filters, if there are any.
    heads: Option<Heads>,
}

impl Partition {
    fn new(depth: u8, bucket: Option<Bucket>) -> Partition {
        let Bucket { slot, version, sectors } = bucket.unwrap_or(Bucket { slot: 0, version: 0, sectors: 0 });
        let (pending, filter) = (Chain::EMPTY, FilterSlot::NONE);
        Partition { depth, sectors, slot, version, pending, filter, heads: None }
    }

    pub(crate) fn bucket(&self) -> Option<Bucket> {
        let Partition { slot, version, sectors, .. } = *self;
        (sectors > 0).then_some(Bucket { slot, version, sectors })
    }

    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }
}

/// A partition, or part of a split one, after a flush.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) depth: u8,
    pub(crate) bucket: Option<Bucket>,
    pub(crate) filter: Option<Prefilter>,
}

/// The state in memory for a digest.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) depth: u8,
    pub(crate) bucket: Option<Bucket>,
    /// The sectors that may hold entries for the digest.
    pub(crate) part: Option<BucketPart>,
    pub(crate) has_filter: bool,
    /// Older pending entries were left out.
    pub(crate) has_older: bool,
}

/// Partitions that are allocated together: 128 KiB.
const SEGMENT_PARTITIONS: usize = 4096;

/// Partitions by number, in segments that are never moved.
#[derive(Debug, Default)]
struct List {
    segments: Vec<Vec<Partition>>,
}

impl List {
    fn len(&self) -> usize {
        let before = self.segments.len().saturating_sub(1) * SEGMENT_PARTITIONS;
        before + self.segments.last().map_or(0, Vec::len)
    }

    fn push(&mut self, partition: Partition) {
        if self.len().is_multiple_of(SEGMENT_PARTITIONS) {
            self.segments.push(Vec::with_capacity(SEGMENT_PARTITIONS));
        }
        if let Some(segment) = self.segments.last_mut() {
            segment.push(partition);
        }
    }

    fn get(&self, number: u32) -> &Partition {
        &self.segments[number as usize / SEGMENT_PARTITIONS][number as usize % SEGMENT_PARTITIONS]
    }

    fn get_mut(&mut self, number: u32) -> &mut Partition {
        &mut self.segments[number as usize / SEGMENT_PARTITIONS][number as usize % SEGMENT_PARTITIONS]
    }
}

/// All partitions.
#[derive(Debug)]
pub(crate) struct Partitions {
    directory: Vec<u32>,
    depth: u8,
    /// Sectors in the front half of a bucket.
    front_sectors: u8,
    list: List,
    pending: Pending,
    filters: FilterStore,
}

impl Partitions {
    /// Builds the table from partitions in prefix order. Returns `None` if they do not cover every digest exactly once.
    pub(crate) fn from_ordered(ordered: &[(u8, Option<Bucket>)], front_sectors: u8) -> Option<Partitions> {
        let depth = ordered.iter().map(|(depth, _)| *depth).max()?;
        let (mut directory, mut list) = (Vec::new(), List::default());
        for (number, &(its_depth, bucket)) in (0..).zip(ordered) {
            let span = 1usize << (depth - its_depth);
            if !directory.len().is_multiple_of(span) {
                return None;
            }
            directory.resize(directory.len() + span, number);
            list.push(Partition::new(its_depth, bucket));
        }
        let (pending, filters) = (Pending::new(), FilterStore::default());
        let covers = directory.len() == 1 << depth;
        covers.then_some(Partitions { directory, depth, front_sectors, list, pending, filters })
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    fn slot(&self, prefix: u64) -> usize {
        (prefix.checked_shr(64 - u32::from(self.depth)).unwrap_or(0)) as usize
    }

    fn number(&self, prefix: u64) -> u32 {
        self.directory[self.slot(prefix)]
    }

    /// The partition whose digests have a high half that begins like `prefix`.
    pub(crate) fn at(&self, prefix: u64) -> &Partition {
        self.list.get(self.number(prefix))
    }

    /// All partitions, in prefix order.
    pub(crate) fn ordered(&self) -> impl Iterator<Item = &Partition> {
        self.directory.chunk_by(|a, b| a == b).map(|span| self.list.get(span[0]))
    }

    /// Adds a pending entry for the record of `digest` in `page`. Returns false if there is an equal entry.
    pub(crate) fn push(&mut self, digest: KeyDigest, page: u64) -> bool {
        let number = self.number(digest.hi);
        let partition = self.list.get_mut(number);
        let bits = fingerprint_bits(partition.depth);
        let fingerprint = fingerprint(digest, partition.depth, bits);
        self.pending.push(&mut partition.pending, fingerprint, bits, page)
    }

    /// Looks up `digest`. Appends to `pages` the pages before `before` that pending entries name, oldest first. If there are many, only the
    /// newest.
    pub(crate) fn look(&self, digest: KeyDigest, before: u64, pages: &mut Vec<u64>) -> Known {
        let partition = self.at(digest.hi);
        let depth = partition.depth;
        let bits = fingerprint_bits(depth);
        let fingerprint = fingerprint(digest, depth, bits);
        let has_older = self.pending.pages_of(partition.pending, fingerprint, bits, before, pages);
        let may_match = partition
            .heads
            .map_or((true, true), |heads| heads.may_match(self.filter_of(partition).1, digest, depth));
        let part = partition.bucket().and_then(|bucket| self.part(bucket, may_match));
        Known { depth, bucket: partition.bucket(), part, has_filter: partition.heads.is_some(), has_older }
    }

    /// The sectors to read, given whether the front and the back half may match.
    fn part(&self, bucket: Bucket, (front, back): (bool, bool)) -> Option<BucketPart> {
        let middle = self.front_sectors.min(bucket.sectors);
        let (first, end) = (if front { 0 } else { middle }, if back { bucket.sectors } else { middle });
        (first < end).then_some(BucketPart { bucket, first, end })
    }

    /// The filter over the front half of the bucket at `prefix`.
    pub(crate) fn front_filter(&self, prefix: u64) -> Option<HalfFilter> {
        let (heads, words) = self.filter_of(self.at(prefix));
        heads.map(|heads| heads.front_filter(words))
    }

    /// The pending entries of a partition, oldest first.
    pub(crate) fn pending_entries(&self, partition: &Partition) -> Vec<Entry> {
        self.pending.entries(partition.pending, fingerprint_bits(partition.depth))
    }

    /// Memory of the pending entries, in bytes.
    pub(crate) fn pending_bytes(&self) -> u64 {
        self.pending.used_bytes()
    }

    /// Sets the filter of the partition at `prefix`, unless it has one or its bucket has changed.
    pub(crate) fn set_filter(&mut self, prefix: u64, bucket: Bucket, filter: Prefilter) {
        let number = self.number(prefix);
        let partition = self.list.get(number);
        if partition.heads.is_none() && partition.bucket() == Some(bucket) {
            self.store_filter(number, Some(filter));
        }
    }

    /// The layout and the words of the filters of `partition`.
    pub(crate) fn filter_of(&self, partition: &Partition) -> (Option<Heads>, &[u64]) {
        let words = partition.heads.map(|heads| self.filters.words(partition.filter, heads.words()));
        (partition.heads, words.unwrap_or_default())
    }

    /// Restores the filters of partition `number`. Numbers follow the order in which partitions were created.
    pub(crate) fn restore_filter(&mut self, number: u32, filter: Prefilter) {
        self.store_filter(number, Some(filter));
    }

    fn store_filter(&mut self, number: u32, filter: Option<Prefilter>) {
        let partition = self.list.get_mut(number);
        if let Some(heads) = partition.heads.take() {
            self.filters.remove(partition.filter, heads.words());
        }
        if let Some(Prefilter { heads, words }) = filter {
            (partition.heads, partition.filter) = (Some(heads), self.filters.store(number, &words));
        }
        while let Some(taken) = self.filters.take_sparsest() {
            for (owner, place, words) in taken.filters() {
                let partition = self.list.get_mut(owner);
                if partition.heads.is_some() && partition.filter == place {
                    partition.filter = self.filters.store(owner, words);
                }
            }
            self.filters.put_back(taken);
        }
    }

    /// Replaces the partition at `prefix` by `parts`, which cover it in prefix order and include its pending entries.
    pub(crate) fn replace(&mut self, prefix: u64, parts: Vec<Part>) {
        let deepest = parts.iter().map(|p| p.depth).max().unwrap_or(0);
        while self.depth < deepest {
            self.directory = self.directory.iter().flat_map(|&p| [p, p]).collect();
            self.depth += 1;
        }
        let old = self.number(prefix);
        let old_depth = self.list.get(old).depth;
        let mut at =
            self.slot(if old_depth == 0 { 0 } else { prefix >> (64 - old_depth) << (64 - old_depth) });
        for (i, part) in parts.into_iter().enumerate() {
            let number = if i == 0 { old } else { self.list.len() as u32 };
            let span = 1usize << (self.depth - part.depth);
            self.directory[at..at + span].fill(number);
            at += span;
            if i == 0 {
                self.store_filter(old, None);
                let partition = self.list.get_mut(old);
                self.pending.clear(&mut partition.pending);
                *partition = Partition::new(part.depth, part.bucket);
            } else {
                self.list.push(Partition::new(part.depth, part.bucket));
            }
            self.store_filter(number, part.filter);
        }
    }

    /// The known first bits of the digest and the page of each pending entry, by partition, oldest first.
    pub(crate) fn pending_digests(&self) -> impl Iterator<Item = (u64, u64)> {
        let prefixes = std::iter::successors(Some(0), |at| next_prefix(*at, self.at(*at).depth));
        prefixes.flat_map(|prefix| {
            let partition = self.at(prefix);
            let depth = partition.depth;
            let known = move |entry: Entry| {
                let shift = 64 - u32::from(depth) - u32::from(entry.bits);
                (prefix | u64::from(entry.fingerprint) << shift, entry.page)
            };
            self.pending_entries(partition).into_iter().map(known)
        })
    }

    /// Memory of all partitions, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let segments = self.list.segments.len() * SEGMENT_PARTITIONS * size_of::<Partition>();
        let fixed = (segments + self.directory.capacity() * size_of::<u32>()) as u64;
        fixed + self.pending.memory_bytes() + self.filters.memory_bytes()
    }

    /// Memory of the pre-filters, in bytes.
    pub(crate) fn filter_bytes(&self) -> u64 {
        self.filters.live_bytes()
    }
}

/// The prefix after the one of `depth` bits that `prefix` begins with. `None` after the last.
pub(crate) fn next_prefix(prefix: u64, depth: u8) -> Option<u64> {
    if depth == 0 {
        return None;
    }
    let step = 1u64 << (64 - depth);
    (prefix & !(step - 1)).checked_add(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depths(partitions: &Partitions) -> Vec<u8> {
        partitions.ordered().map(|p| p.depth).collect()
    }

    fn parts(depths: &[u8]) -> Vec<Part> {
        depths.iter().map(|&depth| Part { depth, bucket: None, filter: None }).collect()
    }

    fn ordered(depths: &[u8]) -> Option<Partitions> {
        let list: Vec<_> = depths.iter().map(|&depth| (depth, None)).collect();
        Partitions::from_ordered(&list, 2)
    }

    #[test]
    fn a_partition_takes_36_bytes() {
        assert!(size_of::<Partition>() <= 36, "{}", size_of::<Partition>());
    }

    #[test]
    fn splitting_keeps_every_prefix_covered() {
        let mut partitions = ordered(&[0]).unwrap();
        partitions.replace(77, parts(&[1, 2, 2]));
        assert_eq!(depths(&partitions), [1, 2, 2]);
        partitions.replace(0, parts(&[3, 3, 2]));
        assert_eq!(depths(&partitions), [3, 3, 2, 2, 2]);
        partitions.replace(u64::MAX, parts(&[2]));
        assert_eq!(depths(&partitions), [3, 3, 2, 2, 2]);
        let mut prefix = Some(0);
        let mut walked = Vec::new();
        while let Some(at) = prefix {
            let partition = partitions.at(at);
            walked.push(partition.depth);
            prefix = next_prefix(at, partition.depth);
        }
        assert_eq!(walked, depths(&partitions));
        let again = ordered(&walked).unwrap();
        assert_eq!(again.directory.len(), 8);
    }

    #[test]
    fn partitions_that_do_not_cover_everything_are_refused() {
        for wrong in [&[1u8][..], &[1, 1, 1], &[2, 1, 2], &[]] {
            assert!(ordered(wrong).is_none(), "{wrong:?}");
        }
        assert!(ordered(&[0]).is_some());
    }
}
