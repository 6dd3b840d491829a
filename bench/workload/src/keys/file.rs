//! Keys from a file, one per line, and absent keys made from them by small mutations.
//!
//! A mutated key shares most of its bytes with a real one, as a misspelt or expired key does. Each was checked against all keys of the
//! file. Keys are sorted and packed. Both kinds are made when the file is read, so that a lookup only copies a key.

use std::path::Path;

use crate::error::WorkloadError;
use crate::keys::KEY_BYTES_MAX;
use crate::keys::packed::PackedKeys;
use crate::permutation::mix64;

/// Minimum number of keys: a range needs two ends and a middle.
const MIN_KEYS: u64 = 3;
/// Mutations tried per key. If all fail, the absent key of a neighbour is used.
const MUTATIONS: u64 = 64;

/// The keys of a file, sorted. The record number is the rank.
#[derive(Debug)]
pub struct FileKeys {
    present: PackedKeys,
    absent: PackedKeys,
}

impl FileKeys {
    /// Reads at most `max_records` different keys from `path`, one a line without the line end; empty lines are
    /// skipped. Memory: twice the file and 16 bytes a key.
    ///
    /// # Errors
    /// A file that cannot be read, too few keys, one that is too long, or no gaps between them.
    pub fn read(path: &Path, max_records: Option<u64>) -> Result<Self, WorkloadError> {
        let refused = |why: String| WorkloadError(format!("{}{why}", path.display()));
        let bytes =
            std::fs::read(path).map_err(|error| WorkloadError::unreadable("keys from", path, &error))?;
        let mut lines: Vec<&[u8]> = lines(&bytes).map(|(_, line)| line).collect();
        if let Some(got) = lines.iter().map(|line| line.len()).find(|&len| len > KEY_BYTES_MAX) {
            return Err(refused(format!(
                ": got a key of {got} bytes, expected at most {KEY_BYTES_MAX}: is it a file of keys, one a line?"
            )));
        }
        lines.sort_unstable();
        lines.dedup();
        if let Some(max) = max_records.filter(|&max| max < lines.len() as u64) {
            // Every n-th key, to sample the whole range.
            let all = lines.len() as u64;
            lines = (0..max)
                .map(|index| lines[(u128::from(index) * u128::from(all) / u128::from(max)) as usize])
                .collect();
        }
        let got = lines.len() as u64;
        if got < MIN_KEYS {
            return Err(refused(format!(" has {got} different keys, expected at least {MIN_KEYS}")));
        }
        let mut present = PackedKeys::default();
        let mut absent = PackedKeys::default();
        let mut neighbour = (0..lines.len()).find_map(|record| make_absent(&lines, record));
        for (record, line) in lines.iter().enumerate() {
            present.push(line);
            neighbour = make_absent(&lines, record).or(neighbour);
            match &neighbour {
                Some(key) => absent.push(key),
                None => {
                    return Err(refused(": there are no gaps between its keys for absent ones".to_owned()));
                }
            }
        }
        Ok(FileKeys { present, absent })
    }

    pub(super) fn records(&self) -> u64 {
        self.present.len()
    }

    pub(super) fn key_bytes(&self) -> u64 {
        self.present.bytes()
    }

    pub(super) fn present(&self, record: u64) -> &[u8] {
        self.present.get(record)
    }

    pub(super) fn absent(&self, record: u64) -> &[u8] {
        self.absent.get(record)
    }
}

/// The lines of a file that are not empty, with their numbers and without their ends.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let lines = (1u64..).zip(bytes.split(|&byte| byte == b'\n'));
    lines
        .map(|(number, line)| (number, line.strip_suffix(b"\r").unwrap_or(line)))
        .filter(|(_, line)| !line.is_empty())
}

