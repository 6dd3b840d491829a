//! A device in a file, with direct I/O.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::device::in_waves;
use crate::high::high;
use crate::plan::EachSpan;
use crate::threads::in_threads;
use crate::unsafe_uring::{PLAN_DEPTH, QUEUE_DEPTH, Ring, keep_first};
use crate::{AlignedBuf, BlockSizes, PageDevice, ReadPlan, Span};

/// The way in which batched operations reach the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IoEngine {
    /// io_uring if the kernel has it, otherwise threads.
    #[default]
    Auto,
    /// Threads with blocking operations.
    Threads,
}

/// A file opened for direct I/O. Uses the page cache if the file system refuses direct I/O.
pub struct FileDevice {
    file: Arc<File>,
    engine: IoEngine,
    blocks: BlockSizes,
    /// Concurrent callers have one each.
    rings: Mutex<Vec<Ring>>,
    /// The kernel refused a ring that it had made: the process has entered a sandbox since.
    is_refused: AtomicBool,
}

impl FileDevice {
    /// Opens `path`, for reading only or also for writing.
    pub fn open(path: &Path, is_writable: bool, engine: IoEngine) -> io::Result<FileDevice> {
        // Opening a pipe for reading would wait for a writer.
        let kind = match std::fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
                return Err(io::Error::other(
                    "it is a link to nothing, expected a regular file; restore that from a copy",
                ));
            }
            found => found?.file_type(),
        };
        if !kind.is_file() && !kind.is_block_device() {
            return Err(io::Error::other("it is not a regular file, expected one; restore it from a copy"));
        }
        FileDevice::with(path, OpenOptions::new().read(true).write(is_writable), engine)
    }

    /// Creates `path` with `len_bytes`, replacing an existing file.
    pub fn create(path: &Path, len_bytes: u64, engine: IoEngine) -> io::Result<FileDevice> {
        let mut options = OpenOptions::new();
        let device =
            FileDevice::with(path, options.read(true).write(true).create(true).truncate(true), engine)?;
        device.file.set_len(len_bytes)?;
        Ok(device)
    }

    fn with(path: &Path, options: &OpenOptions, engine: IoEngine) -> io::Result<FileDevice> {
        let file = match options.clone().custom_flags(libc::O_DIRECT).open(path) {
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
                log::warn!(
                    "{}: no direct I/O on this file system, reading through the page cache",
                    path.display()
                );
                options.open(path)?
            }
            opened => opened?,
        };
        let file = high(file)?;
        let (blocks, is_refused) = (BlockSizes::of_file(&file), AtomicBool::new(false));
        Ok(FileDevice { file: Arc::new(file), engine, blocks, rings: Mutex::default(), is_refused })
    }

    /// Runs `with` on a ring. `None` if there is none.
    fn with_ring<T>(&self, with: impl FnOnce(&mut Ring) -> T) -> Option<T> {
        if self.engine == IoEngine::Threads || self.is_refused.load(Ordering::Relaxed) {
            return None;
        }
        let kept = self.rings.lock().pop();
        let mut ring = kept.or_else(|| Ring::new().ok())?;
        let done = with(&mut ring);
        if ring.is_refused() {
            self.is_refused.store(true, Ordering::Relaxed);
        } else {
            self.rings.lock().push(ring);
        }
        Some(done)
    }
}

impl PageDevice for FileDevice {
    fn len_bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |m| m.len())
    }

    fn blocks(&self) -> BlockSizes {
        self.blocks
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buf, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn grow(&self, len_bytes: u64) -> io::Result<()> {
        if self.len_bytes() < len_bytes { self.file.set_len(len_bytes) } else { Ok(()) }
    }

    fn read_each(&self, spans: &[Span], visit: &mut dyn FnMut(usize, io::Result<&[u8]>)) {
        let longest_bytes = spans.iter().map(|span| span.len_bytes).max().unwrap_or(0);
        let slots = QUEUE_DEPTH.min(spans.len());
        let mut plan = EachSpan { spans, next: 0, visit };
        let read = self.with_ring(|ring| {
            ring.read_planned([&self.file; 2], slots, false, longest_bytes, &mut plan);
        });
        if read.is_none() {
            let read = |n: usize| {
                let mut buf = AlignedBuf::new(spans[n].len_bytes);
                self.read_at(spans[n].offset, &mut buf).map(|()| buf)
            };
            in_threads(spans.len(), read, |n, read| match read {
                Ok(bytes) => (plan.visit)(n, Ok(&bytes)),
                Err(error) => (plan.visit)(n, Err(error)),
            });
        }
    }

    fn read_planned(&self, other: &dyn PageDevice, longest_bytes: usize, plan: &mut dyn ReadPlan) {
        let read = other.file().and_then(|file| {
            self.with_ring(|ring| {
                ring.read_planned([&self.file, file], PLAN_DEPTH, true, longest_bytes, plan);
            })
        });
        if read.is_none() {
            in_waves(self, other, plan);
        }
    }

    fn file(&self) -> Option<&Arc<File>> {
        Some(&self.file)
    }

    fn read_into(&self, reads: &mut [(u64, &mut [u8])]) -> io::Result<()> {
        if let Some(read) = self.with_ring(|ring| ring.read_into(&self.file, reads)) {
            return read;
        }
        let reads: Vec<_> = reads.iter_mut().map(Mutex::new).collect();
        all_in_threads(reads.len(), |n| {
            let (offset, buf) = &mut **reads[n].lock();
            self.read_at(*offset, buf)
        })
    }

    fn write_each(&self, writes: &[(u64, &[u8])]) -> io::Result<()> {
        if let Some(written) = self.with_ring(|ring| ring.write_each(&self.file, writes)) {
            return written;
        }
        all_in_threads(writes.len(), |n| self.write_at(writes[n].0, writes[n].1))
    }
}

