//! `springflash dedup scan`: chunks, digests and looks up whole trees and streams.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use springbloom_console::sizes::{self, Size};
use springbloom_console::{Step, escaped, folder, output};

use super::chunks::{Batch, ChunkSizes, Cutting, End, chunk_all};
use super::duplicates::{Candidates, Duplicates};
use super::files::Source;
use super::known;
use super::report::Report;
use super::state::{Open, ScanPlan, ScanState};
use super::tally::Kinds;
use super::trace::LookupTrace;
use super::walk::{self, WalkOptions};
use crate::command::index::open::{MemoryOptions, close, open};
use crate::exit_codes::done;
use crate::flash::{FlashError, FlashIndex, IndexSettings, StreamLookup, explain};

/// Bytes between saved states, and so the work that an interruption may lose.
const STATE_EVERY: Duration = Duration::from_secs(1);

/// Readahead windows in memory, 80 KiB each.
const READAHEAD_WINDOWS: usize = 16;

/// Scan files, folders and streams for duplicate data
///
/// Data is cut into content-defined chunks, and each chunk is looked up in an index on disk. Later scans find what earlier scans
/// have seen. An interrupted scan of files resumes where it stopped.
///
/// Files with several names (hard links) are counted once. Symbolic links are not followed; pseudo file systems (/proc, /sys),
/// devices and the index itself are skipped. Files that vanish or cannot be read are reported and counted; the exit code is then 4.
/// Holes of sparse files are counted apart and not read.
///
/// Beside the index, memory is needed for each file: some 200 bytes and its path, and 110 bytes more with --duplicates.
#[derive(Args, Debug)]
pub(crate) struct Scan {
    /// Files and folders; `-` is standard input, for example a tar stream
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Folder of the index of chunks; created if missing or empty
    #[arg(long, value_name = "FOLDER")]
    index: PathBuf,
    /// Average size of chunks; 256 B to 2 MiB
    #[arg(long, value_name = "SIZE", default_value = "8KiB")]
    chunk_size: Size,
    /// Threads that cut and digest [default: one per processor]
    #[arg(long, value_parser = sizes::whole_within::<u64>(1..=256))]
    threads: Option<u64>,
    #[command(flatten)]
    walk: WalkOptions,
    /// List groups of files with the same contents (neither empty files nor hard links)
    #[arg(long)]
    duplicates: bool,
    /// Resume an interrupted scan of a pipe: the input is the same stream again. Without it, a scan of a pipe starts over and
    /// counts the data of the interrupted scan as known
    #[arg(long)]
    same_stream: bool,
    /// Append the lookups and writes of the index to a file, as a trace for `springbloom compare` and `springbloom simulate`. (A resumed
    /// scan repeats what the interrupted one did in its last second.)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Scan {
    pub(super) fn run(&self) -> Result<ExitCode> {
        // Bounded by the parser.
        let threads = self.threads.map_or_else(all_processors, |threads| threads as usize);
        let sizes = ChunkSizes::around(self.chunk_size.bytes)?;
        walk::check(&self.paths, &self.walk, &self.index)?;
        let trace = self.trace.as_deref().map(LookupTrace::append_to).transpose()?;
        let index = self.open_index()?;
        let found = walk::find(&self.paths, &self.walk, &self.index)?;
        let sources = &found.sources;
        let plan = ScanPlan {
            sources,
            description: self
                .paths
                .iter()
                .map(|path| escaped(&path.to_string_lossy()))
                .collect::<Vec<_>>()
                .join(" "),
            chunk_bytes: self.chunk_size.bytes,
            is_same_stream: self.same_stream,
        };
        let (mut state, message) = ScanState::begin(ScanState::read(&index)?, &plan)?;
        message.iter().for_each(output::tell);
        // Before any chunk: if this is killed, the next scan must know that there was one.
        state.write(&index)?;
        let mut duplicates = self.duplicates.then(Duplicates::new);
        let candidates = if self.duplicates { Candidates::among(sources) } else { Candidates::none() };
        let cutting = Cutting { sizes, threads, wants_content: &|source| candidates.has(source) };
        let first = state.next_source.min(sources.len());
        if let Some(duplicates) = &mut duplicates {
            let again: Vec<usize> = (0..first).filter(|n| candidates.has(*n)).collect();
            compare_again(sources, &again, cutting, duplicates)?;
        }
        let left: Vec<usize> = (first..sources.len()).collect();
        let step = Step::of("scanning", left.iter().map(|n| sources[*n].len_bytes).sum());
        let mut progress = Progress {
            index: &index,
            sources,
            kinds: Kinds::among(sources),
            open: Open::default(),
            seen: index.stream(READAHEAD_WINDOWS),
            written: Instant::now(),
            step,
            trace,
        };
        chunk_all(sources, &left, cutting, &mut |batch| progress.take(&mut state, &mut duplicates, batch))?;
        progress.trace.as_mut().map_or(Ok(()), LookupTrace::flush)?;
        drop(progress);
        state.is_finished = true;
        state.write(&index)?;
        let report = Report {
            tally: &state.tally,
            duplicates: duplicates.map(|duplicates| duplicates.groups(sources)),
            stats: index.stats(),
            info: index.info(),
            found: &found,
        };
        close(index)?;
        if self.json {
            output::json(&report.document())?;
        } else {
            output::report(|out| report.print(out))?;
        }
        Ok(done(state.tally.unreadable_files + found.unreadable_folders))
    }

