//! Calls of a file system that hang, fail or lie, and block caches: `tests/cpp/simulated_files.cc` and `shared_cache.cc`.

#![allow(unsafe_code)]

use std::{
    ffi::{CString, c_char, c_int, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
    time::Duration,
};

use rocksdb::{AsRawPtr, Options};

/// What a file system is asked. Opened, read and closed are tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Call {
    Open = 0,
    Read = 1,
    /// A read that brings the head of a filter block.
    ReadHead = 2,
    MultiRead = 3,
    Exists = 4,
    Size = 5,
    Log = 6,
    Rename = 7,
    Delete = 8,
    Sync = 9,
    Close = 10,
}

/// What it does instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Act {
    Hangs = 0,
    Fails = 1,
    IsNotFound = 2,
    /// Takes 20 ms.
    IsSlow = 3,
    /// After [`LATE`].
    FailsLate = 4,
    /// Wrong bytes, or a wrong size.
    IsWrong = 5,
    /// Half of the bytes.
    IsShort = 6,
    IsFound = 7,
}

/// As in `simulated_files.cc`.
pub(crate) const LATE: Duration = Duration::from_millis(300);

/// Whose calls do so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum By {
    Anybody = 0,
    Filters = 1,
}

use Act::{Fails, FailsLate, Hangs, IsNotFound, IsSlow, IsWrong};
use By::{Anybody, Filters};

/// A call of the simulated file system that is broken until this is dropped, also when a test fails: databases could not close.
pub(crate) struct Broken(c_int);

impl Broken {
    /// For files that have `under` in their paths.
    pub(crate) fn begin(call: Call, act: Act, by: By, under: &str) -> Self {
        Self::begin_after(0, call, act, by, under)
    }

    /// The same after this many calls that go right.
    pub(crate) fn begin_after(first: u16, call: Call, act: Act, by: By, under: &str) -> Self {
        let under = CString::new(under).expect("no NUL in a path");
        // SAFETY: the path lives through the call.
        let id = unsafe {
            springbloom_test_begin_fault(
                call as c_int,
                act as c_int,
                by as c_int,
                under.as_ptr(),
                first.into(),
            )
        };
        Self(id)
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        springbloom_test_end_fault(self.0);
    }
}

/// Threads whose calls hang.
pub(crate) fn hanging_threads() -> usize {
    springbloom_test_hanging_threads().try_into().expect("a number")
}

/// The database in this folder was closed, or is about to be opened.
pub(crate) fn set_closed(folder: &Path, is_closed: bool) {
    let folder = CString::new([folder.as_os_str().as_bytes(), b"/"].concat()).expect("no NUL in a path");
    // SAFETY: the path lives through the call.
    unsafe { springbloom_test_set_closed(folder.as_ptr(), is_closed.into()) };
}

/// Calls of filters, since the last call, that were made for databases while they were closed.
pub(crate) fn take_calls_for_closed() -> c_int {
    springbloom_test_take_calls_for_closed()
}

/// Tables that are open.
pub(crate) fn open_tables() -> usize {
    springbloom_test_open_tables().try_into().expect("a number")
}

/// Reads of tables since the last call: those of RocksDB's threads, and those of the filters'.
pub(crate) fn take_reads() -> [u32; 2] {
    [0, 1].map(|of_filters| springbloom_test_take_reads(of_filters).cast_unsigned())
}

