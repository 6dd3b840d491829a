//! A reference-counted allocation behind one thin pointer: a head, two runs of items and a run of bytes. The head tells their lengths.
//! Besides its users' [heads](super::unsafe_heads) and [handles](super::unsafe_raw_handle) this is the only `unsafe` code of the crate.
//!
//! There is one for every table and every resident group, so its overhead counts: a head, of which 4 bytes are the count.
//! `triomphe::ThinArc` has two words and one run. A box for each run would cost two words more and the allocator's header.
//!
//! Invariants: a shared head never changes, so its lengths are those of the allocation; items may change only behind their own
//! synchronisation; the last holder frees.

#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};
use std::mem::{ManuallyDrop, needs_drop};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use arc_swap::RefCnt;

use crate::memory::{HAS_SIZE_CLASSES, taken_bytes};

/// How many hold an allocation. It is in the head, where no alignment sets it apart.
pub(crate) struct Count(AtomicU32);

impl Default for Count {
    fn default() -> Self {
        Self(AtomicU32::new(1))
    }
}

/// What an allocation begins with.
///
/// # Safety
/// `lengths` gives the same, and `count` the same place, each time it is asked of the same value.
pub(crate) unsafe trait Head {
    /// What the first run holds.
    type Item;
    /// What the second run holds.
    type Further;

    fn count(&self) -> &Count;

    /// Lengths of the runs.
    fn lengths(&self) -> Lengths;
}

/// Lengths of the runs of an allocation.
#[derive(Clone, Copy, Default)]
pub(crate) struct Lengths {
    pub(crate) items: usize,
    pub(crate) further: usize,
    pub(crate) bytes: usize,
}

/// More holders than this are a leak. The count must not wrap to 0.
const COUNT_MAX: u32 = u32::MAX / 2;

/// A shared allocation. Clones share it.
#[repr(transparent)]
pub(crate) struct ThinArc<H: Head>(NonNull<H>);

// SAFETY: like an `Arc`: holders share heads and items among threads, and any thread may be the one that drops them.
unsafe impl<H: Head + Send + Sync> Send for ThinArc<H>
where
    H::Item: Send + Sync,
    H::Further: Send + Sync,
{
}
// SAFETY: as above.
unsafe impl<H: Head + Send + Sync> Sync for ThinArc<H>
where
    H::Item: Send + Sync,
    H::Further: Send + Sync,
{
}

/// Layout of the whole; `None` beyond the address space.
fn layout<H: Head>(Lengths { items, further, bytes }: Lengths) -> Option<Layout> {
    // So that nothing lies between the runs.
    const { assert!(align_of::<H::Further>() <= align_of::<H::Item>()) };
    let (layout, _) = Layout::new::<H>().extend(Layout::array::<H::Item>(items).ok()?).ok()?;
    let (layout, _) = layout.extend(Layout::array::<H::Further>(further).ok()?).ok()?;
    let (layout, _) = layout.extend(Layout::array::<u8>(bytes).ok()?).ok()?;
    Some(layout)
}

impl<H: Head> ThinArc<H> {
    /// Bytes before the items.
    pub(crate) const HEAD_BYTES: usize = size_of::<H>().next_multiple_of(align_of::<H::Item>());

    /// One with this head; `item` and `further` make the items, and `bytes` are copied.
    ///
    /// # Panics
    /// If there are not as many bytes as the head says.
    pub(crate) fn new(
        head: H,
        mut item: impl FnMut() -> H::Item,
        mut further: impl FnMut() -> H::Further,
        bytes: &[u8],
    ) -> Self {
        let lengths = head.lengths();
        assert_eq!(bytes.len(), lengths.bytes, "bytes behind a head");
        let layout = layout::<H>(lengths).expect("more than the address space");
        // SAFETY: the layout is not empty, as it begins with a count.
        let Some(block) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        let thin = ManuallyDrop::new(Self(block.cast()));
        // SAFETY: all places lie within the allocation, by its layout, and are aligned by it; it is nobody else's yet. (If
        // `item` or `further` panics, the allocation leaks.)
        unsafe {
            thin.0.write(head);
            (0..lengths.items).for_each(|at| thin.first_item().add(at).write(item()));
            (0..lengths.further).for_each(|at| thin.first_further(lengths).add(at).write(further()));
            thin.first_byte(lengths).copy_from_nonoverlapping(NonNull::from(bytes).cast(), lengths.bytes);
        }
        ManuallyDrop::into_inner(thin)
    }

    /// Bytes that an allocation with these runs takes, the allocator's rounding included.
    pub(crate) fn bytes_for(lengths: Lengths) -> usize {
        layout::<H>(lengths).map_or(usize::MAX, |layout| taken_bytes(layout.size()))
    }

    #[inline]
    pub(crate) fn head(&self) -> &H {
        // SAFETY: the allocation lives as long as a holder, and its beginning is never written to but atomically.
        unsafe { self.0.as_ref() }
    }

