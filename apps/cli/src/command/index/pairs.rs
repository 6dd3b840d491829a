//! Lines as keys of indexes, or as keys with values.

use crate::flash::{KEY_BYTES_MAX, VALUE_BYTES_MAX};

/// Between key and value.
const TAB: u8 = b'\t';

/// The key of a line, and its value: everything after the first tab.
pub(super) fn split(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|byte| *byte == TAB) {
        Some(tab) => (&line[..tab], &line[tab + 1..]),
        None => (line, &[]),
    }
}

/// Returns an error for a line that is not a valid key.
pub(super) fn check_key(line: &[u8]) -> Result<(), String> {
    match line.len() {
        0 => Err(format!("the line is empty, expected a key of 1 to {KEY_BYTES_MAX} bytes")),
        len => check_length(len),
    }
}

/// Returns an error for a line that is not a valid key with a value.
pub(super) fn check_pair(line: &[u8]) -> Result<(), String> {
    let (key, value) = split(line);
    if key.is_empty() {
        let what = if line.is_empty() { "the line is empty" } else { "there is no key before the first tab" };
        return Err(format!("{what}, expected a key of 1 to {KEY_BYTES_MAX} bytes"));
    }
    if value.len() > VALUE_BYTES_MAX {
        return Err(format!("the value has {} bytes, expected at most {VALUE_BYTES_MAX}", value.len()));
    }
    check_length(key.len())
}

fn check_length(key_bytes: usize) -> Result<(), String> {
    if key_bytes > KEY_BYTES_MAX {
        return Err(format!("the key has {key_bytes} bytes, expected 1 to {KEY_BYTES_MAX}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_at_the_first_tab_and_checked() {
        assert_eq!(split(b"a\tb\tc"), (&b"a"[..], &b"b\tc"[..]));
        assert_eq!(split(b"a"), (&b"a"[..], &b""[..]));
        let long = |len| vec![b'x'; len];
        assert!(check_pair(b"a").is_ok() && check_pair(b"a\t").is_ok() && check_key(b"\t").is_ok());
        assert!(check_pair(&[&long(KEY_BYTES_MAX)[..], b"\t", &long(VALUE_BYTES_MAX)].concat()).is_ok());
        for wrong in [
            long(0),
            b"\ta".to_vec(),
            long(KEY_BYTES_MAX + 1),
            [b"a\t", &long(VALUE_BYTES_MAX + 1)[..]].concat(),
        ] {
            assert!(check_pair(&wrong).unwrap_err().contains("expected"));
        }
        assert!(
            check_key(b"").is_err()
                && check_key(&long(256)).unwrap_err().starts_with("the key has 256 bytes")
        );
    }
}
