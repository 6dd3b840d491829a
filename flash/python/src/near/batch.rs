//! Which documents of a batch are new: no earlier one that was kept is near. The index has two kinds of keys: a bucket, the hash of the
//! rows of a band, has the number of the newest document in it, and a number has the document, with the next older one of each bucket.
//! So the documents of a bucket are a list, and a put needs no look at it. Documents of runs that were interrupted are passed over.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use springbloom_filter::KeyDigest;
use springbloom_flash_index::{FlashError, FlashIndex};

use super::document::{COUNT_BITS, Document, Number, Shingles, encode, key_of, number_of};
use super::minhash::{Permutations, shingles};

/// Documents of a bucket that one is compared with, the newest ones. A bucket with more is one of documents made from a template.
const COMPARED_MAX: u8 = 64;
/// Documents that are read together. One has up to 64 KiB.
const READ_TOGETHER: usize = 256;

pub(crate) struct Comparison {
    pub(crate) permutations: Permutations,
    pub(crate) bands: usize,
    pub(crate) rows: usize,
    pub(crate) words: usize,
    pub(crate) threshold: f64,
}

type Bucket = [u8; 8];

struct Sketch {
    shingles: Shingles,
    buckets: Vec<Bucket>,
}

/// An older document that a new one is to be compared with.
#[derive(Clone, Copy)]
struct Candidate {
    number: Number,
    of: usize,
    band: usize,
    /// How many of the bucket may still be compared.
    left: u8,
}

impl Comparison {
    fn sketch(&self, text: &[u8]) -> Sketch {
        let hashes = shingles(text, self.words);
        let signature = self.permutations.signature(&hashes);
        let bands = signature.chunks_exact(self.rows).take(self.bands).enumerate();
        let mut bytes = Vec::with_capacity(4 + 4 * self.rows);
        let bucket = |(band, rows): (usize, &[u32])| {
            bytes.clear();
            bytes.extend_from_slice(&(band as u32).to_le_bytes());
            rows.iter().for_each(|row| bytes.extend_from_slice(&row.to_le_bytes()));
            KeyDigest::of(&bytes).lo.to_le_bytes()
        };
        Sketch { buckets: bands.map(bucket).collect(), shingles: Shingles::new(hashes) }
    }

    /// The sketches of all texts, made by as many threads as run at the same time.
    fn sketches(&self, texts: &[&[u8]]) -> Vec<Sketch> {
        let next = AtomicUsize::new(0);
        let made: Vec<OnceLock<Sketch>> = texts.iter().map(|_| OnceLock::new()).collect();
        let make = || {
            while let Some((text, place)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| texts.get(n).zip(made.get(n)))
            {
                place.get_or_init(|| self.sketch(text));
            }
        };
        std::thread::scope(|scope| {
            let others = std::thread::available_parallelism().map_or(0, |threads| threads.get() - 1);
            for _ in 0..others.min(texts.len()) {
                // Where no thread can be had, this one makes all.
                let _ = std::thread::Builder::new().spawn_scoped(scope, make);
            }
            make();
        });
        made.into_iter()
            .zip(texts)
            .map(|(made, text)| made.into_inner().unwrap_or_else(|| self.sketch(text)))
            .collect()
    }

    /// Whether each document is new, in order. Stores those that are, with the numbers from `first` on. `dead` are the runs that were
    /// interrupted.
    pub(crate) fn take_in(
        &self,
        index: &FlashIndex,
        texts: &[&[u8]],
        first: Number,
        dead: &[u64],
    ) -> Result<Vec<bool>, FlashError> {
        let sketches = self.sketches(texts);
        let buckets: Vec<&[u8]> =
            sketches.iter().flat_map(|sketch| &sketch.buckets).map(|key| &key[..]).collect();
        let found = index.get_many(&buckets)?;
        let newest: Vec<Option<Number>> = found.iter().map(|value| number_of(value.as_deref()?)).collect();
        let is_known = self.known(index, &sketches, &newest, dead)?;
        self.store(index, &sketches, &newest, is_known, first)
    }

