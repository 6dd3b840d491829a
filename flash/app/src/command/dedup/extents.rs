//! The data of a file between its holes: the ranges that were never written, take no space, and read as zeros.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom as Position};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Hole {
        len_bytes: u64,
    },
    /// `len_bytes` from `offset` on. `None`: to the end of the file, as the file system tells no holes.
    Data {
        offset: u64,
        len_bytes: Option<u64>,
    },
}

/// The extents of an open file, in order. Each data extent must be read before the next one is asked for, or not at all.
pub(super) struct Extents<'f> {
    file: &'f File,
    at: u64,
    /// Data that follows the hole told last.
    data: Option<Extent>,
    is_over: bool,
}

impl<'f> Extents<'f> {
    /// From the present position of `file` on.
    pub(super) fn of(mut file: &'f File) -> io::Result<Extents<'f>> {
        Ok(Extents { at: file.stream_position()?, file, data: None, is_over: false })
    }

    fn next_extent(&mut self) -> io::Result<Option<Extent>> {
        if let Some(data) = self.data.take() {
            return Ok(Some(data));
        }
        if self.is_over {
            return Ok(None);
        }
        let start = match seek(self.file, SeekFrom::Data(self.at)) {
            Ok(start) => start,
            Err(Errno::NXIO) => {
                // No data behind here. A file without a length is read: some file systems tell none.
                self.is_over = true;
                return Ok(match self.file.metadata()?.len() {
                    0 => Some(Extent::Data { offset: 0, len_bytes: None }),
                    end if end > self.at => Some(Extent::Hole { len_bytes: end - self.at }),
                    _ => None,
                });
            }
            Err(_) => {
                self.is_over = true;
                return Ok(Some(Extent::Data { offset: self.at, len_bytes: None }));
            }
        };
        let end = seek(self.file, SeekFrom::Hole(start))?;
        let hole_bytes = start.saturating_sub(self.at);
        self.at = end;
        let data = Extent::Data { offset: start, len_bytes: Some(end.saturating_sub(start)) };
        if hole_bytes == 0 {
            return Ok(Some(data));
        }
        self.data = Some(data);
        Ok(Some(Extent::Hole { len_bytes: hole_bytes }))
    }
}

impl Iterator for Extents<'_> {
    type Item = io::Result<Extent>;

    fn next(&mut self) -> Option<io::Result<Extent>> {
        self.next_extent().transpose()
    }
}

/// A reader of the data from `offset` on.
pub(super) fn data_of(mut file: &File, offset: u64, len_bytes: Option<u64>) -> io::Result<impl Read + '_> {
    file.seek(Position::Start(offset))?;
    Ok(file.take(len_bytes.unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    fn extents(file: &File) -> Vec<Extent> {
        Extents::of(file).unwrap().collect::<io::Result<_>>().unwrap()
    }

    /// Whether the file system of temporary files tells holes.
    fn tells_holes(file: &File) -> bool {
        file.set_len(1 << 20).unwrap();
        let tells = extents(file) == [Extent::Hole { len_bytes: 1 << 20 }];
        file.set_len(0).unwrap();
        tells
    }

    #[test]
    fn holes_and_data_alternate_and_make_up_the_file() {
        let file = tempfile::tempfile().unwrap();
        assert!(tells_holes(&file), "the file system for temporary files has no holes");
        assert_eq!(extents(&file), [Extent::Data { offset: 0, len_bytes: None }]);
        const MIB: u64 = 1 << 20;
        file.write_all_at(&[1; 4096], MIB).unwrap();
        file.write_all_at(&[2; 4096], 3 * MIB).unwrap();
        file.set_len(100 << 30).unwrap();
        let found = extents(&file);
        let lens = found.iter().map(|extent| match extent {
            Extent::Hole { len_bytes } => *len_bytes,
            Extent::Data { len_bytes, .. } => len_bytes.unwrap(),
        });
        assert_eq!(lens.sum::<u64>(), 100 << 30, "{found:?}");
        let data: Vec<_> = found.iter().filter(|extent| matches!(extent, Extent::Data { .. })).collect();
        assert_eq!(data.len(), 2, "{found:?}");
        assert_eq!(found.len(), 5, "hole, data, hole, data, hole: {found:?}");
    }

    #[test]
    fn a_file_is_read_from_where_it_stands() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all_at(&[1; 10_000], 0).unwrap();
        file.seek(Position::Start(9000)).unwrap();
        let first = extents(&file)[0];
        assert_eq!(first, Extent::Data { offset: 9000, len_bytes: Some(1000) });
        let mut read = Vec::new();
        data_of(&file, 9000, Some(1000)).unwrap().read_to_end(&mut read).unwrap();
        assert_eq!(read, [1; 1000]);
    }
}
