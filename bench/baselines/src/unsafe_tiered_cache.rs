//! A block cache with a compressed one behind it (`cpp/tiered_cache.cc`).

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use rocksdb::{AsRawPtr, Options};

unsafe extern "C" {
    fn springbloom_baselines_new_tiered_cache(capacity_bytes: u64) -> *mut c_void;
    fn springbloom_baselines_free_tiered_cache(cache: *mut c_void);
    fn springbloom_baselines_use_tiered_cache(options: *mut c_void, cache: *const c_void) -> c_int;
}

/// An LRU cache and a compressed secondary cache, which together have one capacity.
pub struct TieredCache(*mut c_void);

impl TieredCache {
    /// A new one, without contents.
    pub fn new(capacity_bytes: u64) -> Self {
        // SAFETY: the call takes a number alone.
        Self(unsafe { springbloom_baselines_new_tiered_cache(capacity_bytes) })
    }

    /// Makes it the block cache of block-based `options`, which share it.
    ///
    /// # Panics
    /// With options of another table format.
    pub fn install(&self, options: &mut Options) {
        // SAFETY: options and cache live through the call, in which the options take a share of the cache.
        let refused = unsafe {
            springbloom_baselines_use_tiered_cache(options.as_raw_ptr().cast(), self.0.cast_const())
        };
        assert_eq!(refused, 0, "options of block-based tables");
    }
}

impl Drop for TieredCache {
    fn drop(&mut self) {
        // SAFETY: it is ours, and is not used after this.
        unsafe { springbloom_baselines_free_tiered_cache(self.0) };
    }
}
