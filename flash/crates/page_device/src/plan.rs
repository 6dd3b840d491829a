//! Reads that depend on earlier reads. A completed read may request more, so the device stays busy whatever stage each request is in.

use std::io;

/// A contiguous range of a device, in multiples of [`SECTOR_BYTES`](crate::SECTOR_BYTES).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Offset in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub len_bytes: usize,
}

/// One read of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRead {
    /// Passed to [`ReadPlan::arrived`]. Below 2^48.
    pub tag: usize,
    /// Whether it reads the device `other`.
    pub is_other: bool,
    /// The range to read, at most the plan's `longest_bytes` long.
    pub span: Span,
}

/// Reads that are decided while others are in flight.
pub trait ReadPlan {
    /// The next read. `None` if there is none before another read completes.
    fn next_read(&mut self) -> Option<PlannedRead>;

    /// Receives the result of a read. The bytes are valid during the call.
    fn arrived(&mut self, tag: usize, bytes: io::Result<&[u8]>);
}

/// The plan of a list of spans.
pub(crate) struct EachSpan<'s> {
    pub(crate) spans: &'s [Span],
    pub(crate) next: usize,
    /// See [`PageDevice::read_each`](crate::PageDevice::read_each).
    pub(crate) visit: &'s mut dyn FnMut(usize, io::Result<&[u8]>),
}

impl ReadPlan for EachSpan<'_> {
    fn next_read(&mut self) -> Option<PlannedRead> {
        let (tag, span) = (self.next, *self.spans.get(self.next)?);
        self.next += 1;
        Some(PlannedRead { tag, is_other: false, span })
    }

    fn arrived(&mut self, tag: usize, bytes: io::Result<&[u8]>) {
        (self.visit)(tag, bytes);
    }
}
