//! A device with aligned reads and writes, and a storage of named devices.

use std::io;
use std::sync::Arc;

use crate::plan;
use crate::{AlignedBuf, BlockSizes, ReadPlan};

/// Sector size in bytes: the smallest unit that devices write atomically. Checksums of pages are per sector, whatever the physical block
/// size.
pub const SECTOR_BYTES: usize = 512;

/// A contiguous range of a device, in multiples of [`SECTOR_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Offset in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub len_bytes: usize,
}

/// Random access to aligned ranges. Buffers must come from [`AlignedBuf`].
pub trait PageDevice: Send + Sync {
    /// Current length in bytes.
    fn len_bytes(&self) -> u64;

    /// Block sizes of the device.
    fn blocks(&self) -> BlockSizes;

    /// Fills `buf` from `offset`. Errors: an I/O error, or the device ends before.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`. Durable only after [`PageDevice::sync`].
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes all earlier writes durable.
    fn sync(&self) -> io::Result<()>;

    /// Grows the device to `len_bytes`, if it is shorter. New bytes read as zeros. Durable after [`PageDevice::sync`].
    fn grow(&self, len_bytes: u64) -> io::Result<()>;

    /// Reads every span with many reads in flight. Passes each to `visit` with its index, in the order of completion. The bytes are valid
    /// during the call. A failed span is passed as an error, and the others continue.
    fn read_each(&self, spans: &[Span], visit: &mut dyn FnMut(usize, io::Result<&[u8]>)) {
        one_by_one(self, spans, visit);
    }

    /// Runs `plan` with many reads in flight, from this device and from `beside`, each of at most `longest_bytes`. Returns when the plan
    /// has no next read and all reads have completed.
    fn read_planned(&self, beside: &dyn PageDevice, longest_bytes: usize, plan: &mut dyn ReadPlan) {
        let _ = longest_bytes;
        plan::in_waves(self, beside, plan);
    }

    /// The file behind the device, for a ring that reads several files.
    fn file(&self) -> Option<&Arc<std::fs::File>> {
        None
    }

    /// Fills every buffer from its offset, with many reads in flight. Returns the first error after all reads have ended.
    fn read_into(&self, reads: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        reads.iter_mut().try_for_each(|(offset, buf)| self.read_at(*offset, buf))
    }

    /// Writes every piece at its offset, with many writes in flight. Returns the first error after all writes have ended.
    fn write_each(&self, writes: &[(u64, &[u8])]) -> io::Result<()> {
        writes.iter().try_for_each(|(offset, bytes)| self.write_at(*offset, bytes))
    }
}

/// Devices by name.
pub trait Storage: Send + Sync {
    /// Creates a device of `len_bytes`, replacing one of that name. Its contents are unspecified until written. The name is durable on
    /// return.
    fn create(&self, name: &str, len_bytes: u64) -> io::Result<Arc<dyn PageDevice>>;

    /// Opens an existing device. `NotFound` if there is none.
    fn open(&self, name: &str) -> io::Result<Arc<dyn PageDevice>>;

    /// Removes a device. `NotFound` if there is none.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Names of everything in this storage, devices or not, sorted.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Bytes that new devices can take. `None` if that is not known.
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    /// Whether devices are writable.
    fn is_writable(&self) -> bool {
        true
    }

    /// The name of a device in messages.
    fn describe(&self, name: &str) -> String;
}

/// Reads without others in flight.
pub(crate) fn one_by_one<D: PageDevice + ?Sized>(
    device: &D,
    spans: &[Span],
    visit: &mut dyn FnMut(usize, io::Result<&[u8]>),
) {
    let len_max = spans.iter().map(|s| s.len_bytes).max().unwrap_or(0);
    let mut buf = AlignedBuf::new(len_max);
    for (i, span) in spans.iter().enumerate() {
        let bytes = &mut buf[..span.len_bytes];
        match device.read_at(span.offset, bytes) {
            Ok(()) => visit(i, Ok(bytes)),
            Err(e) => visit(i, Err(e)),
        }
    }
}
