//! What is stored of a document that is kept.

/// Shingles of a document that are stored at most: those with the least hashes, a random sample. The similarity of longer documents is
/// estimated from it, with a standard deviation below .005.
const SHINGLES_MAX: usize = 12_288;

/// The number of a document, which no other one has, not even one of a run that was interrupted.
pub(crate) type Number = u64;
/// Bits of a number that count the documents of a run. Those above count runs.
pub(crate) const COUNT_BITS: u32 = 40;
const NUMBER_BYTES: usize = 8;

pub(crate) fn number_of(bytes: &[u8]) -> Option<Number> {
    bytes.try_into().ok().map(u64::from_le_bytes)
}

/// The key of a document, longer than those of buckets.
pub(crate) fn key_of(number: Number) -> [u8; 9] {
    let mut key = [b'#'; 9];
    key[1..].copy_from_slice(&number.to_le_bytes());
    key
}

/// A document that is kept.
pub(crate) struct Document {
    /// The next older document in the bucket of a band, for those bands that have one.
    pub(crate) older: Vec<(u16, Number)>,
    pub(crate) shingles: Shingles,
}

/// The shingles of a document, or a sample.
pub(crate) struct Shingles {
    /// Of all.
    count: u32,
    /// In rising order.
    hashes: Vec<u32>,
}

impl Shingles {
    /// `hashes` are different, in rising order.
    pub(crate) fn new(mut hashes: Vec<u32>) -> Shingles {
        let count = hashes.len() as u32;
        hashes.truncate(SHINGLES_MAX);
        Shingles { count, hashes }
    }

    /// Jaccard's similarity: the share of the shingles of either that both have. That of two empty documents is 1.
    pub(crate) fn similarity(&self, other: &Shingles) -> f64 {
        // Above the last one of a sample, nothing is known.
        let known = self.last().min(other.last());
        let (ours, theirs) = (self.up_to(known), other.up_to(known));
        let (mut at, mut common) = (0, 0);
        for hash in ours {
            while theirs.get(at).is_some_and(|other| other < hash) {
                at += 1;
            }
            common += usize::from(theirs.get(at) == Some(hash));
        }
        let all = ours.len() + theirs.len() - common;
        if all == 0 { 1.0 } else { common as f64 / all as f64 }
    }

    /// Up to which hash they are known.
    fn last(&self) -> u32 {
        let is_whole = self.hashes.len() == self.count as usize;
        self.hashes.last().filter(|_| !is_whole).copied().unwrap_or(u32::MAX)
    }

    fn up_to(&self, last: u32) -> &[u32] {
        &self.hashes[..self.hashes.partition_point(|hash| *hash <= last)]
    }
}

/// The stored form: how many bands have an older document, each with its number; the number of shingles; their hashes.
pub(crate) fn encode(older: &[(u16, Number)], shingles: &Shingles) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(6 + older.len() * (2 + NUMBER_BYTES) + shingles.hashes.len() * 4);
    bytes.extend_from_slice(&(older.len() as u16).to_le_bytes());
    for (band, number) in older {
        bytes.extend_from_slice(&band.to_le_bytes());
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&shingles.count.to_le_bytes());
    shingles.hashes.iter().for_each(|hash| bytes.extend_from_slice(&hash.to_le_bytes()));
    bytes
}

impl Document {
    /// `None` for bytes that are none.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Document> {
        let (count, rest) = bytes.split_first_chunk()?;
        let (older, rest) =
            rest.split_at_checked(usize::from(u16::from_le_bytes(*count)) * (2 + NUMBER_BYTES))?;
        let older = older.chunks_exact(2 + NUMBER_BYTES).map(|entry| {
            let (band, number) = entry.split_first_chunk()?;
            Some((u16::from_le_bytes(*band), number_of(number)?))
        });
        let (count, hashes) = rest.split_first_chunk()?;
        let (hashes, []) = hashes.as_chunks() else { return None };
        let hashes: Vec<u32> = hashes.iter().map(|hash| u32::from_le_bytes(*hash)).collect();
        let shingles = Shingles { count: u32::from_le_bytes(*count), hashes };
        let is_sample =
            shingles.hashes.is_sorted_by(|a, b| a < b) && shingles.hashes.len() <= shingles.count as usize;
        is_sample.then_some(Document { older: older.collect::<Option<_>>()?, shingles })
    }

    pub(crate) fn older_of(&self, band: usize) -> Option<Number> {
        self.older.iter().find(|(of, _)| usize::from(*of) == band).map(|(_, number)| *number)
    }
}
