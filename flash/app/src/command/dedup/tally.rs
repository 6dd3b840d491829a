//! Sums: how much there is, how much of it is new, by type of file, and the files with the most duplicates.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::files::Source;
use super::known::Standing;

/// Files listed as having the most duplicates.
const LARGEST: usize = 10;
/// Most types of files with sums of their own, which must fit into the state of a scan.
const KINDS_MAX: usize = 200;
/// Name for all other types together.
const OTHER: &str = "(other)";

/// Bytes and chunks of some data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Sums {
    /// Without holes.
    pub(super) bytes: u64,
    pub(super) chunks: u64,
    /// Of these, seen for the first time.
    pub(super) new_bytes: u64,
    pub(super) new_chunks: u64,
    /// Seen earlier in the same scan.
    pub(super) repeated_bytes: u64,
    /// Known from earlier scans.
    pub(super) known_bytes: u64,
    /// Of holes of files, which are no data.
    pub(super) hole_bytes: u64,
}

impl Sums {
    pub(super) fn add_chunk(&mut self, len_bytes: u32, standing: Standing) {
        let len_bytes = u64::from(len_bytes);
        self.bytes += len_bytes;
        self.chunks += 1;
        match standing {
            Standing::New => {
                self.new_bytes += len_bytes;
                self.new_chunks += 1;
            }
            Standing::Repeated => self.repeated_bytes += len_bytes,
            Standing::Known => self.known_bytes += len_bytes,
        }
    }

    fn add(&mut self, other: &Sums) {
        self.bytes += other.bytes;
        self.chunks += other.chunks;
        self.new_bytes += other.new_bytes;
        self.new_chunks += other.new_chunks;
        self.repeated_bytes += other.repeated_bytes;
        self.known_bytes += other.known_bytes;
        self.hole_bytes = self.hole_bytes.saturating_add(other.hole_bytes);
    }

    pub(super) fn duplicate_bytes(&self) -> u64 {
        self.repeated_bytes + self.known_bytes
    }

    /// Bytes for each new byte; `None` if there is none.
    pub(super) fn ratio(&self) -> Option<f64> {
        (self.new_bytes > 0).then(|| self.bytes as f64 / self.new_bytes as f64)
    }
}

/// The types of files with sums of their own: those with the most bytes. Chosen before the scan, so that each sum covers all files
/// of its type.
pub(super) struct Kinds {
    counted: HashSet<String>,
}

impl Kinds {
    pub(super) fn among(sources: &[Source]) -> Kinds {
        let mut bytes: HashMap<String, u64> = HashMap::new();
        for source in sources {
            // The length of a stream is unknown.
            let len_bytes = if source.is_stream() { u64::MAX } else { source.len_bytes };
            let sum = bytes.entry(source.kind()).or_default();
            *sum = sum.saturating_add(len_bytes);
        }
        let mut kinds: Vec<_> = bytes.into_iter().map(|(kind, bytes)| (Reverse(bytes), kind)).collect();
        kinds.sort_unstable();
        Kinds { counted: kinds.into_iter().take(KINDS_MAX).map(|(_, kind)| kind).collect() }
    }

    /// The type under which the source is counted.
    pub(super) fn of(&self, source: &Source) -> String {
        let kind = source.kind();
        if self.counted.contains(&kind) { kind } else { OTHER.to_owned() }
    }
}

/// The counters of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Tally {
    pub(super) files: u64,
    pub(super) unreadable_files: u64,
    pub(super) total: Sums,
    pub(super) by_kind: BTreeMap<String, Sums>,
    /// Duplicate bytes and number of the source, most first.
    pub(super) most_duplicates: Vec<(u64, usize)>,
}

impl Tally {
    /// Counts a file that was scanned to its end, or as far as it could be read.
    pub(super) fn add_file(&mut self, source: usize, kind: String, sums: &Sums, is_readable: bool) {
        self.files += 1;
        self.unreadable_files += u64::from(!is_readable);
        self.total.add(sums);
        self.by_kind.entry(kind).or_default().add(sums);
        let duplicate_bytes = sums.duplicate_bytes();
        if duplicate_bytes > 0 {
            let at = self.most_duplicates.partition_point(|(bytes, _)| *bytes >= duplicate_bytes);
            self.most_duplicates.insert(at, (duplicate_bytes, source));
            self.most_duplicates.truncate(LARGEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_add_up_and_the_largest_are_kept() {
        let mut tally = Tally::default();
        for n in 0..20u32 {
            let mut sums = Sums::default();
            sums.add_chunk(100, Standing::New);
            sums.add_chunk(n, Standing::Repeated);
            sums.add_chunk(n, Standing::Known);
            tally.add_file(n as usize, "rs".to_owned(), &sums, n != 3);
        }
        assert_eq!((tally.files, tally.unreadable_files), (20, 1));
        assert_eq!(tally.total.bytes, 2000 + 2 * 190);
        assert_eq!(tally.total, tally.by_kind["rs"]);
        assert_eq!(tally.total.ratio(), Some(2380.0 / 2000.0));
        assert_eq!(tally.most_duplicates.len(), 10);
        assert_eq!(tally.most_duplicates[0], (38, 19));
        assert_eq!(Sums::default().ratio(), None);
    }

    #[test]
    fn the_types_with_most_bytes_are_counted_and_the_others_together() {
        let file = |path: String, len_bytes| Source { path: path.into(), len_bytes, ..Source::stream() };
        let mut sources: Vec<Source> = (0..1000).map(|n| file(format!("file.{n}"), n)).collect();
        sources.extend((0..5).map(|n| file(format!("{n}.small"), 300)));
        sources.push(Source::stream());
        let kinds = Kinds::among(&sources);
        let counted: HashSet<String> = sources.iter().map(|source| kinds.of(source)).collect();
        assert_eq!(counted.len(), KINDS_MAX + 1);
        for kind in ["999", "small", "(stream)", OTHER] {
            assert!(counted.contains(kind), "{kind}");
        }
        assert!(!counted.contains("10"));
    }
}
