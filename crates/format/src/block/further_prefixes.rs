//! Beginnings of keys that a block of prefixes has in addition to those of the engine's extractor.

use std::{fmt, str::FromStr};

/// Rules that a block can have.
pub(super) const RULES_MAX: usize = 4;
/// Bytes of the rules in a directory.
pub(crate) const RULES_BYTES: usize = 2 * RULES_MAX;

/// Up to four rules, each of which gives a beginning of a key: its first bytes, such as `12`, or those through a separator, such as
/// `0x7c*2`, through the second `|`. The text has them with `+` between.
///
/// A key that begins with what a rule gives for another key has the same one. So a range of keys that all begin with it is asked for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FurtherPrefixes {
    /// Those in use come first.
    rules: [Rule; RULES_MAX],
}

/// No times: the first `byte` bytes, none if that is 0. Else: through this many of that byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rule {
    byte: u8,
    times: u8,
}

impl Rule {
    /// What it gives for a key, if the key has it.
    #[inline]
    pub(super) fn prefix_of(self, key: &[u8]) -> Option<&[u8]> {
        let end = match self.times {
            0 => usize::from(self.byte),
            times => {
                let separators = key.iter().enumerate().filter(|(_, byte)| **byte == self.byte);
                separators.map(|(at, _)| at + 1).nth(usize::from(times) - 1)?
            }
        };
        key.get(..end).filter(|prefix| !prefix.is_empty())
    }
}

impl FurtherPrefixes {
    /// Whether there is no rule.
    #[inline]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// The rules in use.
    #[inline]
    pub(super) fn rules(self) -> impl Iterator<Item = Rule> {
        self.rules.into_iter().take_while(|rule| *rule != Rule::default())
    }

    /// What the rules give for a key.
    #[inline]
    pub fn of(self, key: &[u8]) -> impl Iterator<Item = &[u8]> {
        self.rules().filter_map(move |rule| rule.prefix_of(key))
    }

    /// The longest prefix of `from` by a rule with which all keys begin, in byte order, from `from` on and below `end`.
    pub fn of_range<'k>(self, from: &'k [u8], end: &[u8]) -> Option<&'k [u8]> {
        let shared = self.of(from).filter(|prefix| end.starts_with(prefix) || is_next(prefix, end));
        shared.max_by_key(|prefix| prefix.len())
    }

    /// As in a directory, and between programs. `None`: no rules are written so.
    pub fn from_bytes(bytes: [u8; RULES_BYTES]) -> Option<Self> {
        let (pairs, _) = bytes.as_chunks::<2>();
        let mut rules = [Rule::default(); RULES_MAX];
        for (rule, &[byte, times]) in rules.iter_mut().zip(pairs) {
            *rule = Rule { byte, times };
        }
        let used = rules.iter().take_while(|rule| **rule != Rule::default()).count();
        rules[used..].iter().all(|rule| *rule == Rule::default()).then_some(Self { rules })
    }

    /// The bytes that [`from_bytes`](Self::from_bytes) takes.
    pub fn to_bytes(self) -> [u8; RULES_BYTES] {
        let mut bytes = [0; RULES_BYTES];
        let (pairs, _) = bytes.as_chunks_mut::<2>();
        pairs.iter_mut().zip(self.rules).for_each(|(pair, Rule { byte, times })| *pair = [byte, times]);
        bytes
    }
}

/// Whether `end` is the first string behind all that begin with `prefix`.
fn is_next(prefix: &[u8], end: &[u8]) -> bool {
    let kept = prefix.iter().rposition(|byte| *byte != u8::MAX).map_or(0, |last| last + 1);
    match (prefix[..kept].split_last(), end.split_last()) {
        (Some((last, before)), Some((end_last, end_before))) => before == end_before && last + 1 == *end_last,
        _ => false,
    }
}

