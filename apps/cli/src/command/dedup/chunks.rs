//! Cuts sources into chunks at content-defined places and digests them, on several threads.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use anyhow::Result;
use fastcdc::v2020::{self, StreamCDC};
use springbloom_console::bad_input;
use springbloom_console::sizes::Size;

use super::duplicates::ContentDigest;
use super::files::Source;

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
    pub(super) content: ContentDigest,
}

/// A batch of chunks, and the sources that end with it.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) chunks: Vec<Chunk>,
    pub(super) ends: Vec<End>,
}

/// How sources are cut.
#[derive(Clone, Copy)]
pub(super) struct Cutting {
    pub(super) sizes: ChunkSizes,
    pub(super) threads: usize,
}

/// Cuts the sources with these numbers into chunks and passes all batches to `take`, in order for each source. If `take` fails, returns
/// its error.
pub(super) fn chunk_all(
    sources: &[Source],
    numbers: &[usize],
    cutting: Cutting,
    take: &mut dyn FnMut(Batch) -> Result<()>,
) -> Result<()> {
    let Cutting { sizes, threads } = cutting;
    let next = AtomicUsize::new(0);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(threads * WAITING_BATCHES);
        for _ in 0..threads {
            let (sender, next, is_over) = (sender.clone(), &next, &is_over);
            scope.spawn(move || {
                let mut batch = Batch::default();
                while !is_over.load(Ordering::Relaxed) {
                    let Some(&number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    if chunk_one(number, &sources[number], sizes, &mut batch, &sender).is_none() {
                        return;
                    }
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

/// Adds the chunks of a source to `batch`, and sends it whenever it is full. Returns `None` if the receiver is gone.
fn chunk_one(
    number: usize,
    source: &Source,
    sizes: ChunkSizes,
    batch: &mut Batch,
    sender: &SyncSender<Batch>,
) -> Option<()> {
    let mut content = blake3::Hasher::new();
    let end = source.open().and_then(|reader| {
        for chunk in StreamCDC::new(reader, sizes.min, sizes.average, sizes.max) {
            let chunk = chunk?;
            let whole = blake3::hash(&chunk.data);
            content.update(whole.as_bytes());
            let mut digest = [0; DIGEST_BYTES];
            digest.copy_from_slice(&whole.as_bytes()[..DIGEST_BYTES]);
            let (offset, len_bytes) = (chunk.offset, chunk.length as u32);
            batch.chunks.push(Chunk { source: number, digest, offset, len_bytes });
            if batch.chunks.len() >= BATCH_CHUNKS && sender.send(std::mem::take(batch)).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    });
    match end {
        Ok(false) => return None,
        end => batch.ends.push(End {
            source: number,
            result: end.map(|_| ()),
            content: content.finalize().into(),
        }),
    }
    Some(())
}
