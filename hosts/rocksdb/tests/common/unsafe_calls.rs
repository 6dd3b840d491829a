//! What the Rust crate has no call for, or not in all releases.

#![allow(unsafe_code)]

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use rocksdb::{AsRawPtr, DB, Options};

// Of `tests/cpp/calls.cc`. Those that take a database give 0 or write a message.
unsafe extern "C" {
    safe fn springbloom_test_release() -> c_int;
    fn springbloom_test_set_index_with_first_keys(_: *mut c_void);
    fn springbloom_test_uncache_removed_tables(_: *mut c_void);
    fn springbloom_test_verify_checksums(_: *mut c_void, _: *mut c_char, _: usize) -> c_int;
    fn springbloom_test_disable_file_deletions(_: *mut c_void, _: *mut c_char, _: usize) -> c_int;
    fn springbloom_test_enable_file_deletions(_: *mut c_void, _: *mut c_char, _: usize) -> c_int;
}

/// Major, minor and patch release of RocksDB.
fn release() -> (u32, u32, u32) {
    let release = u32::try_from(springbloom_test_release()).expect("a release is positive");
    (release / 10_000, release / 100 % 100, release % 100)
}

/// Whether RocksDB is of this release or a newer one. Otherwise a test ends without a result, and says so.
pub(crate) fn is_from(least: (u32, u32, u32)) -> bool {
    let release = release();
    if release < least {
        eprintln!("not with RocksDB {release:?}, but from {least:?} on");
    }
    release >= least
}

/// Tables that are written with these options have the first key of each block in their index.
pub(crate) fn set_index_with_first_keys(options: &mut Options) {
    // SAFETY: the options live through the call.
    unsafe { springbloom_test_set_index_with_first_keys(options.as_raw_ptr().cast()) };
}

/// Readers of tables that a compaction removed clear the block cache when they are destroyed, where RocksDB can have them do it.
pub(crate) fn uncache_removed_tables(options: &mut Options) {
    // SAFETY: the options live through the call.
    unsafe { springbloom_test_uncache_removed_tables(options.as_raw_ptr().cast()) };
}

/// Reads every block of every table and compares its checksum.
pub(crate) fn verify_checksums(db: &DB) -> Result<(), String> {
    call(springbloom_test_verify_checksums, db)
}

/// Keeps the files of tables that are dropped or compacted away.
pub(crate) fn disable_file_deletions(db: &DB) -> Result<(), String> {
    call(springbloom_test_disable_file_deletions, db)
}

/// Deletes them, and those of later.
pub(crate) fn enable_file_deletions(db: &DB) -> Result<(), String> {
    call(springbloom_test_enable_file_deletions, db)
}

fn call(
    function: unsafe extern "C" fn(*mut c_void, *mut c_char, usize) -> c_int,
    db: &DB,
) -> Result<(), String> {
    // SAFETY: the database is open through the call, which writes the message alone.
    with_message(|error, size| unsafe { function(db.as_raw_ptr().cast(), error, size) })
}

/// Calls a function that gives 0 or writes a message into a buffer.
pub(crate) fn with_message(call: impl FnOnce(*mut c_char, usize) -> c_int) -> Result<(), String> {
    let mut message = [0u8; 1024];
    if call(message.as_mut_ptr().cast(), message.len()) == 0 {
        return Ok(());
    }
    let message = CStr::from_bytes_until_nul(&message).expect("messages end in NUL");
    Err(message.to_string_lossy().into_owned())
}

/// A test of `tests/cpp`: takes options and a folder, gives 0 or writes a message.
pub(crate) type CppTest = unsafe extern "C" fn(*mut c_void, *const c_char, *mut c_char, usize) -> c_int;

/// Runs a test of `tests/cpp`.
///
/// # Panics
/// With the test's message if it fails.
pub(crate) fn run_cpp_test(test: CppTest, options: &mut Options, folder: &Path) {
    let path = CString::new(folder.as_os_str().as_bytes()).expect("no NUL in a path");
    // SAFETY: options, path and buffer live through the call.
    let result =
        with_message(|error, size| unsafe { test(options.as_raw_ptr().cast(), path.as_ptr(), error, size) });
    if let Err(message) = result {
        panic!("{message}");
    }
}

/// Runs `run` in a child of this process that has the calling thread alone, and gives how that ended, as `waitpid` does: 0 after `run`. A
/// child that hangs is ended after a minute.
pub(crate) fn in_a_forked_child(run: impl FnOnce()) -> c_int {
    unsafe extern "C" {
        fn fork() -> c_int;
        fn alarm(seconds: u32) -> u32;
        fn _exit(code: c_int) -> !;
        fn waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int;
    }
    // SAFETY: the child uses nothing of threads that it does not have, and ends without running what they would have to wait for.
    unsafe {
        let child = fork();
        if child == 0 {
            alarm(60);
            let has_run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_ok();
            _exit(c_int::from(!has_run));
        }
        assert!(child > 0, "no process to be had");
        let mut status = -1;
        assert_eq!(waitpid(child, &raw mut status, 0), child);
        status
    }
}

/// Bytes that this process has allocated and not freed, by whatever language.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn malloc_bytes() -> usize {
    /// As `malloc.h` has it.
    #[repr(C)]
    struct Mallinfo2 {
        arena: usize,
        ordblks: usize,
        smblks: usize,
        hblks: usize,
        hblkhd: usize,
        usmblks: usize,
        fsmblks: usize,
        uordblks: usize,
        fordblks: usize,
        keepcost: usize,
    }
    unsafe extern "C" {
        fn mallinfo2() -> Mallinfo2;
    }
    // SAFETY: takes nothing and gives a plain structure.
    let malloc = unsafe { mallinfo2() };
    malloc.uordblks + malloc.hblkhd
}
