//! The table of settings: name, values, default, help, how [`Settings`] take a value, and which values can work. Option strings, the checks
//! at the start of filters, the settings that databases must agree in, the names that a host registers and the table in
//! `docs/guide.md` come from here.

use std::{ops::RangeInclusive, str::FromStr, time::Duration};

use springbloom_filter::FilterError;
use springbloom_manager::MemoryBudget;

use super::{Budget, Settings};
use crate::error::Error;

/// A larger number is a mistake, such as -1.
const BYTES_MAX: u64 = MemoryBudget::BUDGET_BYTES_MAX as u64;
/// In smaller segments bookkeeping outweighs the units. No table has more data than the largest one.
const SEGMENT_SIZE: RangeInclusive<u64> = 16 << 10..=1 << 40;

/// A setting, as option strings name it.
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// The values that it takes.
    pub takes: &'static str,
    /// The default as in an option string, or in words.
    pub default: &'static str,
    /// What it does, and the field of [`Settings`], or the builder's method, for it.
    pub help: &'static str,
    set: Set,
    /// Whether the value in the settings can work. A field can have values that no text gives.
    can_work: fn(&Settings) -> bool,
    /// The value in the settings. Two that show the same agree.
    show: fn(&Settings) -> String,
}

/// The settings with the value. An error may give a reason. Without one, the value is not among those that the setting takes.
type Set = fn(Settings, &str) -> Result<Settings, Option<String>>;

const AUTO: &str = "auto";

/// The setting in which databases that share an instance may differ: the last one wins.
pub(crate) const BUDGET: &str = "budget";

/// A setting that is the field of its name.
macro_rules! flag {
    ($field:ident, $default:literal, $help:literal) => {
        Setting {
            name: stringify!($field),
            takes: "true or false",
            default: $default,
            help: $help,
            set: |settings, value| Ok(Settings { $field: parsed(value)?, ..settings }),
            can_work: |_| true,
            show: |settings| settings.$field.to_string(),
        }
    };
}

/// All settings. A later one may need an earlier one.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: BUDGET,
        takes: "bytes, such as 64M, 256T at most; 0 for no filters; auto: the part of the block cache that reads least, 64M without one",
        default: "auto",
        help: "memory for units and bookkeeping (`budget_bytes`, `budget_auto`)",
        set: |settings, value| {
            let budget = match value {
                AUTO => Budget::Auto,
                bytes => Budget::Bytes(parse_bytes(bytes).ok_or(None)?),
            };
            Ok(Settings { budget, ..settings })
        },
        can_work: |settings| match settings.budget {
            Budget::Bytes(bytes) => bytes <= BYTES_MAX,
            Budget::Auto => true,
        },
        show: |settings| match settings.budget {
            Budget::Bytes(bytes) => bytes.to_string(),
            Budget::Auto => AUTO.to_owned(),
        },
    },
    Setting {
        name: "segment_size",
        takes: "bytes from 16K to 1T, such as 4M",
        default: "8M",
        help: "data per segment; a segment has at least one key for each 2 KiB of this (`segment_size`)",
        set: |settings, value| Ok(Settings { segment_size: parse_bytes(value).ok_or(None)?, ..settings }),
        can_work: |settings| SEGMENT_SIZE.contains(&settings.segment_size),
        show: |settings| settings.segment_size.to_string(),
    },
    Setting {
        name: "units",
        takes: "ribbon:UNITS or bloom:UNITSxBITS",
        default: "ribbon:16",
        help: "units of new tables (`units`)",
        set: |settings, value| {
            let units = value.parse().map_err(|error| match error {
                // It says what the setting takes.
                FilterError::UnitSettings { .. } => None,
                error => Some(error.to_string()),
            })?;
            Ok(Settings { units, ..settings })
        },
        can_work: |_| true,
        show: |settings| settings.units.to_string(),
    },
    Setting {
        name: "warm_start_seconds",
        takes: "seconds; 0: no warm start",
        default: "60",
        help: "how often hotness is saved for the next start (`warm_start_every`)",
        set: |settings, value| {
            let seconds = parsed(value)?;
            Ok(Settings { warm_start_every: (seconds > 0).then(|| Duration::from_secs(seconds)), ..settings })
        },
        can_work: |_| true,
        show: |settings| settings.warm_start_every.map_or("0".to_owned(), |every| format!("{every:?}")),
    },
    flag!(
        inherit_hotness,
        "true",
        "a new table starts with the hotness of the segments whose keys it holds (`inherit_hotness`)"
    ),
    flag!(
        assume_bytewise_equality,
        "false",
        "assume that keys which a custom comparator calls equal are equal byte for byte (`assume_bytewise_equality`)"
    ),
    flag!(
        create_filters,
        "true",
        "new tables get units (`create_filters`); see [Switching and rolling back](#switching-and-rolling-back)"
    ),
    flag!(
        charge_to_block_cache,
        "false",
        "a budget in bytes is charged to the block cache, as `auto` is (`charge_to_block_cache`)"
    ),
    flag!(
        small_index,
        "true",
        "where the block cache pays for the budget, new tables get [a small index](#a-small-index) (`small_index`)"
    ),
    Setting {
        name: "verify_share",
        takes: "a number from 0 to 1",
        default: "0",
        help: "the share of the keys rejected by units that [are looked up all the same](#trust) (`verify_share`)",
        set: |settings, value| Ok(Settings { verify_share: parsed(value)?, ..settings }),
        can_work: |settings| (0.0..=1.0).contains(&settings.verify_share),
        show: |settings| settings.verify_share.to_string(),
    },
];

