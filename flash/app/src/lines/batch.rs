//! Batches of lines, bounded in lines and in bytes.

use std::io;

use super::bad::{BadLine, BadLines};
use super::reader::{LINE_BYTES_MAX, LineReader, Next, place};

/// Lines processed together: enough to keep a device busy, few enough to show progress.
pub(crate) const BATCH_LINES: usize = 8192;
/// A batch ends with the line that reaches this.
const BATCH_BYTES: usize = 4 << 20;

/// How a batch ended.
#[derive(Debug)]
pub(super) enum Filled {
    /// It is full, and there may be more.
    Full,
    /// With the input.
    End,
    /// Before a line at which the command stops.
    Stopped(BadLine),
    /// Before something that cannot be read.
    Unreadable(io::Error),
}

/// A batch of lines, without their ends.
#[derive(Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The name of the input, and the number of each line in it.
    name: String,
    numbers: Vec<u64>,
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
        place(&self.name, self.numbers[n])
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|n| self.line(n))
    }

    /// Replaces the contents by the next lines that `check` finds usable, at most `lines_max`.
    pub(super) fn fill(
        &mut self,
        input: &mut LineReader<'_>,
        lines_max: usize,
        check: &dyn Fn(&[u8]) -> Result<(), String>,
        bad: &mut BadLines,
    ) -> Filled {
        self.bytes.clear();
        self.ends.clear();
        self.numbers.clear();
        input.name().clone_into(&mut self.name);
        while self.len() < lines_max && self.bytes.len() < BATCH_BYTES {
            let start = self.bytes.len();
            let next = input.next_line(&mut self.bytes);
            let checked = match next {
                Ok(Next::Line) => check(&self.bytes[start..]),
                Ok(Next::TooLong) => Err(format!("the line is longer than {LINE_BYTES_MAX} bytes")),
                Ok(Next::End) => return Filled::End,
                Err(error) => return Filled::Unreadable(error),
            };
            match checked {
                Ok(()) => {
                    self.ends.push(self.bytes.len());
                    self.numbers.push(input.number());
                }
                Err(wrong) => {
                    self.bytes.truncate(start);
                    if let Some(stop) =
                        bad.meet(BadLine { place: place(input.name(), input.number()), wrong })
                    {
                        return Filled::Stopped(stop);
                    }
                }
            }
        }
        Filled::Full
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::super::bad::OnBadLine;
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
            let (mut batch, mut bad) = (Batch::default(), BadLines::new(OnBadLine::Stop));
            let filled = batch.fill(&mut reader(input, separator), BATCH_LINES, &is_usable, &mut bad);
            assert!(matches!(filled, Filled::End), "{filled:?}");
            assert_eq!(batch.lines().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_bad_line_ends_the_batch_before_it_or_is_left_out() {
        let input = b"a\nb\nbad\nc\nbad\n";
        let (mut batch, mut bad) = (Batch::default(), BadLines::new(OnBadLine::Stop));
        let filled = batch.fill(&mut reader(input, b'\n'), BATCH_LINES, &is_usable, &mut bad);
        let Filled::Stopped(line) = filled else { panic!("{filled:?}") };
        assert_eq!((line.place.as_str(), line.wrong.as_str()), ("keys, line 3", "it is bad"));
        assert_eq!(batch.lines().collect::<Vec<_>>(), [b"a", b"b"]);
        let mut bad = BadLines::new(OnBadLine::Skip);
        let filled = batch.fill(&mut reader(input, b'\n'), BATCH_LINES, &is_usable, &mut bad);
        assert!(matches!(filled, Filled::End));
        assert_eq!(super::super::Taken::new(3, &bad).end("taken").unwrap(), 2);
        assert_eq!(batch.lines().collect::<Vec<_>>(), [b"a", b"b", b"c"]);
        assert_eq!([0, 2].map(|n| batch.place(n)), ["keys, line 1", "keys, line 4"]);
    }

    #[test]
    fn long_inputs_come_in_batches_of_lines_and_of_bytes() {
        let sizes = |line_bytes: usize, lines: usize| {
            let input = [vec![b'x'; line_bytes], b"\n".to_vec()].concat().repeat(lines);
            let mut reader = reader(&input, b'\n');
            let (mut batch, mut bad) = (Batch::default(), BadLines::new(OnBadLine::Stop));
            let mut sizes = Vec::new();
            while let Filled::Full = batch.fill(&mut reader, BATCH_LINES, &is_usable, &mut bad) {
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
        let (mut batch, mut bad) = (Batch::default(), BadLines::new(OnBadLine::Stop));
        let endless = Box::new(io::BufReader::new(io::repeat(b'x')));
        let mut input = LineReader::new(endless, "keys", b'\n');
        assert!(matches!(batch.fill(&mut input, BATCH_LINES, &is_usable, &mut bad), Filled::Stopped(_)));
        // Left out, it is read to its end and the lines behind it are taken.
        let input = [&vec![b'x'; 3 * LINE_BYTES_MAX][..], b"\nnext"].concat();
        let mut bad = BadLines::new(OnBadLine::Skip);
        assert!(matches!(
            batch.fill(&mut reader(&input, b'\n'), BATCH_LINES, &is_usable, &mut bad),
            Filled::End
        ));
        assert_eq!(batch.lines().collect::<Vec<_>>(), [b"next"]);
        assert!(batch.bytes.capacity() <= 2 * LINE_BYTES_MAX + 4, "{}", batch.bytes.capacity());
    }
}
