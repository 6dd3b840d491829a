//! The charge of the budget to a cache of the engine.

use std::{
    ffi::c_void,
    marker::PhantomData,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread::Thread,
};

use super::description::{CacheCalls, Engine};

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

/// Tells that the cache ran short of room, and that the charge to it is gone therefore.
#[derive(Default)]
pub(crate) struct CacheAlarm {
    rings: AtomicBool,
    /// Woken by the alarm.
    thread: OnceLock<Thread>,
}

impl CacheAlarm {
    /// The calling thread is woken from now on.
    pub(crate) fn wake_this_thread(&self) {
        _ = self.thread.set(std::thread::current());
    }

    pub(crate) fn ring(&self) {
        self.rings.store(true, Ordering::Release);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    pub(crate) fn is_ringing(&self) -> bool {
        self.rings.load(Ordering::Acquire)
    }

    /// Whether it rang. It rings no more.
    pub(crate) fn silence(&self) -> bool {
        self.rings.swap(false, Ordering::AcqRel)
    }
}

extern "C" fn ring(alarm: *mut c_void) {
    // SAFETY: the charge that calls this keeps the alarm until it has ended; it is shared alone.
    let alarm = unsafe { &*alarm.cast::<CacheAlarm>() };
    alarm.ring();
}

/// The charge of the budget to a cache. Keeps the cache alive. Dropping it ends the charge.
pub(crate) struct CacheCharge {
    calls: &'static CacheCalls,
    charge: *mut c_void,
    /// Kept because the cache may ring it until the charge has ended.
    _alarm: Arc<CacheAlarm>,
}

// SAFETY: an engine's charge is not bound to a thread; its calls need one caller at a time, which `BudgetControl`'s mutex gives them.
unsafe impl Send for CacheCharge {}

impl CacheCharge {
    /// A charge of 0 bytes. Errors if there is no cache.
    pub(crate) fn of(
        engine: &'static Engine,
        cache: &Cache<'_>,
        alarm: Arc<CacheAlarm>,
    ) -> Result<Self, String> {
        let calls = engine.cache.filter(|_| !cache.cache.is_null());
        let calls =
            calls.ok_or("the budget is to be charged to a block cache, and these options have none")?;
        let context = Arc::as_ptr(&alarm).cast_mut().cast();
        // SAFETY: the cache is alive by `Cache`'s promise; the charge shares it. `ring` takes the alarm.
        let charge = unsafe { (calls.charge)(cache.cache, ring, context) };
        Ok(Self { calls, charge, _alarm: alarm })
    }

    /// Capacity of the cache.
    pub(crate) fn capacity(&self) -> usize {
        // SAFETY: `charge` is alive until drop; the type is not `Sync`, so nobody else is in here.
        let capacity = unsafe { (self.calls.capacity)(self.charge) };
        usize::try_from(capacity).unwrap_or(usize::MAX)
    }

    /// Bytes that the charge may take, so many eighths of the capacity at most.
    pub(crate) fn room(&self, eighths: u32) -> usize {
        // SAFETY: as above.
        let room = unsafe { (self.calls.room)(self.charge, eighths) };
        usize::try_from(room).unwrap_or(usize::MAX)
    }

    /// Changes the charge to `bytes`. Gives what the cache grants: less only if its limit is strict.
    pub(crate) fn update(&self, bytes: usize) -> usize {
        // SAFETY: as above.
        let granted = unsafe { (self.calls.update)(self.charge, bytes as u64) };
        usize::try_from(granted).unwrap_or(usize::MAX)
    }

    /// Watches for a shortage of room, which rings the alarm.
    pub(crate) fn watch(&self) {
        // SAFETY: as above.
        unsafe { (self.calls.watch)(self.charge) }
    }
}

impl Drop for CacheCharge {
    fn drop(&mut self) {
        // SAFETY: owned and not used again.
        unsafe { (self.calls.release)(self.charge) }
    }
}
