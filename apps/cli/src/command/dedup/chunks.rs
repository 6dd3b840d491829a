//! Cuts sources into chunks at content-defined places and digests them, on several threads.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use anyhow::Result;
use fastcdc::v2020::{self, StreamCDC};

use super::files::Source;
use crate::failure::bad_input;

/// Bytes of a chunk's digest: 160 bits of BLAKE3, as many as SHA-1 has.
pub(super) const DIGEST_BYTES: usize = 20;
/// Chunks handed over together.
const BATCH_CHUNKS: usize = 1024;
/// Batches that may wait for each thread.
const WAITING_BATCHES: usize = 4;

/// Sizes of chunks, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkSizes {
    min: usize,
    average: usize,
    max: usize,
}

impl ChunkSizes {
    /// Around `average_bytes`, a quarter to eight times of it.
    pub(super) fn around(average_bytes: u64) -> Result<ChunkSizes> {
        let allowed = v2020::AVERAGE_MIN as u64..=(v2020::MAXIMUM_MAX / 8) as u64;
        if !allowed.contains(&average_bytes) {
            return Err(bad_input(format!(
                "chunks of {average_bytes} bytes, expected {} to {}",
                allowed.start(),
                allowed.end()
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

/// Some chunks, and which sources end with them.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) chunks: Vec<Chunk>,
    /// Sources that have no more; with the error, if one could not be read to its end.
    pub(super) ends: Vec<(usize, io::Result<()>)>,
}

/// Chunks the sources from number `first` on, with `threads` threads, and hands all batches to `take`, those of one source in their
/// order. Ends early, with its error, if `take` fails.
pub(super) fn chunk_all(
    sources: &[Source],
    first: usize,
    sizes: ChunkSizes,
    threads: usize,
    take: &mut dyn FnMut(Batch) -> Result<()>,
) -> Result<()> {
    let next = AtomicUsize::new(first);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(threads * WAITING_BATCHES);
        for _ in 0..threads {
            let (sender, next, is_over) = (sender.clone(), &next, &is_over);
            scope.spawn(move || {
                let mut batch = Batch::default();
                while !is_over.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(source) = sources.get(number) else { break };
                    if chunk_one(number, source, sizes, &mut batch, &sender).is_none() {
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

/// Adds the chunks of a source to `batch`, which is handed over whenever it is full. None when nobody listens any more.
fn chunk_one(
    number: usize,
    source: &Source,
    sizes: ChunkSizes,
    batch: &mut Batch,
    sender: &SyncSender<Batch>,
) -> Option<()> {
    let end = source.open().and_then(|reader| {
        for chunk in StreamCDC::new(reader, sizes.min, sizes.average, sizes.max) {
            let chunk = chunk?;
            let mut digest = [0; DIGEST_BYTES];
            digest.copy_from_slice(&blake3::hash(&chunk.data).as_bytes()[..DIGEST_BYTES]);
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
        end => batch.ends.push((number, end.map(|_| ()))),
    }
    Some(())
}
