//! Reads that take as long as those of a slow device (`cpp/slow_reads.cc`).

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::time::Duration;

use rocksdb::{AsRawPtr, Options};

unsafe extern "C" {
    fn springbloom_baselines_slow_reads(options: *mut c_void, seek_us: u64);
}

/// Lets a read of a table or of filters take a seek longer, unless it goes on where the last one of the file ended; the thread sleeps
/// meanwhile. Give the options their filters afterwards. Options do not own their environment, so that of a call stays until the process
/// ends (a few hundred bytes).
pub fn slow_reads(options: &mut Options, seek: Duration) {
    let seek_us = u64::try_from(seek.as_micros()).unwrap_or(u64::MAX);
    // SAFETY: the options live through the call; the environment that it gives them is never freed.
    unsafe { springbloom_baselines_slow_reads(options.as_raw_ptr().cast(), seek_us) };
}
