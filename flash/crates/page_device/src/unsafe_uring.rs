//! Batched I/O with io_uring. The only `unsafe` code of this crate.
//!
//! Invariant: the kernel accesses a buffer only between submission and completion of its operation. Buffers are owned by [`Ring::drive`] or
//! borrowed for longer. `drive` returns, or unwinds, only when every submitted operation has completed.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use io_uring::{IoUring, opcode, squeue, types};

use crate::AlignedBuf;
use crate::high::is_high;
use crate::{PlannedRead, ReadPlan, Span};

/// Operations in flight of a batch.
pub(crate) const QUEUE_DEPTH: usize = 32;
/// Reads in flight of a plan. They are more, because a plan spends time on each completed read.
pub(crate) const PLAN_DEPTH: usize = 128;

/// Pause before submitting again what the kernel did not accept.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// The outcome of what the kernel did not take.
const NOT_TRIED: i32 = -libc::ECANCELED;

/// A submission queue with [`PLAN_DEPTH`] slots, and a read buffer with one piece per slot.
pub(crate) struct Ring {
    ring: IoUring,
    buffer: AlignedBuf,
    registered: Registered,
    /// The kernel takes no more operations. What is in the queue must never reach it: its buffers are gone.
    is_refused: bool,
}

/// Whether the buffer and two files are registered with the kernel. That saves a sixth of its work per read.
enum Registered {
    No,
    /// These are registered. They are kept open, so that their descriptors are not reused.
    Files([Arc<File>; 2]),
    /// The process may not lock that much memory.
    Refused,
}

impl Ring {
    /// Fails if the kernel has no io_uring or forbids it. The caller then uses threads.
    pub(crate) fn new() -> io::Result<Ring> {
        // They keep their numbers until there is one with a high number.
        let mut low = Vec::new();
        let ring = loop {
            // Completions are processed when the caller enters the kernel, without interrupts. Since Linux 5.19.
            let cooperative = IoUring::builder().setup_coop_taskrun().build(PLAN_DEPTH as u32);
            let ring = cooperative.or_else(|_| IoUring::new(PLAN_DEPTH as u32))?;
            if is_high(&ring) {
                break ring;
            }
            low.push(ring);
        };
        Ok(Ring { ring, buffer: AlignedBuf::new(0), registered: Registered::No, is_refused: false })
    }

    /// Whether the kernel refused it. It must not be used again.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Address and length of the buffer, of at least `len` bytes. The pointer is taken once, so that no `&mut` to the buffer exists while
    /// the kernel may write to it.
    fn buffer(&mut self, len: usize) -> (*mut u8, usize) {
        if self.buffer.len() < len {
            self.unregister();
            self.buffer = AlignedBuf::new(len);
        }
        let len = self.buffer.len();
        (self.buffer.as_mut_ptr(), len)
    }

    /// Registers the buffer of [`buffer`](Self::buffer) and `files`. Returns whether they are registered.
    fn register(&mut self, (buffer, len): (*mut u8, usize), files: [&Arc<File>; 2]) -> bool {
        match &self.registered {
            Registered::Refused => return false,
            Registered::Files(known) if known.iter().zip(files).all(|(a, b)| Arc::ptr_eq(a, b)) => {
                return true;
            }
            _ => self.unregister(),
        }
        let buffer = libc::iovec { iov_base: buffer.cast(), iov_len: len };
        let submitter = self.ring.submitter();
        // SAFETY: the buffer belongs to the ring, which unregisters it before freeing it.
        let told = unsafe { submitter.register_buffers(&[buffer]) }
            .and_then(|()| submitter.register_files(&files.map(|file| file.as_raw_fd())));
        if told.is_err() {
            // A failure is harmless: nothing refers to the registration.
            let _ = submitter.unregister_buffers();
            self.registered = Registered::Refused;
            return false;
        }
        self.registered = Registered::Files(files.map(Arc::clone));
        true
    }

    fn unregister(&mut self) {
        if matches!(self.registered, Registered::Files(_)) {
            let submitter = self.ring.submitter();
            // Unregistering registered files cannot fail while nothing is in flight.
            let _ = submitter.unregister_buffers().and_then(|()| submitter.unregister_files());
        }
        self.registered = Registered::No;
    }

