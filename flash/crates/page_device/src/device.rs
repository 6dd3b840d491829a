//! A device with aligned reads and writes.

use std::io;
use std::sync::Arc;

use crate::{AlignedBuf, BlockSizes, PlannedRead, ReadPlan, Span};

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
        let mut buf = AlignedBuf::new(spans.iter().map(|span| span.len_bytes).max().unwrap_or(0));
        for (n, span) in spans.iter().enumerate() {
            let bytes = &mut buf[..span.len_bytes];
            let read = self.read_at(span.offset, bytes);
            visit(n, read.map(|()| &*bytes));
        }
    }

    /// Runs `plan` with many reads in flight, from this device and from `other`, each of at most `longest_bytes`. Returns when the plan
    /// has no next read and all reads have completed.
    fn read_planned(&self, other: &dyn PageDevice, longest_bytes: usize, plan: &mut dyn ReadPlan) {
        let _ = longest_bytes;
        in_waves(self, other, plan);
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

/// Reads taken from a plan at a time, on devices without io_uring.
const WAVE_READS: usize = 1024;

/// Runs `plan` in waves of reads.
pub(crate) fn in_waves<D: PageDevice + ?Sized>(device: &D, other: &dyn PageDevice, plan: &mut dyn ReadPlan) {
    loop {
        let wave: Vec<PlannedRead> = std::iter::from_fn(|| plan.next_read()).take(WAVE_READS).collect();
        if wave.is_empty() {
            return;
        }
        let of = |is_other| -> (Vec<usize>, Vec<Span>) {
            let reads = wave.iter().filter(|read| read.is_other == is_other);
            reads.map(|read| (read.tag, read.span)).unzip()
        };
        let (tags, spans) = of(false);
        device.read_each(&spans, &mut |n, bytes| plan.arrived(tags[n], bytes));
        let (tags, spans) = of(true);
        other.read_each(&spans, &mut |n, bytes| plan.arrived(tags[n], bytes));
    }
}
