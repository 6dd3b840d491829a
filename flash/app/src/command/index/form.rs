//! How a line holds a key, or a key and a value: one form for all commands of an index.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use clap::Args;
use serde::{Deserialize, Deserializer, Serialize};
use springbloom_console::output::tell;

use crate::flash::{KEY_BYTES_MAX, VALUE_BYTES_MAX};

/// Between key and value.
const TAB: u8 = b'\t';
const OBJECT: &str = r#"{"key": "...", "value": "..."}"#;

/// Form of lines
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct FormOptions {
    /// Lines are JSON objects, on input and output: {"key": "...", "value": "..."}, with "key_base64" and "value_base64" in place of
    /// text that is not UTF-8. Any key and value can be written so
    #[arg(long, conflicts_with = "null")]
    json: bool,
}

/// What a line holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pair<'l> {
    pub(super) key: Cow<'l, [u8]>,
    /// `None` if the line has none.
    pub(super) value: Option<Cow<'l, [u8]>>,
}

/// A pair as JSON. Of the two forms of a part, one is there.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Object<'l> {
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    key: Option<Cow<'l, str>>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    key_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    value: Option<Cow<'l, str>>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    value_base64: Option<String>,
}

/// A part of an object that is there: null is none.
fn some<'de, T: Deserialize<'de>, D: Deserializer<'de>>(part: D) -> Result<Option<T>, D::Error> {
    T::deserialize(part).map(Some)
}

impl Pair<'_> {
    /// Whether the line has a value, and the index another one.
    pub(super) fn is_other(&self, stored: &[u8]) -> bool {
        self.value.as_deref().is_some_and(|value| value != stored)
    }
}

/// Tells of lines whose values differ from those of the index: they may be old, or lines of another form.
pub(super) fn tell_others(lines: u64) {
    if lines > 0 {
        tell(format_args!("lines with another value than the index: {lines}"));
    }
}

impl FormOptions {
    /// The key and the value of a line.
    pub(super) fn pair<'l>(&self, line: &'l [u8]) -> Result<Pair<'l>, String> {
        let pair = if self.json { pair_of_json(line)? } else { split(line)? };
        check_lengths(&pair)?;
        Ok(pair)
    }

    /// Replaces `line` by the line for a key, and its value if there is one.
    pub(super) fn write(
        &self,
        key: &[u8],
        value: Option<&[u8]>,
        line: &mut Vec<u8>,
    ) -> serde_json::Result<()> {
        line.clear();
        if self.json {
            let ((key, key_base64), (value, value_base64)) =
                (text_or_base64(Some(key)), text_or_base64(value));
            return serde_json::to_writer(line, &Object { key, key_base64, value, value_base64 });
        }
        line.extend_from_slice(key);
        if let Some(value) = value {
            line.push(TAB);
            line.extend_from_slice(value);
        }
        Ok(())
    }
}

/// The key before the first tab, and the value behind it.
fn split(line: &[u8]) -> Result<Pair<'_>, String> {
    let tab = line.iter().position(|byte| *byte == TAB);
    let key = &line[..tab.unwrap_or(line.len())];
    if key.is_empty() {
        let what = if line.is_empty() { "the line is empty" } else { "there is no key before the first tab" };
        return Err(format!("{what}, expected a key of 1 to {KEY_BYTES_MAX} bytes"));
    }
    Ok(Pair { key: key.into(), value: tab.map(|tab| line[tab + 1..].into()) })
}

fn pair_of_json(line: &[u8]) -> Result<Pair<'_>, String> {
    // A list of its parts would be taken as well.
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Err(format!("the line begins with no {{, expected an object {OBJECT}"));
    }
    let object: Object<'_> = serde_json::from_slice(line).map_err(|error| {
        let wrong = error.to_string();
        let wrong = wrong.split(" at line ").next().unwrap_or(&wrong);
        format!("{wrong} (column {}), expected an object {OBJECT}", error.column())
    })?;
    let key = part("key", object.key, object.key_base64)?;
    let key = key.ok_or_else(|| format!("the object has no key, expected {OBJECT}"))?;
    Ok(Pair { key, value: part("value", object.value, object.value_base64)? })
}

/// A part of an object, in one of its forms.
fn part<'l>(
    name: &str,
    text: Option<Cow<'l, str>>,
    base64: Option<String>,
) -> Result<Option<Cow<'l, [u8]>>, String> {
    match (text, base64) {
        (Some(_), Some(_)) => {
            Err(format!("the object has both {name} and {name}_base64, expected one of them"))
        }
        (Some(Cow::Borrowed(text)), None) => Ok(Some(text.as_bytes().into())),
        (Some(Cow::Owned(text)), None) => Ok(Some(text.into_bytes().into())),
        (None, Some(base64)) => match BASE64.decode(base64) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(error) => Err(format!("{name}_base64: {error}, expected base64 with padding")),
        },
        (None, None) => Ok(None),
    }
}

