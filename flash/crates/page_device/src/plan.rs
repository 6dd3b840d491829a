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