    fn count(&self) -> &AtomicU32 {
        &self.head().count().0
    }

    #[inline]
    pub(crate) fn items(&self) -> &[H::Item] {
        let Lengths { items, .. } = self.head().lengths();
        // SAFETY: the run was made that long and at that place, which `Layout::extend` gives for any length, and is mutated only by
        // `items_mut`, whose holder is the only one.
        unsafe { NonNull::slice_from_raw_parts(self.first_item(), items).as_ref() }
    }

    /// The items for writing, if nobody else holds the allocation.
    pub(crate) fn items_mut(&mut self) -> Option<&mut [H::Item]> {
        let Lengths { items, .. } = self.head().lengths();
        // SAFETY: as in `items`; there is one holder, which is borrowed mutably.
        self.is_unique().then(|| unsafe { NonNull::slice_from_raw_parts(self.first_item(), items).as_mut() })
    }

    #[inline]
    fn first_item(&self) -> NonNull<H::Item> {
        // SAFETY: the place lies within the allocation, or at its end when there are no items.
        unsafe { self.0.byte_add(Self::HEAD_BYTES).cast() }
    }

    /// The place behind the items.
    #[inline]
    fn first_further(&self, Lengths { items, .. }: Lengths) -> NonNull<H::Further> {
        // SAFETY: the place lies within the allocation, or at its end.
        unsafe { self.first_item().add(items).cast() }
    }

    /// The place behind the second run.
    #[inline]
    fn first_byte(&self, lengths: Lengths) -> NonNull<u8> {
        // SAFETY: as above.
        unsafe { self.first_further(lengths).add(lengths.further).cast() }
    }

    /// The items of the second run.
    #[inline]
    pub(crate) fn further(&self) -> &[H::Further] {
        let lengths = self.head().lengths();
        // SAFETY: the run was made that long and at that place, which `Layout::extend` gives as the items end where it may begin; nothing
        // mutates it.
        unsafe { NonNull::slice_from_raw_parts(self.first_further(lengths), lengths.further).as_ref() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        let lengths = self.head().lengths();
        // SAFETY: bytes need no alignment, so they follow the other runs at once; nothing writes to them.
        unsafe { NonNull::slice_from_raw_parts(self.first_byte(lengths), lengths.bytes).as_ref() }
    }

    /// Bytes that the allocation takes.
    pub(crate) fn allocated_bytes(&self) -> usize {
        Self::bytes_for(self.head().lengths())
    }

    /// Whether nobody else holds the allocation. Nobody can come to hold it while the only holder does not share it.
    pub(crate) fn is_unique(&self) -> bool {
        self.count().load(Ordering::Acquire) == 1
    }
}

impl<H: Head<Further = ()>> ThinArc<H>
where
    H::Item: Copy,
{
    /// Another allocation, with another head, and as many items as that says: the first ones are the same, others are `item`.
    pub(crate) fn copied(&self, head: H, item: H::Item) -> Self {
        let mut items = self.items().iter().copied();
        Self::new(head, || items.next().unwrap_or(item), || (), self.bytes())
    }

    /// The allocation with another head, and as many items as that says: the first ones stay, others are `item`. Only the allocator may
    /// need room for both lengths, if the allocation moves.
    ///
    /// # Panics
    /// If somebody else holds the allocation, or one of the heads has a run of bytes.
    pub(crate) fn resized(self, head: H, item: H::Item) -> Self {
        const { assert!(!needs_drop::<H>()) };
        let (old, new) = (self.head().lengths(), head.lengths());
        assert!(
            self.is_unique() && old.bytes == 0 && new.bytes == 0,
            "only the holder resizes, and only items"
        );
        if new.items < old.items && *HAS_SIZE_CLASSES {
            // Such an allocator may leave it where it is, twice as large as it needs to be.
            return self.copied(head, item);
        }
        let layouts = layout::<H>(old).zip(layout::<H>(new));
        let (old_layout, layout) = layouts.expect("more than the address space");
        let place = ManuallyDrop::new(self).0;
        // SAFETY: the allocation was made with the old layout; the new one has the same alignment, is not empty, and is one that `Layout`
        // allows. Nobody else holds the allocation.
        let moved = unsafe { realloc(place.as_ptr().cast(), old_layout, layout.size()) };
        let Some(moved) = NonNull::new(moved.cast::<H>()) else { handle_alloc_error(layout) };
        // SAFETY: head and items lie within the allocation, by its layout; they are plain values, so none is dropped.
        unsafe {
            moved.write(head);
            let thin = Self(moved);
            (old.items..new.items).for_each(|at| thin.first_item().add(at).write(item));
            thin
        }
    }
}

impl<H: Head> Clone for ThinArc<H> {
    fn clone(&self) -> Self {
        if self.count().fetch_add(1, Ordering::Relaxed) > COUNT_MAX {
            std::process::abort();
        }
        Self(self.0)
    }
}

impl<H: Head> Drop for ThinArc<H> {
    fn drop(&mut self) {
        if self.count().fetch_sub(1, Ordering::Release) != 1 {
            return;
        }
        // Orders all uses by others before freeing. A fence would do, but the thread sanitizer does not understand fences.
        self.count().load(Ordering::Acquire);
        let lengths = self.head().lengths();
        let Some(layout) = layout::<H>(lengths) else { return }; // it was allocated by this very layout
        // SAFETY: this was the last holder; the head and the items were given to `new` or made by it, and are dropped once.
        unsafe {
            NonNull::slice_from_raw_parts(self.first_item(), lengths.items).drop_in_place();
            NonNull::slice_from_raw_parts(self.first_further(lengths), lengths.further).drop_in_place();
            self.0.drop_in_place();
            dealloc(self.0.as_ptr().cast(), layout);
        }
    }
}

// SAFETY: the pointer is that of the holder whose count it takes along; `from_ptr` gives back what `into_ptr` gave.
unsafe impl<H: Head> RefCnt for ThinArc<H> {
    type Base = H;

