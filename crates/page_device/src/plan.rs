//! Reading where one read decides the next: what has arrived may ask for more, and the device always has as many reads to do
//! as it is good for, whatever stage each of them belongs to.

use std::io;

use crate::{PageDevice, Span};

/// One read of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRead {
    /// Told to [`ReadPlan::arrived`]; below 2^48.
    pub tag: usize,
    /// Whether it is of the device beside the one that carries the plan out.
    pub is_beside: bool,
    /// What is read, no longer than the plan's longest.
    pub span: Span,
}

/// What is to be read, decided while reading goes on.
pub trait ReadPlan {
    /// The next read; `None` as long as nothing is to be read before something has arrived.
    fn next_read(&mut self) -> Option<PlannedRead>;

    /// Takes what was read (the bytes are only lent), or why it could not be.
    fn arrived(&mut self, tag: usize, bytes: io::Result<&[u8]>);
}

/// Reads taken from a plan at once where the device cannot take more while it reads.
const WAVE_READS: usize = 1024;

/// Carries out `plan` wave by wave.
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