/// A key near `keys[record]` that is not in `keys` (sorted) and lies between the first and the last of them. `None` if no small mutation
/// is.
fn make_absent(keys: &[&[u8]], record: usize) -> Option<Vec<u8>> {
    let (first, last) = (keys[0], keys[keys.len() - 1]);
    // The greatest key has no room above it, so its predecessor is used.
    let from = keys[record.min(keys.len() - 2)];
    (0..MUTATIONS).find_map(|attempt| {
        let random = mix64((record as u64).wrapping_mul(MUTATIONS).wrapping_add(attempt));
        let mut candidate = from.to_vec();
        let letter = b"abcdefghijklmnopqrstuvwxyz0123456789"[(random >> 32) as usize % 36];
        if attempt + 1 == MUTATIONS {
            // The smallest extension. It fits in front of keys that begin with this one.
            candidate.push(0);
        } else if random.is_multiple_of(2) {
            // Replace a byte of the last quarter: the directory stays, the name changes.
            let tail = from.len().div_ceil(4);
            let at = from.len() - 1 - (random >> 8) as usize % tail;
            candidate[at] = letter;
        } else {
            candidate.push(letter);
        }
        let inside = candidate.as_slice() > first && candidate.as_slice() < last;
        (inside && keys.binary_search(&candidate.as_slice()).is_err()).then_some(candidate)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::io::Write;

    fn read(text: &[u8], max_records: Option<u64>) -> Result<FileKeys, WorkloadError> {
        let mut file = tempfile::NamedTempFile::new().expect("temporary file");
        file.write_all(text).expect("write");
        FileKeys::read(file.path(), max_records)
    }

    fn check(keys: &FileKeys) {
        let present: BTreeSet<&[u8]> = (0..keys.records()).map(|record| keys.present(record)).collect();
        assert_eq!(present.len() as u64, keys.records());
        for record in 0..keys.records() {
            let absent = keys.absent(record);
            assert!(!present.contains(absent), "{absent:?} is present");
            assert!(absent > *present.first().expect("keys") && absent < *present.last().expect("keys"));
        }
    }

    #[test]
    fn paths_give_absent_paths_inside_the_range() {
        let text: String =
            (0..5_000).map(|i| format!("/usr/share/doc/package-{}/file{}\n", i % 77, i)).collect();
        let keys = read(text.as_bytes(), None).expect("keys");
        assert_eq!(keys.records(), 5_000);
        check(&keys);
    }

    #[test]
    fn dense_and_odd_keys_work() {
        // Every one-byte key, so that no replacement is absent; and keys that are prefixes of each other.
        let mut dense: Vec<u8> =
            (1..=255u8).filter(|b| !b"\n\r".contains(b)).flat_map(|byte| [byte, b'\n']).collect();
        check(&read(&dense, None).expect("keys"));
        dense.extend_from_slice(b"a\0\na\0\0\na\0\0\0\n");
        check(&read(&dense, None).expect("keys"));
        check(&read(b"a\na\0\na\0\0\na\0\0b", None).expect("keys"));
    }

    #[test]
    fn duplicates_empty_lines_and_line_ends_are_handled() {
        let keys = read(b"b\r\n\na\nb\nc\n\nd", None).expect("keys");
        let all: Vec<_> = (0..keys.records()).map(|record| keys.present(record)).collect();
        assert_eq!(all, [b"a", b"b", b"c", b"d"]);
    }

    #[test]
    fn a_sample_spans_the_range() {
        let text: String = (0..1_000).map(|i| format!("{i:04}\n")).collect();
        let keys = read(text.as_bytes(), Some(10)).expect("keys");
        assert_eq!(keys.records(), 10);
        assert_eq!(keys.present(0), b"0000");
        assert_eq!(keys.present(9), b"0900");
        check(&keys);
    }

    #[test]
    fn bad_files_are_refused() {
        let refused = |text: &[u8]| read(text, None).expect_err("no keys").to_string();
        assert!(refused(b"a\nb\n").ends_with("has 2 different keys, expected at least 3"));
        assert!(refused(b"a\na\0\na\0\0").contains("no gaps"));
        let missing = FileKeys::read(Path::new("/nonexistent/keys"), None).expect_err("no file").to_string();
        assert!(missing.starts_with("cannot read keys from /nonexistent/keys"), "{missing}");
        let long = [b"a\nb\nc\n", vec![b'k'; KEY_BYTES_MAX + 1].as_slice()].concat();
        assert!(refused(&long).contains("got a key of"));
    }
}