/// Runs every operation. Returns the first error after all of them have ended.
fn all_in_threads(count: usize, run: impl Fn(usize) -> io::Result<()> + Sync) -> io::Result<()> {
    let mut first_error = Ok(());
    in_threads(count, run, |_, this| keep_first(&mut first_error, this));
    first_error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlannedRead;

    /// Every page is filled with its own number, so a page delivered under a wrong index is noticed.
    fn numbered(engine: IoEngine, pages: usize) -> (tempfile::TempDir, Arc<dyn PageDevice>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pages");
        let device: Arc<dyn PageDevice> =
            Arc::new(FileDevice::create(&path, (pages * 4096) as u64, engine).unwrap());
        let mut buf = AlignedBuf::new(pages * 4096);
        for (i, page) in buf.chunks_mut(4096).enumerate() {
            page.fill(i as u8);
        }
        let writes: Vec<(u64, &[u8])> =
            buf.chunks(4096).enumerate().map(|(i, p)| (i as u64 * 4096, p)).collect();
        device.write_each(&writes).unwrap();
        device.sync().unwrap();
        (dir, device)
    }

    #[test]
    fn what_is_no_regular_file_is_refused_without_waiting_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let (pipe, zeros) = (dir.path().join("pipe"), dir.path().join("zeros"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        std::os::unix::fs::symlink("/dev/zero", &zeros).unwrap();
        for path in [&pipe, &zeros, &dir.path().to_owned()] {
            let error = FileDevice::open(path, false, IoEngine::Auto).err().unwrap();
            assert!(error.to_string().contains("not a regular file"), "{error}");
        }
    }

    #[test]
    fn both_engines_deliver_every_span_once_and_report_reads_past_the_end() {
        for engine in [IoEngine::Auto, IoEngine::Threads] {
            let (_dir, device) = numbered(engine, 200);
            let mut spans: Vec<Span> =
                (0..200).rev().map(|i| Span { offset: i * 4096, len_bytes: 4096 }).collect();
            spans.push(Span { offset: 4096, len_bytes: 8192 });
            spans.push(Span { offset: 200 * 4096, len_bytes: 4096 });
            let mut seen = vec![0; spans.len()];
            device.read_each(&spans, &mut |i, page| {
                seen[i] += 1;
                match page {
                    Ok(bytes) => {
                        assert_eq!(bytes.len(), spans[i].len_bytes);
                        assert!(bytes[..4096].iter().all(|b| u64::from(*b) == spans[i].offset / 4096));
                    }
                    Err(_) => {
                        assert_eq!(i, spans.len() - 1, "{engine:?}: only the span past the end may fail")
                    }
                }
            });
            assert!(seen.iter().all(|n| *n == 1), "{engine:?}: {seen:?}");
        }
    }

    /// Reads all pages of two devices, in pieces of one length, and checks them.
    struct Checked {
        left: Vec<PlannedRead>,
        firsts: [u8; 2],
        is_other: Vec<bool>,
        offsets: Vec<u64>,
    }

    impl ReadPlan for Checked {
        fn next_read(&mut self) -> Option<PlannedRead> {
            self.left.pop()
        }

        fn arrived(&mut self, tag: usize, bytes: io::Result<&[u8]>) {
            let first = self.firsts[usize::from(self.is_other[tag])];
            for (page, number) in bytes.unwrap().chunks(4096).zip(self.offsets[tag] / 4096..) {
                assert!(page.iter().all(|b| *b == first + number as u8), "read {tag}");
            }
            self.offsets[tag] = u64::MAX;
        }
    }

    fn check_plan(device: &dyn PageDevice, other: &dyn PageDevice, firsts: [u8; 2], len_bytes: usize) {
        let spans = (0..64 * 4096 / len_bytes as u64)
            .map(|n| Span { offset: n * len_bytes as u64, len_bytes })
            .flat_map(|span| [(false, span), (true, span)]);
        let reads: Vec<PlannedRead> =
            spans.enumerate().map(|(tag, (is_other, span))| PlannedRead { tag, is_other, span }).collect();
        let is_other = reads.iter().map(|read| read.is_other).collect();
        let offsets = reads.iter().map(|read| read.span.offset).collect();
        let mut plan = Checked { left: reads, firsts, is_other, offsets };
        device.read_planned(other, len_bytes, &mut plan);
        assert!(plan.offsets.iter().all(|offset| *offset == u64::MAX), "every read has arrived");
    }

    #[test]
    fn plans_read_the_files_that_they_mean_whatever_was_read_before() {
        for engine in [IoEngine::Auto, IoEngine::Threads] {
            let dir = tempfile::tempdir().unwrap();
            let make = |first: u8| {
                let device = Arc::new(
                    FileDevice::create(&dir.path().join(first.to_string()), 64 * 4096, engine).unwrap(),
                );
                let mut buf = AlignedBuf::new(64 * 4096);
                buf.chunks_mut(4096).zip(first..).for_each(|(page, number)| page.fill(number));
                device.write_at(0, &buf).unwrap();
                device
            };
            let (a, b) = (make(0), make(64));
            check_plan(&*a, &*b, [0, 64], 4096);
            check_plan(&*a, &*b, [0, 64], 8192);
            drop(b);
            // It may get the descriptor of the previous file.
            let c = make(128);
            check_plan(&*a, &*c, [0, 128], 4096);
            check_plan(&*a, &*a, [0, 0], 16_384);
            check_plan(&*c, &*a, [128, 0], 4096);
        }
    }
}