fn text_or_base64(bytes: Option<&[u8]>) -> (Option<Cow<'_, str>>, Option<String>) {
    match bytes.map(|bytes| (std::str::from_utf8(bytes), bytes)) {
        None => (None, None),
        Some((Ok(text), _)) => (Some(text.into()), None),
        Some((Err(_), bytes)) => (None, Some(BASE64.encode(bytes))),
    }
}

fn check_lengths(pair: &Pair<'_>) -> Result<(), String> {
    let (key_bytes, value_bytes) = (pair.key.len(), pair.value.as_ref().map_or(0, |value| value.len()));
    if key_bytes == 0 || key_bytes > KEY_BYTES_MAX {
        return Err(format!("the key has {key_bytes} bytes, expected 1 to {KEY_BYTES_MAX}"));
    }
    if value_bytes > VALUE_BYTES_MAX {
        return Err(format!("the value has {value_bytes} bytes, expected at most {VALUE_BYTES_MAX}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABS: FormOptions = FormOptions { json: false };
    const JSON: FormOptions = FormOptions { json: true };

    #[test]
    fn lines_are_split_at_the_first_tab_and_checked() {
        let pair = TABS.pair(b"a\tb\tc").unwrap();
        assert_eq!((&*pair.key, pair.value.as_deref()), (&b"a"[..], Some(&b"b\tc"[..])));
        assert_eq!(TABS.pair(b"a").unwrap().value, None);
        assert_eq!(*TABS.pair(b"a b\r").unwrap().key, *b"a b\r");
        let long = |len| vec![b'x'; len];
        assert!(TABS.pair(&[&long(KEY_BYTES_MAX)[..], b"\t", &long(VALUE_BYTES_MAX)].concat()).is_ok());
        for wrong in [
            long(0),
            b"\ta".to_vec(),
            long(KEY_BYTES_MAX + 1),
            [b"a\t", &long(VALUE_BYTES_MAX + 1)[..]].concat(),
        ] {
            assert!(TABS.pair(&wrong).unwrap_err().contains("expected"));
        }
        for with_value in [&b"a\t"[..], b"a\t1", b"a\t\t"] {
            assert_eq!(*TABS.pair(with_value).unwrap().key, *b"a");
        }
        assert!(TABS.pair(b"\t").unwrap_err().contains("tab"));
    }

    #[test]
    fn any_bytes_come_back_as_json() {
        let mut line = Vec::new();
        for key in [&b"a"[..], b"\0\t\n\r\"\\", "\u{e9}\u{1f600}".as_bytes(), b"\xff\xfe", &[0x80; 300]] {
            for value in [None, Some(&b""[..]), Some(b"\xc0\n"), Some(key)] {
                JSON.write(key, value, &mut line).unwrap();
                assert!(!line.contains(&b'\n'));
                let pair = JSON.pair(&line).unwrap();
                assert_eq!((&*pair.key, pair.value.as_deref()), (key, value));
            }
        }
        JSON.write(b"k", Some(b"v"), &mut line).unwrap();
        assert_eq!(line, br#"{"key":"k","value":"v"}"#);
        JSON.write(b"\xff", None, &mut line).unwrap();
        assert_eq!(line, br#"{"key_base64":"/w=="}"#);
    }

    #[test]
    fn objects_that_mean_nothing_are_refused_with_what_is_expected() {
        for wrong in [
            "",
            "a",
            "1",
            "{}",
            "[]",
            r#"{"key":"a""#,
            r#"{"key":1}"#,
            "null",
            r#"["a",null,"b",null]"#,
            r#"{"key":null}"#,
            r#"{"key":"a","value":null}"#,
            r#"{"key":"a","value_base64":null}"#,
            r#"{"key":""}"#,
            r#"{"key":"a","valeu":"b"}"#,
            r#"{"key":"a","key":"b"}"#,
            r#"{"key":"a","key_base64":"YQ=="}"#,
            r#"{"key_base64":"YQ"}"#,
            r#"{"key_base64":"?"}"#,
            r#"{"key":"a"} {"key":"b"}"#,
        ] {
            let message = JSON.pair(wrong.as_bytes()).unwrap_err();
            assert!(message.contains("expected") && !message.contains(" at line "), "{wrong}: {message}");
        }
        assert!(JSON.pair(b"{\"key\":\"\xff\"}").is_err(), "not UTF-8");
    }
}
