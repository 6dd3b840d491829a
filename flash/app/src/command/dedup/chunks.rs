//! Cuts sources into chunks at content-defined places and digests them, on several threads.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use anyhow::Result;
use fastcdc::v2020::{self, StreamCDC};
use springbloom_console::bad_input;
use springbloom_console::sizes::Size;

use super::content::{Content, ContentDigest};
use super::extents::{Extent, Extents, data_of};
use super::files::{Opened, Source};

/// Bytes of a chunk's digest: 160 bits of BLAKE3, the length of SHA-1.
pub(super) const DIGEST_BYTES: usize = 20;
/// Chunks per batch.
const BATCH_CHUNKS: usize = 1024;
/// Queued batches per thread.
const WAITING_BATCHES: usize = 4;

/// Sizes of chunks, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkSizes {
    min: usize,
    average: usize,
    max: usize,
}

impl ChunkSizes {
    /// Average `average_bytes`, minimum a quarter and maximum eight times of it.
    pub(super) fn around(average_bytes: u64) -> Result<ChunkSizes> {
        let allowed = v2020::AVERAGE_MIN as u64..=(v2020::MAXIMUM_MAX / 8) as u64;
        if !allowed.contains(&average_bytes) {
            return Err(bad_input(format!(
                "--chunk-size {}, expected {} to {}",
                Size { bytes: average_bytes },
                Size { bytes: *allowed.start() },
                Size { bytes: *allowed.end() }
            )));
        }
        let average = average_bytes as usize;
        let max = (average * 8).max(v2020::MAXIMUM_MIN);
        Ok(ChunkSizes { min: (average / 4).max(v2020::MINIMUM_MIN), average, max })
    }
}

/// One chunk of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Number of the source.
    pub(super) source: usize,
    pub(super) digest: [u8; DIGEST_BYTES],
    pub(super) offset: u64,
    pub(super) len_bytes: u32,
}

/// The end of a source.
pub(super) struct End {
    pub(super) source: usize,
    /// With the error, if it could not be read to its end.
    pub(super) result: io::Result<()>,
    /// Bytes of its holes.
    pub(super) hole_bytes: u64,
    /// If it was asked for.
    pub(super) content: Option<ContentDigest>,
}

/// A batch of chunks, and the sources that end with it.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) chunks: Vec<Chunk>,
    pub(super) ends: Vec<End>,
}

/// How sources are cut.
#[derive(Clone, Copy)]
pub(super) struct Cutting<'c> {
    pub(super) sizes: ChunkSizes,
    pub(super) threads: usize,
    /// Whether the contents of a source are wanted as a whole.
    pub(super) wants_content: &'c (dyn Fn(usize) -> bool + Sync),
}

/// Cuts the sources with these numbers into chunks and passes all batches to `take`, in order for each source. If `take` fails, returns
/// its error.
pub(super) fn chunk_all(
    sources: &[Source],
    numbers: &[usize],
    cutting: Cutting<'_>,
    take: &mut dyn FnMut(Batch) -> Result<()>,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(cutting.threads * WAITING_BATCHES);
        for _ in 0..cutting.threads {
            let (sender, next, is_over) = (sender.clone(), &next, &is_over);
            scope.spawn(move || {
                let mut batch = Batch::default();
                while !is_over.load(Ordering::Relaxed) {
                    let Some(&number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    let content = (cutting.wants_content)(number).then(Content::new);
                    let mut cutter = Cutter {
                        number,
                        sizes: cutting.sizes,
                        batch: &mut batch,
                        sender: &sender,
                        hole_bytes: 0,
                        content,
                    };
                    let result = match cutter.cut(&sources[number]) {
                        Err(CutError::NobodyListens) => return,
                        Err(CutError::Unreadable(error)) => Err(error),
                        Ok(()) => Ok(()),
                    };
                    cutter.end(result);
                }
                // Nobody listens any more if this fails; then nobody misses it.
                let _ = sender.send(batch);
            });
        }
        drop(sender);
        let result = receiver.iter().try_for_each(&mut *take);
        // Threads that wait to hand something over wake up when the receiver goes.
        is_over.store(true, Ordering::Relaxed);
        drop(receiver);
        result
    })
}

/// Why cutting ended early.
enum CutError {
    Unreadable(io::Error),
    /// The receiver is gone.
    NobodyListens,
}

impl From<io::Error> for CutError {
    fn from(error: io::Error) -> Self {
        CutError::Unreadable(error)
    }
}

/// Cuts one source.
struct Cutter<'c> {
    number: usize,
    sizes: ChunkSizes,
    batch: &'c mut Batch,
    sender: &'c SyncSender<Batch>,
    hole_bytes: u64,
    content: Option<Content>,
}

impl Cutter<'_> {
    fn cut(&mut self, source: &Source) -> Result<(), CutError> {
        let file = match source.open()? {
            Opened::Pipe(pipe) => return self.cut_data(0, pipe),
            Opened::File(file) => file,
        };
        for extent in Extents::of(&file)? {
            match extent? {
                Extent::Data { offset, len_bytes } => {
                    self.cut_data(offset, data_of(&file, offset, len_bytes)?)?
                }
                Extent::Hole { len_bytes } => {
                    self.hole_bytes += len_bytes;
                    self.content.iter_mut().for_each(|content| content.add_hole(len_bytes));
                }
            }
        }
        Ok(())
    }

    /// Adds the chunks of data that begins at `start`, and sends the batch whenever it is full.
    fn cut_data(&mut self, start: u64, data: impl Read) -> Result<(), CutError> {
        let ChunkSizes { min, average, max } = self.sizes;
        for chunk in StreamCDC::new(data, min, average, max) {
            let chunk = chunk.map_err(io::Error::from)?;
            self.content.iter_mut().for_each(|content| content.add(&chunk.data));
            let mut digest = [0; DIGEST_BYTES];
            digest.copy_from_slice(&blake3::hash(&chunk.data).as_bytes()[..DIGEST_BYTES]);
            let (offset, len_bytes) = (start + chunk.offset, chunk.length as u32);
            self.batch.chunks.push(Chunk { source: self.number, digest, offset, len_bytes });
            if self.batch.chunks.len() >= BATCH_CHUNKS {
                let sent = self.sender.send(std::mem::take(self.batch));
                sent.map_err(|_| CutError::NobodyListens)?;
            }
        }
        Ok(())
    }

    fn end(self, result: io::Result<()>) {
        let (source, hole_bytes) = (self.number, self.hole_bytes);
        let content = self.content.map(Content::end);
        self.batch.ends.push(End { source, result, hole_bytes, content });
    }
}