    /// See [`crate::PageDevice::read_planned`]. The files are those of the device and of `other`. At most `slots` reads are in flight, with
    /// buffer and files registered if a long plan `registers` them and the system permits it.
    pub(crate) fn read_planned(
        &mut self,
        files: [&Arc<File>; 2],
        slots: usize,
        registers: bool,
        longest_bytes: usize,
        plan: &mut dyn ReadPlan,
    ) {
        let buffer = self.buffer(slots * longest_bytes);
        let piece = |slot: usize| buffer.0.wrapping_add(slot * longest_bytes);
        let are_registered = registers && self.register(buffer, files);
        let none = PlannedRead { tag: 0, is_other: false, span: Span { offset: 0, len_bytes: 0 } };
        // The plan, and the read in each slot.
        let (plan, reads) = (RefCell::new(plan), vec![Cell::new(none); slots]);
        let mut next = |slot: usize| {
            loop {
                let read = plan.borrow_mut().next_read()?;
                let PlannedRead { tag, is_other, span } = read;
                if span.len_bytes > longest_bytes {
                    plan.borrow_mut().arrived(tag, Err(io::ErrorKind::InvalidInput.into()));
                    continue;
                }
                reads[slot].set(read);
                let (file, at, len) = (usize::from(is_other), piece(slot), span.len_bytes as u32);
                let read = if are_registered {
                    let file = types::Fixed(file as u32);
                    opcode::ReadFixed::new(file, at, len, 0).offset(span.offset).build()
                } else {
                    let file = types::Fd(files[file].as_raw_fd());
                    opcode::Read::new(file, at, len).offset(span.offset).build()
                };
                return Some((tag, read));
            }
        };
        let mut done = |_: usize, slot: usize, outcome: i32| {
            let PlannedRead { tag, is_other, span } = reads[slot].get();
            let (at, file) = (piece(slot), files[usize::from(is_other)]);
            // SAFETY: the slot's piece is `longest_bytes` long, and the span is not longer: see `next`. The operation has completed.
            let bytes = unsafe {
                let outcome = read_if_undone(outcome, file, span.offset, at, span.len_bytes);
                arrived(at, span.len_bytes, outcome)
            };
            plan.borrow_mut().arrived(tag, bytes);
        };
        self.is_refused |= drive(&mut self.ring, slots, &mut next, &mut done);
    }

    /// See [`crate::PageDevice::read_into`].
    pub(crate) fn read_into(&mut self, file: &File, reads: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        let fd = types::Fd(file.as_raw_fd());
        let targets: Vec<(u64, *mut u8, usize)> =
            reads.iter_mut().map(|(offset, bytes)| (*offset, bytes.as_mut_ptr(), bytes.len())).collect();
        let mut first_error = Ok(());
        let read = |(op, &(offset, bytes, len)): (usize, &(u64, *mut u8, usize))| {
            (op, opcode::Read::new(fd, bytes, len as u32).offset(offset).build())
        };
        let mut left = targets.iter().enumerate().map(read);
        let mut done = |op: usize, _, outcome| {
            let (offset, bytes, len) = targets[op];
            // SAFETY: the target is borrowed by this call alone, and its operation has completed.
            let outcome = unsafe { read_if_undone(outcome, file, offset, bytes, len) };
            keep_first(&mut first_error, whole(outcome, len));
        };
        let slots = QUEUE_DEPTH.min(targets.len());
        self.is_refused |= drive(&mut self.ring, slots, &mut |_| left.next(), &mut done);
        first_error
    }

    /// See [`crate::PageDevice::write_each`].
    pub(crate) fn write_each(&mut self, file: &File, writes: &[(u64, &[u8])]) -> io::Result<()> {
        let fd = types::Fd(file.as_raw_fd());
        let (mut first_error, mut parts) = (Ok(()), Vec::new());
        let write = |(op, (offset, bytes)): (usize, &(u64, &[u8]))| {
            (op, opcode::Write::new(fd, bytes.as_ptr(), bytes.len() as u32).offset(*offset).build())
        };
        let mut left = writes.iter().enumerate().map(write);
        let mut done = |op: usize, _, outcome: i32| {
            let len = writes[op].1.len();
            match usize::try_from(outcome) {
                Ok(moved) if moved < len => parts.push((op, moved)),
                Err(_) if is_undone(outcome) => parts.push((op, 0)),
                _ => keep_first(&mut first_error, whole(outcome, len)),
            }
        };
        let slots = QUEUE_DEPTH.min(writes.len());
        self.is_refused |= drive(&mut self.ring, slots, &mut |_| left.next(), &mut done);
        // The kernel may write a part, or nothing for lack of a worker. Writing the rest succeeds, or tells why that was all: a full
        // disk, say.
        for (op, moved) in parts {
            let (offset, bytes) = writes[op];
            keep_first(&mut first_error, file.write_all_at(&bytes[moved..], offset + moved as u64));
        }
        first_error
    }
}

