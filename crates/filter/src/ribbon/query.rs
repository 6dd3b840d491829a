//! Looks a digest up in the resident columns.
//!
//! In memory, columns are interleaved word by word in lanes of [`LANES`] units: the words that a lookup needs of four units lie
//! side by side, 96 bytes instead of four times 24 in different places.

use super::rows::{RowHasher, fingerprint};
use crate::KeyDigest;
use crate::group::LANES;

/// Coefficients placed on the three words that a band of 128 slots can touch.
struct Window {
    masks: [u64; 3],
    words: [usize; 3],
}

/// Whether all resident units agree with the digest's fingerprint. Branch-free for four units, then an exit: one
/// absent key in 16 sees the fifth unit.
#[inline]
pub(super) fn may_match(
    words: &[u64],
    rows: RowHasher,
    unit_words: u32,
    resident: u8,
    digest: KeyDigest,
) -> bool {
    let row = rows.row(digest);
    let shift = row.start % 64;
    let low = row.coefficients << shift;
    let first = (row.start / 64) as usize;
    // A word behind the end has no coefficients; any word does in its place.
    let last = unit_words as usize - 1;
    let window = Window {
        masks: [low as u64, (low >> 64) as u64, (row.coefficients >> 1 >> (127 - shift)) as u64],
        words: [first, (first + 1).min(last), (first + 2).min(last)],
    };
    let fingerprint = fingerprint(digest);
    let lane_words = LANES * unit_words as usize;
    let full_lanes = usize::from(resident) / LANES;
    let all_full_match = (0..full_lanes).all(|lane| {
        match_lane::<LANES>(&words[lane * lane_words..][..lane_words], &window, fingerprint >> (lane * LANES))
    });
    if !all_full_match {
        return false;
    }
    let rest = &words[full_lanes * lane_words..];
    let fingerprint = fingerprint.checked_shr((full_lanes * LANES) as u32).unwrap_or(0);
    match usize::from(resident) % LANES {
        0 => true,
        1 => match_lane::<1>(rest, &window, fingerprint),
        2 => match_lane::<2>(rest, &window, fingerprint),
        _ => match_lane::<3>(rest, &window, fingerprint),
    }
}

/// Whether `UNITS` interleaved units agree with the low bits of `fingerprint`.
#[inline]
fn match_lane<const UNITS: usize>(words: &[u64], window: &Window, fingerprint: u32) -> bool {
    let (interleaved, _) = words.as_chunks::<UNITS>();
    let [a, b, c] = window.words.map(|word| &interleaved[word]);
    let [mask_a, mask_b, mask_c] = window.masks;
    let mut bits = 0;
    for unit in 0..UNITS {
        let product = a[unit] & mask_a ^ b[unit] & mask_b ^ c[unit] & mask_c;
        bits |= (product.count_ones() & 1) << unit;
    }
    bits == fingerprint & ((1 << UNITS) - 1)
}
