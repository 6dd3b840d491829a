//! An engine for tests: files as most engines with sorted tables name them, and nothing else.

use std::{
    ffi::{CStr, c_int, c_uint, c_void},
    ptr::NonNull,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use parking_lot::{Condvar, Mutex};

use super::{
    bytes::Bytes,
    cache::Cache,
    description::{CacheCalls, Engine, Name},
    file_access::{Access, FileAccess},
    open_file::{File, FileCalls, Head, OpenFile, OwnedHead},
};

const fn name(text: &'static CStr) -> Name {
    // SAFETY: a reference is not null.
    Name(unsafe { NonNull::new_unchecked(text.as_ptr().cast_mut()) })
}

pub(crate) static TEST_ENGINE: Engine = Engine {
    table_extension: name(c"sst"),
    older_table_extension: Some(name(c"ldb")),
    database_file: name(c"CURRENT"),
    lock_file: name(c"LOCK"),
    hotness_file: name(c"HOTNESS"),
    hotness_file_new: name(c"HOTNESS.new"),
    reader_bytes: 48,
    cache: None,
};

extern "C" fn no_read(_: *const c_void, _: Bytes<'_>, _: u64, _: usize, _: c_int, _: *mut u8) -> c_int {
    1
}

extern "C" fn no_file(_: *const c_void, _: Bytes<'_>) -> c_int {
    0
}

extern "C" fn no_log(_: *const c_void, _: c_int, _: Bytes<'_>) {}

extern "C" fn give_back(shares: *mut c_void) {
    // SAFETY: the share that `no_files` made.
    let shares = unsafe { Arc::from_raw(shares.cast::<AtomicI64>()) };
    shares.fetch_sub(1, Ordering::SeqCst);
}

/// A file of a table, of which a test says what reading its head comes to: a code of the header.
#[repr(C)]
pub(crate) struct LentFile {
    file: File,
    pub(crate) head: OwnedHead,
    pub(crate) read: Box<dyn Fn() -> c_int + Send + Sync>,
    /// Shares that were not given back.
    pub(crate) shares: AtomicI64,
}

impl LentFile {
    pub(crate) fn new(head: OwnedHead, read: impl Fn() -> c_int + Send + Sync + 'static) -> Arc<Self> {
        let (file, read) = (File { calls: &LENT_FILE_CALLS }, Box::new(read));
        Arc::new(Self { file, head, read, shares: AtomicI64::new(0) })
    }
}

static LENT_FILE_CALLS: FileCalls = FileCalls {
    read: no_open_read,
    read_head: read_lent_head,
    read_index: None,
    share: share_lent,
    release: release_lent,
};

extern "C" fn no_open_read(_: *const File, _: u64, _: usize, _: c_int, _: *mut u8) -> c_int {
    1
}

extern "C" fn read_lent_head(
    file: *const File,
    _: i32,
    context: *mut c_void,
    take: extern "C" fn(*mut c_void, &Head<'_>),
) -> c_int {
    // SAFETY: `lent` keeps the file for each share.
    let file = unsafe { &*file.cast::<LentFile>() };
    let code = (file.read)();
    if code == 0 {
        let OwnedHead { bytes, block_offset, session } = &file.head;
        let head = Head { bytes: Bytes::of(bytes), block_offset: *block_offset, session: Bytes::of(session) };
        take(context, &head);
    }
    assert!(file.shares.load(Ordering::SeqCst) > 0, "a share was given back during its read");
    code
}

extern "C" fn share_lent(file: *const File) {
    // SAFETY: as above.
    unsafe { Arc::increment_strong_count(file.cast::<LentFile>()) };
    // SAFETY: as above.
    unsafe { &*file.cast::<LentFile>() }.shares.fetch_add(1, Ordering::SeqCst);
}

extern "C" fn release_lent(file: *const File) {
    // SAFETY: the share that `lent` or `share_lent` made.
    let file = unsafe { Arc::from_raw(file.cast::<LentFile>()) };
    assert!(file.shares.fetch_sub(1, Ordering::SeqCst) > 0, "a share was given back twice");
}

/// A share in the file.
pub(crate) fn lent(file: &Arc<LentFile>) -> OpenFile {
    file.shares.fetch_add(1, Ordering::SeqCst);
    std::mem::forget(file.clone());
    let share = NonNull::from(&**file).cast();
    OpenFile::new(share)
}

/// Access to no file, counted as a share until it is given back.
pub(crate) fn no_files(shares: &Arc<AtomicI64>) -> FileAccess {
    shares.fetch_add(1, Ordering::SeqCst);
    let access = Access {
        access: Arc::into_raw(shares.clone()).cast_mut().cast(),
        read: no_read,
        exists: no_file,
        log: no_log,
        free: give_back,
        file_system: 0,
    };
    FileAccess::new(access)
}

/// A cache of a MiB, which grants everything.
#[derive(Default)]
pub(crate) struct LentCache {
    state: Mutex<LentCacheState>,
    changed: Condvar,
}

#[derive(Default)]
struct LentCacheState {
    hangs: bool,
    calls_that_hang: usize,
    charged: u64,
    permit: u64,
}

impl LentCache {
    /// From now on, or no more, looks at it and changes of the charge hang.
    pub(crate) fn set_hangs(&self, hangs: bool) {
        self.state.lock().hangs = hangs;
        self.changed.notify_all();
    }

    pub(crate) fn wait_until_a_call_hangs(&self) {
        self.changed.wait_while(&mut self.state.lock(), |state| state.calls_that_hang == 0);
    }

    pub(crate) fn charged(&self) -> u64 {
        self.state.lock().charged
    }

    fn hang(&self) {
        let mut state = self.state.lock();
        state.calls_that_hang += 1;
        self.changed.notify_all();
        self.changed.wait_while(&mut state, |state| state.hangs);
        state.calls_that_hang -= 1;
    }
}

/// As an adapter gives it.
pub(crate) fn lent_cache(cache: &Arc<LentCache>) -> Cache {
    let at = Arc::as_ptr(cache).cast();
    Cache { cache: at, identity: at }
}

type Alarm = extern "C" fn(*mut c_void);

/// Has the cache, and gives its alarm back.
struct LentCharge(Arc<LentCache>, Alarm, *mut c_void);

extern "C" fn charge(cache: *const c_void, _: Alarm, free: Alarm, context: *mut c_void) -> *mut c_void {
    // SAFETY: what `lent_cache` gave is alive.
    let cache = unsafe {
        Arc::increment_strong_count(cache.cast::<LentCache>());
        Arc::from_raw(cache.cast::<LentCache>())
    };
    Box::into_raw(Box::new(LentCharge(cache, free, context))).cast()
}

fn cache_of(charge: *mut c_void) -> &'static LentCache {
    // SAFETY: what `charge` gave is alive for the call that this is used in.
    unsafe { &*charge.cast::<LentCharge>() }.0.as_ref()
}

extern "C" fn capacity(_: *mut c_void) -> u64 {
    1 << 20
}

extern "C" fn room(charge: *mut c_void, eighths: c_uint) -> u64 {
    cache_of(charge).hang();
    (1 << 20) / 8 * u64::from(eighths)
}

extern "C" fn charged(charge: *mut c_void) -> u64 {
    cache_of(charge).charged()
}

extern "C" fn update(charge: *mut c_void, bytes: u64, permit: u64) -> u64 {
    cache_of(charge).hang();
    let mut state = cache_of(charge).state.lock();
    if permit >= state.permit {
        state.charged = bytes;
    }
    bytes
}

extern "C" fn end(charge: *mut c_void, permit: u64) -> u64 {
    let mut state = cache_of(charge).state.lock();
    state.permit = state.permit.max(permit);
    std::mem::take(&mut state.charged)
}

extern "C" fn release(charge: *mut c_void) {
    // SAFETY: what `charge` gave.
    let LentCharge(_, free, context) = *unsafe { Box::from_raw(charge.cast()) };
    free(context);
}

static LENT_CACHE_CALLS: CacheCalls = CacheCalls { charge, capacity, room, charged, update, end, release };

/// The same engine, with caches.
pub(crate) static ENGINE_WITH_CACHES: Engine = Engine { cache: Some(&LENT_CACHE_CALLS), ..TEST_ENGINE };
