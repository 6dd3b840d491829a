//! The charge of the budget to a block cache.

use std::ffi::{c_char, c_void};

use rocksdb::AsRawPtr;

use super::imports::message_of;

unsafe extern "C" {
    fn springbloom_charge_new(options: *mut c_void, error: *mut c_char, size: usize) -> *mut c_void;
    fn springbloom_charge_update(charge: *mut c_void, bytes: u64) -> u64;
    fn springbloom_charge_free(charge: *mut c_void);
}

/// Bytes of a block cache that filters take. Shares the cache; gives the bytes back when it is dropped.
#[derive(Debug)]
pub(crate) struct CacheCharge {
    charge: *mut c_void,
}

// SAFETY: the C++ object is not bound to a thread; `update` needs one caller at a time, which `BudgetControl`'s mutex gives it.
unsafe impl Send for CacheCharge {}

impl CacheCharge {
    /// Nothing yet, of the block cache in these options.
    pub(crate) fn of(options: &mut rocksdb::Options) -> Result<Self, String> {
        let mut message = [0u8; 512];
        // SAFETY: options and buffer live through the call, which shares the cache and keeps neither.
        let charge = unsafe {
            springbloom_charge_new(options.as_raw_ptr().cast(), message.as_mut_ptr().cast(), message.len())
        };
        if charge.is_null() { Err(message_of(&message)) } else { Ok(Self { charge }) }
    }

    /// Moves the charge to `bytes`; gives what the cache grants, at least as much unless its limit is strict.
    pub(crate) fn update(&self, bytes: usize) -> usize {
        // SAFETY: `charge` is alive until drop; the type is not `Sync`, so nobody else is in here.
        let granted = unsafe { springbloom_charge_update(self.charge, bytes as u64) };
        usize::try_from(granted).unwrap_or(usize::MAX)
    }
}

impl Drop for CacheCharge {
    fn drop(&mut self) {
        // SAFETY: owned and not used again.
        unsafe { springbloom_charge_free(self.charge) }
    }
}
