//! How the tests write a table.

use springbloom_filter::UnitSettings;
use springbloom_format::BlockWriter;

pub(crate) fn write(settings: UnitSettings, segment_data_bytes: u64, entries: &[(Vec<u8>, u64)]) -> Vec<u8> {
    let mut writer = BlockWriter::new(settings, segment_data_bytes);
    for (key, bytes) in entries {
        writer.add(key, *bytes);
    }
    writer.finish()
}
