//! Keys that the operations are made of.

use rand::RngExt;
use springbloom_testkit::seed::TestRng;

/// General keys of one column family.
const GENERAL_KEYS: u32 = 5_000;
/// Keys that are only put when absent and single-deleted when present, as single deletion demands.
const SINGLE_KEYS: u32 = 400;
/// Groups of general keys; each is a prefix of three bytes.
pub(crate) const PREFIXES: u32 = 24;
/// Length of a prefix.
pub(crate) const PREFIX_BYTES: usize = 3;

/// Which keys a run draws from.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    /// Whether keys shorter than a prefix occur, the empty key among them.
    pub(crate) short: bool,
}

impl Keys {
    /// A key that operations write.
    pub(crate) fn general(self, rng: &mut TestRng) -> Vec<u8> {
        if self.short && rng.random_ratio(1, 300) {
            let keys: [&[u8]; 5] = [b"", b"\0", b"0", b"\xff\xff", b"05"];
            return keys[rng.random_range(0..keys.len())].to_vec();
        }
        general(rng.random_range(0..GENERAL_KEYS))
    }

    /// A key to look up: one that operations write, or a neighbour that none ever does.
    pub(crate) fn any(self, rng: &mut TestRng) -> Vec<u8> {
        match rng.random_range(0..10) {
            0..3 => {
                let mut key = self.general(rng);
                key.extend_from_slice(if key.len() < PREFIX_BYTES { b"abc" } else { b"?" });
                key
            }
            3 => single(rng.random_range(0..SINGLE_KEYS)),
            _ => self.general(rng),
        }
    }

    /// A key for single deletion.
    pub(crate) fn single(self, rng: &mut TestRng) -> Vec<u8> {
        single(rng.random_range(0..SINGLE_KEYS))
    }

    /// Ends of a range of general keys, small ones mostly.
    pub(crate) fn range(self, rng: &mut TestRng) -> (Vec<u8>, Vec<u8>) {
        let prefix = rng.random_range(0..PREFIXES);
        let per_prefix = GENERAL_KEYS / PREFIXES;
        let first = rng.random_range(0..per_prefix);
        let count = if rng.random_ratio(1, 8) { per_prefix } else { rng.random_range(1..12) };
        (general(prefix + first * PREFIXES), general(prefix + (first + count).min(per_prefix) * PREFIXES))
    }
}

/// The prefixes, in order.
pub(crate) fn prefix(index: u32) -> Vec<u8> {
    format!("{index:02}-").into_bytes()
}

/// Lengths vary from short to longer than what the digest cache copies; many keys differ in their last bytes alone.
fn general(index: u32) -> Vec<u8> {
    let mut key = prefix(index % PREFIXES);
    let number = index / PREFIXES;
    if number % 3 == 1 {
        key.extend_from_slice(b"a long part that many keys have in common/");
    }
    key.extend_from_slice(format!("{number:05}").as_bytes());
    let padding = match index {
        _ if index.is_multiple_of(997) => 1_100,
        _ if index.is_multiple_of(7) => 40,
        _ => index as usize % 5,
    };
    key.resize(key.len() + padding, b'.');
    key
}

fn single(index: u32) -> Vec<u8> {
    format!("sd-{index:04}").into_bytes()
}
