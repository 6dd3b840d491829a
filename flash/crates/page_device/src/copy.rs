//! Copies of what is open, made by the program that has it open.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::storage::require_space;
use crate::wal::{NAMES, PAIR_BYTES};
use crate::{AlignedBuf, FileStorage, FlashError, PageDevice, Storage, Watch, require, require_empty};

/// Bytes read and written at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Copies the devices `names` of `from`, a structure with a log, to `to`, which must be empty. Those that are not there are left out.
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
    let mut copies = Vec::new();
    let mut bytes = 0;
    for name in names {
        match from.open(name) {
            Ok(device) => {
                bytes += device.len_bytes();
                copies.push((name, device));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(FlashError::io("open", &from.describe(name))(error)),
        }
    }
    require_space(to, "", bytes)?;
    watch.expect(bytes);
    let mut starts = Vec::new();
    for (name, device) in copies {
        let first = if NAMES.contains(&name.as_str()) { PAIR_BYTES.min(device.len_bytes()) } else { 0 };
        let made =
            to.create(name, device.len_bytes()).map_err(FlashError::io("create", &to.describe(name)))?;
        let copy = DeviceCopy { names: [from.describe(name), to.describe(name)], devices: [device, made] };
        copy.range(first, copy.devices[0].len_bytes(), watch)?;
        if first > 0 {
            starts.push((copy, first));
        }
    }
    starts.iter().try_for_each(|(copy, end)| copy.range(0, *end, watch))
}

/// A device and its copy.
struct DeviceCopy {
    names: [String; 2],
    devices: [Arc<dyn PageDevice>; 2],
}

impl DeviceCopy {
    /// Copies the bytes from `at` to `end`. Durable on return.
    fn range(&self, mut at: u64, end: u64, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        let ([from, to], [name, copy]) = (&self.devices, &self.names);
        let mut buf = AlignedBuf::new(PIECE_BYTES);
        while at < end {
            let piece = &mut buf[..(end - at).min(PIECE_BYTES as u64) as usize];
            from.read_at(at, piece).map_err(FlashError::io("read", name))?;
            to.write_at(at, piece).map_err(FlashError::io("write", copy))?;
            at += piece.len() as u64;
            watch.advance(piece.len() as u64)?;
        }
        to.sync().map_err(FlashError::io("sync", copy))
    }
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
