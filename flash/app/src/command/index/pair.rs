//! How a line holds a key, or a key and a value: one form for all commands of an index.

use springbloom_console::output::tell;
use springbloom_flash_index::{KEY_BYTES_MAX, VALUE_BYTES_MAX};

use crate::lines::Batch;

/// Between key and value.
const TAB: u8 = b'\t';

/// What a line holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pair<'l> {
    pub(super) key: &'l [u8],
    /// `None` if the line has none.
    pub(super) value: Option<&'l [u8]>,
}

impl Pair<'_> {
    /// Whether the line has a value, and the index another one.
    pub(super) fn is_other(&self, stored: &[u8]) -> bool {
        self.value.is_some_and(|value| value != stored)
    }
}

/// The pairs of lines that were [checked](check).
pub(super) fn pairs(batch: &Batch) -> Vec<Pair<'_>> {
    batch.lines().map(split).collect()
}

/// The key before the first tab, and the value behind it.
fn split(line: &[u8]) -> Pair<'_> {
    match line.iter().position(|byte| *byte == TAB) {
        Some(tab) => Pair { key: &line[..tab], value: Some(&line[tab + 1..]) },
        None => Pair { key: line, value: None },
    }
}

/// Returns an error for a line that is no pair.
pub(super) fn check(line: &[u8]) -> Result<(), String> {
    let Pair { key, value } = split(line);
    let (key_bytes, value_bytes) = (key.len(), value.map_or(0, <[u8]>::len));
    if key_bytes == 0 {
        let what = if line.is_empty() { "the line is empty" } else { "there is no key before the first tab" };
        return Err(format!("{what}, expected a key of 1 to {KEY_BYTES_MAX} bytes"));
    }
    if key_bytes > KEY_BYTES_MAX {
        return Err(format!("the key has {key_bytes} bytes, expected 1 to {KEY_BYTES_MAX}"));
    }
    if value_bytes > VALUE_BYTES_MAX {
        return Err(format!("the value has {value_bytes} bytes, expected at most {VALUE_BYTES_MAX}"));
    }
    Ok(())
}

/// Replaces `line` by the line for a key, and its value if there is one.
pub(super) fn join(key: &[u8], value: Option<&[u8]>, line: &mut Vec<u8>) {
    line.clear();
    line.extend_from_slice(key);
    if let Some(value) = value {
        line.push(TAB);
        line.extend_from_slice(value);
    }
}

/// Tells of lines whose values differ from those of the index: they may be old, or lines of another form.
pub(super) fn tell_others(lines: u64) {
    if lines > 0 {
        tell(format_args!("lines with another value than the index: {lines}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_at_the_first_tab_and_checked() {
        assert_eq!(split(b"a\tb\tc"), Pair { key: b"a", value: Some(b"b\tc") });
        assert_eq!(split(b"a b\r"), Pair { key: b"a b\r", value: None });
        assert_eq!(split(b"a\t"), Pair { key: b"a", value: Some(b"") });
        let long = |len| vec![b'x'; len];
        assert!(check(&[&long(KEY_BYTES_MAX)[..], b"\t", &long(VALUE_BYTES_MAX)].concat()).is_ok());
        for wrong in [
            long(0),
            b"\ta".to_vec(),
            long(KEY_BYTES_MAX + 1),
            [b"a\t", &long(VALUE_BYTES_MAX + 1)[..]].concat(),
        ] {
            assert!(check(&wrong).unwrap_err().contains("expected"));
        }
        assert!(check(b"\t").unwrap_err().contains("tab"));
    }
}
