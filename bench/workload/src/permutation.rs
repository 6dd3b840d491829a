//! A seeded permutation of `0..n`. It scatters popular ranks over a key space and gives load orders, without a table.
//!
//! A bijection changes which records are popular, but not how popular they are. YCSB's hash-and-modulo scrambling maps several ranks to one
//! record.

/// A bijection of `0..len` onto itself, chosen by a salt.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    len: u64,
    mask: u64,
    shift: u32,
    keys: [u64; ROUNDS],
}

const ROUNDS: usize = 3;

impl Permutation {
    /// The permutation of `0..len` that `salt` selects. `len` 0 is treated as 1.
    pub fn new(len: u64, salt: u64) -> Self {
        let len = len.max(1);
        let bits = (u64::BITS - (len - 1).leading_zeros()).max(2);
        let mask = if bits == u64::BITS { u64::MAX } else { (1 << bits) - 1 };
        let mut state = salt;
        let keys = std::array::from_fn(|_| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            mix64(state)
        });
        Permutation { len, mask, shift: bits.div_ceil(2), keys }
    }

    /// The image of `index`. Expected cost: under two rounds of mixing, a few nanoseconds.
    ///
    /// # Panics In debug builds, if `index` is not in `0..len`.
    #[inline]
    pub fn apply(&self, index: u64) -> u64 {
        debug_assert!(index < self.len, "index {index} of a permutation of {}", self.len);
        // Cycle walking: the mixer permutes 0..=mask, which is less than twice `len`; following its cycle until it
        // comes back below `len` permutes 0..len.
        let mut x = index;
        loop {
            x = self.mix(x);
            if x < self.len {
                return x;
            }
        }
    }

    #[inline]
    fn mix(&self, mut x: u64) -> u64 {
        for key in self.keys {
            // Each step is invertible on `mask` bits: adding a constant, multiplying by an odd number, XOR of the upper half into the
            // lower.
            x = x.wrapping_add(key) & self.mask;
            x = x.wrapping_mul(0xD6E8_FEB8_6659_FD93 ^ (key & !1)) & self.mask;
            x ^= x >> self.shift;
        }
        x
    }
}

/// Finaliser of SplitMix64 (Steele, Lea, Flood): a bijection of 64-bit integers.
#[inline]
pub(crate) fn mix64(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use springbloom_testkit::chi_square;

    #[test]
    fn is_a_bijection_for_every_length() {
        for len in (1..=130).chain([1_000, 4_096, 4_097, 65_535]) {
            for salt in 0..3 {
                let permutation = Permutation::new(len, salt);
                let mut seen = vec![false; len as usize];
                for index in 0..len {
                    let to = permutation.apply(index) as usize;
                    assert!(!std::mem::replace(&mut seen[to], true), "len {len} salt {salt}: {to} twice");
                }
            }
        }
    }

    #[test]
    fn salts_send_the_most_popular_rank_everywhere() {
        let cells = 64;
        for rank in [0, 1, 999_999] {
            let mut counts = vec![0u64; cells];
            for salt in 0..20_000 {
                let to = Permutation::new(1_000_000, salt).apply(rank);
                counts[to as usize * cells / 1_000_000] += 1;
            }
            chi_square::assert_fits(&counts, &vec![1.0 / cells as f64; cells], "rank over salts");
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        let permutation = Permutation::new(5_000_000, 7);
        let close = (0..100_000)
            .filter(|&i| permutation.apply(i).abs_diff(permutation.apply(i + 1)) < 50_000)
            .count();
        // Chance of two uniform places within 1% of each other: 2%.
        assert!((1_000..3_200).contains(&close), "{close}");
    }
}