impl Drop for Ring {
    /// The kernel takes a ring apart later. Registered files would stay open until then, and their file system in use.
    fn drop(&mut self) {
        self.unregister();
    }
}

pub(crate) fn keep_first(first: &mut io::Result<()>, this: io::Result<()>) {
    if first.is_ok() {
        *first = this;
    }
}

/// Whether the kernel did not try an operation: it cancels those for which it gets no worker, as at a limit of processes or of memory.
fn is_undone(outcome: i32) -> bool {
    [libc::ECANCELED, libc::EAGAIN, libc::EINTR, libc::ENOMEM].contains(&-outcome)
}

/// The completion code of a read. One that was not tried is done by a plain call, so that it is not taken for a damaged file.
///
/// # Safety
///
/// There are `len` initialised bytes at `piece`, and nobody else accesses them during the call.
unsafe fn read_if_undone(outcome: i32, file: &File, offset: u64, piece: *mut u8, len: usize) -> i32 {
    if !is_undone(outcome) {
        return outcome;
    }
    // SAFETY: required by this function.
    let bytes = unsafe { std::slice::from_raw_parts_mut(piece, len) };
    loop {
        match file.read_at(bytes, offset) {
            Ok(got) => return got as i32,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return -error.raw_os_error().unwrap_or(libc::EIO),
        }
    }
}

/// Converts a completion code. A partial transfer is an error.
fn whole(outcome: i32, len: usize) -> io::Result<()> {
    match outcome {
        code if code < 0 => Err(io::Error::from_raw_os_error(-code)),
        got if got as usize == len => Ok(()),
        got => {
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{got} bytes moved, expected {len}")))
        }
    }
}

/// The bytes of a completed read.
///
/// # Safety There are `len` initialised bytes at `piece`, and nobody writes to them while the result is in use.
unsafe fn arrived<'b>(piece: *const u8, len: usize, outcome: i32) -> io::Result<&'b [u8]> {
    // SAFETY: required by this function. The buffers of a ring are zeroed when allocated, and a slot is not reused before `done` has
    // returned.
    let bytes = unsafe { std::slice::from_raw_parts(piece, len) };
    whole(outcome, len).map(|()| bytes)
}

/// Gives the number and the description of the next operation, for a slot. `None` if there is none now.
type Next<'n> = dyn FnMut(usize) -> Option<(usize, squeue::Entry)> + 'n;
/// Receives the number of an operation that has completed, its slot and its outcome.
type Done<'d> = dyn FnMut(usize, usize, i32) + 'd;

/// Runs operations with at most `slots` in flight, until there is no next one and all have completed. Returns whether the kernel refused
/// the ring: what it did not take has then the outcome of what was not tried, and the ring must not be used again.
fn drive(ring: &mut IoUring, slots: usize, next: &mut Next<'_>, done: &mut Done<'_>) -> bool {
    let mut flight = Flight { ring, ops: vec![None; slots], in_flight: 0, is_refused: false };
    let mut free: Vec<usize> = (0..slots).rev().collect();
    let mut completed: Vec<(usize, usize, i32)> = Vec::with_capacity(slots);
    loop {
        while let Some(&slot) = free.last()
            && let Some((op, entry)) = next(slot)
        {
            if flight.is_refused {
                done(op, slot, NOT_TRIED);
                continue;
            }
            let described = entry.user_data(slot as u64);
            // SAFETY: the buffer of the entry outlives the operation. It belongs to the caller of `drive`, which does not return before the
            // operation has completed (see `Flight`).
            let pushed = unsafe { flight.ring.submission().push(&described) };
            assert!(pushed.is_ok(), "the queue has as many entries as there are slots");
            free.pop();
            flight.ops[slot] = Some(op);
            flight.in_flight += 1;
        }
        if flight.in_flight == 0 {
            return flight.is_refused;
        }
        flight.wait(&mut completed);
        for (op, slot, code) in completed.drain(..) {
            done(op, slot, code);
            free.push(slot);
        }
    }
}