    /// Which documents are near to one that was stored before. `newest` has the newest document in the bucket of each band.
    fn known(
        &self,
        index: &FlashIndex,
        sketches: &[Sketch],
        newest: &[Option<Number>],
        dead: &[u64],
    ) -> Result<Vec<bool>, FlashError> {
        let mut is_known = vec![false; sketches.len()];
        let candidate = |(n, number): (usize, &Option<Number>)| {
            let (of, band) = (n / self.bands, n % self.bands);
            number.map(|number| Candidate { number, of, band, left: COMPARED_MAX })
        };
        let mut candidates: Vec<Candidate> = newest.iter().enumerate().filter_map(candidate).collect();
        while !candidates.is_empty() {
            candidates.sort_unstable_by_key(|candidate| (candidate.number, candidate.of));
            let mut next = Vec::new();
            let same: Vec<&[Candidate]> = candidates.chunk_by(|a, b| a.number == b.number).collect();
            for together in same.chunks(READ_TOGETHER) {
                let keys: Vec<[u8; 9]> = together.iter().map(|same| key_of(same[0].number)).collect();
                let stored = index.get_many(&keys.iter().map(|key| &key[..]).collect::<Vec<_>>())?;
                for (same, bytes) in together.iter().zip(stored) {
                    // Buckets are stored behind their documents, so there is one.
                    let Some(document) = bytes.as_deref().and_then(Document::decode) else { continue };
                    let is_dead = dead.contains(&(same[0].number >> COUNT_BITS));
                    for of_one in same.chunk_by(|a, b| a.of == b.of) {
                        let of = of_one[0].of;
                        is_known[of] |= !is_dead && self.is_near(&sketches[of].shingles, &document.shingles);
                        next.extend(of_one.iter().filter_map(|candidate| {
                            let number = document
                                .older_of(candidate.band)
                                .filter(|older| *older < candidate.number)?;
                            let left = candidate.left - u8::from(!is_dead);
                            (left > 0).then_some(Candidate { number, left, ..*candidate })
                        }));
                    }
                }
            }
            next.retain(|candidate| !is_known[candidate.of]);
            candidates = next;
        }
        Ok(is_known)
    }

    /// Stores the documents that are near neither to older ones nor to one of the batch that is stored.
    fn store(
        &self,
        index: &FlashIndex,
        sketches: &[Sketch],
        newest: &[Option<Number>],
        is_known: Vec<bool>,
        first: Number,
    ) -> Result<Vec<bool>, FlashError> {
        let mut is_new: Vec<bool> = is_known.into_iter().map(|is_known| !is_known).collect();
        let mut in_bucket: HashMap<&Bucket, Vec<usize>> = HashMap::new();
        let mut stored: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for (n, sketch) in sketches.iter().enumerate().filter(|(n, _)| is_new[*n]).collect::<Vec<_>>() {
            let same = sketch.buckets.iter().filter_map(|bucket| in_bucket.get(bucket));
            let mut others = same.flat_map(|others| others.iter().rev().take(COMPARED_MAX.into()));
            if others.any(|other| self.is_near(&sketch.shingles, &sketches[*other].shingles)) {
                is_new[n] = false;
                continue;
            }
            let older = sketch.buckets.iter().enumerate().filter_map(|(band, bucket)| {
                let of_batch = in_bucket.get(bucket).and_then(|others| others.last());
                let number = of_batch.map(|other| first + *other as u64).or(newest[n * self.bands + band])?;
                Some((band as u16, number))
            });
            let older: Vec<(u16, Number)> = older.collect();
            stored.push((key_of(first + n as u64).to_vec(), encode(&older, &sketch.shingles)));
            for bucket in &sketch.buckets {
                in_bucket.entry(bucket).or_default().push(n);
            }
        }
        // A kill leaves the first ones of what is put: no bucket without its document.
        let last = |(bucket, others): (&&Bucket, &Vec<usize>)| {
            let number = first + others.last().copied().unwrap_or_default() as u64;
            (bucket.to_vec(), number.to_le_bytes().to_vec())
        };
        stored.extend(in_bucket.iter().map(last));
        let pairs: Vec<(&[u8], &[u8])> = stored.iter().map(|(key, value)| (&key[..], &value[..])).collect();
        index.put_many(&pairs)?;
        Ok(is_new)
    }

    fn is_near(&self, ours: &Shingles, theirs: &Shingles) -> bool {
        ours.similarity(theirs) >= self.threshold
    }
}
