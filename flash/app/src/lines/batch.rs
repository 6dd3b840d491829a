//! Batches of lines, bounded in lines and in bytes.

use super::reader::{LineReader, place};
use super::taken::Stopped;

/// Lines processed together: enough to keep a device busy, few enough to show progress.
pub(crate) const BATCH_LINES: usize = 8192;
/// A batch ends with the line that reaches this.
const BATCH_BYTES: usize = 4 << 20;

/// A batch of lines, without their ends.
#[derive(Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The name of the input, and the number of the first line in it.
    name: String,
    first: u64,
}

impl Batch {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The n-th line.
    pub(crate) fn line(&self, n: usize) -> &[u8] {
        let start = n.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[n]]
    }

    /// Where the n-th line was.
    pub(crate) fn place(&self, n: usize) -> String {
        place(&self.name, self.first + n as u64)
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|n| self.line(n))
    }

    /// Replaces the contents by the next lines, at most `lines_max`, up to one that `check` finds unusable. Returns whether there may be
    /// more.
    pub(super) fn fill(
        &mut self,
        input: &mut LineReader<'_>,
        lines_max: usize,
        check: &dyn Fn(&[u8]) -> Result<(), String>,
    ) -> Result<bool, Stopped> {
        self.bytes.clear();
        self.ends.clear();
        input.name.clone_into(&mut self.name);
        self.first = input.number + 1;
        while self.len() < lines_max && self.bytes.len() < BATCH_BYTES {
            let start = self.bytes.len();
            if !input.next_line(&mut self.bytes)? {
                return Ok(false);
            }
            check(&self.bytes[start..])
                .map_err(|wrong| Stopped::BadLine(format!("{}: {wrong}", self.place(self.len()))))?;
            self.ends.push(self.bytes.len());
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Cursor};

    use super::super::reader::LINE_BYTES_MAX;
    use super::*;

    fn reader(input: &[u8], separator: u8) -> LineReader<'_> {
        LineReader::new(Box::new(Cursor::new(input)), "keys", separator)
    }

    fn is_usable(line: &[u8]) -> Result<(), String> {
        if line == b"bad" { Err("it is bad".to_owned()) } else { Ok(()) }
    }

    #[test]
    fn lines_are_cut_at_separators_and_the_last_one_needs_none() {
        for (input, separator, expected) in [
            (&b"a\n\nbc\n"[..], b'\n', vec![&b"a"[..], b"", b"bc"]),
            (b"a\nb", b'\n', vec![b"a", b"b"]),
            (b"a\nb\0c\0", 0, vec![b"a\nb", b"c"]),
            (b"a\r\n\r\nb\r\r\nc\rd\r", b'\n', vec![b"a", b"", b"b\r", b"c\rd\r"]),
            (b"a\r\0", 0, vec![b"a\r"]),
            (b"", b'\n', vec![]),
        ] {
            let mut batch = Batch::default();
            let filled = batch.fill(&mut reader(input, separator), BATCH_LINES, &is_usable);
            assert!(matches!(filled, Ok(false)), "{filled:?}");
            assert_eq!(batch.lines().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_bad_line_ends_the_batch_before_it() {
        let mut input = reader(b"a\nb\nc\nbad\nd\n", b'\n');
        let mut batch = Batch::default();
        assert!(matches!(batch.fill(&mut input, 2, &is_usable), Ok(true)));
        let filled = batch.fill(&mut input, 2, &is_usable);
        let Err(Stopped::BadLine(line)) = filled else { panic!("{filled:?}") };
        assert_eq!(line, "keys, line 4: it is bad");
        assert_eq!(batch.lines().collect::<Vec<_>>(), [b"c"]);
        assert_eq!(batch.place(0), "keys, line 3");
    }

    #[test]
    fn long_inputs_come_in_batches_of_lines_and_of_bytes() {
        let sizes = |line_bytes: usize, lines: usize| {
            let input = [vec![b'x'; line_bytes], b"\n".to_vec()].concat().repeat(lines);
            let mut reader = reader(&input, b'\n');
            let (mut batch, mut sizes) = (Batch::default(), Vec::new());
            while let Ok(true) = batch.fill(&mut reader, BATCH_LINES, &is_usable) {
                sizes.push(batch.len());
            }
            sizes.push(batch.len());
            sizes
        };
        assert_eq!(sizes(4, BATCH_LINES * 2 + 5), [BATCH_LINES, BATCH_LINES, 5]);
        assert_eq!(sizes(256 << 10, 40), [16, 16, 8]);
        assert_eq!(sizes(LINE_BYTES_MAX, 5), [4, 1]);
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let mut batch = Batch::default();
        let mut input = LineReader::new(Box::new(io::BufReader::new(io::repeat(b'x'))), "keys", b'\n');
        assert!(batch.fill(&mut input, BATCH_LINES, &is_usable).is_err());
        assert!(batch.bytes.capacity() <= 2 * LINE_BYTES_MAX + 4, "{}", batch.bytes.capacity());
    }
}
