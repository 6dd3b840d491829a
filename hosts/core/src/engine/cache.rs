//! The charge of the budget to a cache of the engine.

use std::{
    ffi::c_void,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread::Thread,
};

use super::{
    description::{CacheCalls, Engine},
    gate::Gate,
};

/// A cache of the engine, borrowed for a call: what its [`CacheCalls`] take, or null.
pub(crate) struct Cache {
    pub(crate) cache: *const c_void,
    /// No other cache has the same while it lives.
    pub(crate) identity: *const c_void,
}

/// A cache of records that the engine asks before its tables: `sb_row_cache`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowCache {
    /// Databases with the same one share it. 0: none.
    pub(crate) identity: usize,
    pub(crate) capacity: u64,
}

/// Tells that a cache may have run short of room, or that the caches in use are others.
#[derive(Default)]
pub(crate) struct CacheAlarm {
    /// How often it rang, and how often when it was answered last.
    rings: AtomicUsize,
    answered: AtomicUsize,
    /// Woken by the alarm.
    thread: OnceLock<Thread>,
}

impl CacheAlarm {
    /// The calling thread is woken from now on.
    pub(crate) fn wake_this_thread(&self) {
        _ = self.thread.set(std::thread::current());
    }

    pub(crate) fn ring(&self) {
        self.rings.fetch_add(1, Ordering::AcqRel);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    pub(crate) fn is_ringing(&self) -> bool {
        self.rings.load(Ordering::Acquire) != self.answered.load(Ordering::Acquire)
    }

    /// Rings until it is answered, and on if it rang again meanwhile.
    pub(crate) fn answer(&self, answer: impl FnOnce()) {
        let rings = self.rings.load(Ordering::Acquire);
        answer();
        self.answered.store(rings, Ordering::Release);
    }
}

/// Called by a cache with its locks held: it sets a flag and wakes a thread, and no more.
extern "C" fn ring(alarm: *mut c_void) {
    // SAFETY: a share of the alarm, which is given back by `forget` after the last call.
    unsafe { &*alarm.cast::<CacheAlarm>() }.ring();
}

extern "C" fn forget(alarm: *mut c_void) {
    // SAFETY: the share that `CacheUse::of` gave away.
    drop(unsafe { Arc::from_raw(alarm.cast::<CacheAlarm>()) });
}

/// The charge of the budget to a cache, which it keeps alive until its last user lets go of it.
pub(crate) struct CacheCharge(Gate<Charge>);

/// A charge of the engine's adapter.
struct Charge {
    calls: &'static CacheCalls,
    charge: *mut c_void,
}

// SAFETY: an engine's charge is not bound to a thread.
unsafe impl Send for Charge {}
// SAFETY: any thread may call the functions; `room` and `update` are called by the one whose turn it is to move the budget.
unsafe impl Sync for Charge {}

impl CacheCharge {
    /// Asks the engine about the charge; 0 once it is closed. Its end waits for that.
    fn ask(&self, ask: impl FnOnce(&Charge) -> u64) -> usize {
        self.0.enter(|charge| usize::try_from(ask(charge)).unwrap_or(usize::MAX)).unwrap_or(0)
    }

    /// Bytes that are charged.
    pub(crate) fn bytes(&self) -> usize {
        self.ask(|of| (of.calls.charged)(of.charge))
    }

    /// Capacity of the cache.
    pub(crate) fn capacity(&self) -> usize {
        self.ask(|of| (of.calls.capacity)(of.charge))
    }

    /// Bytes that the charge may take, this many eighths of the capacity at most. Some caches walk over all their entries for it.
    pub(crate) fn room(&self, eighths: u32) -> usize {
        self.ask(|of| (of.calls.room)(of.charge, eighths))
    }

    /// Changes the charge to `bytes`, as long as none is [ended](Self::end) that was made by this permit. Gives what the cache grants of
    /// them: less only if its limit is strict.
    pub(crate) fn update(&self, bytes: usize, permit: u64) -> usize {
        self.ask(|of| (of.calls.update)(of.charge, bytes as u64, permit)).min(bytes)
    }

    /// Gives all bytes back at once, and charges no more that were permitted before `permit`. `false` if none were charged.
    pub(crate) fn end(&self, permit: u64) -> bool {
        self.ask(|of| (of.calls.end)(of.charge, permit)) > 0
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        (self.calls.release)(self.charge);
    }
}

/// What has a cache in use shares this. With the last share the charge ends, once nobody asks the engine about it.
pub(crate) struct CacheUse {
    pub(crate) charge: Arc<CacheCharge>,
    alarm: Arc<CacheAlarm>,
}

impl CacheUse {
    /// A charge of 0 bytes; `None` if there is no cache.
    pub(crate) fn of(engine: &Engine, cache: &Cache, alarm: &Arc<CacheAlarm>) -> Option<Self> {
        let calls = engine.cache.filter(|_| !cache.cache.is_null())?;
        let context = Arc::into_raw(alarm.clone()).cast_mut().cast();
        // The charge shares the cache. `ring` and `forget` take a share of the alarm.
        let charge = (calls.charge)(cache.cache, ring, forget, context);
        let charge = Arc::new(CacheCharge(Gate::new(Charge { calls, charge })));
        Some(Self { charge, alarm: alarm.clone() })
    }
}

impl Drop for CacheUse {
    fn drop(&mut self) {
        self.charge.0.close();
        self.alarm.ring();
    }
}