    fn open_index(&self) -> Result<FlashIndex> {
        folder::require_parent(&self.index)?;
        match FlashIndex::create(&self.index, IndexSettings::new(0), self.memory.memory()) {
            Err(FlashError::NotEmpty { .. }) => open(&self.index, &self.memory),
            created => created.map_err(explain),
        }
    }
}

fn all_processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Reads files again that an interrupted scan had finished, as other files may be equal to them.
fn compare_again(
    sources: &[Source],
    again: &[usize],
    cutting: Cutting<'_>,
    duplicates: &mut Duplicates,
) -> Result<()> {
    let step = Step::of("comparing", again.iter().map(|n| sources[*n].len_bytes).sum());
    chunk_all(sources, again, cutting, &mut |batch| {
        step.advance(bytes_of(&batch));
        // An unreadable file has been reported, or is scanned again the next time.
        let readable = batch.ends.iter().filter(|end| end.result.is_ok());
        readable.for_each(|end| compare(sources, end, duplicates));
        Ok(())
    })
}

/// Takes the contents of a file, if it may have duplicates.
fn compare(sources: &[Source], end: &End, duplicates: &mut Duplicates) {
    if let Some(content) = end.content {
        let data_bytes = sources[end.source].len_bytes.saturating_sub(end.hole_bytes);
        duplicates.add(end.source, data_bytes, content);
    }
}

/// Bytes that a batch brings, for the progress.
fn bytes_of(batch: &Batch) -> u64 {
    let data = batch.chunks.iter().map(|chunk| u64::from(chunk.len_bytes)).sum::<u64>();
    data + batch.ends.iter().map(|end| end.hole_bytes).sum::<u64>()
}

/// The work between two saved states.
struct Progress<'i> {
    index: &'i FlashIndex,
    sources: &'i [Source],
    kinds: Kinds,
    open: Open,
    seen: StreamLookup<'i>,
    written: Instant,
    step: Step,
    trace: Option<LookupTrace>,
}

impl Progress<'_> {
    fn take(
        &mut self,
        state: &mut ScanState,
        duplicates: &mut Option<Duplicates>,
        batch: Batch,
    ) -> Result<()> {
        self.step.advance(bytes_of(&batch));
        let standings = known::stand(self.index, &mut self.seen, state.scan, &batch)?;
        self.trace.as_mut().map_or(Ok(()), |trace| trace.add(&batch.chunks, &standings))?;
        for (chunk, standing) in batch.chunks.iter().zip(standings) {
            self.open.sums(chunk.source).add_chunk(chunk.len_bytes, standing);
        }
        for end in batch.ends {
            match (&end.result, duplicates.as_mut()) {
                (Err(e), _) => {
                    self.step.warn(&format!("cannot read {}: {e}", escaped(&self.sources[end.source].name())))
                }
                (Ok(()), Some(duplicates)) => compare(self.sources, &end, duplicates),
                (Ok(()), None) => {}
            }
            self.open.sums(end.source).hole_bytes = end.hole_bytes;
            self.open.end(end.source, end.result.is_ok());
        }
        while let Some((sums, is_readable)) = self.open.take(state.next_source) {
            let kind = self.kinds.of(&self.sources[state.next_source]);
            state.tally.add_file(state.next_source, kind, &sums, is_readable);
            state.next_source += 1;
        }
        if self.written.elapsed() > STATE_EVERY {
            self.trace.as_mut().map_or(Ok(()), LookupTrace::flush)?;
            state.write(self.index)?;
            self.written = Instant::now();
        }
        Ok(())
    }
}
