//! Keys from standard input or files, in batches, and keys to standard output.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, StdoutLock, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use springbloom_filter::KeyDigest;

use crate::failure::bad_input;

/// Keys that are looked up or inserted together: enough to keep a device busy, few enough to see progress.
pub(super) const BATCH_KEYS: usize = 8192;

/// Where keys come from
#[derive(Args, Debug)]
pub(crate) struct KeyOptions {
    /// Files with keys, `-` for standard input; standard input if none is given
    files: Vec<PathBuf>,
    /// Keys are separated by NUL instead of newline, on input and on output
    #[arg(short = '0', long)]
    null: bool,
}

impl KeyOptions {
    fn separator(&self) -> u8 {
        if self.null { 0 } else { b'\n' }
    }

    /// Reads all keys and hands them to `visit` in batches, with a counter on standard error when it is a terminal.
    pub(crate) fn each_batch(&self, visit: &mut dyn FnMut(&Batch) -> Result<()>) -> Result<()> {
        self.each_batch_of(BATCH_KEYS, visit)
    }

    /// The same in batches of `batch_keys`.
    pub(super) fn each_batch_of(
        &self,
        batch_keys: usize,
        visit: &mut dyn FnMut(&Batch) -> Result<()>,
    ) -> Result<()> {
        let mut reader = Reader { separator: self.separator(), batch_keys, counter: counter(), visit };
        let stdin = PathBuf::from("-");
        let files = if self.files.is_empty() { std::slice::from_ref(&stdin) } else { &self.files };
        for path in files {
            if *path == stdin {
                reader.read(&mut io::stdin().lock(), "standard input")?;
                continue;
            }
            let name = path.display().to_string();
            let file = File::open(path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => bad_input(format!("cannot open {name}: {error}")),
                _ => anyhow::Error::from(error).context(format!("cannot open {name}")),
            })?;
            reader.read(&mut BufReader::with_capacity(1 << 16, file), &name)?;
        }
        Ok(())
    }

    /// Where keys are printed.
    pub(crate) fn output(&self) -> KeyWriter {
        KeyWriter { out: BufWriter::new(io::stdout().lock()), separator: self.separator(), printed: 0 }
    }
}

struct Reader<'a> {
    separator: u8,
    batch_keys: usize,
    counter: ProgressBar,
    visit: &'a mut dyn FnMut(&Batch) -> Result<()>,
}

impl Reader<'_> {
    fn read(&mut self, input: &mut dyn BufRead, name: &str) -> Result<()> {
        let mut batch = Batch::default();
        loop {
            let has_more = batch
                .fill(input, self.separator, self.batch_keys)
                .with_context(|| format!("cannot read {name}"))?;
            if !batch.digests.is_empty() {
                (self.visit)(&batch)?;
                self.counter.inc(batch.digests.len() as u64);
            }
            if !has_more {
                return Ok(());
            }
        }
    }
}

fn counter() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    let style = ProgressStyle::with_template("{spinner} {human_pos} keys, {per_sec}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}

/// Some keys and their digests.
#[derive(Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Digest of each key.
    pub(crate) digests: Vec<KeyDigest>,
}

impl Batch {
    /// Replaces the contents by the next keys; `false` when the input has ended. A last key needs no separator.
    fn fill(&mut self, input: &mut dyn BufRead, separator: u8, batch_keys: usize) -> io::Result<bool> {
        self.bytes.clear();
        self.ends.clear();
        self.digests.clear();
        while self.digests.len() < batch_keys {
            let start = self.bytes.len();
            if input.read_until(separator, &mut self.bytes)? == 0 {
                return Ok(false);
            }
            if self.bytes.last() == Some(&separator) {
                self.bytes.pop();
            }
            self.ends.push(self.bytes.len());
            self.digests.push(KeyDigest::of(&self.bytes[start..]));
        }
        Ok(true)
    }

    /// The n-th key.
    pub(crate) fn key(&self, n: usize) -> &[u8] {
        let start = n.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[n]]
    }
}

/// Prints keys as they were read.
pub(crate) struct KeyWriter {
    out: BufWriter<StdoutLock<'static>>,
    separator: u8,
    printed: u64,
}

impl KeyWriter {
    pub(crate) fn print(&mut self, key: &[u8]) -> Result<()> {
        self.printed += 1;
        self.out.write_all(key).and_then(|()| self.out.write_all(&[self.separator])).context("cannot print")
    }

    /// Keys printed.
    pub(crate) fn printed(&self) -> u64 {
        self.printed
    }

    /// Prints the number of keys that were selected; like `grep -zc`, as a line whatever separates keys.
    pub(crate) fn print_count(&mut self, count: u64) -> Result<()> {
        writeln!(self.out, "{count}").context("cannot print")
    }

    /// Hands everything to whoever reads the output.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.out.flush().context("cannot print")
    }
}

/// Whether `error` says that nobody reads the output any more, as after `| head`.
pub(crate) fn is_closed_output(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    kinds.into_iter().any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_cut_at_separators_and_the_last_one_needs_none() {
        for (input, separator, expected) in [
            (&b"a\n\nbc\n"[..], b'\n', vec![&b"a"[..], b"", b"bc"]),
            (b"a\nb", b'\n', vec![b"a", b"b"]),
            (b"a\nb\0c\0", 0, vec![b"a\nb", b"c"]),
            (b"", b'\n', vec![]),
        ] {
            let mut batch = Batch::default();
            assert!(!batch.fill(&mut &input[..], separator, BATCH_KEYS).unwrap());
            let keys: Vec<&[u8]> = (0..batch.digests.len()).map(|n| batch.key(n)).collect();
            assert_eq!(keys, expected);
            assert!(keys.iter().zip(&batch.digests).all(|(key, digest)| KeyDigest::of(key) == *digest));
        }
    }

    #[test]
    fn long_inputs_come_in_batches() {
        let input: Vec<u8> = (0..BATCH_KEYS * 2 + 5).flat_map(|n| format!("{n}\n").into_bytes()).collect();
        let mut reader = &input[..];
        let mut batch = Batch::default();
        let mut sizes = Vec::new();
        while batch.fill(&mut reader, b'\n', BATCH_KEYS).unwrap() {
            sizes.push(batch.digests.len());
        }
        sizes.push(batch.digests.len());
        assert_eq!(sizes, [BATCH_KEYS, BATCH_KEYS, 5]);
        assert_eq!(batch.key(4), format!("{}", BATCH_KEYS * 2 + 4).as_bytes());
    }
}
