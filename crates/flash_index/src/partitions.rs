//! What is in memory of every partition, and the directory that finds it: extendible hashing over the digest's first bits.
//!
//! A partition takes 36 bytes, its four in the directory, a chain of waiting entries in [`Pending`] and its pre-filter in [`FilterStore`];
//! nothing has a heap block of its own, so what is counted is what the process takes.
//!
//! Invariant: the partitions' prefixes cover every digest exactly once; the directory has an entry for every prefix of
//! `depth` bits, the depth of the deepest partition.

use springbloom_filter::KeyDigest;

use crate::bucket::BucketKey;
use crate::entry::{Entry, fingerprint, fingerprint_bits};
use crate::filters::{FilterStore, Place};
use crate::pending::{Chain, Pending};
use crate::prefilter::{HalfFilter, Heads, Prefilter};

/// The bucket of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bucket {
    /// Place on the device, in buckets.
    pub(crate) slot: u32,
    pub(crate) birth: u32,
    /// Sectors in use, at least 1.
    pub(crate) sectors: u8,
}

impl Bucket {
    pub(crate) fn key(&self, salt: u64) -> BucketKey {
        BucketKey { salt, slot: self.slot, birth: self.birth }
    }
}

/// Sectors of a bucket that are read together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BucketPart {
    pub(crate) bucket: Bucket,
    pub(crate) first: u8,
    pub(crate) end: u8,
}

/// One partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partition {
    /// Bits of its prefix.
    pub(crate) depth: u8,
    /// Sectors of its bucket; none before the first entries were appended.
    sectors: u8,
    slot: u32,
    birth: u32,
    /// Entries that are not in the bucket.
    pending: Chain,
    /// The filters over the halves of the bucket; without them all entries may match.
    filter: Place,
    /// Of the filters, if there are any.
    heads: Option<Heads>,
}

impl Partition {
    fn new(depth: u8, bucket: Option<Bucket>) -> Partition {
        let Bucket { slot, birth, sectors } = bucket.unwrap_or(Bucket { slot: 0, birth: 0, sectors: 0 });
        let (pending, filter) = (Chain::EMPTY, Place::NONE);
        Partition { depth, sectors, slot, birth, pending, filter, heads: None }
    }

    pub(crate) fn bucket(&self) -> Option<Bucket> {
        let Partition { slot, birth, sectors, .. } = *self;
        (sectors > 0).then_some(Bucket { slot, birth, sectors })
    }

    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }
}

/// What becomes of a partition or a part of it.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) depth: u8,
    pub(crate) bucket: Option<Bucket>,
    pub(crate) filter: Option<Prefilter>,
}

/// What memory knows about a digest.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) depth: u8,
    pub(crate) bucket: Option<Bucket>,
    /// The part of the bucket that may hold entries for it.
    pub(crate) part: Option<BucketPart>,
    pub(crate) has_filter: bool,
    /// Older waiting entries were left out.
    pub(crate) has_older: bool,
}

/// Partitions that are allocated together: 128 KiB.
const SEGMENT_PARTITIONS: usize = 4096;

/// Partitions by number, in segments that never move.
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
    /// Sectors of the front half of a bucket.
    front_sectors: u8,
    list: List,
    pending: Pending,
    filters: FilterStore,
}

impl Partitions {
    /// Partitions in the order of their prefixes, which must cover every digest: `None` if they do not.
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

    /// The partition of the digests whose high half begins as `prefix` does.
    pub(crate) fn at(&self, prefix: u64) -> &Partition {
        self.list.get(self.number(prefix))
    }

    /// All partitions in the order of their prefixes.
    pub(crate) fn ordered(&self) -> impl Iterator<Item = &Partition> {
        self.directory.chunk_by(|a, b| a == b).map(|span| self.list.get(span[0]))
    }

    /// Adds an entry for the newest record: the one of `digest` in `page`. False if one says that already.
    pub(crate) fn push(&mut self, digest: KeyDigest, page: u64) -> bool {
        let number = self.number(digest.hi);
        let partition = self.list.get_mut(number);
        let bits = fingerprint_bits(partition.depth);
        let fingerprint = fingerprint(digest, partition.depth, bits);
        self.pending.push(&mut partition.pending, fingerprint, bits, page)
    }

    /// What is known about `digest`; appends to `pages` those before page `before` that waiting entries name, oldest first: the newest
    /// of them, if there are many.
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

    /// What is to be read of a bucket whose front and back may match.
    fn part(&self, bucket: Bucket, (front, back): (bool, bool)) -> Option<BucketPart> {
        let middle = self.front_sectors.min(bucket.sectors);
        let (first, end) = (if front { 0 } else { middle }, if back { bucket.sectors } else { middle });
        (first < end).then_some(BucketPart { bucket, first, end })
    }

    /// The filter over the front half of the bucket at `prefix`, if there is one.
    pub(crate) fn front_filter(&self, prefix: u64) -> Option<HalfFilter> {
        let (heads, words) = self.filter_of(self.at(prefix));
        heads.map(|heads| heads.front_filter(words))
    }

    /// The waiting entries of a partition, oldest first.
    pub(crate) fn pending_entries(&self, partition: &Partition) -> Vec<Entry> {
        self.pending.entries(partition.pending, fingerprint_bits(partition.depth))
    }

    /// Bytes of the waiting entries.
    pub(crate) fn pending_bytes(&self) -> u64 {
        self.pending.used_bytes()
    }

    /// Gives the partition at `prefix` its filter, unless it has one or another bucket by now.
    pub(crate) fn set_filter(&mut self, prefix: u64, bucket: Bucket, filter: Prefilter) {
        let number = self.number(prefix);
        let partition = self.list.get(number);
        if partition.heads.is_none() && partition.bucket() == Some(bucket) {
            self.store_filter(number, Some(filter));
        }
    }

    /// Where and how the filters of `partition` lie, if it has any, and their words.
    pub(crate) fn filter_of(&self, partition: &Partition) -> (Option<Heads>, &[u64]) {
        let words = partition.heads.map(|heads| self.filters.words(partition.filter, heads.words()));
        (partition.heads, words.unwrap_or_default())
    }

    /// Gives partition `number`, in the order in which the partitions were made, the filters that it had before.
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

    /// Puts `parts`, in the order of their prefixes, in the place of the partition at `prefix`, whose waiting entries they
    /// hold; together they cover it.
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

    /// The waiting entries, partition by partition, oldest first: the first bits of each one's digest, as far as it knows them, and its page.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (u64, u64)> {
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

    /// Bytes of memory that all of this takes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let segments = self.list.segments.len() * SEGMENT_PARTITIONS * size_of::<Partition>();
        let fixed = (segments + self.directory.capacity() * size_of::<u32>()) as u64;
        fixed + self.pending.memory_bytes() + self.filters.memory_bytes()
    }

    /// Bytes of the pre-filters.
    pub(crate) fn filter_bytes(&self) -> u64 {
        self.filters.live_bytes()
    }
}

/// The prefix behind the one of `depth` bits that `prefix` begins with; `None` behind the last.
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
    fn dividing_keeps_every_prefix_covered() {
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
