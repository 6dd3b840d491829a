//! Copies of what is open, made by the program that has it open.

use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::storage::require_space;
use crate::wal::{NAMES, PAIR_BYTES};
use crate::{AlignedBuf, FileStorage, FlashError, NamedDevice, Storage, Watch, require, require_empty};

/// Bytes read and written at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Copies the log of a structure and its devices `names` from `from` to `to`, which must be empty. Those that are not there are left out.
/// Durable on return. The caller sees to it that nobody writes `from`. Tells `watch` the bytes.
///
/// The start of the log is written last. What is interrupted before has none, and does not open.
pub fn copy_devices(
    from: &dyn Storage,
    to: &dyn Storage,
    names: &[String],
    watch: &mut Watch<'_>,
) -> Result<(), FlashError> {
    require_empty(to)?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    for name in names.iter().map(String::as_str).chain(NAMES) {
        match NamedDevice::open(from, name) {
            Ok(device) => {
                bytes += device.len_bytes();
                found.push((name, device));
            }
            Err(FlashError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    require_space(to, "", bytes)?;
    watch.expect(bytes);
    let mut starts = Vec::new();
    for (name, device) in found {
        let (len, is_log) = (device.len_bytes(), NAMES.contains(&name));
        let first = if is_log { PAIR_BYTES.min(len) } else { 0 };
        let copy = NamedDevice::create(to, name, len)?;
        copy_range(&device, &copy, first..len, watch)?;
        starts.push((device, copy, 0..first));
    }
    let mut starts = starts.into_iter().filter(|(.., range)| !range.is_empty());
    starts.try_for_each(|(device, copy, range)| copy_range(&device, &copy, range, watch))
}

/// Copies a range of bytes. Durable on return.
fn copy_range(
    from: &NamedDevice,
    to: &NamedDevice,
    Range { start: mut at, end }: Range<u64>,
    watch: &mut Watch<'_>,
) -> Result<(), FlashError> {
    let mut buf = AlignedBuf::new(PIECE_BYTES);
    while at < end {
        let piece = &mut buf[..(end - at).min(PIECE_BYTES as u64) as usize];
        from.read(at, piece)?;
        to.write(at, piece)?;
        at += piece.len() as u64;
        watch.advance(piece.len() as u64)?;
    }
    to.sync()
}

/// Makes a copy of the structure in `from` in `folder`, which must be empty or absent, and not within the folder of `from`. What fails
/// leaves no file behind.
pub fn copy_folder(
    from: &dyn Storage,
    folder: &Path,
    copy: impl FnOnce(&dyn Storage) -> Result<(), FlashError>,
) -> Result<(), FlashError> {
    let original = PathBuf::from(from.describe(""));
    let absolute =
        std::path::absolute(folder).map_err(FlashError::io("find", &folder.display().to_string()))?;
    let existing = absolute.ancestors().find_map(|folder| folder.canonicalize().ok());
    let is_within =
        original.canonicalize().is_ok_and(|original| existing.is_some_and(|it| it.starts_with(original)));
    require(
        !is_within,
        "the folder of the copy",
        folder.display(),
        "one outside the folder of the original",
    )?;
    FileStorage::make(folder, |storage| copy(&*storage))
}
