//! What is in memory of every partition, and the directory that finds it: extendible hashing over the digest's first bits.
//!
//! Invariant: the partitions' prefixes cover every digest exactly once; the directory has an entry for every prefix of
//! `depth` bits, the depth of the deepest partition.

use springbloom_filter::{FilterGroup, KeyDigest};

use super::bucket::BucketKey;
use super::entry::{Entry, FINGERPRINT_BITS, PendingEntry, fingerprint};
use super::prefilter;

/// The bucket of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// One partition.
#[derive(Debug)]
pub(crate) struct Partition {
    /// Bits of its prefix.
    pub(crate) depth: u8,
    /// None before the first entries were appended.
    pub(crate) bucket: Option<Bucket>,
    /// Entries that are not in the bucket, oldest first.
    pub(crate) pending: Vec<PendingEntry>,
    /// Over the entries of the bucket; without one they may match.
    pub(crate) filter: Option<FilterGroup>,
}

/// Waiting entries get room for this many more at a time: little slack, few moves.
const PENDING_STEP: usize = 8;
/// What the allocator adds to a heap block, about.
const HEAP_BLOCK_BYTES: usize = 16;

impl Partition {
    pub(crate) fn new(depth: u8, bucket: Option<Bucket>, filter: Option<FilterGroup>) -> Partition {
        Partition { depth, bucket, pending: Vec::new(), filter }
    }

    pub(crate) fn push(&mut self, entry: PendingEntry) {
        if self.pending.len() == self.pending.capacity() {
            self.pending.reserve_exact(PENDING_STEP);
        }
        self.pending.push(entry);
    }

    /// The bucket that may hold an entry for `digest`.
    pub(crate) fn bucket_for(&self, digest: KeyDigest) -> Option<Bucket> {
        let may_match = self.filter.as_ref().is_none_or(|f| prefilter::may_match(f, digest, self.depth));
        self.bucket.filter(|_| may_match)
    }

    /// Pages that waiting entries name for `digest`, oldest first.
    pub(crate) fn pending_pages(&self, digest: KeyDigest, newest_page: u64, pages: &mut Vec<u64>) {
        let wanted = fingerprint(digest, self.depth, FINGERPRINT_BITS);
        let matching = self.pending.iter().filter(|entry| entry.fingerprint() == wanted);
        pages.extend(matching.map(|entry| entry.entry(newest_page).page));
    }

    pub(crate) fn pending_entries(&self, newest_page: u64) -> Vec<Entry> {
        self.pending.iter().map(|entry| entry.entry(newest_page)).collect()
    }

    fn memory_bytes(&self) -> usize {
        let pending = self.pending.capacity() * size_of::<PendingEntry>() + HEAP_BLOCK_BYTES;
        let filter = self.filter.as_ref().map_or(0, |f| f.memory_bytes() - size_of::<FilterGroup>());
        size_of::<Partition>() + pending + filter
    }
}

/// All partitions.
#[derive(Debug)]
pub(crate) struct Partitions {
    directory: Vec<u32>,
    depth: u8,
    list: Vec<Partition>,
}

