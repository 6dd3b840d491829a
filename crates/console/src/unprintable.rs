//! Characters in names from elsewhere that would command a terminal, or deceive who reads it.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Whether a character commands a terminal (ESC), orders what is around it (U+202E writes from right to left), breaks a line, or is not
/// seen itself.
pub fn is_unprintable(character: char) -> bool {
    matches!(
        character.general_category(),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
    )
}

/// The name with its unprintable characters as escapes.
pub fn escaped(name: &str) -> String {
    let escaped = |c: char| if is_unprintable(c) { c.escape_default().to_string() } else { c.to_string() };
    name.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_or_deceives_is_unprintable() {
        let escapes = ['\0', '\x07', '\x1b', '\n', '\u{7f}', '\u{9b}'];
        let directions = ['\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}', '\u{200e}', '\u{200f}', '\u{61c}'];
        let unseen = ['\u{200b}', '\u{200d}', '\u{feff}', '\u{ad}', '\u{2028}', '\u{2029}', '\u{e0041}'];
        for character in [&escapes[..], &directions, &unseen].concat() {
            assert!(is_unprintable(character), "{character:?}");
        }
        assert_eq!(escaped("a\n\u{1b}[31m\u{202e}\u{e9}"), "a\\n\\u{1b}[31m\\u{202e}\u{e9}");
        for character in "/data é e\u{301} שלום 日本 🦀 \u{fffd}".chars() {
            assert!(!is_unprintable(character), "{character:?}");
        }
    }
}
