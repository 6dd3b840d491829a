//! A device that reads and writes aligned spans, and a storage that finds devices by name.

use std::io;
use std::sync::Arc;

use crate::plan;
use crate::{AlignedBuf, BlockSizes, ReadPlan};

/// The smallest piece that any device writes whole, in bytes. Checksums of pages are per sector whatever the device's
/// pieces are: larger ones are rows of sectors with one fate.
pub const SECTOR_BYTES: usize = 512;

/// A contiguous piece of a device, in multiples of [`SECTOR_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// How long it is.
    pub len_bytes: usize,
}

/// Random access to aligned spans. Buffers must come from [`AlignedBuf`].
pub trait PageDevice: Send + Sync {
    /// Current length in bytes.
    fn len_bytes(&self) -> u64;

    /// The pieces in which it works.
    fn blocks(&self) -> BlockSizes;

    /// Fills `buf` from `offset`; an end of file before that is an error.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`. Durable only after [`PageDevice::sync`].
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Returns when everything written before is durable.
    fn sync(&self) -> io::Result<()>;

    /// Makes the device `len_bytes` long if it is shorter; what is new reads as zeros. Durable after [`PageDevice::sync`].
    fn grow(&self, len_bytes: u64) -> io::Result<()>;

    /// Reads every span, as many at a time as the device is good for, and hands each to `visit` with its index, in the
    /// order in which they arrive. The bytes are only lent. A failed span is visited with its error; the others go on.
    fn read_each(&self, spans: &[Span], visit: &mut dyn FnMut(usize, io::Result<&[u8]>)) {
        let len_max = spans.iter().map(|s| s.len_bytes).max().unwrap_or(0);
        let mut buf = AlignedBuf::new(len_max);
        for (i, span) in spans.iter().enumerate() {
            let bytes = &mut buf[..span.len_bytes];
            match self.read_at(span.offset, bytes) {
                Ok(()) => visit(i, Ok(bytes)),
                Err(e) => visit(i, Err(e)),
            }
        }
    }

    /// Carries out `plan`, whose reads are of this device and of `beside` and at most `longest_bytes` long, with as many in
    /// flight as the device is good for. Returns when the plan has no next read and all have arrived.
    fn read_planned(&self, beside: &dyn PageDevice, longest_bytes: usize, plan: &mut dyn ReadPlan) {
        let _ = longest_bytes;
        plan::in_waves(self, beside, plan);
    }

    /// The file that this device is, for a ring that reads several of them.
    fn file(&self) -> Option<&Arc<std::fs::File>> {
        None
    }

    /// Fills every buffer from its offset, as many at a time as the device is good for; the first error is returned after
    /// all of them ended.
    fn read_into(&self, reads: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        reads.iter_mut().try_for_each(|(offset, buf)| self.read_at(*offset, buf))
    }

    /// Writes every piece at its offset, as many at a time as the device is good for; the first error is returned
    /// after all of them ended.
    fn write_each(&self, writes: &[(u64, &[u8])]) -> io::Result<()> {
        writes.iter().try_for_each(|(offset, bytes)| self.write_at(*offset, bytes))
    }
}

/// Devices by name.
pub trait Storage: Send + Sync {
    /// Makes a device of `len_bytes` (contents unspecified until written), replacing one of that name. The name itself is
    /// durable on return.
    fn create(&self, name: &str, len_bytes: u64) -> io::Result<Arc<dyn PageDevice>>;

    /// Opens an existing device; `NotFound` when there is none.
    fn open(&self, name: &str) -> io::Result<Arc<dyn PageDevice>>;

    /// Removes a device; `NotFound` when there is none.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Names of all that is in this storage, devices or not, in order.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Whether devices can be written.
    fn is_writable(&self) -> bool {
        true
    }

    /// What to call this storage in messages.
    fn describe(&self, name: &str) -> String;
}
