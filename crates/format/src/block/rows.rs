//! The rows of a table that is being written: in memory, and in a file if they are long.

use std::io::{self, Write};

use crate::checksum::{CHECKSUM_BYTES, Covers, checksum};

/// A file that takes finished units, so that memory need not hold them. It is only appended to, and then read.
pub trait SpillFile {
    /// Adds bytes at the end. After an error, nothing more is added.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Fills `into` with what was added from `offset` on.
    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()>;
}

/// How much of a spill file is read at a time.
const READ_BYTES: usize = 256 << 10;

/// The stored form of the units of all closed segments.
pub(super) struct Rows {
    /// The end of each row: the segments that were closed last.
    ends: Vec<Vec<u8>>,
    spill: Option<Spill>,
}

/// What is before the ends.
struct Spill {
    file: Box<dyn SpillFile + Send>,
    /// From so many bytes on, the ends are moved to the file.
    window_bytes: usize,
    windows: Vec<Window>,
    is_failed: bool,
}

/// A part of each row, one after the other in the file.
struct Window {
    offset: u64,
    /// Of each part: all rows are equally long.
    part_bytes: usize,
}

impl Rows {
    pub(super) fn new(unit_count: u8) -> Self {
        Self { ends: vec![Vec::new(); usize::from(unit_count)], spill: None }
    }

    pub(super) fn spill_to(&mut self, file: Box<dyn SpillFile + Send>, window_bytes: usize) {
        self.spill = Some(Spill { file, window_bytes, windows: Vec::new(), is_failed: false });
    }

    /// Adds the units of a segment.
    pub(super) fn add(&mut self, units: &[Vec<u8>], identity: u32, segment: u32) {
        for (row, (unit, bytes)) in self.ends.iter_mut().zip((0..).zip(units)) {
            row.reserve(bytes.len() + CHECKSUM_BYTES);
            row.extend_from_slice(bytes);
            let covers = Covers::Unit { identity, segment, unit };
            row.extend_from_slice(&checksum(covers, bytes).to_le_bytes());
        }
        if let Some(spill) = &mut self.spill {
            spill.take_if_long(&mut self.ends);
        }
    }

    pub(super) fn is_spilled(&self) -> bool {
        self.windows().next().is_some()
    }

    /// Bytes of all rows, wherever they are.
    pub(super) fn total_bytes(&self) -> u64 {
        let spilled: u64 = self.windows().map(|window| window.part_bytes as u64).sum();
        let in_memory: usize = self.ends.iter().map(Vec::len).sum();
        spilled * self.ends.len() as u64 + in_memory as u64
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let windows = self.spill.as_ref().map_or(0, |spill| spill.windows.capacity() * size_of::<Window>());
        self.ends.iter().map(Vec::capacity).sum::<usize>() + windows
    }

    pub(super) fn unit_count(&self) -> u8 {
        self.ends.len() as u8
    }

    /// Errors: the spill file cannot be read, or `out` cannot be written.
    pub(super) fn write_row(&mut self, unit: u8, out: &mut dyn Write) -> io::Result<()> {
        let unit = usize::from(unit);
        if let Some(spill) = &mut self.spill {
            spill.write_row(unit, out)?;
        }
        out.write_all(&self.ends[unit])
    }

    /// Frees the memory of a row, which is not written again.
    pub(super) fn forget_row(&mut self, unit: u8) {
        self.ends[usize::from(unit)] = Vec::new();
    }

    fn windows(&self) -> std::slice::Iter<'_, Window> {
        self.spill.as_ref().map_or([].iter(), |spill| spill.windows.iter())
    }
}

impl Spill {
    /// What a failed file has already is still read; what follows stays in memory.
    fn take_if_long(&mut self, ends: &mut [Vec<u8>]) {
        let bytes: usize = ends.iter().map(Vec::len).sum();
        if bytes < self.window_bytes || self.is_failed {
            return;
        }
        self.is_failed = ends.iter().any(|end| self.file.append(end).is_err());
        if !self.is_failed {
            self.windows
                .push(Window { offset: self.end(ends.len()), part_bytes: ends.first().map_or(0, Vec::len) });
            ends.iter_mut().for_each(Vec::clear);
        }
    }

    /// End of what the file has.
    fn end(&self, unit_count: usize) -> u64 {
        self.windows.last().map_or(0, |window| window.offset + window.part_bytes as u64 * unit_count as u64)
    }

    fn write_row(&mut self, unit: usize, out: &mut dyn Write) -> io::Result<()> {
        let mut buffer = Vec::new();
        for &Window { offset, part_bytes } in &self.windows {
            let begin = offset + (unit * part_bytes) as u64;
            for at in (0..part_bytes).step_by(READ_BYTES) {
                buffer.resize(READ_BYTES.min(part_bytes - at), 0);
                self.file.read(begin + at as u64, &mut buffer)?;
                out.write_all(&buffer)?;
            }
        }
        Ok(())
    }
}
