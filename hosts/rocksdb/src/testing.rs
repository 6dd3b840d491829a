//! Counters for tests and benchmarks only.

/// Digests that lookups of this process computed; each thread's are published in steps of
/// [`DIGESTS_STEP`].
pub fn digests_computed() -> u64 {
    (crate::ffi::engine().digests_computed)()
}

/// See [`digests_computed`].
pub const DIGESTS_STEP: u64 = 64;
