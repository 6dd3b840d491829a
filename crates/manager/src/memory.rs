//! How many bytes an allocation takes from the process.

/// Most bytes that glibc's malloc takes beside those that were asked for, if those are not few.
pub(crate) const ALLOCATION_BYTES: usize = 23;

/// Bytes that glibc's malloc takes for a request: a header of 8, in steps of 16, at least 32; nothing for nothing.
pub const fn allocated_bytes(requested: usize) -> usize {
    match requested {
        0 => 0,
        1..24 => 32,
        _ => (requested + 8).next_multiple_of(16),
    }
}

/// A vector that grows thriftily grows by one part in this.
const SPARE: usize = 32;

/// Has room for `length` elements, with one in [`SPARE`] to spare where a `Vec` would double: growing copies each element about that often.
pub(crate) fn grow_thriftily<T>(elements: &mut Vec<T>, length: usize) {
    if elements.capacity() < length {
        elements.reserve_exact(length + length / SPARE - elements.len());
    }
}

/// Bytes of one `T` in a vector that grows thriftily.
pub(crate) const fn thrifty_bytes<T>() -> usize {
    (size_of::<T>() * (SPARE + 1)).div_ceil(SPARE)
}
