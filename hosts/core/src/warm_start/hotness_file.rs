//! The hotness file of a folder of tables. It is read as a whole and replaced as a whole.
//!
//! A new file is written next to the old one and renamed, and a small one is overwritten: the end of the process leaves the old or the new
//! one. It is not synced: a power loss may leave neither. Then its checksum is wrong, and the next start is cold. The file is accessed
//! through the operating system, whatever file system the engine has. A database that lies elsewhere has no such folder, and starts cold.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use parking_lot::{Condvar, Mutex};
use springbloom_format::{StoredHotness, StoredSegment};
use springbloom_manager::{Hotness, SegmentUse};

use crate::{engine::Engine, error::Error};

/// Enough for 5 million segments, which is more than one machine serves.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The end of the process does not cut a write within a page.
const OVERWRITTEN_BYTES_MAX: usize = 4096;

/// A segment as a hotness file has it.
pub(crate) fn to_stored(segment: SegmentUse) -> StoredSegment {
    let Hotness { access_count, negatives, wasted_reads } = segment.hotness;
    StoredSegment { access_count, negatives, wasted_reads, units: segment.units }
}

/// A segment of a hotness file.
pub fn from_stored(segment: StoredSegment) -> SegmentUse {
    let StoredSegment { access_count, negatives, wasted_reads, units } = segment;
    SegmentUse { hotness: Hotness { access_count, negatives, wasted_reads }, units }
}

/// Reads the folder's file. `None` if there is none. Errors on one that cannot be used.
pub fn read(engine: &Engine, folder: &Path) -> Result<Option<StoredHotness>, Error> {
    let path = folder.join(engine.hotness_file.text());
    match bytes_of(&path).map(|bytes| StoredHotness::decode(&bytes)) {
        Ok(Ok(stored)) => Ok(Some(stored)),
        Ok(Err(error)) => Err(Error::Table { path, message: error.to_string() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Io { path, source }),
    }
}

fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    let metadata = fs::metadata(path)?;
    // Opening a pipe would wait for its writer.
    if !metadata.is_file() {
        return refused("it is not a regular file".to_owned());
    }
    if metadata.len() > FILE_BYTES_MAX {
        return refused(format!("it has {} bytes, expected {FILE_BYTES_MAX} at most", metadata.len()));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Replaces the folder's file. Makes no folder, and no file in one without a database. Only the process with the database's lock may call
/// it: two processes would write the same file.
pub(crate) fn replace(engine: &Engine, folder: &Path, hotness: &StoredHotness) -> io::Result<()> {
    let (current, bytes) = (folder.join(engine.hotness_file.text()), hotness.encode());
    let _writer = Writer::of(folder);
    if overwrite(&current, &bytes) || !folder.join(engine.database_file.text()).exists() {
        return Ok(());
    }
    let new = folder.join(engine.hotness_file_new.text());
    // A new file: never a killed process's remains, nor a link to elsewhere.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => (),
    }
    let mut file = File::create_new(&new)?;
    file.write_all(&bytes)?;
    fs::rename(&new, current)
}

/// Overwrites a small file where that is as safe as a new one. To make a file and to free one takes ext4 50 times as long, which is what
/// most databases take to close. `false` if there is to be a new one.
fn overwrite(path: &Path, bytes: &[u8]) -> bool {
    let Ok(old) = fs::symlink_metadata(path) else { return false };
    // Not through a link, nor a file that a copy of the folder shares. A longer one would have to be cut, too.
    let is_safe = old.is_file() && old.nlink() == 1 && old.len() <= bytes.len() as u64;
    is_safe
        && bytes.len() <= OVERWRITTEN_BYTES_MAX
        && OpenOptions::new().write(true).open(path).is_ok_and(|mut file| file.write_all(bytes).is_ok())
}

/// Folders that are being written to, and whether one is no longer.
static WRITTEN: (Mutex<BTreeSet<PathBuf>>, Condvar) = (Mutex::new(BTreeSet::new()), Condvar::new());

/// The only one in this process that writes to a folder: two openings of its database may save at the same time, and the new file has one
/// name. Others write to other folders meanwhile.
struct Writer<'f>(&'f Path);

impl<'f> Writer<'f> {
    fn of(folder: &'f Path) -> Self {
        let (written, is_over) = &WRITTEN;
        let mut written = written.lock();
        is_over.wait_while(&mut written, |written| written.contains(folder));
        written.insert(folder.to_owned());
        Self(folder)
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        let (written, is_over) = &WRITTEN;
        written.lock().remove(self.0);
        is_over.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, process::Command};

    use springbloom_format::StoredTable;

    use super::*;
    use crate::engine::test_engine::TEST_ENGINE;

    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let made = Command::new("mkfifo")
            .arg(folder.path().join(TEST_ENGINE.hotness_file.text()))
            .status()
            .expect("mkfifo runs");
        assert!(made.success());
        assert!(matches!(read(&TEST_ENGINE, folder.path()), Err(Error::Io { .. })));
    }

    #[test]
    fn a_file_that_is_too_long_is_not_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = File::create(folder.path().join(TEST_ENGINE.hotness_file.text())).expect("create");
        file.set_len(FILE_BYTES_MAX + 1).expect("a sparse file");
        let Err(error) = read(&TEST_ENGINE, folder.path()) else { panic!("it was read") };
        assert!(error.to_string().contains("expected 67108864 at most"), "{error}");
    }

    #[test]
    fn a_link_in_the_way_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, "theirs").expect("write");
        fs::write(folder.path().join(TEST_ENGINE.database_file.text()), "").expect("write");
        symlink(&elsewhere, folder.path().join(TEST_ENGINE.hotness_file_new.text())).expect("symlink");
        replace(&TEST_ENGINE, folder.path(), &StoredHotness::default()).expect("replace");
        assert_eq!(fs::read(&elsewhere).expect("read"), b"theirs");
        assert!(matches!(read(&TEST_ENGINE, folder.path()), Ok(Some(_))));
    }

    /// What is remembered of this many tables.
    fn of_tables(count: u64) -> StoredHotness {
        let table = |file_number| StoredTable { id: 1, file_number, segments: Vec::new() };
        StoredHotness { tables: (0..count).map(table).collect(), ..StoredHotness::default() }
    }

    #[test]
    fn a_small_file_that_nobody_shares_is_overwritten() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join(TEST_ENGINE.database_file.text()), "").expect("write");
        let path = folder.path().join(TEST_ENGINE.hotness_file.text());
        // Held open, so that no other file gets its number.
        let mut last = None;
        for (tables, is_shared, is_overwritten) in [
            (2, false, false),
            (3, false, true),
            (3, false, true),
            (3, true, false),
            (2, false, false),
            (1000, false, false),
            (1000, false, false),
        ] {
            let copy = folder.path().join("copy");
            if is_shared {
                fs::hard_link(&path, &copy).expect("link");
            }
            let hotness = of_tables(tables);
            replace(&TEST_ENGINE, folder.path(), &hotness).expect("replace");
            let file = File::open(&path).expect("open");
            let number = |file: &File| file.metadata().expect("metadata").ino();
            assert_eq!(last.as_ref().map(number) == Some(number(&file)), is_overwritten, "{tables} tables");
            assert_eq!(read(&TEST_ENGINE, folder.path()).expect("read"), Some(hotness));
            if is_shared {
                fs::remove_file(&copy).expect("remove");
            }
            last = Some(file);
        }
    }
}
