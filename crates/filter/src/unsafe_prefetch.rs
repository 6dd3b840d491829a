//! Brings a word into the processor's cache before it is asked for. A load would do so too, but the processor cannot go on far beyond a
//! load that waits for memory. This is the only `unsafe` code of the crate.

#![allow(unsafe_code)]

/// Nothing happens if there is no such word, on other processors, and under Miri.
#[inline]
pub(crate) fn prefetch(words: &[u64], place: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(word) = words.get(place) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the word is there, and a prefetch changes nothing that a program sees.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(word).cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (words, place);
}
