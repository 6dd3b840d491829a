//! How the tests write a table.

use springbloom_filter::UnitSettings;
use springbloom_format::BlockWriter;

pub(crate) fn write(settings: UnitSettings, segment_data_bytes: u64, entries: &[(Vec<u8>, u64)]) -> Vec<u8> {
    finish(BlockWriter::new(settings, segment_data_bytes), entries)
}

pub(crate) fn finish(mut writer: BlockWriter, entries: &[(Vec<u8>, u64)]) -> Vec<u8> {
    for (key, bytes) in entries {
        writer.add(key, *bytes);
    }
    writer.finish()
}
