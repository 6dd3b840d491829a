//! Keeps a device busy with io_uring. The only `unsafe` code of this crate.
//!
//! Invariant: the kernel writes into a buffer only between the submission and the completion of its operation. Buffers
//! are owned by (or borrowed for longer than) [`Ring::drive`], which returns, also by unwinding, only when every
//! submitted operation has completed.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, squeue, types};

use super::Span;
use crate::AlignedBuf;

/// A submission queue with `depth` slots, and a read buffer cut into as many pieces.
pub(super) struct Ring {
    ring: IoUring,
    buffer: AlignedBuf,
    depth: usize,
}

impl Ring {
    /// Fails where the kernel has no io_uring or forbids it; the caller then reads with threads.
    pub(super) fn new(depth: usize) -> io::Result<Ring> {
        Ok(Ring { ring: IoUring::new(depth as u32)?, buffer: AlignedBuf::new(0), depth })
    }

    /// See [`super::PageDevice::read_each`].
    pub(super) fn read_each(
        &mut self,
        file: &File,
        spans: &[Span],
        visit: &mut dyn FnMut(usize, io::Result<&[u8]>),
    ) {
        let len_max = spans.iter().map(|s| s.len_bytes).max().unwrap_or(0);
        let slots = self.depth.min(spans.len());
        if self.buffer.len() < slots * len_max {
            self.buffer = AlignedBuf::new(slots * len_max);
        }
        let fd = types::Fd(file.as_raw_fd());
        // The pointer is taken once, so that no `&mut` to the buffer exists while the kernel may write into it. Every
        // slot's piece lies within the buffer: `slot < slots`.
        let buffer = self.buffer.as_mut_ptr();
        let piece = |slot: usize| buffer.wrapping_add(slot * len_max);
        drive(
            &mut self.ring,
            slots,
            spans.len(),
            &mut |op, slot| {
                opcode::Read::new(fd, piece(slot), spans[op].len_bytes as u32)
                    .offset(spans[op].offset)
                    .build()
            },
            &mut |op, slot, outcome| {
                let len = spans[op].len_bytes;
                // SAFETY: the operation of this slot has completed and the slot is not reused before this call returns;
                // its piece of the buffer has at least `len` bytes, zeroed when allocated.
                let bytes = unsafe { std::slice::from_raw_parts(piece(slot), len) };
                visit(op, whole(outcome, len).map(|()| bytes));
            },
        );
    }

    /// See [`super::PageDevice::read_into`].
    pub(super) fn read_into(&mut self, file: &File, reads: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        let fd = types::Fd(file.as_raw_fd());
        let targets: Vec<(u64, *mut u8, usize)> =
            reads.iter_mut().map(|(offset, bytes)| (*offset, bytes.as_mut_ptr(), bytes.len())).collect();
        let mut first_error = Ok(());
        drive(
            &mut self.ring,
            self.depth.min(targets.len()),
            targets.len(),
            &mut |op, _| {
                let (offset, bytes, len) = targets[op];
                opcode::Read::new(fd, bytes, len as u32).offset(offset).build()
            },
            &mut |op, _, outcome| keep_first(&mut first_error, whole(outcome, targets[op].2)),
        );
        first_error
    }

    /// See [`super::PageDevice::write_each`].
    pub(super) fn write_each(&mut self, file: &File, writes: &[(u64, &[u8])]) -> io::Result<()> {
        let fd = types::Fd(file.as_raw_fd());
        let mut first_error = Ok(());
        drive(
            &mut self.ring,
            self.depth.min(writes.len()),
            writes.len(),
            &mut |op, _| {
                let (offset, bytes) = writes[op];
                opcode::Write::new(fd, bytes.as_ptr(), bytes.len() as u32).offset(offset).build()
            },
            &mut |op, _, outcome| keep_first(&mut first_error, whole(outcome, writes[op].1.len())),
        );
        first_error
    }
}

fn keep_first(first: &mut io::Result<()>, this: io::Result<()>) {
    if first.is_ok() {
        *first = this;
    }
}

/// Turns a completion code into a result; a partial transfer counts as an error.
fn whole(outcome: i32, len: usize) -> io::Result<()> {
    match outcome {
        code if code < 0 => Err(io::Error::from_raw_os_error(-code)),
        got if got as usize == len => Ok(()),
        got => {
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{got} bytes moved, expected {len}")))
        }
    }
}

/// Runs `count` operations with at most `slots` in flight. `entry(op, slot)` describes one, `done(op, slot, code)` is
/// called when it has completed.
fn drive(
    ring: &mut IoUring,
    slots: usize,
    count: usize,
    entry: &mut dyn FnMut(usize, usize) -> squeue::Entry,
    done: &mut dyn FnMut(usize, usize, i32),
) {
    let mut flight = Flight { ring, in_flight: 0 };
    let mut free: Vec<usize> = (0..slots).rev().collect();
    let mut completed: Vec<(usize, usize, i32)> = Vec::with_capacity(slots);
    let mut next = 0;
    while next < count || flight.in_flight > 0 {
        while next < count
            && let Some(slot) = free.pop()
        {
            let described = entry(next, slot).user_data(((next as u64) << 16) | slot as u64);
            // SAFETY: the buffer behind the entry outlives the operation: it belongs to the caller of `drive`, which does
            // not return before the operation has completed (see `Flight`).
            let pushed = unsafe { flight.ring.submission().push(&described) };
            if pushed.is_err() {
                free.push(slot);
                break;
            }
            flight.in_flight += 1;
            next += 1;
        }
        flight.wait(&mut completed);
        for (op, slot, code) in completed.drain(..) {
            done(op, slot, code);
            free.push(slot);
        }
    }
}

/// Operations that the kernel still works on. Dropping it waits for them.
struct Flight<'a> {
    ring: &'a mut IoUring,
    in_flight: usize,
}

impl Flight<'_> {
    /// Submits what is queued, waits for at least one completion and collects all that are there.
    fn wait(&mut self, completed: &mut Vec<(usize, usize, i32)>) {
        // Interrupted and busy calls are repeated by the loop around: nothing is lost, the operations are still queued.
        let _ = self.ring.submit_and_wait(1);
        for entry in self.ring.completion() {
            let tag = entry.user_data();
            completed.push(((tag >> 16) as usize, (tag & 0xffff) as usize, entry.result()));
            self.in_flight -= 1;
        }
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        let mut ignored = Vec::new();
        while self.in_flight > 0 {
            self.wait(&mut ignored);
        }
    }
}
