//! The two workloads of the paper (Table I), rebuilt: what an operation asks, not what it does to a filter.
//!
//! - *Dedupe*: chunk digests, 20 bytes. Every chunk is looked up, and inserted if it is absent; 1.3 chunks are repetitions
//!   for each that is new (27,748,824 chunks, 12,082,492 distinct). Repetitions are drawn from all chunks seen; or, from
//!   the file that `SPRINGBLOOM_DEDUPE_KEYS` names (see `scripts/dedupe-keys`), in the order of real backups.
//! - *Xbox*: dot-separated keys of 94 bytes, 165 lookups for each insertion, the keys of lookups drawn with Zipf's law
//!   (exponent 1.4) or uniformly from twice as many keys as there are in the set: half of the universe is absent.

use std::sync::OnceLock;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use springbloom_filter::KeyDigest;

/// One operation of a trace.
pub(crate) enum Operation {
    Lookup(KeyDigest),
    Insert(KeyDigest),
    /// Look up, and insert if absent.
    LookupOrInsert(KeyDigest),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trace {
    Dedupe,
    /// A file of real chunks, from its beginning to its end, of which a share of the keys is taken (with all of their
    /// repetitions, so that the shape stays).
    DedupeReal,
    XboxZipf,
    XboxUniform,
    /// Zipf's law, and every key that is asked for is in the set: a flat filter cannot stop early.
    XboxHeld,
}

/// One in this many keys of a file of real chunks is taken.
const REAL_SHARES: u64 = 128;
/// Repetitions per new chunk.
const DUPLICATES_PER_INSERT: f64 = 15_666_332.0 / 12_082_492.0;
const LOOKUPS_PER_INSERT: f64 = 165.0;
const ZIPF_EXPONENT: f64 = 1.4;

/// Draws the operations of `trace` over a set that holds keys `0..held`.
pub(crate) struct Operations {
    trace: Trace,
    rng: StdRng,
    held: u64,
    /// Place in the file of real chunks, and which share of its keys is taken.
    at: usize,
    share: u64,
}

/// The digests of real chunks in the order of their backups, if a file of them is given.
pub(crate) fn real_chunks() -> Option<&'static [KeyDigest]> {
    static CHUNKS: OnceLock<Option<Vec<KeyDigest>>> = OnceLock::new();
    let read = || {
        let bytes =
            std::fs::read(std::env::var_os("SPRINGBLOOM_DEDUPE_KEYS")?).expect("a file of chunk digests");
        Some(bytes.chunks_exact(20).map(KeyDigest::of).collect())
    };
    CHUNKS.get_or_init(read).as_deref()
}

impl Operations {
    /// `share` chooses keys of a file of real chunks; operations of different shares have no key in common.
    pub(crate) fn new(trace: Trace, held: u64, share: u64, seed: u64) -> Operations {
        Operations { trace, rng: StdRng::seed_from_u64(seed), held, at: 0, share: share % REAL_SHARES }
    }

    /// Keys that the set holds now.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// The key number `n` of a trace.
    pub(crate) fn key(trace: Trace, n: u64) -> KeyDigest {
        match trace {
            // A digest of a chunk is as good as random; the first 20 bytes of another hash stand for SHA-1.
            Trace::Dedupe | Trace::DedupeReal => {
                let chunk = KeyDigest::of(&n.to_le_bytes());
                let mut key = [0; 20];
                key[..8].copy_from_slice(&chunk.lo.to_le_bytes());
                key[8..16].copy_from_slice(&chunk.hi.to_le_bytes());
                KeyDigest::of(&key)
            }
            _ => {
                let key = format!(
                    "game.{:02}.session.{:012}.region.{:03}.player.{n:020}.state.round.{:04}.answer.latest",
                    n % 17,
                    n / 3,
                    n % 211,
                    n % 1000
                );
                KeyDigest::of(key.as_bytes())
            }
        }
    }

    /// The next operation; only a file ends.
    pub(crate) fn next(&mut self) -> Option<Operation> {
        let trace = self.trace;
        let operation = match trace {
            Trace::Dedupe => {
                let is_new = self.rng.random::<f64>() < 1.0 / (1.0 + DUPLICATES_PER_INSERT);
                let n = if is_new { self.held } else { self.rng.random_range(0..self.held) };
                self.held += u64::from(is_new);
                Operation::LookupOrInsert(Self::key(trace, n))
            }
            Trace::DedupeReal => {
                let mut rest = real_chunks()?[self.at..].iter();
                let key = rest.find(|key| key.hi % REAL_SHARES == self.share)?;
                self.at = real_chunks()?.len() - rest.len();
                Operation::LookupOrInsert(*key)
            }
            _ => {
                if self.rng.random::<f64>() < 1.0 / (1.0 + LOOKUPS_PER_INSERT) {
                    self.held += 1;
                    return Some(Operation::Insert(Self::key(trace, self.held - 1)));
                }
                let universe = if trace == Trace::XboxHeld { self.held } else { 2 * self.held };
                let rank = match trace {
                    Trace::XboxUniform => self.rng.random_range(0..universe),
                    _ => self.zipf(universe),
                };
                // Odd ranks are keys beyond those held: popularity says nothing about presence.
                let n = match (trace, rank % 2) {
                    (Trace::XboxHeld, _) => rank,
                    (_, 0) => rank / 2,
                    _ => (1 << 40) + rank,
                };
                Operation::Lookup(Self::key(trace, n))
            }
        };
        Some(operation)
    }

    /// A rank in `0..universe`, by inversion of the continuous law.
    fn zipf(&mut self, universe: u64) -> u64 {
        let tail = 1.0 - (universe as f64).powf(1.0 - ZIPF_EXPONENT);
        let draw: f64 = self.rng.random();
        let rank = (1.0 - draw * tail).powf(1.0 / (1.0 - ZIPF_EXPONENT));
        (rank as u64 - 1).min(universe - 1)
    }
}
