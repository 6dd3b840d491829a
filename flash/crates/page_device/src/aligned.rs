//! Byte buffers at an address that direct I/O accepts, without `unsafe`. They allocate a little more than needed, and begin at the first
//! aligned byte.

/// Direct I/O needs buffers, offsets and lengths in multiples of the device's logical block. 4,096 suits every device.
pub const ALIGNMENT_BYTES: usize = 4096;

/// A zeroed buffer whose first byte is aligned to [`ALIGNMENT_BYTES`].
#[derive(Debug)]
pub struct AlignedBuf {
    storage: Vec<u8>,
    start: usize,
    len: usize,
}

impl AlignedBuf {
    /// Allocates `len` zeroed bytes (and up to [`ALIGNMENT_BYTES`] more).
    pub fn new(len: usize) -> AlignedBuf {
        let storage = vec![0u8; len + ALIGNMENT_BYTES];
        let start = storage.as_ptr().align_offset(ALIGNMENT_BYTES);
        AlignedBuf { storage, start, len }
    }

    /// Heap memory of a buffer of `len` bytes.
    pub const fn memory_bytes_for(len: usize) -> usize {
        len + ALIGNMENT_BYTES
    }
}

impl std::ops::Deref for AlignedBuf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.storage[self.start..self.start + self.len]
    }
}

impl std::ops::DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.storage[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_whatever_their_length() {
        for len in [0, 1, 511, 4096, 65_536] {
            let buf = AlignedBuf::new(len);
            assert_eq!(buf.len(), len);
            assert_eq!(buf.as_ptr() as usize % ALIGNMENT_BYTES, 0);
        }
    }
}
