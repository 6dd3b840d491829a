//! How the tests write a table.

use springbloom_format::BlockWriter;

pub(crate) fn write(mut writer: BlockWriter, entries: &[(Vec<u8>, u64)]) -> Vec<u8> {
    for (key, bytes) in entries {
        writer.add(key, *bytes);
    }
    writer.finish()
}
