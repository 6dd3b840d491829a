//! Sums: how much there is, how much of it is new, by type of file, and the files with the most duplicates.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::known::Standing;

/// Files that are named for having the most duplicates.
const LARGEST: usize = 10;

/// Bytes and chunks of some data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sums {
    pub(super) bytes: u64,
    pub(super) chunks: u64,
    /// Of these, seen for the first time.
    pub(super) new_bytes: u64,
    pub(super) new_chunks: u64,
    /// Seen earlier in the same scan.
    pub(super) repeated_bytes: u64,
    /// Known from earlier scans.
    pub(super) known_bytes: u64,
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
    }

    pub(super) fn duplicate_bytes(&self) -> u64 {
        self.repeated_bytes + self.known_bytes
    }

    /// Bytes for each new byte; `None` if there is none.
    pub(super) fn ratio(&self) -> Option<f64> {
        (self.new_bytes > 0).then(|| self.bytes as f64 / self.new_bytes as f64)
    }
}

/// Everything a scan has counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tally {
    pub(super) files: u64,
    pub(super) unreadable_files: u64,
    pub(super) total: Sums,
    pub(super) by_kind: BTreeMap<String, Sums>,
    /// Duplicate bytes and name, most first.
    pub(super) largest_duplicates: Vec<(u64, String)>,
}

impl Tally {
    /// Counts a file that was scanned to its end, or as far as it could be read.
    pub(super) fn add_file(&mut self, name: &str, kind: String, sums: &Sums, is_readable: bool) {
        self.files += 1;
        self.unreadable_files += u64::from(!is_readable);
        self.total.add(sums);
        self.by_kind.entry(kind).or_default().add(sums);
        let duplicate_bytes = sums.duplicate_bytes();
        if duplicate_bytes > 0 {
            let at = self.largest_duplicates.partition_point(|(bytes, _)| *bytes >= duplicate_bytes);
            self.largest_duplicates.insert(at, (duplicate_bytes, name.to_owned()));
            self.largest_duplicates.truncate(LARGEST);
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
            tally.add_file(&format!("file {n}"), "rs".to_owned(), &sums, n != 3);
        }
        assert_eq!((tally.files, tally.unreadable_files), (20, 1));
        assert_eq!(tally.total.bytes, 2000 + 2 * 190);
        assert_eq!(tally.total, tally.by_kind["rs"]);
        assert_eq!(tally.total.ratio(), Some(2380.0 / 2000.0));
        assert_eq!(tally.largest_duplicates.len(), 10);
        assert_eq!(tally.largest_duplicates[0], (38, "file 19".to_owned()));
        assert_eq!(Sums::default().ratio(), None);
    }
}
