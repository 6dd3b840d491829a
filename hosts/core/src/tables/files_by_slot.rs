//! The files of the tables that readers have open, by the tables' slots.

use parking_lot::Mutex;

use crate::engine::OpenFile;

/// One place in this many is to spare when places are added.
const SPARE: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct FilesBySlot(Mutex<Places>);

#[derive(Debug, Default)]
struct Places {
    /// By slot: of the reader that opened the table first.
    first: Vec<Option<OpenFile>>,
    /// Of further readers of a table: few tables have any.
    further: Vec<(u32, OpenFile)>,
}

impl FilesBySlot {
    /// Of a known table, whether it is open or not.
    pub(crate) const TABLE_BYTES: usize = (size_of::<Option<OpenFile>>() * (SPARE + 1)).div_ceil(SPARE);

    /// A reader opened the table in this slot.
    pub(crate) fn add(&self, slot: u32, file: OpenFile) {
        let Places { first, further } = &mut *self.0.lock();
        let places = slot as usize + 1;
        if first.len() < places {
            if first.capacity() < places {
                first.reserve_exact(places + places / SPARE - first.len());
            }
            first.resize_with(places, || None);
        }
        match &mut first[slot as usize] {
            place @ None => *place = Some(file),
            Some(_) => further.push((slot, file)),
        }
    }

    /// A reader is closed: the one that opened the table before the others. Gives its share back, which is to be dropped without a lock.
    pub(crate) fn remove(&self, slot: u32) -> Option<OpenFile> {
        let Places { first, further } = &mut *self.0.lock();
        let next = further.iter().position(|(of, _)| *of == slot).map(|at| further.remove(at).1);
        std::mem::replace(first.get_mut(slot as usize)?, next)
    }

    /// A share in the file as some reader has it open: no descriptor need be free, and the file may have lost its name.
    pub(crate) fn of(&self, slot: u32) -> Option<OpenFile> {
        self.0.lock().first.get(slot as usize)?.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, atomic::Ordering};

    use super::*;
    use crate::engine::{
        OwnedHead,
        test_engine::{LentFile, lent},
    };

    #[test]
    fn a_table_has_a_file_open_as_long_as_a_reader_has_it() {
        let file = || {
            let head = OwnedHead { bytes: Vec::new(), block_offset: 0, session: Vec::new() };
            LentFile::new(head, || 4)
        };
        let (files, open) = ([file(), file(), file()], FilesBySlot::default());
        let shares = || files.each_ref().map(|file: &Arc<LentFile>| file.shares.load(Ordering::SeqCst));
        for (slot, file) in [(5, 0), (5, 1), (2, 2)] {
            open.add(slot, lent(&files[file]));
        }
        assert_eq!(shares(), [1, 1, 1]);
        let read = [5, 2, 0, 9].map(|slot| open.of(slot));
        assert_eq!((shares(), read.each_ref().map(Option::is_some)), ([2, 1, 2], [true, true, false, false]));
        drop((open.remove(5), read));
        assert_eq!((shares(), open.of(5).is_some()), ([0, 1, 1], true));
        drop((open.remove(5), open.remove(2)));
        assert_eq!((shares(), open.of(5).is_some(), open.remove(7).is_some()), ([0, 0, 0], false, false));
    }
}
