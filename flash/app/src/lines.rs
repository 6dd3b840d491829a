//! Lines of input, one key each, and lines of output.

mod batch;
mod reader;
mod taken;
mod writer;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use springbloom_console::Step;

use reader::LineReader;
use taken::Stopped;

pub(crate) use batch::{BATCH_LINES, Batch};
pub(crate) use taken::{Taken, before_it};
pub(crate) use writer::LineWriter;

/// The name of standard input.
const STDIN: &str = "-";
const BUFFER_BYTES: usize = 1 << 16;

/// Input of lines
#[derive(Args, Debug)]
pub(crate) struct LineOptions {
    /// Files with lines of up to 1 MiB; `-` is standard input [default: standard input]
    files: Vec<PathBuf>,
    /// Lines end with NUL instead of newline, on input and output. (A carriage return before a newline is not part of the key;
    /// before NUL it is.)
    #[arg(short = '0', long)]
    null: bool,
}

/// How a command reads its lines.
pub(crate) struct Reading<'c> {
    /// Maximum number of lines in a batch.
    pub(crate) batch_lines: usize,
    /// Returns an error for a bad line.
    pub(crate) check: &'c dyn Fn(&[u8]) -> Result<(), String>,
    /// Whether the command prints lines meanwhile.
    pub(crate) prints: bool,
}

impl LineOptions {
    /// Hands all lines to `visit` in batches, each bounded in lines and in bytes, until it breaks or a line cannot be used.
    ///
    /// # Errors
    /// A file that is missing, before any line is taken; errors of `visit`. Other faults of the input are in [`Taken`], so that the caller
    /// can make the lines before them durable.
    pub(crate) fn each_batch(
        &self,
        reading: &Reading<'_>,
        visit: &mut dyn FnMut(&Batch) -> Result<ControlFlow<()>>,
    ) -> Result<Taken> {
        let standard_input = [PathBuf::from(STDIN)];
        let files = if self.files.is_empty() { &standard_input[..] } else { &self.files };
        files.iter().try_for_each(|path| require_file(path))?;
        let step = self.step(reading);
        let (mut lines, mut batch) = (0, Batch::default());
        for path in files {
            let name = if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() };
            let mut input = match open(path) {
                Ok(input) => LineReader::new(input, &name, self.separator()),
                Err(error) => {
                    return Ok(Taken { lines, stopped: Some(Stopped::Unreadable(name, error)) });
                }
            };
            loop {
                let filled = batch.fill(&mut input, reading.batch_lines, reading.check);
                lines += batch.len() as u64;
                if batch.len() > 0 && visit(&batch)?.is_break() {
                    return Ok(Taken { lines, stopped: None });
                }
                step.advance(batch.len() as u64);
                match filled {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(stopped) => return Ok(Taken { lines, stopped: Some(stopped) }),
                }
            }
        }
        Ok(Taken { lines, stopped: None })
    }

    /// The output for lines.
    pub(crate) fn output(&self) -> LineWriter {
        LineWriter::new(self.separator())
    }

    fn separator(&self) -> u8 {
        if self.null { 0 } else { b'\n' }
    }

    /// No progress is drawn where a person types or reads lines.
    fn step(&self, reading: &Reading<'_>) -> Step {
        let reads_stdin = self.files.is_empty() || self.files.iter().any(|path| is_stdin(path));
        let is_typed = reads_stdin && io::stdin().is_terminal();
        let is_read = reading.prints && io::stdout().is_terminal();
        if is_typed || is_read { Step::hidden() } else { Step::counting("lines") }
    }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new(STDIN)
}

/// Reports a missing file before any line is read.
fn require_file(path: &Path) -> Result<()> {
    if !is_stdin(path) {
        let cannot_read = || format!("cannot read {}", path.display());
        let metadata = fs::metadata(path).with_context(cannot_read)?;
        let is_folder = metadata.is_dir().then(|| io::Error::from(io::ErrorKind::IsADirectory));
        is_folder.map_or(Ok(()), Err).with_context(cannot_read)?;
    }
    Ok(())
}

fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    Ok(if is_stdin(path) {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, io::stdin().lock()))
    } else {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, File::open(path)?))
    })
}
