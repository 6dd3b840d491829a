//! Reads that depend on earlier reads. A completed read may request more, so the device stays busy whatever stage each request is in.

use std::io;

use crate::{PageDevice, Span};

/// One read of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRead {
    /// Passed to [`ReadPlan::arrived`]. Below 2^48.
    pub tag: usize,
    /// Whether it reads the device `beside`.
    pub is_beside: bool,
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

/// Reads taken from a plan at a time, on devices without io_uring.
const WAVE_READS: usize = 1024;

/// Runs `plan` in waves of reads.
pub(crate) fn in_waves<D: PageDevice + ?Sized>(device: &D, beside: &dyn PageDevice, plan: &mut dyn ReadPlan) {
    loop {
        let wave: Vec<PlannedRead> = std::iter::from_fn(|| plan.next_read()).take(WAVE_READS).collect();
        if wave.is_empty() {
            return;
        }
        let of = |is_beside| -> (Vec<usize>, Vec<Span>) {
            let reads = wave.iter().filter(|read| read.is_beside == is_beside);
            reads.map(|read| (read.tag, read.span)).unzip()
        };
        let (tags, spans) = of(false);
        device.read_each(&spans, &mut |n, bytes| plan.arrived(tags[n], bytes));
        let (tags, spans) = of(true);
        beside.read_each(&spans, &mut |n, bytes| plan.arrived(tags[n], bytes));
    }
}
