//! Seeds for random tests: fresh on every run, printed, repeatable with `SPRINGBLOOM_SEED`.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Environment variable that fixes the seed of every test in the process.
pub const SEED_VARIABLE: &str = "SPRINGBLOOM_SEED";

/// The generator that tests use.
pub type TestRng = Pcg64Mcg;

/// The seed of the test `test`: from the environment, otherwise a fresh one. Prints how to repeat the run, which the test harness shows if
/// the test fails.
///
/// # Panics If the variable is not an unsigned integer.
pub fn seed(test: &str) -> u64 {
    let seed = match std::env::var(SEED_VARIABLE) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{SEED_VARIABLE}: expected an unsigned integer, got {text:?}")),
        Err(_) => rand::rng().random(),
    };
    println!("{test}: repeat with {SEED_VARIABLE}={seed}");
    seed
}

/// Generator seeded by [`seed`].
pub fn rng(test: &str) -> TestRng {
    rng_from(seed(test))
}

/// Generator for a known seed, such as that of a regression test.
pub fn rng_from(seed: u64) -> TestRng {
    TestRng::seed_from_u64(seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_gives_same_numbers() {
        let seed = seed("same_seed_gives_same_numbers");
        let (mut a, mut b) = (rng_from(seed), rng_from(seed));
        assert_eq!(a.random::<[u64; 4]>(), b.random::<[u64; 4]>());
        assert_ne!(rng_from(1).random::<u64>(), rng_from(2).random::<u64>());
    }
}
