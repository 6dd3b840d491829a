//! How many bytes an allocation takes from the process.

/// Bytes that glibc's malloc takes for a request: a header of 8, in steps of 16, at least 32; nothing for nothing.
pub(crate) fn allocated_bytes(requested: usize) -> usize {
    if requested == 0 { 0 } else { (requested + 8).next_multiple_of(16).max(32) }
}

/// Has room for `length` elements, with an eighth to spare where a `Vec` would double.
pub(crate) fn grow_thriftily<T>(elements: &mut Vec<T>, length: usize) {
    if elements.capacity() < length {
        elements.reserve_exact(length + length / 8 - elements.len());
    }
}

/// Bytes of one `T` in a vector that grows thriftily.
pub(crate) const fn thrifty_bytes<T>() -> usize {
    (size_of::<T>() * 9).div_ceil(8)
}