    fn into_ptr(me: Self) -> *mut H {
        ManuallyDrop::new(me).0.as_ptr()
    }

    fn as_ptr(me: &Self) -> *mut H {
        me.0.as_ptr()
    }

    unsafe fn from_ptr(pointer: *const H) -> Self {
        // SAFETY: the caller's promise: it came from `into_ptr`, so it is not null.
        Self(unsafe { NonNull::new_unchecked(pointer.cast_mut()) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    struct Runs(u16, u8, u8, Arc<u64>, Count);

    // SAFETY: plain fields that nothing changes.
    unsafe impl Head for Runs {
        type Item = Arc<u64>;
        type Further = Option<Arc<u64>>;

        fn count(&self) -> &Count {
            &self.4
        }

        fn lengths(&self) -> Lengths {
            Lengths { items: self.0.into(), further: self.1.into(), bytes: self.2.into() }
        }
    }

    #[test]
    fn runs_lie_behind_the_head_and_are_freed_once() {
        let item = Arc::new(7);
        for (items, further, bytes) in [(0, 0, 0), (0, 0, 3), (1, 0, 0), (5, 0, 9), (0, 1, 2), (3, 2, 1)] {
            let tail: Vec<u8> = (0..bytes).collect();
            let mut thin = ThinArc::new(
                Runs(items, further, bytes, item.clone(), Count::default()),
                || item.clone(),
                || Some(item.clone()),
                &tail,
            );
            assert_eq!((thin.items().len(), thin.bytes()), (usize::from(items), &tail[..]));
            assert!(thin.items().iter().chain(thin.further().iter().flatten()).all(|item| **item == 7));
            assert_eq!(thin.further().len(), usize::from(further));
            assert_eq!(*thin.head().3, 7);
            assert_eq!(Arc::strong_count(&item), 2 + usize::from(items) + usize::from(further));
            assert_eq!(thin.items_mut().map(|items| items.len()), Some(items.into()));
            let other = thin.clone();
            assert!(thin.items_mut().is_none() && !other.is_unique());
            drop(thin);
            assert!(other.is_unique() && other.bytes() == tail);
            drop(other);
            assert_eq!(Arc::strong_count(&item), 1);
        }
    }

    struct Words(u16, Count);

    // SAFETY: a plain field that nothing changes.
    unsafe impl Head for Words {
        type Item = u64;
        type Further = ();

        fn count(&self) -> &Count {
            &self.1
        }

        fn lengths(&self) -> Lengths {
            Lengths { items: self.0.into(), ..Lengths::default() }
        }
    }

    #[test]
    fn items_stay_as_their_number_changes() {
        let mut length = 0u16;
        let mut thin = ThinArc::new(Words(0, Count::default()), || 0, || (), &[]);
        for resized in [0, 1, 9, 700, 30, 31, 4000, 0, 2] {
            thin = thin.resized(Words(resized, Count::default()), 0);
            let kept = length.min(resized).into();
            let items = thin.items_mut().unwrap();
            assert_eq!(items.len(), usize::from(resized));
            assert!(
                (0..).zip(&items[..kept]).all(|(at, &item)| item == at)
                    && items[kept..].iter().all(|&item| item == 0)
            );
            items.iter_mut().zip(0..).for_each(|(item, at)| *item = at);
            length = resized;
            assert_eq!((thin.head().0, thin.bytes()), (length, &[][..]));
        }
    }

    #[test]
    fn threads_share_one_and_the_last_one_frees_it() {
        let item = Arc::new(7);
        let thin =
            ThinArc::new(Runs(3, 2, 1, item.clone(), Count::default()), || item.clone(), || None, b"x");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let thin = thin.clone();
                scope.spawn(move || {
                    for _ in 0..1000 {
                        let again = thin.clone();
                        assert_eq!((again.items().len(), again.bytes()), (3, &b"x"[..]));
                    }
                });
            }
        });
        assert!(thin.is_unique());
        drop(thin);
        assert_eq!(Arc::strong_count(&item), 1);
    }
}
