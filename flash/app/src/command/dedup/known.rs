//! Chunks in the index: for each, where it was first seen.
//!
//! A chunk's *owner* is the place where it was put into the index: a scan, a source of it, an offset. A chunk found at its own
//! place is new, however often that place is scanned. So a resumed scan does not count its own chunks as duplicates.

use std::collections::HashMap;

use anyhow::Result;

use super::chunks::{Batch, DIGEST_BYTES};
use crate::flash::{FlashIndex, StreamLookup, explain};

/// Whether a chunk was seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Seen for the first time.
    New,
    /// Seen earlier in this scan.
    Repeated,
    /// Known from an earlier scan.
    Known,
}

/// Where a chunk was first seen; stored as the value of its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    scan: u32,
    source: u32,
    offset: u64,
}

const OWNER_BYTES: usize = 16;

impl Owner {
    fn encode(self) -> [u8; OWNER_BYTES] {
        let mut bytes = [0; OWNER_BYTES];
        bytes[..4].copy_from_slice(&self.scan.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.source.to_le_bytes());
        bytes[8..].copy_from_slice(&self.offset.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Owner> {
        let (scan, rest) = bytes.split_first_chunk::<4>()?;
        let (source, rest) = rest.split_first_chunk::<4>()?;
        let offset = rest.try_into().ok()?;
        Some(Owner {
            scan: u32::from_le_bytes(*scan),
            source: u32::from_le_bytes(*source),
            offset: u64::from_le_bytes(offset),
        })
    }
}

/// Classifies every chunk of `batch`, in order, and puts the new ones into the index. `seen` looks chunks up; a stream lookup
/// suffices, because each chunk is put only once.
pub(super) fn stand(
    index: &FlashIndex,
    seen: &mut StreamLookup<'_>,
    scan: u32,
    batch: &Batch,
) -> Result<Vec<Standing>> {
    let keys: Vec<&[u8]> = batch.chunks.iter().map(|chunk| &chunk.digest[..]).collect();
    let found = seen.get_many(&keys).map_err(explain)?;
    let mut here: HashMap<[u8; DIGEST_BYTES], Owner> = HashMap::new();
    let mut new = Vec::new();
    let mut standings = Vec::with_capacity(keys.len());
    for (chunk, value) in batch.chunks.iter().zip(found) {
        let own = Owner { scan, source: chunk.source as u32, offset: chunk.offset };
        let owner =
            value.and_then(|value| Owner::decode(&value)).or_else(|| here.get(&chunk.digest).copied());
        let owner = owner.unwrap_or_else(|| {
            here.insert(chunk.digest, own);
            new.push((&chunk.digest[..], own.encode()));
            own
        });
        standings.push(match owner {
            owner if owner == own => Standing::New,
            owner if owner.scan == scan => Standing::Repeated,
            _ => Standing::Known,
        });
    }
    let pairs: Vec<(&[u8], &[u8])> = new.iter().map(|(key, value)| (*key, &value[..])).collect();
    index.put_many(&pairs).map_err(explain)?;
    Ok(standings)
}

#[cfg(test)]
mod tests {
    use super::super::chunks::Chunk;
    use super::*;
    use crate::flash::{IndexMemory, IndexSettings};

    #[test]
    fn chunks_are_new_once_and_again_at_their_own_place() {
        let dir = tempfile::tempdir().unwrap();
        let index = FlashIndex::create(dir.path(), IndexSettings::new(0), IndexMemory::standard()).unwrap();
        let batch = |source, digests: &[u8]| Batch {
            chunks: (0..)
                .zip(digests)
                .map(|(n, digest)| Chunk {
                    source,
                    digest: [*digest; DIGEST_BYTES],
                    offset: n * 10,
                    len_bytes: 10,
                })
                .collect(),
            ends: Vec::new(),
        };
        let mut seen = index.stream(1);
        let mut stand = |scan, batch: &Batch| stand(&index, &mut seen, scan, batch).unwrap();
        use Standing::{Known, New, Repeated};
        for _ in 0..2 {
            assert_eq!(stand(1, &batch(0, b"aba")), [New, New, Repeated]);
        }
        assert_eq!(stand(1, &batch(1, b"ac")), [Repeated, New]);
        assert_eq!(stand(2, &batch(0, b"abd")), [Known, Known, New]);
    }
}