/// Operations in flight. Dropping it waits for them.
struct Flight<'a> {
    ring: &'a mut IoUring,
    /// The operation of each slot that is in flight.
    ops: Vec<Option<usize>>,
    in_flight: usize,
    /// The kernel takes no more operations.
    is_refused: bool,
}

impl Flight<'_> {
    /// Submits the queue, waits until a quarter of the operations in flight have completed, and collects all completions. The other
    /// operations keep the device busy, and the thread wakes less often.
    fn wait(&mut self, completed: &mut Vec<(usize, usize, i32)>) {
        let waited = self.ring.submit_and_wait((self.in_flight / 4).max(1));
        match waited.map_err(|error| error.raw_os_error().unwrap_or(libc::EIO)) {
            // The surrounding loop repeats the call. The operations are still queued.
            Ok(_) | Err(libc::EINTR) => {}
            // Short of memory, or of room for completions.
            Err(libc::EAGAIN | libc::EBUSY) => std::thread::sleep(RETRY_INTERVAL),
            // Any other error would come again: the process was forbidden to use io_uring since it opened the file, say.
            Err(_) => return self.give_up(completed),
        }
        self.collect(completed);
    }

    fn collect(&mut self, completed: &mut Vec<(usize, usize, i32)>) {
        for entry in self.ring.completion() {
            let slot = entry.user_data() as usize;
            if let Some(op) = self.ops[slot].take() {
                completed.push((op, slot, entry.result()));
                self.in_flight -= 1;
            }
        }
    }

    /// Waits for what the kernel has taken, which completes without another call to the ring, and returns the rest as not tried: the kernel
    /// reads the queue in such calls only.
    fn give_up(&mut self, completed: &mut Vec<(usize, usize, i32)>) {
        self.is_refused = true;
        loop {
            self.collect(completed);
            if self.in_flight <= self.ring.submission().len() {
                break;
            }
            // The kernel tells this thread of completions when it returns from a system call.
            std::thread::sleep(RETRY_INTERVAL);
        }
        let rest = self.ops.iter_mut().enumerate();
        completed.extend(rest.filter_map(|(slot, op)| Some((op.take()?, slot, NOT_TRIED))));
        self.in_flight = 0;
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

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::fd::FromRawFd;

    use super::*;
    use crate::{FileDevice, IoEngine, PageDevice};

    /// Lets `io_uring_enter` fail with `errno` in this thread from now on, as a sandbox does that a process enters.
    fn forbid_enter(errno: i32) {
        let step =
            |code: u32, k: u32, otherwise| libc::sock_filter { code: code as u16, jt: 0, jf: otherwise, k };
        let mut filter = [
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
            step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_io_uring_enter as u32, 1),
            step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | errno as u32, 0),
            step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0),
        ];
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: both calls read their arguments only, and the program is alive.
        let told = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
                | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
        };
        assert_eq!(told, 0, "{}", io::Error::last_os_error());
    }

    /// In a thread of its own, and not forever.
    fn in_sandbox(test: impl FnOnce() + Send + 'static) {
        let (done, ended) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            test();
            let _ = done.send(());
        });
        if ended.recv_timeout(Duration::from_secs(60)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            panic!("it hangs");
        }
        thread.join().unwrap();
    }

    struct All(Vec<PlannedRead>, usize);

    impl ReadPlan for All {
        fn next_read(&mut self) -> Option<PlannedRead> {
            self.0.pop()
        }

        fn arrived(&mut self, tag: usize, bytes: io::Result<&[u8]>) {
            assert_eq!(bytes.unwrap(), [tag as u8; 4096]);
            self.1 += 1;
        }
    }

    #[test]
    fn a_ring_that_is_refused_after_it_was_made_is_given_up_and_the_work_is_done_plainly() {
        const PAGES: usize = 250;
        let errors = [libc::EPERM, libc::ENOSYS, libc::EACCES, libc::ENOMEM];
        for (first, errno) in errors.into_iter().enumerate() {
            in_sandbox(move || {
                let dir = tempfile::tempdir().unwrap();
                let path = dir.path().join("pages");
                let device = FileDevice::create(&path, (PAGES * 4096) as u64, IoEngine::Auto).unwrap();
                let mut pages = AlignedBuf::new(PAGES * 4096);
                pages.chunks_mut(4096).enumerate().for_each(|(n, page)| page.fill(n as u8));
                let span = |n| Span { offset: n as u64 * 4096, len_bytes: 4096 };
                let spans: Vec<Span> = (0..PAGES).map(span).collect();
                let planned = || {
                    let read = |tag| PlannedRead { tag, is_other: tag % 2 == 0, span: span(tag) };
                    let mut plan = All((0..PAGES).map(read).collect(), 0);
                    device.read_planned(&device, 4096, &mut plan);
                    assert_eq!(plan.1, PAGES);
                };
                let each = || {
                    let mut all = All(Vec::new(), 0);
                    device.read_each(&spans, &mut |n, bytes| all.arrived(n, bytes));
                    assert_eq!(all.1, PAGES);
                };
                let into = || {
                    let mut got = AlignedBuf::new(PAGES * 4096);
                    let mut reads: Vec<_> =
                        spans.iter().map(|span| span.offset).zip(got.chunks_mut(4096)).collect();
                    device.read_into(&mut reads).unwrap();
                    assert!(got[..] == pages[..]);
                };
                let write = || {
                    let zeros = AlignedBuf::new(PAGES * 4096);
                    device.write_at(0, &zeros).unwrap();
                    let writes: Vec<_> =
                        spans.iter().map(|span| span.offset).zip(pages.chunks(4096)).collect();
                    device.write_each(&writes).unwrap();
                    let mut got = AlignedBuf::new(PAGES * 4096);
                    device.read_at(0, &mut got).unwrap();
                    assert!(got[..] == pages[..]);
                };
                let mut calls: [&dyn Fn(); 4] = [&write, &planned, &each, &into];
                calls.iter().for_each(|call| call());
                forbid_enter(errno);
                // The first one finds a ring, and the others none.
                calls.rotate_left(first);
                calls.iter().chain(&calls).for_each(|call| call());
            });
        }
    }

    #[test]
    fn what_the_kernel_has_taken_is_waited_for_before_a_ring_is_given_up() {
        in_sandbox(|| {
            let mut pipe = [0; 2];
            // SAFETY: there is room for two descriptors, which nobody else has.
            let (mut reading, mut writing) = unsafe {
                assert_eq!(libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC), 0);
                (File::from_raw_fd(pipe[0]), File::from_raw_fd(pipe[1]))
            };
            let mut bytes = [[0_u8; 4]; 2];
            let at = bytes.as_mut_ptr();
            let read = |slot: usize| {
                let entry = opcode::Read::new(types::Fd(pipe[0]), at.wrapping_add(slot).cast(), 4);
                entry.build().user_data(slot as u64)
            };
            let ring = &mut Ring::new().unwrap().ring;
            let mut flight = Flight { ring, ops: vec![Some(7), Some(8)], in_flight: 2, is_refused: false };
            // SAFETY: the bytes are alive until the end of the test.
            unsafe { flight.ring.submission().push(&read(0)).unwrap() };
            assert_eq!(flight.ring.submit().unwrap(), 1);
            forbid_enter(libc::EPERM);
            // SAFETY: as above.
            unsafe { flight.ring.submission().push(&read(1)).unwrap() };
            let writer = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(100));
                writing.write_all(b"onetwo").unwrap();
            });
            let mut completed = Vec::new();
            flight.wait(&mut completed);
            assert!(flight.is_refused && flight.in_flight == 0);
            assert_eq!(completed, [(7, 0, 4), (8, 1, NOT_TRIED)]);
            drop(flight);
            assert_eq!(&bytes[0], b"onet");
            let mut rest = String::new();
            writer.join().unwrap();
            reading.read_to_string(&mut rest).unwrap();
            assert_eq!(rest, "wo");
        });
    }

    #[test]
    fn a_read_that_was_not_tried_is_done_plainly_and_others_keep_their_outcome() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("it"), [7; 100]).unwrap();
        let file = File::open(dir.path().join("it")).unwrap();
        let mut bytes = [0; 50];
        // SAFETY: the bytes are those of this test.
        let mut read =
            |outcome, offset| unsafe { read_if_undone(outcome, &file, offset, bytes.as_mut_ptr(), 50) };
        assert_eq!(read(-libc::EIO, 0), -libc::EIO);
        assert_eq!(read(10, 0), 10);
        for undone in [libc::ECANCELED, libc::EAGAIN, libc::EINTR] {
            assert_eq!(read(-undone, 0), 50);
            assert_eq!(read(-undone, 60), 40);
        }
        assert_eq!(bytes, [7; 50]);
    }
}
