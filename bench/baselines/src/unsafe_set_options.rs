//! Options of several column families at once, for which the Rust crate has no call (`cpp/set_options.cc`).

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use rocksdb::{AsColumnFamilyRef, AsRawPtr, ColumnFamily, DB};

unsafe extern "C" {
    fn springbloom_baselines_set_options(
        db: *mut c_void,
        families: *const *mut c_void,
        family_count: usize,
        names: *const *const c_char,
        values: *const *const c_char,
        option_count: usize,
        error: *mut c_char,
        error_size: usize,
    ) -> c_int;
}

/// Changes options of column families of an open database. RocksDB writes and checks the options of all of its column families once, where
/// a call for each takes time in the square of their number.
///
/// # Errors
/// RocksDB's message.
pub fn set_options(db: &DB, families: &[&ColumnFamily], options: &[(&str, &str)]) -> Result<(), String> {
    let texts = |of: fn(&(&str, &str)) -> Vec<u8>| {
        options.iter().map(|option| CString::new(of(option))).collect::<Result<Vec<_>, _>>()
    };
    let names = texts(|option| option.0.into()).map_err(|error| error.to_string())?;
    let values = texts(|option| option.1.into()).map_err(|error| error.to_string())?;
    let pointers = |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).collect::<Vec<_>>();
    let handles: Vec<*mut c_void> = families.iter().map(|family| family.inner().cast()).collect();
    let mut message = [0u8; 512];
    // SAFETY: the database is open and its column families are borrowed during the call, which copies the options; the arrays and the
    // buffer have the lengths that are told.
    let refused = unsafe {
        springbloom_baselines_set_options(
            db.as_raw_ptr().cast(),
            handles.as_ptr(),
            handles.len(),
            pointers(&names).as_ptr(),
            pointers(&values).as_ptr(),
            options.len(),
            message.as_mut_ptr().cast(),
            message.len(),
        )
    };
    match refused {
        0 => Ok(()),
        _ => Err(CStr::from_bytes_until_nul(&message).unwrap_or_default().to_string_lossy().into_owned()),
    }
}
