//! Files with the same contents.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde_json::{Value, json};

use super::files::Source;

/// The contents of a file: a digest of the digests of its chunks.
pub(super) type ContentDigest = [u8; 32];

/// Files that have the same contents.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) bytes: u64,
    pub(super) names: Vec<String>,
}

impl Group {
    /// Bytes of all but one of the files.
    pub(super) fn excess_bytes(&self) -> u64 {
        self.bytes * (self.names.len() as u64 - 1)
    }

    pub(super) fn document(&self) -> Value {
        json!({ "bytes": self.bytes, "excess_bytes": self.excess_bytes(), "files": self.names })
    }
}

/// Collects the contents of files that may have duplicates.
pub(super) struct Duplicates {
    is_candidate: Vec<bool>,
    by_content: HashMap<ContentDigest, Vec<usize>>,
}

impl Duplicates {
    /// A file of unique length has no duplicate.
    pub(super) fn among(sources: &[Source]) -> Duplicates {
        let mut of_length: HashMap<u64, u32> = HashMap::new();
        for source in sources {
            *of_length.entry(source.len_bytes).or_default() += 1;
        }
        let may_be = |s: &Source| !s.is_stream() && s.len_bytes > 0 && of_length[&s.len_bytes] > 1;
        Duplicates { is_candidate: sources.iter().map(may_be).collect(), by_content: HashMap::new() }
    }

    /// Whether the contents of the source matter.
    pub(super) fn is_candidate(&self, source: usize) -> bool {
        self.is_candidate[source]
    }

    pub(super) fn add(&mut self, source: usize, content: ContentDigest) {
        if self.is_candidate(source) {
            self.by_content.entry(content).or_default().push(source);
        }
    }

    /// The groups, by the bytes that their duplicates take, most first.
    pub(super) fn groups(self, sources: &[Source]) -> Vec<Group> {
        let mut numbers: Vec<Vec<usize>> = self.by_content.into_values().filter(|n| n.len() > 1).collect();
        numbers.iter_mut().for_each(|numbers| numbers.sort_unstable());
        numbers.sort_unstable();
        let group = |numbers: Vec<usize>| Group {
            bytes: sources[numbers[0]].len_bytes,
            names: numbers.into_iter().map(|n| sources[n].name()).collect(),
        };
        let mut groups: Vec<Group> = numbers.into_iter().map(group).collect();
        groups.sort_by_key(|group| Reverse(group.excess_bytes()));
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_the_same_contents_and_the_most_excess_comes_first() {
        let file =
            |(name, len_bytes): (&str, u64)| Source { path: name.into(), len_bytes, ..Source::stream() };
        let sources: Vec<Source> =
            [("a", 9), ("b", 5), ("c", 5), ("d", 5), ("e", 7), ("f", 7), ("g", 0), ("h", 0)].map(file).into();
        let mut duplicates = Duplicates::among(&sources);
        assert_eq!((0..8).filter(|n| duplicates.is_candidate(*n)).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        for (source, content) in [(5, 7), (4, 7), (0, 9), (3, 5), (1, 5), (2, 6)] {
            duplicates.add(source, [content; 32]);
        }
        let group = |bytes, names: [&str; 2]| Group { bytes, names: names.map(str::to_owned).into() };
        assert_eq!(duplicates.groups(&sources), [group(7, ["e", "f"]), group(5, ["b", "d"])]);
    }
}