impl Partitions {
    /// Partitions in the order of their prefixes, which must cover every digest: `None` if they do not.
    pub(crate) fn from_ordered(list: Vec<Partition>) -> Option<Partitions> {
        let depth = list.iter().map(|p| p.depth).max()?;
        let mut directory = Vec::new();
        for (i, partition) in list.iter().enumerate() {
            let span = 1usize << (depth - partition.depth);
            if !directory.len().is_multiple_of(span) {
                return None;
            }
            directory.resize(directory.len() + span, i as u32);
        }
        (directory.len() == 1 << depth).then_some(Partitions { directory, depth, list })
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    fn slot(&self, prefix: u64) -> usize {
        (prefix.checked_shr(64 - u32::from(self.depth)).unwrap_or(0)) as usize
    }

    /// Number of the partition of the digests whose high half begins as `prefix` does.
    pub(crate) fn find(&self, prefix: u64) -> usize {
        self.directory[self.slot(prefix)] as usize
    }

    pub(crate) fn get(&self, partition: usize) -> &Partition {
        &self.list[partition]
    }

    pub(crate) fn get_mut(&mut self, partition: usize) -> &mut Partition {
        &mut self.list[partition]
    }

    /// All partitions in the order of their prefixes.
    pub(crate) fn ordered(&self) -> impl Iterator<Item = &Partition> {
        self.directory.chunk_by(|a, b| a == b).map(|span| &self.list[span[0] as usize])
    }

    /// Puts `parts`, in the order of their prefixes, in the place of the partition at `prefix`; together they cover it.
    pub(crate) fn replace(&mut self, prefix: u64, parts: Vec<Partition>) {
        let deepest = parts.iter().map(|p| p.depth).max().unwrap_or(0);
        while self.depth < deepest {
            self.directory = self.directory.iter().flat_map(|&p| [p, p]).collect();
            self.depth += 1;
        }
        let old = self.find(prefix);
        let old_depth = self.list[old].depth;
        let mut at =
            self.slot(if old_depth == 0 { 0 } else { prefix >> (64 - old_depth) << (64 - old_depth) });
        for (i, part) in parts.into_iter().enumerate() {
            let number = if i == 0 { old } else { self.list.len() };
            let span = 1usize << (self.depth - part.depth);
            self.directory[at..at + span].fill(number as u32);
            at += span;
            if i == 0 {
                self.list[old] = part;
            } else {
                if self.list.len() == self.list.capacity() {
                    // Not doubled: half of it would be empty for long.
                    self.list.reserve_exact(self.list.len() / 8 + 1);
                }
                self.list.push(part);
            }
        }
    }

    /// Bytes of memory that all of this takes, heap blocks included.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let spare = (self.list.capacity() - self.list.len()) * size_of::<Partition>();
        let partitions: usize = self.list.iter().map(Partition::memory_bytes).sum();
        (partitions + spare + self.directory.capacity() * size_of::<u32>()) as u64
    }

    /// Bytes of the pre-filters.
    pub(crate) fn filter_bytes(&self) -> u64 {
        self.list.iter().filter_map(|p| p.filter.as_ref()).map(|f| f.memory_bytes() as u64).sum()
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

    fn parts(depths: &[u8]) -> Vec<Partition> {
        depths.iter().map(|d| Partition::new(*d, None, None)).collect()
    }

    #[test]
    fn dividing_keeps_every_prefix_covered() {
        let mut partitions = Partitions::from_ordered(parts(&[0])).unwrap();
        partitions.replace(77, parts(&[1, 2, 2]));
        assert_eq!(depths(&partitions), [1, 2, 2]);
        partitions.replace(0, parts(&[3, 3, 2]));
        assert_eq!(depths(&partitions), [3, 3, 2, 2, 2]);
        partitions.replace(u64::MAX, parts(&[2]));
        assert_eq!(depths(&partitions), [3, 3, 2, 2, 2]);
        let mut prefix = Some(0);
        let mut walked = Vec::new();
        while let Some(at) = prefix {
            let partition = partitions.get(partitions.find(at));
            walked.push(partition.depth);
            prefix = next_prefix(at, partition.depth);
        }
        assert_eq!(walked, depths(&partitions));
        let again = Partitions::from_ordered(parts(&walked)).unwrap();
        assert_eq!(again.directory.len(), 8);
    }

    #[test]
    fn partitions_that_do_not_cover_everything_are_refused() {
        for wrong in [&[1u8][..], &[1, 1, 1], &[2, 1, 2], &[]] {
            assert!(Partitions::from_ordered(parts(wrong)).is_none(), "{wrong:?}");
        }
        assert!(Partitions::from_ordered(parts(&[0])).is_some());
    }
}