/// `none`, or the rules.
impl FromStr for FurtherPrefixes {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "none" {
            return Ok(Self::default());
        }
        let mut rules = [Rule::default(); RULES_MAX];
        let mut free = rules.iter_mut();
        for rule in text.split('+') {
            let parsed = match rule.strip_prefix("0x").map(|separator| separator.split_once('*')) {
                Some(separator) => {
                    let (byte, times) = separator.ok_or(())?;
                    let byte = u8::from_str_radix(byte, 16).map_err(drop)?;
                    Rule { byte, times: times.parse().ok().filter(|times| *times > 0).ok_or(())? }
                }
                None => Rule { byte: rule.parse().ok().filter(|bytes| *bytes > 0).ok_or(())?, times: 0 },
            };
            *free.next().ok_or(())? = parsed;
        }
        Ok(Self { rules })
    }
}

impl fmt::Display for FurtherPrefixes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        for (at, Rule { byte, times }) in self.rules.into_iter().enumerate() {
            let plus = if at == 0 { "" } else { "+" };
            match (byte, times) {
                (0, 0) => (),
                (bytes, 0) => write!(f, "{plus}{bytes}")?,
                (separator, times) => write!(f, "{plus}{separator:#04x}*{times}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_give_the_same_rules() {
        for text in ["none", "12", "8+12", "0x7c*2", "0x00*1+255+0xff*255+1"] {
            let rules: FurtherPrefixes = text.parse().expect(text);
            assert_eq!(rules.to_string(), text);
            assert_eq!(FurtherPrefixes::from_bytes(rules.to_bytes()), Some(rules), "{text}");
        }
        for text in
            ["", "0", "256", "-1", "1+", "|*2", "0x7c", "0x7c*0", "0x7c*256", "0x100*1", "1+2+3+4+5", "8,12"]
        {
            assert_eq!(text.parse::<FurtherPrefixes>(), Err(()), "{text}");
        }
        // A rule behind none.
        assert_eq!(FurtherPrefixes::from_bytes([0, 0, 1, 0, 0, 0, 0, 0]), None);
    }

    #[test]
    fn rules_give_beginnings() {
        let given = |text: &str, key: &'static str| {
            let rules: FurtherPrefixes = text.parse().expect(text);
            rules.of(key.as_bytes()).map(|prefix| str::from_utf8(prefix).expect("ASCII")).collect::<Vec<_>>()
        };
        assert_eq!(given("2+4", "abcde"), ["ab", "abcd"]);
        assert_eq!(given("2+4", "abc"), ["ab"]);
        assert_eq!(given("0x7c*1+0x7c*2", "a|b|c"), ["a|", "a|b|"]);
        assert_eq!(given("0x7c*1+0x7c*2", "a|b"), ["a|"]);
        assert_eq!(given("none", "a"), [""; 0]);
    }

    /// Against all keys of up to four letters, among them the last one of all.
    #[test]
    fn a_range_is_asked_for_what_all_its_keys_begin_with() {
        const LETTERS: [u8; 4] = [0, b'a', b'b', 0xff];
        let mut keys: Vec<Vec<u8>> = vec![Vec::new()];
        for at in 0..341 {
            if keys[at].len() < 4 {
                keys.extend(LETTERS.map(|letter| [keys[at].as_slice(), &[letter]].concat()));
            }
        }
        keys.sort();
        assert_eq!(keys.len(), 341);
        let rules: FurtherPrefixes = "2+0x61*1+3".parse().expect("rules");
        let mut asked = 0;
        for (at, from) in keys.iter().enumerate() {
            for (end_at, end) in keys.iter().enumerate() {
                if let Some(prefix) = rules.of_range(from, end) {
                    asked += 1;
                    let range = &keys[at..end_at.max(at)];
                    for key in range {
                        assert!(rules.of(key).any(|of_key| of_key == prefix), "{key:?} in {from:?}..{end:?}");
                    }
                }
            }
            // All keys with the prefix, as programs ask for them.
            for prefix in rules.of(from).filter(|prefix| prefix.last() != Some(&0xff)) {
                let mut end = prefix.to_vec();
                *end.last_mut().expect("not empty") += 1;
                assert!(
                    rules.of_range(from, &end).is_some_and(|found| found.len() >= prefix.len()),
                    "{from:?}"
                );
            }
        }
        assert!(asked > 1000, "{asked}");
    }
}
