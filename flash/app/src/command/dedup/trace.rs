//! The lookups and writes of a scan, as a trace that `compare` and `simulate` replay.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use springbloom_console::bad_input;

use super::chunks::{Chunk, DIGEST_BYTES};
use super::known::Standing;

/// A file of operations, a line each.
pub(super) struct LookupTrace {
    path: PathBuf,
    out: BufWriter<File>,
}

impl LookupTrace {
    /// Opens the file at `path`, behind what is there.
    pub(super) fn append_to(path: &Path) -> Result<Self> {
        let file = File::options().append(true).create(true).open(path);
        let file =
            file.map_err(|error| bad_input(format!("--trace: cannot write {}: {error}", path.display())))?;
        if ends_within_a_line(path).with_context(|| format!("cannot read {}", path.display()))? {
            return Err(bad_input(format!(
                "--trace: {} ends within a line, as an earlier scan could not write the rest: remove the line, or name another file",
                path.display()
            )));
        }
        Ok(LookupTrace { path: path.to_owned(), out: BufWriter::new(file) })
    }

    /// Adds a batch in the order of its calls: all of its chunks are looked up, then the new ones are put.
    pub(super) fn add(&mut self, chunks: &[Chunk], standings: &[Standing]) -> Result<()> {
        let new = chunks.iter().zip(standings).filter(|(_, standing)| **standing == Standing::New);
        let puts = new.map(|(chunk, _)| ("put", chunk));
        let mut operations = chunks.iter().map(|chunk| ("get", chunk)).chain(puts);
        let written = operations.try_for_each(|(kind, chunk)| write_line(&mut self.out, kind, &chunk.digest));
        written.with_context(|| self.failed())
    }

    /// Writes what is buffered.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.out.flush().with_context(|| self.failed())
    }

    fn failed(&self) -> String {
        format!("cannot write {}", self.path.display())
    }
}

/// Whether a file, of which a part is read, has something behind its last line end.
fn ends_within_a_line(path: &Path) -> io::Result<bool> {
    let is_file = path.metadata()?.is_file();
    let mut file = if is_file { File::open(path)? } else { return Ok(false) };
    let mut last = [0];
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

fn write_line(out: &mut impl Write, kind: &str, digest: &[u8; DIGEST_BYTES]) -> io::Result<()> {
    write!(out, "{kind},0x")?;
    digest.iter().try_for_each(|byte| write!(out, "{byte:02x}"))?;
    writeln!(out)
}