fn parsed<T: FromStr>(value: &str) -> Result<T, Option<String>> {
    value.parse().map_err(|_| None)
}

/// Settings by name, in the order in which they were given.
pub(crate) type Given<'a> = [(&'a str, &'a str)];

impl Settings {
    /// Applies settings, given as names and values of [`SETTINGS`], one after the other. An error names the setting, what it was given and
    /// what it takes.
    pub fn with(mut self, given: &[(&str, &str)]) -> Result<Self, Error> {
        for &(name, value) in given {
            let setting = SETTINGS.iter().find(|setting| setting.name == name);
            let setting = setting.ok_or_else(|| {
                let names: Vec<_> = SETTINGS.iter().map(|setting| setting.name).collect();
                Error::Settings(format!("{name}: unknown setting, expected one of {}", names.join(", ")))
            })?;
            let can_work = |settings| (setting.can_work)(&settings).then_some(settings).ok_or(None);
            let set = (setting.set)(self, value).and_then(can_work);
            self = set.map_err(|reason| {
                let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                refused(name, if value.is_empty() { "nothing" } else { value }, setting.takes, &reason)
            })?;
        }
        Ok(self)
    }
}

fn refused(name: &str, got: &str, takes: &str, reason: &str) -> Error {
    Error::Settings(format!("{name}: got {got}, expected {takes}{reason}"))
}

/// Errors on the first setting with a value that cannot work.
pub(crate) fn check(settings: &Settings) -> Result<(), Error> {
    match SETTINGS.iter().find(|setting| !(setting.can_work)(settings)) {
        Some(setting) => Err(refused(setting.name, &(setting.show)(settings), setting.takes, "")),
        None => Ok(()),
    }
}

/// Errors on a budget that filters which were started with the settings cannot change to.
pub(crate) fn check_budget(started: &Settings, budget: Budget) -> Result<(), Error> {
    if budget == Budget::Auto && !started.is_charged() {
        const TAKES: &str = "bytes, because no block cache pays for these filters, which were started with a budget in bytes; auto \
                             needs charge_to_block_cache=true when they are";
        return Err(refused(BUDGET, AUTO, TAKES, ""));
    }
    check(&Settings { budget, ..started.clone() })
}

/// The first setting, the budget aside, in which two differ: its name and both values.
pub(crate) fn difference(a: &Settings, b: &Settings) -> Option<(&'static str, String, String)> {
    let shared = SETTINGS.iter().filter(|setting| setting.name != BUDGET);
    shared.map(|setting| (setting.name, (setting.show)(a), (setting.show)(b))).find(|(_, a, b)| a != b)
}

