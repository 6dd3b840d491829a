//! The charge of the budget to a cache of the engine.

use std::{ffi::c_void, marker::PhantomData};

use super::Engine;

/// What can be done with a cache: `sb_cache_calls`.
#[repr(C)]
#[derive(Debug)]
pub struct CacheCalls {
    /// Begins a charge of 0 bytes, which keeps the cache alive.
    pub charge: unsafe extern "C" fn(cache: *const c_void) -> *mut c_void,
    /// Changes a charge. Gives what the cache grants.
    pub update: unsafe extern "C" fn(charge: *mut c_void, bytes: u64) -> u64,
    /// Ends a charge.
    pub release: unsafe extern "C" fn(charge: *mut c_void),
}

/// A cache of the engine, or none.
pub struct Cache<'a> {
    /// Null: none.
    cache: *const c_void,
    alive: PhantomData<&'a ()>,
}

impl Cache<'_> {
    /// # Safety
    /// `cache` is null or what the engine's [`CacheCalls`] take, alive as long as the result.
    pub unsafe fn at(cache: *const c_void) -> Self {
        Self { cache, alive: PhantomData }
    }
}

/// The charge of the budget to a cache. Keeps the cache alive. Dropping it ends the charge.
pub(crate) struct CacheCharge {
    calls: &'static CacheCalls,
    charge: *mut c_void,
}

// SAFETY: an engine's charge is not bound to a thread; `update` needs one caller at a time, which `BudgetControl`'s mutex gives it.
unsafe impl Send for CacheCharge {}

impl CacheCharge {
    /// A charge of 0 bytes. Errors if there is no cache.
    pub(crate) fn of(engine: &'static Engine, cache: &Cache<'_>) -> Result<Self, String> {
        let calls = engine.cache.filter(|_| !cache.cache.is_null());
        let calls =
            calls.ok_or("the budget is to be charged to a block cache, and these options have none")?;
        // SAFETY: the cache is alive by `Cache`'s promise; the charge shares it.
        Ok(Self { calls, charge: unsafe { (calls.charge)(cache.cache) } })
    }

    /// Changes the charge to `bytes`. Gives what the cache grants: less only if its limit is strict.
    pub(crate) fn update(&self, bytes: usize) -> usize {
        // SAFETY: `charge` is alive until drop; the type is not `Sync`, so nobody else is in here.
        let granted = unsafe { (self.calls.update)(self.charge, bytes as u64) };
        usize::try_from(granted).unwrap_or(usize::MAX)
    }
}

impl Drop for CacheCharge {
    fn drop(&mut self) {
        // SAFETY: owned and not used again.
        unsafe { (self.calls.release)(self.charge) }
    }
}