/// How table files fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// No file can be opened.
    NoDescriptors,
    /// Every read fails.
    ReadsFail,
    /// Files have no names any more. Those that are open can be read.
    NamesGone,
    /// A read takes 20 ms.
    Slow,
    /// Nothing is there, and every read fails.
    Unmounted,
    /// Reads of the heads of filter blocks fail, and no others.
    HeadsFail,
    /// Reads of units bring wrong bytes, and no others.
    WrongBytes,
    /// Reads of the heads of filter blocks bring wrong bytes, and no others.
    HeadsWrong,
    /// As [`HeadsFail`](Self::HeadsFail), after [`LATE`].
    HeadsFailLate,
    /// Reads by our threads take as long as the fault.
    Hangs,
    /// As [`Hangs`](Self::Hangs), in folders that are named `some`.
    SomeHang,
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

    fn calls(self) -> &'static [(Call, Act, By)] {
        match self {
            Self::None => &[],
            Self::NoDescriptors => &[(Call::Open, Fails, Anybody)],
            Self::ReadsFail => &[(Call::Read, Fails, Anybody), (Call::MultiRead, Fails, Anybody)],
            Self::NamesGone => &[(Call::Open, IsNotFound, Anybody), (Call::Exists, IsNotFound, Anybody)],
            Self::Slow => &[(Call::Read, IsSlow, Anybody), (Call::MultiRead, IsSlow, Anybody)],
            Self::Unmounted => &[
                (Call::Read, Fails, Anybody),
                (Call::MultiRead, Fails, Anybody),
                (Call::Open, IsNotFound, Anybody),
                (Call::Exists, IsNotFound, Anybody),
            ],
            Self::HeadsFail => &[(Call::ReadHead, Fails, Anybody)],
            Self::WrongBytes => &[(Call::Read, IsWrong, Filters)],
            Self::HeadsWrong => &[(Call::ReadHead, IsWrong, Anybody)],
            Self::HeadsFailLate => &[(Call::ReadHead, FailsLate, Anybody)],
            Self::Hangs | Self::SomeHang => &[(Call::Read, Hangs, Filters)],
        }
    }

    /// From now on, and no other, in all databases with [`with_simulated_files`].
    pub(crate) fn set(self) {
        springbloom_test_end_fault(0);
        let under = if self == Self::SomeHang { "/some/" } else { "" };
        // They last until the next call.
        self.calls()
            .iter()
            .for_each(|&(call, act, by)| std::mem::forget(Broken::begin(call, act, by, under)));
    }
}

unsafe extern "C" {
    fn springbloom_test_simulate_files_on_disk(_: *mut c_void);
    fn springbloom_test_simulate_files_in_memory(_: *mut c_void);
    fn springbloom_test_begin_fault(
        call: c_int,
        act: c_int,
        by: c_int,
        under: *const c_char,
        first: c_int,
    ) -> c_int;
    safe fn springbloom_test_end_fault(id: c_int);
    safe fn springbloom_test_hanging_threads() -> c_int;
    fn springbloom_test_set_closed(folder: *const c_char, is_closed: c_int);
    safe fn springbloom_test_take_calls_for_closed() -> c_int;
    safe fn springbloom_test_open_tables() -> c_int;
    safe fn springbloom_test_take_reads(of_filters: c_int) -> c_int;
    fn springbloom_test_set_strict_cache(_: *mut c_void, _: usize, _: c_int, _: usize) -> *mut c_void;
    fn springbloom_test_set_tiered_cache(_: *mut c_void, capacity: usize, is_wrapped: c_int) -> *mut c_void;
    safe fn springbloom_test_pinned_asked() -> u64;
    fn springbloom_test_delete_cache(cache: *mut c_void);
    fn springbloom_test_set_cache_capacity(cache: *mut c_void, capacity: usize);
    fn springbloom_test_cache_usage(cache: *mut c_void) -> usize;
    fn springbloom_test_cache_pinned(cache: *mut c_void) -> usize;
    fn springbloom_test_cache_users(cache: *mut c_void) -> usize;
}

/// Files of these options lie on the disk, and calls of their file system break as [`Fault::set`] and [`Broken`] say.
pub(crate) fn with_simulated_files(options: &mut Options) {
    // SAFETY: the options live through the call.
    unsafe { springbloom_test_simulate_files_on_disk(options.as_raw_ptr().cast()) };
}

/// The same for files in memory, at any path.
pub(crate) fn with_files_in_memory(options: &mut Options) {
    // SAFETY: as above.
    unsafe { springbloom_test_simulate_files_in_memory(options.as_raw_ptr().cast()) };
}

/// One with a strict limit refuses what has no room.
pub(crate) struct SharedCache(*mut c_void);

// SAFETY: any thread may use a cache of RocksDB.
unsafe impl Send for SharedCache {}

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
