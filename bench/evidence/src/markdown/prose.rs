//! Where the prose of a Markdown document is: what code shows are examples.

use pulldown_cmark::{Event, Parser, Tag};

/// `text` with a space for each byte of code but line feeds, so that bytes and lines of both have the same places.
pub(super) fn prose(text: &str) -> String {
    let mut prose = text.as_bytes().to_vec();
    for (event, range) in Parser::new(text).into_offset_iter() {
        if matches!(event, Event::Start(Tag::CodeBlock(_)) | Event::Code(_)) {
            prose[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
    }
    String::from_utf8(prose).expect("code begins and ends between characters")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The letters outside code.
    fn letters(text: &str) -> String {
        let prose = prose(text);
        let places = |text: &str| text.match_indices('\n').map(|(place, _)| place).collect::<Vec<_>>();
        assert_eq!((prose.len(), places(&prose)), (text.len(), places(text)));
        prose.chars().filter(char::is_ascii_uppercase).collect()
    }

    #[test]
    fn code_is_no_prose() {
        for (text, outside) in [
            ("A\n```\nB\n```\nC\n", "AC"),
            ("A\r\n~~~ toml é\r\nB\r\n~~~ \r\nC\r\n", "AC"),
            ("1. A\n\n    ```\n    B\n    ```\n\n    C", "AC"),
            ("A\n```\nB", "A"),
            ("A\n````\n```\nB\n````\nC\n", "AC"),
            ("A\n\n    B\n\nC\n", "AC"),
            ("A ```B``` `B` C\n``\nD\n", "ACD"),
        ] {
            assert_eq!(letters(text), outside, "{text:?}");
        }
    }
}
