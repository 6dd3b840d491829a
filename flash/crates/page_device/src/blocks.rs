//! Block sizes of a device, as reported by the system.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Sector size in bytes: the smallest unit that devices write atomically. Checksums of pages are per sector, whatever the physical block
/// size.
pub const SECTOR_BYTES: usize = 512;

/// Block sizes of a device in bytes, powers of two.
///
/// A structure that must survive power losses obeys two rules. Its operations are multiples of `logical_bytes`; the system refuses others.
/// And acknowledged data shares no block of `physical_bytes` with later writes, unless the structure can do without that data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// Offsets and lengths of operations are multiples of this: 512 on most devices, 4,096 on "4Kn" ones.
    pub logical_bytes: usize,
    /// The unit in which the device changes its medium. If it is larger than `logical_bytes` ("512e"), a smaller write changes a whole
    /// unit. A power loss meanwhile may damage the neighbours too.
    pub physical_bytes: usize,
}

impl BlockSizes {
    /// 512-byte sectors that are written independently.
    pub const SMALL: BlockSizes = BlockSizes { logical_bytes: SECTOR_BYTES, physical_bytes: SECTOR_BYTES };
    /// 512-byte sectors in units of 4,096 bytes, like most of today's disks.
    pub const EMULATED: BlockSizes = BlockSizes { logical_bytes: SECTOR_BYTES, physical_bytes: 4096 };
    /// Sectors of 4,096 bytes.
    pub const LARGE: BlockSizes = BlockSizes { logical_bytes: 4096, physical_bytes: 4096 };

    /// The sizes of the device that holds `file`. Without a block device behind the file system, or without Linux, [`BlockSizes::EMULATED`]
    /// as the safe assumption.
    pub(crate) fn of_file(file: &File) -> BlockSizes {
        file.metadata()
            .ok()
            .and_then(|meta| BlockSizes::of_device(meta.dev()))
            .unwrap_or(BlockSizes::EMULATED)
    }

    fn of_device(device: u64) -> Option<BlockSizes> {
        let folder = format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device));
        // The queue of a partition is in the parent folder.
        [format!("{folder}/queue"), format!("{folder}/../queue")]
            .iter()
            .find_map(|queue| BlockSizes::of_queue(Path::new(queue)))
    }

    fn of_queue(queue: &Path) -> Option<BlockSizes> {
        let number = |name: &str| -> Option<usize> {
            let bytes: usize = std::fs::read_to_string(queue.join(name)).ok()?.trim().parse().ok()?;
            (bytes >= SECTOR_BYTES && bytes.is_power_of_two()).then_some(bytes)
        };
        let logical_bytes = number("logical_block_size")?;
        let physical_bytes = number("physical_block_size")?.max(logical_bytes);
        Some(BlockSizes { logical_bytes, physical_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_come_from_the_queue_of_the_device_and_nonsense_is_no_size() {
        let queue = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(queue.path().join(name), text).unwrap();
        assert_eq!(BlockSizes::of_queue(queue.path()), None);
        write("logical_block_size", "512\n");
        write("physical_block_size", "4096\n");
        assert_eq!(BlockSizes::of_queue(queue.path()), Some(BlockSizes::EMULATED));
        write("logical_block_size", "4096\n");
        assert_eq!(BlockSizes::of_queue(queue.path()), Some(BlockSizes::LARGE));
        write("physical_block_size", "512\n");
        assert_eq!(BlockSizes::of_queue(queue.path()), Some(BlockSizes::LARGE), "never less than logical");
        for nonsense in ["0", "513", "-1", "", "many"] {
            write("logical_block_size", nonsense);
            assert_eq!(BlockSizes::of_queue(queue.path()), None, "{nonsense:?}");
        }
    }

    #[test]
    fn any_file_has_sizes() {
        let sizes = BlockSizes::of_file(&tempfile::tempfile().unwrap());
        assert!(sizes.logical_bytes >= SECTOR_BYTES && sizes.physical_bytes >= sizes.logical_bytes);
    }
}
