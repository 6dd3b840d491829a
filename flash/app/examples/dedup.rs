//! How much of some files or a stream is new: chunks (FastCDC) are looked up in an index on disk, and the new ones are put there.
//!
//! `cargo run --release -p springflash --example dedup -- --index chunks /srv/backup`; without a path it reads standard input, such as a
//! tar stream. Each run counts what earlier ones with the same index have seen as known.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Parser;
use fastcdc::v2020::StreamCDC;
use serde_json::{Value, json};
use springbloom_console::Step;
use springbloom_flash_index::{FlashError, FlashIndex, IndexMemory, IndexSettings, StreamLookup};

#[derive(Parser)]
struct Arguments {
    /// Files and folders; symbolic links are not followed
    paths: Vec<PathBuf>,
    /// Folder of the index; created if it is not there
    #[arg(long)]
    index: PathBuf,
    /// Average size of chunks in bytes
    #[arg(long, default_value_t = 8192)]
    chunk_bytes: usize,
    /// Append the lookups and writes of the index to a file, for `springbloom compare --trace`
    #[arg(long)]
    trace: Option<PathBuf>,
}

/// 160 bits of BLAKE3.
type Digest = [u8; 20];

/// Chunks that are looked up together.
const BATCH_CHUNKS: usize = 1024;
/// Parts of the index that are read ahead, 80 KiB each: what came together once comes together again.
const READAHEAD_WINDOWS: usize = 16;

struct Scan<'i> {
    index: &'i FlashIndex,
    seen: StreamLookup<'i>,
    trace: Box<dyn Write>,
    batch: Vec<(Digest, usize)>,
    bytes: usize,
    new_bytes: usize,
    chunks: usize,
    new_chunks: usize,
    /// Drawn on a terminal, if it takes long.
    step: Step,
}

impl<'i> Scan<'i> {
    fn new(index: &'i FlashIndex, trace: Box<dyn Write>) -> Self {
        let (seen, batch) = (index.stream(READAHEAD_WINDOWS), Vec::new());
        Scan {
            index,
            seen,
            trace,
            batch,
            bytes: 0,
            new_bytes: 0,
            chunks: 0,
            new_chunks: 0,
            step: Step::counting("chunks"),
        }
    }

    fn read(&mut self, source: impl Read, chunk_bytes: usize) -> Result<()> {
        for chunk in StreamCDC::new(source, chunk_bytes / 4, chunk_bytes, (chunk_bytes * 8).max(1024)) {
            let data = chunk?.data;
            let (digest, _) = blake3::hash(&data).as_bytes().split_first_chunk().map_or_else(
                || unreachable!("a digest has 32 bytes"),
                |(first, rest): (&Digest, _)| (*first, rest),
            );
            self.batch.push((digest, data.len()));
            if self.batch.len() == BATCH_CHUNKS {
                self.look_up()?;
            }
        }
        Ok(())
    }

    /// Looks the chunks of the batch up, and puts the new ones.
    fn look_up(&mut self) -> Result<()> {
        let keys: Vec<&[u8]> = self.batch.iter().map(|(digest, _)| &digest[..]).collect();
        let found = self.seen.get_many(&keys)?;
        let mut here = HashSet::new();
        let is_new =
            |((digest, _), value): &(&(Digest, usize), Option<_>)| value.is_none() && here.insert(*digest);
        let new: Vec<_> = self.batch.iter().zip(found).filter(is_new).map(|(chunk, _)| chunk).collect();
        let pairs: Vec<(&[u8], &[u8])> = new.iter().map(|(digest, _)| (&digest[..], &[][..])).collect();
        self.index.put_many(&pairs)?;
        let puts = new.iter().map(|(digest, _)| ("put", digest));
        for (kind, digest) in self.batch.iter().map(|(digest, _)| ("get", digest)).chain(puts) {
            let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(self.trace, "{kind},0x{digits}").context("cannot write the trace")?;
        }
        let bytes = |chunks: &mut dyn Iterator<Item = usize>| chunks.sum::<usize>();
        self.bytes += bytes(&mut self.batch.iter().map(|(_, bytes)| *bytes));
        self.new_bytes += bytes(&mut new.iter().map(|(_, bytes)| *bytes));
        self.chunks += self.batch.len();
        self.step.advance(self.batch.len() as u64);
        self.new_chunks += new.len();
        self.batch.clear();
        Ok(())
    }

    fn end(mut self) -> Result<Value> {
        self.look_up()?;
        self.trace.flush().context("cannot write the trace")?;
        self.index.commit()?;
        let stats = self.index.stats();
        Ok(json!({
            "bytes": self.bytes,
            "new_bytes": self.new_bytes,
            "chunks": self.chunks,
            "new_chunks": self.new_chunks,
            "reads_per_lookup": stats.reads_per_lookup(),
            "bucket_reads": stats.bucket_reads,
            "page_reads": stats.page_reads,
            "readahead_reads": stats.readahead_reads,
            "readahead_hits": stats.readahead_hits,
            "memory_bytes": self.index.info().memory_bytes,
        }))
    }
}

/// The files at and below `path`, in an order that is always the same.
fn add_files(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let kind = path.symlink_metadata()?.file_type();
    if kind.is_dir() {
        let mut below = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        below.sort();
        return below.iter().try_for_each(|path| add_files(path, files));
    }
    if kind.is_file() {
        files.push(path.to_owned());
    }
    Ok(())
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let (memory, folder) = (IndexMemory::standard(), &arguments.index);
    let index = match FlashIndex::create(folder, IndexSettings::new(0), memory) {
        Err(FlashError::NotEmpty { .. }) => FlashIndex::open(folder, memory)?,
        created => created?,
    };
    let trace: Box<dyn Write> = match &arguments.trace {
        Some(path) => Box::new(BufWriter::new(File::options().append(true).create(true).open(path)?)),
        None => Box::new(io::sink()),
    };
    let mut scan = Scan::new(&index, trace);
    let mut files = Vec::new();
    for path in &arguments.paths {
        add_files(path, &mut files).with_context(|| format!("cannot read {}", path.display()))?;
    }
    for path in &files {
        let read = File::open(path).map_err(Into::into);
        read.and_then(|file| scan.read(file, arguments.chunk_bytes))
            .with_context(|| format!("cannot read {}", path.display()))?;
    }
    if arguments.paths.is_empty() {
        scan.read(io::stdin().lock(), arguments.chunk_bytes)?;
    }
    println!("{}", scan.end()?);
    index.close()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_new_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let index = FlashIndex::create(folder.path(), IndexSettings::new(0), IndexMemory::standard());
        let index = index.expect("an index");
        let noise: Vec<u8> =
            (0..50_000u64).flat_map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
        let scan = |data: &[&[u8]]| {
            let mut scan = Scan::new(&index, Box::new(io::sink()));
            data.iter().try_for_each(|data| scan.read(*data, 1024)).expect("a scan");
            scan.end().expect("a scan")
        };
        let first = scan(&[&noise, &noise]);
        assert_eq!((&first["bytes"], &first["new_bytes"]), (&json!(800_000), &json!(400_000)));
        let more = [&noise, &b"more"[..]].concat();
        assert!(scan(&[&more])["new_bytes"].as_u64().is_some_and(|bytes| (4..20_000).contains(&bytes)));
    }
}
