//! An order of keys, as the engine's adapter lends it.

use std::{
    cmp::Ordering,
    ffi::{c_int, c_void},
    ptr,
};

use springbloom_manager::Comparator;

use super::bytes::Bytes;

type CompareFn = extern "C" fn(*const c_void, Bytes<'_>, Bytes<'_>) -> c_int;

/// An order of user keys: `sb_comparator`. Without a function: the order of their bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct EngineComparator {
    pub(crate) comparator: *const c_void,
    pub(crate) compare: Option<CompareFn>,
}

// SAFETY: by the header, any thread may compare.
unsafe impl Send for EngineComparator {}
// SAFETY: as above.
unsafe impl Sync for EngineComparator {}

impl EngineComparator {
    pub(crate) const BYTEWISE: Self = Self { comparator: ptr::null(), compare: None };
}

impl Comparator for EngineComparator {
    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let Some(compare) = self.compare else { return a.cmp(b) };
        compare(self.comparator, Bytes::of(a), Bytes::of(b)).cmp(&0)
    }

    fn is_bytewise(&self) -> bool {
        self.compare.is_none()
    }
}
