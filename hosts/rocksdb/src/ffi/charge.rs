//! The charge of the budget to a block cache.

use std::{ffi::c_void, marker::PhantomData};

use rocksdb::AsRawPtr;

unsafe extern "C" {
    fn springbloom_block_cache(options: *mut c_void) -> *const c_void;
    fn springbloom_charge_new(block_cache: *const c_void) -> *mut c_void;
    fn springbloom_charge_update(charge: *mut c_void, bytes: u64) -> u64;
    fn springbloom_charge_free(charge: *mut c_void);
}

/// The block cache of some options, borrowed from them.
pub(crate) struct BlockCache<'a> {
    /// Null if they have none.
    shared_ptr: *const c_void,
    options: PhantomData<&'a ()>,
}

impl<'a> BlockCache<'a> {
    pub(crate) fn in_options(options: &'a mut rocksdb::Options) -> Self {
        // SAFETY: the options live as long as the result.
        let shared_ptr = unsafe { springbloom_block_cache(options.as_raw_ptr().cast()) };
        Self { shared_ptr, options: PhantomData }
    }

    /// # Safety
    /// `shared_ptr` is null or points to a `std::shared_ptr<rocksdb::Cache>` that is not null and alive as long as the result.
    pub(super) unsafe fn at(shared_ptr: *const c_void) -> Self {
        Self { shared_ptr, options: PhantomData }
    }
}

/// Bytes of a block cache that filters take. Shares the cache; gives the bytes back when it is dropped.
#[derive(Debug)]
pub(crate) struct CacheCharge {
    charge: *mut c_void,
}

// SAFETY: the C++ object is not bound to a thread; `update` needs one caller at a time, which `BudgetControl`'s mutex gives it.
unsafe impl Send for CacheCharge {}

impl CacheCharge {
    /// Nothing yet. Errors if there is no cache.
    pub(crate) fn of(cache: &BlockCache<'_>) -> Result<Self, String> {
        if cache.shared_ptr.is_null() {
            return Err(
                "the budget is to be charged to a block cache, and these options have none".to_owned()
            );
        }
        // SAFETY: the cache is alive by `BlockCache`'s promise; the charge shares it.
        Ok(Self { charge: unsafe { springbloom_charge_new(cache.shared_ptr) } })
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
