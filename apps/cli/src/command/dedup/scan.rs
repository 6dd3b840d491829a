//! `springbloom dedup scan`: chunks, digests and looks up whole trees and streams.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use springbloom_flash::index::{FlashIndex, IndexSettings, StreamLookup};

use super::chunks::{Batch, ChunkSizes, chunk_all};
use super::files::{Source, digest, sources};
use super::state::{Open, ScanState};
use super::{known, report};
use crate::command::index::open::{MemoryOptions, explain, open};
use crate::progress::Step;
use crate::sizes::Size;

/// How much work an interruption can cost.
const STATE_EVERY: Duration = Duration::from_secs(1);

/// Runs of chunks kept in memory for those that follow, 80 KiB each.
const CHAPTERS: usize = 16;

/// Scan files, folders and streams for data that is there already
///
/// Everything is cut into chunks where its content says, and each chunk is looked up in an index that is kept: a later scan tells
/// how much of its data an earlier one has seen. A scan that was interrupted goes on where it was.
#[derive(Args, Debug)]
pub(crate) struct Scan {
    /// Files and folders; `-` is standard input (a tar stream, say)
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Folder of the index of chunks; it is made if it does not exist
    #[arg(long, value_name = "FOLDER")]
    index: PathBuf,
    /// Average size of chunks
    #[arg(long, value_name = "SIZE", default_value = "8KiB")]
    chunk_size: Size,
    /// Threads that cut and digest; all processors if not given
    #[arg(long)]
    threads: Option<usize>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Scan {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let sizes = ChunkSizes::around(self.chunk_size.bytes)?;
        let sources = sources(&self.paths)?;
        let index = self.open_index()?;
        let mut state = ScanState::begin(ScanState::read(&index)?, digest(&sources), self.chunk_size.bytes)?;
        if state.next_source > 0 {
            eprintln!(
                "going on with the scan that was interrupted: {} of {} files are done",
                state.next_source,
                sources.len()
            );
        }
        let left = sources[state.next_source.min(sources.len())..].iter();
        let step = Step::start("scanning", left.map(|source| source.len_bytes).sum());
        let threads =
            self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let seen = index.stream(CHAPTERS);
        let mut progress = Progress { open: Open::default(), seen, written: Instant::now() };
        let first = state.next_source;
        chunk_all(&sources, first, sizes, threads.max(1), &mut |batch| {
            step.advance(batch.chunks.iter().map(|chunk| u64::from(chunk.len_bytes)).sum());
            progress.take(&index, &sources, &mut state, batch)
        })?;
        drop(progress);
        drop(step);
        state.is_finished = true;
        state.write(&index)?;
        if self.json {
            println!("{:#}", report::document(&state.tally, &index));
        } else {
            report::print(&state.tally, &index);
        }
        index.close().map_err(explain)?;
        Ok(ExitCode::SUCCESS)
    }

    fn open_index(&self) -> Result<FlashIndex> {
        if self.index.exists() {
            return open(&self.index, &self.memory);
        }
        FlashIndex::create(&self.index, IndexSettings::new(0), self.memory.memory()).map_err(explain)
    }
}

/// What is between two states.
struct Progress<'i> {
    open: Open,
    seen: StreamLookup<'i>,
    written: Instant,
}

impl Progress<'_> {
    fn take(
        &mut self,
        index: &FlashIndex,
        sources: &[Source],
        state: &mut ScanState,
        batch: Batch,
    ) -> Result<()> {
        let standings = known::stand(index, &mut self.seen, state.scan, &batch)?;
        for (chunk, standing) in batch.chunks.iter().zip(standings) {
            self.open.sums(chunk.source).add_chunk(chunk.len_bytes, standing);
        }
        for (source, end) in batch.ends {
            if let Err(e) = &end {
                eprintln!("springbloom: cannot read {}: {e}", sources[source].path.display());
            }
            self.open.end(source, end.is_ok());
        }
        while let Some((sums, is_readable)) = self.open.take(state.next_source) {
            let source = &sources[state.next_source];
            state.tally.add_file(&source.path.display().to_string(), source.kind(), &sums, is_readable);
            state.next_source += 1;
        }
        if self.written.elapsed() > STATE_EVERY {
            state.write(index)?;
            self.written = Instant::now();
        }
        Ok(())
    }
}
