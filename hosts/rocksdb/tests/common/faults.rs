//! Faults of table files, and block caches: `tests/cpp/faulty_files.cc` and `shared_cache.cc`.

#![allow(unsafe_code)]

use std::{
    ffi::{c_char, c_int, c_void},
    path::Path,
    time::Duration,
};

use rocksdb::{AsRawPtr, Options};

use super::unsafe_calls::run_cpp_test;

/// How table files fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Fault {
    None = 0,
    /// No file can be opened.
    NoDescriptors = 1,
    /// Every read fails.
    ReadsFail = 2,
    /// Files have no names any more. Those that are open can be read.
    NamesGone = 3,
    /// A read takes 20 ms.
    Slow = 4,
    /// Nothing is there, and every read fails.
    Unmounted = 5,
    /// Reads of the heads of filter blocks fail, and no others.
    HeadsFail = 6,
    /// Reads of units bring wrong bytes, and no others.
    WrongBytes = 7,
    /// Reads of the heads of filter blocks bring wrong bytes, and no others.
    HeadsWrong = 8,
    /// As [`HeadsFail`](Self::HeadsFail), after [`LATE`](Self::LATE).
    HeadsFailLate = 9,
    /// Reads by our threads take as long as the fault.
    Hangs = 10,
    /// As [`Hangs`](Self::Hangs), in folders that are named `some`.
    SomeHang = 11,
}

impl Fault {
    pub(crate) const ALL: [Self; 7] = [
        Self::NoDescriptors,
        Self::ReadsFail,
        Self::NamesGone,
        Self::Slow,
        Self::Unmounted,
        Self::WrongBytes,
        Self::HeadsWrong,
    ];

    /// As in `faulty_files.cc`.
    pub(crate) const LATE: Duration = Duration::from_millis(300);

    /// From now on, in all databases with [`with_faulty_files`].
    pub(crate) fn set(self) {
        springbloom_test_set_fault(self as c_int);
    }
}

unsafe extern "C" {
    fn springbloom_test_faulty_files(_: *mut c_void, _: *const c_char, _: *mut c_char, _: usize) -> c_int;
    safe fn springbloom_test_set_fault(fault: c_int);
    fn springbloom_test_set_strict_cache(_: *mut c_void, _: usize, _: c_int, _: usize) -> *mut c_void;
    fn springbloom_test_set_tiered_cache(_: *mut c_void, capacity: usize, is_wrapped: c_int) -> *mut c_void;
    safe fn springbloom_test_pinned_asked() -> u64;
    fn springbloom_test_delete_cache(cache: *mut c_void);
    fn springbloom_test_set_cache_capacity(cache: *mut c_void, capacity: usize);
    fn springbloom_test_cache_usage(cache: *mut c_void) -> usize;
    fn springbloom_test_cache_pinned(cache: *mut c_void) -> usize;
    fn springbloom_test_cache_users(cache: *mut c_void) -> usize;
}

/// Table files of these options fail as [`Fault::set`] says.
pub(crate) fn with_faulty_files(options: &mut Options, folder: &Path) {
    run_cpp_test(springbloom_test_faulty_files, options, folder);
}

/// One with a strict limit refuses what has no room.
pub(crate) struct SharedCache(*mut c_void);

impl SharedCache {
    /// Lets RocksDB choose the number of shards.
    pub(crate) const ANY_SHARDS: i32 = -1;

    /// Gives the options a cache with a strict limit of `capacity` bytes in `2^shard_bits` shards, that also holds index and filter
    /// blocks and up to `memtables` bytes of memtables.
    pub(crate) fn strict(options: &mut Options, capacity: usize, shard_bits: i32, memtables: usize) -> Self {
        // SAFETY: the options live through the call.
        let cache = unsafe {
            springbloom_test_set_strict_cache(options.as_raw_ptr().cast(), capacity, shard_bits, memtables)
        };
        Self(cache)
    }

    /// Gives the options a tiered cache of `capacity` bytes, in a program's own if it `is_wrapped`.
    pub(crate) fn tiered(options: &mut Options, capacity: usize, is_wrapped: bool) -> Self {
        // SAFETY: the options live through the call.
        let cache = unsafe {
            springbloom_test_set_tiered_cache(options.as_raw_ptr().cast(), capacity, is_wrapped.into())
        };
        Self(cache)
    }

    /// How often other threads than the one that looks at caches have asked wrapped ones what is pinned.
    pub(crate) fn pinned_asked() -> u64 {
        springbloom_test_pinned_asked()
    }

    pub(crate) fn set_capacity(&self, capacity: usize) {
        // SAFETY: only `drop` deletes it.
        unsafe { springbloom_test_set_cache_capacity(self.0, capacity) }
    }

    pub(crate) fn usage(&self) -> usize {
        // SAFETY: as above.
        unsafe { springbloom_test_cache_usage(self.0) }
    }

    pub(crate) fn pinned(&self) -> usize {
        // SAFETY: as above.
        unsafe { springbloom_test_cache_pinned(self.0) }
    }

    /// Whether options or databases have it.
    pub(crate) fn is_in_use(&self) -> bool {
        // SAFETY: as above.
        unsafe { springbloom_test_cache_users(self.0) > 0 }
    }
}

impl Drop for SharedCache {
    fn drop(&mut self) {
        // SAFETY: made by `strict` or `tiered`, and used no more. The options hold the cache itself.
        unsafe { springbloom_test_delete_cache(self.0) }
    }
}
