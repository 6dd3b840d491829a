//! Brings a word into the processor's cache before it is asked for. A load would do so too, but the processor cannot go on far beyond a
//! load that waits for memory. This is the only `unsafe` code of the crate.

#![allow(unsafe_code)]

/// Nothing happens if there is no such word, on other processors, and under Miri.
#[inline]
pub(crate) fn prefetch(words: &[u64], place: usize) {
    #[cfg(not(miri))]
    if let Some(word) = words.get(place) {
        let word = std::ptr::from_ref(word);
        // SAFETY: the word is there, and a prefetch changes nothing that a program sees.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(word.cast());
        }
        // SAFETY: as above. The function of `std::arch::aarch64` is not stable.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            std::arch::asm!("prfm pldl1keep, [{}]", in(reg) word, options(nostack, readonly, preserves_flags));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let _ = word;
    }
    #[cfg(miri)]
    let _ = (words, place);
}
