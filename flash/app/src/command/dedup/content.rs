//! The digest of a file's contents, the same however much of its zeros are holes.

/// The contents of a file.
pub(super) type ContentDigest = [u8; 32];

/// Blocks of zeros are left out, written or not.
const BLOCK_BYTES: usize = 4096;

/// Digests the contents of a file, in order: the number and bytes of each block that is not all zeros, and the length.
pub(super) struct Content {
    hasher: blake3::Hasher,
    /// Number of the block that is being filled, and its first bytes.
    number: u64,
    begun: Vec<u8>,
}

impl Content {
    pub(super) fn new() -> Content {
        Content { hasher: blake3::Hasher::new(), number: 0, begun: Vec::with_capacity(BLOCK_BYTES) }
    }

    pub(super) fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (here, rest) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.begun.len()));
            bytes = rest;
            if here.len() == BLOCK_BYTES {
                self.add_block(here);
                self.number += 1;
            } else {
                self.begun.extend_from_slice(here);
                self.end_block_if_full();
            }
        }
    }

    pub(super) fn add_hole(&mut self, len_bytes: u64) {
        let block_bytes = BLOCK_BYTES as u64;
        let head = len_bytes.min((BLOCK_BYTES - self.begun.len()) as u64 % block_bytes);
        self.add(&[0; BLOCK_BYTES][..head as usize]);
        self.number += (len_bytes - head) / block_bytes;
        self.add(&[0; BLOCK_BYTES][..((len_bytes - head) % block_bytes) as usize]);
    }

    pub(super) fn end(mut self) -> ContentDigest {
        let len_bytes = self.number * BLOCK_BYTES as u64 + self.begun.len() as u64;
        let begun = std::mem::take(&mut self.begun);
        self.add_block(&begun);
        self.hasher.update(&len_bytes.to_le_bytes());
        self.hasher.finalize().into()
    }

    fn end_block_if_full(&mut self) {
        if self.begun.len() == BLOCK_BYTES {
            let begun = std::mem::take(&mut self.begun);
            self.add_block(&begun);
            self.number += 1;
            self.begun = begun;
            self.begun.clear();
        }
    }

    fn add_block(&mut self, bytes: &[u8]) {
        if bytes.iter().any(|byte| *byte != 0) {
            self.hasher.update(&self.number.to_le_bytes());
            self.hasher.update(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(parts: &[(u8, usize)], are_zeros_holes: bool) -> ContentDigest {
        let mut content = Content::new();
        for &(byte, len) in parts {
            if byte == 0 && are_zeros_holes {
                content.add_hole(len as u64)
            } else {
                content.add(&vec![byte; len])
            }
        }
        content.end()
    }

    #[test]
    fn holes_are_zeros_wherever_they_begin_and_end_and_other_contents_differ() {
        let files = [
            &[(1, 5000), (0, 20_000), (2, 1)][..],
            &[(1, 5000), (0, 20_001), (2, 1)],
            &[(1, 5001), (0, 19_999), (2, 1)],
            &[(1, 4096), (0, 4096), (1, 4096)],
            &[(1, 4096), (0, 8192), (1, 4096)],
            &[(0, 4096)],
            &[(0, 4097)],
            &[(0, 100), (1, 1)],
            &[(1, 1), (0, 100)],
            &[],
        ];
        let digests: std::collections::HashSet<_> = files.map(|parts| digest(parts, false)).into();
        assert_eq!(digests.len(), files.len());
        for parts in files {
            assert_eq!(digest(parts, true), digest(parts, false), "{parts:?}");
        }
        let mut in_pieces = Content::new();
        [700, 4300, 20_000, 1]
            .into_iter()
            .zip([1, 1, 0, 2])
            .for_each(|(len, byte)| in_pieces.add(&vec![byte; len]));
        assert_eq!(in_pieces.end(), digest(files[0], true));
    }
}
