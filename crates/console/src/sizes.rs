//! Numbers on the command line. Sizes in bytes, with multiples of 1,024: `4096`, `64KiB`, `2.5MiB`, `1G`. Counts, with multiples
//! of 1,000: `1000000`, `1e9`, `2.5M`.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A number of bytes given on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Size {
    /// The number.
    pub bytes: u64,
}

const MULTIPLES: [(&str, u64); 5] = [("", 1), ("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("T", 1 << 40)];

/// Parses sizes of `range`, in multiples of `step` bytes.
pub fn within(
    range: RangeInclusive<u64>,
    step: u64,
) -> impl Fn(&str) -> Result<Size, String> + Clone + Send + Sync {
    move |text| {
        let size = size_of(text)?;
        let most = SIZE_MAX.min(*range.end());
        if (*range.start()..=most).contains(&size.bytes) && size.bytes.is_multiple_of(step) {
            return Ok(size);
        }
        let [least, most, multiple] = [*range.start(), most, step].map(|bytes| Size { bytes });
        let multiples = if step > 1 { format!(" in multiples of {multiple}") } else { String::new() };
        Err(format!("expected {least} to {most}{multiples}"))
    }
}

/// Parses a number of `range`.
pub fn number_within(
    range: RangeInclusive<f64>,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("expected a number from {} to {}", range.start(), range.end()))
    }
}

/// Parses a whole number of `range`, also as a [`count`].
pub fn whole_within<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync {
    move |text| {
        let number = count(text).ok().filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| match (range.start(), range.end()) {
            (least, &u64::MAX) => format!("expected a whole number of at least {least} and less than 2^64"),
            (least, most) => format!("expected a whole number from {least} to {most}"),
        })
    }
}

/// Parses a count, exactly.
pub fn count(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number such as 1000000, 1e9, 2.5M or 1G".to_owned();
    let lower = text.replace('_', "").to_ascii_lowercase();
    let (digits, zeros) = match lower.char_indices().last() {
        Some((at, suffix @ ('k' | 'm' | 'g' | 't'))) => {
            (&lower[..at], 3 * (1 + "kmgt".find(suffix).unwrap_or(0)) as u32)
        }
        _ => match lower.split_once('e') {
            Some((digits, zeros)) => {
                (digits, zeros.trim_start_matches('+').parse::<u32>().map_err(|_| wrong())?)
            }
            None => (&*lower, 0),
        },
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let part = part.trim_end_matches('0');
    let is_number =
        !whole.is_empty() && (whole.bytes().chain(part.bytes())).all(|byte| byte.is_ascii_digit());
    let missing_zeros = zeros.checked_sub(part.len() as u32).filter(|_| is_number).ok_or_else(wrong)?;
    let number: Option<u64> = format!("{whole}{part}").parse().ok();
    let number =
        number.zip(10u64.checked_pow(missing_zeros)).and_then(|(number, tens)| number.checked_mul(tens));
    number.ok_or_else(|| "it is more than this program can count: expected less than 2^64".to_owned())
}

/// Beyond this a float cannot count bytes, and nothing is that large.
const SIZE_MAX: u64 = (1 << 53) - 1;

/// The size; [`SIZE_MAX`] + 1 for all that are larger.
fn size_of(text: &str) -> Result<Size, String> {
    let unknown = || "expected a size such as 4096, 64KiB or 2.5MiB".to_owned();
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..digits].parse().map_err(|_| unknown())?;
    let suffix = text[digits..].trim_start().to_ascii_uppercase();
    let multiple = suffix.strip_suffix("IB").or(suffix.strip_suffix('B')).unwrap_or(&suffix);
    let (_, factor) = MULTIPLES.iter().find(|(name, _)| *name == multiple).ok_or_else(unknown)?;
    Ok(Size { bytes: ((number * *factor as f64).round() as u64).min(SIZE_MAX + 1) })
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = size_of(text)?;
        if size.bytes > SIZE_MAX {
            return Err("expected less than 8192 TiB".to_owned());
        }
        Ok(size)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, factor) =
            MULTIPLES.iter().rev().find(|(_, factor)| self.bytes >= *factor).unwrap_or(&MULTIPLES[0]);
        match (*name, self.bytes % factor) {
            ("", _) => write!(f, "{} B", self.bytes),
            (name, 0) => write!(f, "{} {name}iB", self.bytes / factor),
            (name, _) => write!(f, "{:.2} {name}iB", self.bytes as f64 / *factor as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_people_write_them() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("4096B", 4096),
            ("64KiB", 65_536),
            ("64k", 65_536),
            ("2.5 MiB", 2_621_440),
            ("1G", 1 << 30),
            ("2T", 2 << 40),
        ] {
            assert_eq!(text.parse::<Size>().expect(text).bytes, bytes, "{text}");
        }
        for text in ["", "MiB", "-1", "1x", "1.2.3", "99999999999G", "1 i"] {
            assert!(text.parse::<Size>().is_err() && within(0..=u64::MAX, 1)(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_outside_of_a_range_are_refused() {
        let parse = within(1024..=4096, 512);
        assert_eq!(parse("1.5k").map(|size| size.bytes), Ok(1536));
        for text in ["0", "512", "1000", "5k", "18446744073709551615"] {
            assert!(parse(text).is_err(), "{text}");
        }
        for text in ["8k", "99999999999999G"] {
            assert_eq!(parse(text).unwrap_err(), "expected 1 KiB to 4 KiB in multiples of 512 B");
        }
        assert_eq!("8192T".parse::<Size>().unwrap_err(), "expected less than 8192 TiB");
    }

    #[test]
    fn whole_numbers_outside_of_a_range_are_refused() {
        let parse = whole_within::<u8>(1..=300);
        assert_eq!((parse("1"), parse("255"), parse("0.2k")), (Ok(1), Ok(255), Ok(200)));
        for text in ["0", "-1", "256", "301", "1.5", "", "x", "1e400"] {
            assert_eq!(parse(text).unwrap_err(), "expected a whole number from 1 to 300", "{text}");
        }
        let parse = whole_within::<u64>(1..=u64::MAX);
        assert_eq!(parse("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(parse("0").unwrap_err(), "expected a whole number of at least 1 and less than 2^64");
    }

    #[test]
    fn counts_as_people_write_them() {
        for (text, expected) in [
            ("0", 0),
            ("1000000", 1_000_000),
            ("1_000_000", 1_000_000),
            ("1e9", 1_000_000_000),
            ("1E+9", 1_000_000_000),
            ("1.5e3", 1500),
            ("2.5M", 2_500_000),
            ("1G", 1_000_000_000),
            ("12k", 12_000),
            ("1.0", 1),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(count(text), Ok(expected), "{text}");
        }
        for text in
            ["", "e9", "1e", "1.5", "-1", "1e-3", "1e99", "20e18", "1x", "k", "1.2.3", "1GiB", "0x10", "é"]
        {
            assert!(count(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_shown_with_their_unit() {
        for (bytes, text) in [(512, "512 B"), (4096, "4 KiB"), (2_621_440, "2.50 MiB"), (1 << 30, "1 GiB")] {
            assert_eq!(Size { bytes }.to_string(), text);
        }
    }
}
