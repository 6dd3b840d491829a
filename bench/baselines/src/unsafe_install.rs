//! Stock filters that the C interface of RocksDB has no call for (`cpp/install.cc`).

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};

use rocksdb::{AsRawPtr, Options};

use springbloom_published_policies::StockFilter;

/// Options that take no stock filter.
#[derive(Debug, thiserror::Error)]
#[error("cannot install a stock filter: {0}")]
pub struct InstallError(String);

unsafe extern "C" {
    fn springbloom_baselines_level_filters(
        options: *mut c_void,
        ribbon: c_int,
        bloom_bits: *const f64,
        count: usize,
        error: *mut c_char,
        size: usize,
    ) -> c_int;
    fn springbloom_baselines_filter_cache(
        options: *mut c_void,
        capacity_bytes: u64,
        error: *mut c_char,
        size: usize,
    ) -> c_int;
}

/// Gives tables of level `i` a stock filter with the false positive rate of Bloom filters of
/// `bloom_bits[min(i, last)]` bits per key. Under 0.5 bits means no filter.
///
/// # Errors
/// An empty list, or options of another table format.
pub(crate) fn level_filters(
    options: &mut Options,
    filter: StockFilter,
    bloom_bits: &[f64],
) -> Result<(), InstallError> {
    let ribbon = c_int::from(filter == StockFilter::Ribbon);
    checked(|error, size| {
        let (bits, count) = (bloom_bits.as_ptr(), bloom_bits.len());
        // SAFETY: options, bits and buffer live through the call, which copies the bits.
        unsafe {
            springbloom_baselines_level_filters(options.as_raw_ptr().cast(), ribbon, bits, count, error, size)
        }
    })
}

/// Keeps stock filters in a block cache of `capacity_bytes` of their own: index blocks are kept free of charge, as table
/// readers keep them, and data blocks are not kept. So a capped filter cache is compared at exactly its capacity. Index
/// blocks stay until the cache goes with its last database: for comparisons, not for service.
///
/// # Errors
/// Options of another table format.
pub fn filter_cache(options: &mut Options, capacity_bytes: u64) -> Result<(), InstallError> {
    checked(|error, size| {
        // SAFETY: options and buffer live through the call; the options keep the cache that it makes.
        unsafe {
            springbloom_baselines_filter_cache(options.as_raw_ptr().cast(), capacity_bytes, error, size)
        }
    })
}

/// Calls a function that gives 0, or writes a message to the buffer that it is given.
fn checked(call: impl FnOnce(*mut c_char, usize) -> c_int) -> Result<(), InstallError> {
    let mut message = [0u8; 512];
    if call(message.as_mut_ptr().cast(), message.len()) == 0 {
        return Ok(());
    }
    let message = CStr::from_bytes_until_nul(&message).unwrap_or_default();
    Err(InstallError(message.to_string_lossy().into_owned()))
}
