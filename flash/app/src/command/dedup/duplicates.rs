//! Files with the same contents.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde_json::{Value, json};

use super::content::ContentDigest;
use super::files::Source;

/// Files that have the same contents.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Length of each, holes included.
    pub(super) bytes: u64,
    /// Bytes, without holes, of all files but the smallest.
    pub(super) excess_bytes: u64,
    pub(super) names: Vec<String>,
}

impl Group {
    pub(super) fn document(&self) -> Value {
        json!({ "bytes": self.bytes, "excess_bytes": self.excess_bytes, "files": self.names })
    }
}

/// A file, and its bytes without holes.
type Copy = (usize, u64);

/// Collects the contents of files that may have duplicates.
pub(super) struct Duplicates {
    by_content: HashMap<ContentDigest, Vec<Copy>>,
}

/// The files whose contents matter: not empty, and not the only ones of their length.
pub(super) struct Candidates(Vec<bool>);

impl Candidates {
    pub(super) fn none() -> Candidates {
        Candidates(Vec::new())
    }

    pub(super) fn among(sources: &[Source]) -> Candidates {
        let mut of_length: HashMap<u64, u32> = HashMap::new();
        for source in sources {
            *of_length.entry(source.len_bytes).or_default() += 1;
        }
        let may_be = |s: &Source| !s.is_stream() && s.len_bytes > 0 && of_length[&s.len_bytes] > 1;
        Candidates(sources.iter().map(may_be).collect())
    }

    pub(super) fn has(&self, source: usize) -> bool {
        self.0.get(source).is_some_and(|is_candidate| *is_candidate)
    }
}

impl Duplicates {
    pub(super) fn new() -> Duplicates {
        Duplicates { by_content: HashMap::new() }
    }

    /// Takes a file with its bytes without holes.
    pub(super) fn add(&mut self, source: usize, data_bytes: u64, content: ContentDigest) {
        self.by_content.entry(content).or_default().push((source, data_bytes));
    }

    /// The groups, by the bytes that their duplicates take, most first.
    pub(super) fn groups(self, sources: &[Source]) -> Vec<Group> {
        let mut groups: Vec<Vec<Copy>> = self.by_content.into_values().filter(|n| n.len() > 1).collect();
        groups.iter_mut().for_each(|copies| copies.sort_unstable());
        groups.sort_unstable();
        let group = |copies: Vec<Copy>| Group {
            bytes: sources[copies[0].0].len_bytes,
            excess_bytes: excess(&copies),
            names: copies.into_iter().map(|(n, _)| sources[n].name()).collect(),
        };
        let mut groups: Vec<Group> = groups.into_iter().map(group).collect();
        groups.sort_by_key(|group| Reverse(group.excess_bytes));
        groups
    }
}

fn excess(copies: &[Copy]) -> u64 {
    let bytes = || copies.iter().map(|(_, data_bytes)| data_bytes);
    bytes().sum::<u64>() - bytes().min().unwrap_or(&0)
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
        let candidates = Candidates::among(&sources);
        assert_eq!((0..9).filter(|n| candidates.has(*n)).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        let mut duplicates = Duplicates::new();
        for (source, data_bytes, content) in
            [(5, 3, 7), (4, 7, 7), (0, 9, 9), (3, 5, 5), (1, 5, 5), (2, 5, 6)]
        {
            duplicates.add(source, data_bytes, [content; 32]);
        }
        let group = |bytes, excess_bytes, names: [&str; 2]| {
            let names = names.map(str::to_owned).into();
            Group { bytes, excess_bytes, names }
        };
        assert_eq!(duplicates.groups(&sources), [group(7, 7, ["e", "f"]), group(5, 5, ["b", "d"])]);
    }
}