/// `64`, `64K`, `64M`, `64G` or `64T`, in powers of 1024, or the same with `iB` behind the letter.
fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.strip_suffix("iB").filter(|size| size.ends_with(char::is_alphabetic)).unwrap_or(text);
    let (digits, power) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (&text[..at], 1),
        (at, 'm' | 'M') => (&text[..at], 2),
        (at, 'g' | 'G') => (&text[..at], 3),
        (at, 't' | 'T') => (&text[..at], 4),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << (10 * power))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{engine::test_engine::TEST_ENGINE, instance::Filters};

    #[test]
    fn every_setting_is_taken() {
        let given = [
            ("budget", "3M"),
            ("segment_size", "64K"),
            ("units", "bloom:6x4"),
            ("warm_start_seconds", "0"),
            ("inherit_hotness", "false"),
            ("assume_bytewise_equality", "true"),
            ("create_filters", "false"),
            ("charge_to_block_cache", "true"),
            ("small_index", "false"),
            ("verify_share", "0.5"),
        ];
        assert!(given.iter().map(|(name, _)| *name).eq(SETTINGS.iter().map(|setting| setting.name)));
        let expected = Settings {
            budget: Budget::Bytes(3 << 20),
            segment_size: 64 << 10,
            units: "bloom:6x4".parse().unwrap(),
            warm_start_every: None,
            inherit_hotness: false,
            assume_bytewise_equality: true,
            create_filters: false,
            charge_to_block_cache: true,
            small_index: false,
            verify_share: 0.5,
        };
        let mut settings = Settings::default();
        for setting in &given {
            let next = settings.clone().with(&[*setting]).unwrap();
            assert_ne!(format!("{next:?}"), format!("{settings:?}"), "{setting:?}");
            // All but the budget must agree between those that share an instance.
            assert_eq!(difference(&settings, &next).is_none(), setting.0 == BUDGET, "{setting:?}");
            settings = next;
        }
        assert_eq!(format!("{settings:?}"), format!("{expected:?}"));
    }

    #[test]
    fn defaults_are_those_that_are_told() {
        let settings = Settings::default();
        for setting in SETTINGS {
            let applied = settings.clone().with(&[(setting.name, setting.default)]).expect(setting.name);
            assert_eq!((setting.show)(&applied), (setting.show)(&settings), "{}", setting.name);
        }
    }

    #[test]
    fn the_document_has_the_table() {
        let document = include_str!("../../../../docs/guide.md");
        for Setting { name, takes, default, help, .. } in SETTINGS {
            let row = format!("| `{name}` | {takes} | {default} | {help} |");
            assert!(document.lines().any(|line| line == row), "docs/guide.md has no line\n{row}");
        }
    }

    #[test]
    fn wrong_values_are_told_by_name_and_what_was_expected() {
        for Setting { name, takes, .. } in SETTINGS {
            for (value, got) in [("x-1", "x-1"), ("", "nothing")] {
                let error = Settings::default().with(&[(name, value)]).expect_err(name).to_string();
                assert!(error.starts_with(&format!("{name}: got {got}, expected {takes}")), "{error}");
            }
        }
        for value in ["x", "ribbon:33"] {
            let error = Settings::default().with(&[("units", value)]).unwrap_err().to_string();
            assert_eq!(error.matches("ribbon:UNITS").count(), 1, "{error}");
        }
        let unknown = Settings::default().with(&[("colour", "green")]).unwrap_err();
        assert!(unknown.to_string().contains("unknown setting"));
        for (text, bytes) in [
            ("0", Some(0)),
            ("7k", Some(7 << 10)),
            ("2T", Some(2 << 40)),
            ("", None),
            ("M", None),
            ("3MiB", Some(3 << 20)),
            ("3iB", None),
            ("MiB", None),
            ("3iBiB", None),
            ("3MB", None),
        ] {
            assert_eq!(parse_bytes(text), bytes, "{text}");
        }
        assert_eq!(parse_bytes("99999999999T"), None);
    }

    #[test]
    fn values_that_cannot_work_are_refused_wherever_they_are_given() {
        type With<'a> = &'a dyn Fn(f64) -> Settings;
        /// As text, as a number (-1 as a number of bytes is the largest of all), and whether it can work.
        type Value = (&'static str, f64, bool);
        let cases: [(&str, With<'_>, &[Value]); 2] = [
            (
                "budget",
                &|bytes| Settings { budget: Budget::Bytes(bytes as u64), ..Settings::default() },
                &[
                    ("0", 0.0, true),
                    ("256T", 2f64.powi(48), true),
                    ("257T", 257.0 * 2f64.powi(40), false),
                    ("18446744073709551615", f64::INFINITY, false),
                ],
            ),
            (
                "segment_size",
                &|bytes| Settings { segment_size: bytes as u64, ..Settings::default() },
                &[
                    ("16K", 16384.0, true),
                    ("16383", 16383.0, false),
                    ("0", -1.0, false),
                    ("1T", 2f64.powi(40), true),
                    ("2T", 2f64.powi(41), false),
                    ("18446744073709551615", f64::INFINITY, false),
                ],
            ),
        ];
        for (name, with, values) in cases {
            let takes = SETTINGS.iter().find(|setting| setting.name == name).expect(name).takes;
            for &(text, value, can_work) in values {
                let refusals = [
                    Settings::default().with(&[(name, text)]).err(),
                    Filters::start(with(value), &TEST_ENGINE).err(),
                ];
                for refusal in refusals.map(|error| error.map(|error| error.to_string())) {
                    assert_eq!(refusal.is_none(), can_work, "{name}={text}: {refusal:?}");
                    let is_told =
                        |said: String| said.contains(&format!("{name}: got ")) && said.contains(takes);
                    assert!(refusal.is_none_or(is_told), "{name}={text}");
                }
            }
        }
    }

    #[test]
    fn a_budget_that_is_chosen_by_measuring_needs_a_cache_that_pays() {
        for (given, can_be_auto) in [
            (&[][..], true),
            (&[("budget", "auto")], true),
            (&[("budget", "1M")], false),
            (&[("budget", "1M"), ("charge_to_block_cache", "true")], true),
        ] {
            let filters = Filters::start(Settings::default().with(given).unwrap(), &TEST_ENGINE).unwrap();
            let refusal = filters.set_budget(Budget::Auto).err().map(|error| error.to_string());
            assert_eq!(refusal.is_none(), can_be_auto, "{given:?}: {refusal:?}");
            assert!(refusal.is_none_or(
                |said| said.contains("budget: got auto") && said.contains("charge_to_block_cache=true")
            ));
        }
    }

    #[test]
    fn without_a_cache_the_default_is_a_budget_of_its_own() {
        let filters = Filters::start(Settings::default(), &TEST_ENGINE).unwrap();
        assert_eq!(filters.budget.in_force() as u64, Budget::UNCHARGED_BYTES);
        assert_eq!(filters.set_budget_bytes(1 << 20).unwrap(), 1 << 20);
        filters.set_budget(Budget::Auto).unwrap();
        assert_eq!(filters.budget.in_force() as u64, Budget::UNCHARGED_BYTES);
    }

    #[test]
    fn text_that_is_no_number_is_refused() {
        for name in ["budget", "segment_size", "warm_start_seconds"] {
            for value in ["-1", "1e3", "0x10", "1.5", "NaN", "inf", "18446744073709551616", " 1", ""] {
                assert!(Settings::default().with(&[(name, value)]).is_err(), "{name}={value}");
            }
        }
    }

    #[test]
    fn a_budget_that_is_refused_changes_nothing() {
        let filters = Filters::start(Settings::default(), &TEST_ENGINE).unwrap();
        assert_eq!(filters.set_budget_bytes(1 << 40).unwrap(), 1 << 40);
        assert!(filters.set_budget_bytes(u64::MAX).is_err());
        assert_eq!(filters.stats().budget_bytes, 1 << 40, "what was refused changes nothing");
    }
}
