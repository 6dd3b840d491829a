//! Documents as sets of shingles, and their MinHash signatures: those of datasketch's `MinHash` with the scheme `affine32`.

use sha1::{Digest, Sha1};

/// Signature values that the processor holds in registers while it goes through the shingles.
const LANES: usize = 32;

/// The permutations `a * h + b` of 32-bit hashes, with odd `a`.
pub(crate) struct Permutations {
    a: Vec<u32>,
    b: Vec<u32>,
}

impl Permutations {
    /// The same numbers of both.
    pub(crate) fn new(mut a: Vec<u32>, mut b: Vec<u32>) -> Permutations {
        let lanes = a.len().next_multiple_of(LANES);
        a.resize(lanes, 0);
        b.resize(lanes, 0);
        Permutations { a, b }
    }

    /// The least value of each permutation over the shingles; the largest number over none. Those behind the last permutation mean nothing.
    pub(crate) fn signature(&self, shingles: &[u32]) -> Vec<u32> {
        let mut signature = vec![u32::MAX; self.a.len()];
        let (lanes, _) = signature.as_chunks_mut::<LANES>();
        for ((least, a), b) in lanes.iter_mut().zip(self.a.as_chunks().0).zip(self.b.as_chunks().0) {
            let (a, b): (&[u32; LANES], &[u32; LANES]) = (a, b);
            let mut held = *least;
            for shingle in shingles {
                for lane in 0..LANES {
                    held[lane] = held[lane].min(a[lane].wrapping_mul(*shingle).wrapping_add(b[lane]));
                }
            }
            *least = held;
        }
        signature
    }
}

/// Hashes of the shingles of a text, each once, in rising order: `words` successive words, or all if there are fewer.
pub(crate) fn shingles(text: &[u8], words: usize) -> Vec<u32> {
    let is_space = |byte: &u8| matches!(byte, b' ' | 9..=13);
    // With one space between words, so that each shingle is a part of it.
    let mut spaced = Vec::with_capacity(text.len());
    let mut places = Vec::new();
    for word in text.split(is_space).filter(|word| !word.is_empty()) {
        if !spaced.is_empty() {
            spaced.push(b' ');
        }
        let first = spaced.len();
        spaced.extend_from_slice(word);
        places.push((first, spaced.len()));
    }
    let mut hashes: Vec<u32> = places
        .windows(words.min(places.len()).max(1))
        .map(|of_shingle| mixed(hash(&spaced[of_shingle[0].0..of_shingle[of_shingle.len() - 1].1])))
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

fn hash(shingle: &[u8]) -> u32 {
    let digest = Sha1::digest(shingle);
    u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]])
}

/// The end of MurmurHash3. Different hashes stay different.
fn mixed(hash: u32) -> u32 {
    let hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    let hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

/// How much a near duplicate that is no candidate counts, and a candidate that is none. Candidates are compared, so those cost only time.
const MISSED_WEIGHT: f64 = 0.8;
const WRONG_WEIGHT: f64 = 1.0 - MISSED_WEIGHT;

/// Bands and rows that make the weighted sum of false positives and false negatives least over all similarities, as datasketch's
/// `MinHashLSH` chooses them.
pub(crate) fn bands_and_rows(threshold: f64, permutations: usize) -> (usize, usize) {
    let mut best = (f64::INFINITY, (2, 1));
    for bands in 2..=permutations {
        for rows in 1..=permutations / bands {
            let missed = |similarity: f64| (1.0 - similarity.powi(rows as i32)).powi(bands as i32);
            let cost = WRONG_WEIGHT * integral(0.0, threshold, |s| 1.0 - missed(s))
                + MISSED_WEIGHT * integral(threshold, 1.0, missed);
            if cost < best.0 {
                best = (cost, (bands, rows));
            }
        }
    }
    best.1
}

/// Simpson's rule.
fn integral(from: f64, to: f64, of: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 256;
    let step = (to - from) / f64::from(STEPS);
    let inner: f64 = (1..STEPS).map(|n| of(from + f64::from(n) * step) * f64::from(2 + 2 * (n % 2))).sum();
    (of(from) + inner + of(to)) * step / 3.0
}
