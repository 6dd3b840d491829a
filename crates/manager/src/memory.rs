//! How many bytes an allocation takes from the process.

/// Bytes that glibc's malloc takes for a request: a header of 8, in steps of 16, at least 32; nothing for nothing.
pub(crate) fn allocated_bytes(requested: usize) -> usize {
    if requested == 0 { 0 } else { (requested + 8).next_multiple_of(16).max(32) }
}
