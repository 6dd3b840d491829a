//! Every setting, once: its name, what it takes, its default, what it does, and how a builder takes it. Option strings, the settings that
//! databases must agree in, the names that the C++ table factory registers and the table in `docs/operations.md` come from here.

use std::time::Duration;

use crate::{ElasticFiltersBuilder, MemoryPressure, control::budget_control};

/// A setting, as option strings name it.
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// The values that it takes.
    pub takes: &'static str,
    /// As an option string would give it; in words if there is no such value.
    pub default: &'static str,
    /// What it does, and the builder's method for it.
    pub help: &'static str,
    set: Set,
    /// Two builders that show the same agree.
    show: fn(&ElasticFiltersBuilder) -> String,
}

/// The builder with the value. Errors with a reason; without one where the value is not among those that the setting takes.
type Set = fn(ElasticFiltersBuilder, &str) -> Result<ElasticFiltersBuilder, Option<String>>;

/// Where the budget is not changed: databases that share an instance agree in all the others.
pub(crate) const BUDGET: &str = "budget";

/// All settings. A later one may need an earlier one.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: BUDGET,
        takes: "bytes, such as 64M, 256T at most; 0 for no filters",
        default: "64M",
        help: "memory for units and bookkeeping (`budget_bytes`)",
        set: |builder, value| {
            let bytes = taken(parse_bytes(value))?;
            budget_control::checked(bytes).map_err(|_| None)?;
            Ok(builder.budget_bytes(bytes))
        },
        show: |builder| builder.budget_bytes.to_string(),
    },
    Setting {
        name: "segment_data_bytes",
        takes: "bytes, such as 4M",
        default: "8M",
        help: "data under one group of units (`segment_data_bytes`)",
        set: |builder, value| Ok(builder.segment_data_bytes(taken(parse_bytes(value))?)),
        show: |builder| builder.segment_data_bytes.to_string(),
    },
    Setting {
        name: "units",
        takes: "ribbon:UNITS or bloom:UNITSxBITS",
        default: "ribbon:16",
        help: "units of new tables (`units`)",
        set: |builder, value| Ok(builder.units(value.parse().map_err(|error| Some(format!("{error}")))?)),
        show: |builder| builder.units.to_string(),
    },
    Setting {
        name: "policy",
        takes: "benefit, multi-queue, monkey or uniform",
        default: "benefit",
        help: "what decides which units are resident (`policy`)",
        set: |builder, value| Ok(builder.policy(value.parse().map_err(|_| None)?)),
        show: |builder| builder.policy.to_string(),
    },
    Setting {
        name: "lifetime",
        takes: "lookups",
        default: "the number of segments",
        help: "lookups after which an unused segment expires, for `multi-queue` (`lifetime`)",
        set: |builder, value| Ok(builder.lifetime(number(value)?)),
        show: |builder| format!("{:?}", builder.lifetime),
    },
    Setting {
        name: "warm_start_seconds",
        takes: "seconds; 0: no warm start",
        default: "60",
        help: "how often hotness is saved for the next start (`warm_start_every`)",
        set: |builder, value| {
            let seconds = number(value)?;
            Ok(builder.warm_start_every((seconds > 0).then(|| Duration::from_secs(seconds))))
        },
        show: |builder| format!("{:?}", builder.warm_start_every),
    },
    Setting {
        name: "negative_cache",
        takes: "true or false",
        default: "true",
        help: "part of the budget keeps absent keys that pass the units (`negative_cache`)",
        set: |builder, value| Ok(builder.negative_cache(yes(value)?)),
        show: |builder| builder.negative_cache.to_string(),
    },
    Setting {
        name: "trust_comparators",
        takes: "true or false",
        default: "false",
        help: "keys that a custom comparator calls equal are equal byte for byte (`trust_comparators`)",
        set: |builder, value| Ok(builder.trust_comparators(yes(value)?)),
        show: |builder| builder.trust_comparators.to_string(),
    },
    Setting {
        name: "write_units",
        takes: "true or false",
        default: "true",
        help: "new tables get units (`write_units`); see [Switching and rolling back](#switching-and-rolling-back)",
        set: |builder, value| Ok(builder.write_units(yes(value)?)),
        show: |builder| builder.write_units.to_string(),
    },
    Setting {
        name: "charge_to_block_cache",
        takes: "true or false",
        default: "false",
        help: "the budget is charged to the block cache (`charge_to_block_cache`)",
        set: |builder, value| Ok(builder.charge_to_block_cache(yes(value)?)),
        show: |builder| builder.charge_to_block_cache.to_string(),
    },
    Setting {
        name: "memory_pressure",
        takes: "off, on, or a file to read it from",
        default: "off",
        help: "the budget yields to memory pressure, with `on` that of this process (`yield_to_memory_pressure`)",
        set: |builder, value| match value {
            "off" => Ok(ElasticFiltersBuilder { memory_pressure: None, ..builder }),
            "on" => {
                let unknown = || Some("this kernel does not tell it; name a file, or turn it off".to_owned());
                Ok(builder.yield_to_memory_pressure(MemoryPressure::of_this_process().ok_or_else(unknown)?))
            }
            file => Ok(builder.yield_to_memory_pressure(MemoryPressure::in_file(file))),
        },
        show: |builder| format!("{:?}", builder.memory_pressure),
    },
    Setting {
        name: "memory_pressure_floor",
        takes: "bytes, such as 16M",
        default: "0",
        help: "the budget yields no further (`MemoryPressure::floor_bytes`)",
        set: |builder, value| {
            let floor_bytes = taken(parse_bytes(value))?;
            with_pressure(builder, |pressure| pressure.floor_bytes(floor_bytes))
        },
        show: |builder| format!("{:?}", builder.memory_pressure.as_ref().map(MemoryPressure::floor)),
    },
    Setting {
        name: "memory_pressure_stall_percent",
        takes: "a number of percent",
        default: "5",
        help: "stalled time from which on there is pressure (`MemoryPressure::stall_percent`)",
        set: |builder, value| {
            let percent = taken(value.parse().ok().filter(|percent: &f64| *percent > 0.0))?;
            with_pressure(builder, |pressure| pressure.stall_percent(percent))
        },
        show: |builder| format!("{:?}", builder.memory_pressure),
    },
];

fn taken<T>(value: Option<T>) -> Result<T, Option<String>> {
    value.ok_or(None)
}

fn number(value: &str) -> Result<u64, Option<String>> {
    taken(value.parse().ok())
}

fn yes(value: &str) -> Result<bool, Option<String>> {
    taken(value.parse().ok())
}

fn with_pressure(
    builder: ElasticFiltersBuilder,
    change: impl FnOnce(MemoryPressure) -> MemoryPressure,
) -> Result<ElasticFiltersBuilder, Option<String>> {
    let pressure =
        builder.memory_pressure.clone().ok_or_else(|| Some("memory_pressure is off".to_owned()))?;
    Ok(builder.yield_to_memory_pressure(change(pressure)))
}

/// Settings in the order in which they were given; those that were not are not in it.
pub(crate) type Given<'a> = [(&'a str, &'a str)];

/// `builder` with `given`. Errors name the setting, what it was given and what it takes.
pub(crate) fn apply(
    mut builder: ElasticFiltersBuilder,
    given: &Given<'_>,
) -> Result<ElasticFiltersBuilder, String> {
    for &(name, value) in given {
        let setting = SETTINGS.iter().find(|setting| setting.name == name);
        let Setting { takes, set, .. } = setting.ok_or_else(|| format!("unknown setting {name}"))?;
        builder = set(builder, value).map_err(|reason| {
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("{name}: got {value}, expected {takes}{reason}")
        })?;
    }
    Ok(builder)
}

/// The first setting, the budget aside, in which two builders differ: its name and both values.
pub(crate) fn difference(
    a: &ElasticFiltersBuilder,
    b: &ElasticFiltersBuilder,
) -> Option<(&'static str, String, String)> {
    let shared = SETTINGS.iter().filter(|setting| setting.name != BUDGET);
    shared.map(|setting| (setting.name, (setting.show)(a), (setting.show)(b))).find(|(_, a, b)| a != b)
}

/// `64`, `64K`, `64M`, `64G` or `64T`, in powers of 1024 as RocksDB's own options have them.
fn parse_bytes(text: &str) -> Option<u64> {
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
    use crate::ElasticFilters;

    #[test]
    fn every_setting_reaches_the_builder_and_is_in_the_document() {
        let given = [
            ("budget", "3M"),
            ("segment_data_bytes", "64K"),
            ("units", "bloom:6x4"),
            ("policy", "multi-queue"),
            ("lifetime", "1000"),
            ("warm_start_seconds", "0"),
            ("negative_cache", "false"),
            ("trust_comparators", "true"),
            ("write_units", "false"),
            ("charge_to_block_cache", "true"),
            ("memory_pressure", "/proc/pressure/memory"),
            ("memory_pressure_floor", "1M"),
            ("memory_pressure_stall_percent", "2.5"),
        ];
        assert!(given.iter().map(|(name, _)| *name).eq(SETTINGS.iter().map(|setting| setting.name)));
        let pressure =
            MemoryPressure::in_file("/proc/pressure/memory").floor_bytes(1 << 20).stall_percent(2.5);
        let expected = ElasticFilters::builder()
            .budget_bytes(3 << 20)
            .segment_data_bytes(64 << 10)
            .units("bloom:6x4".parse().unwrap())
            .policy(crate::PolicyKind::MultiQueue)
            .lifetime(1000)
            .warm_start_every(None)
            .negative_cache(false)
            .trust_comparators(true)
            .write_units(false)
            .charge_to_block_cache(true)
            .yield_to_memory_pressure(pressure);
        let mut builder = ElasticFilters::builder();
        for (at, setting) in given.iter().enumerate() {
            let next = apply(builder.clone(), &[*setting]).unwrap();
            assert_ne!(format!("{next:?}"), format!("{builder:?}"), "{setting:?}");
            // All but the budget must agree between those that share an instance.
            assert_eq!(difference(&builder, &next).is_some(), at > 0, "{setting:?}");
            builder = next;
        }
        assert_eq!(format!("{builder:?}"), format!("{expected:?}"));
    }

    #[test]
    fn defaults_are_those_of_the_builder() {
        let builder = ElasticFilters::builder().yield_to_memory_pressure(MemoryPressure::in_file("file"));
        for setting in
            SETTINGS.iter().filter(|setting| !["lifetime", "memory_pressure"].contains(&setting.name))
        {
            let applied = apply(builder.clone(), &[(setting.name, setting.default)]).expect(setting.name);
            assert_eq!((setting.show)(&applied), (setting.show)(&builder), "{}", setting.name);
        }
    }

    #[test]
    fn the_document_has_the_table() {
        let document = include_str!("../../../../docs/operations.md");
        for Setting { name, takes, default, help, .. } in SETTINGS {
            let row = format!("| `{name}` | {takes} | {default} | {help} |");
            assert!(document.lines().any(|line| line == row), "docs/operations.md has no line\n{row}");
        }
    }

    #[test]
    fn wrong_values_are_told_by_name_and_what_was_expected() {
        for Setting { name, takes, .. } in SETTINGS.iter().filter(|setting| setting.name != "memory_pressure")
        {
            let value = "x-1";
            let error = apply(
                ElasticFilters::builder().yield_to_memory_pressure(MemoryPressure::in_file("f")),
                &[(name, value)],
            )
            .expect_err(name);
            assert!(error.starts_with(&format!("{name}: got {value}, expected {takes}")), "{error}");
        }
        assert!(
            apply(ElasticFilters::builder(), &[("memory_pressure_floor", "1M")])
                .unwrap_err()
                .contains("is off")
        );
        assert!(
            apply(ElasticFilters::builder(), &[("colour", "green")]).unwrap_err().contains("unknown setting")
        );
        for (text, bytes) in
            [("0", Some(0)), ("7k", Some(7 << 10)), ("2T", Some(2 << 40)), ("", None), ("M", None)]
        {
            assert_eq!(parse_bytes(text), bytes, "{text}");
        }
        assert_eq!(parse_bytes("99999999999T"), None);
    }

    #[test]
    fn a_budget_beyond_what_can_be_addressed_is_refused_wherever_it_is_given() {
        for (text, is_accepted) in
            [("256T", true), ("281474976710657", false), ("257T", false), ("18446744073709551615", false)]
        {
            let applied = apply(ElasticFilters::builder(), &[("budget", text)]);
            assert_eq!(applied.is_ok(), is_accepted, "{text}");
            assert!(applied.err().is_none_or(|error| error.contains(text) && error.contains("256T at most")));
            let built = ElasticFilters::builder().budget_bytes(parse_bytes(text).unwrap()).build();
            assert_eq!(built.is_ok(), is_accepted, "{text}");
            assert!(built.err().is_none_or(|error| error.to_string().contains("at most 281474976710656")));
        }
        let elastic = ElasticFilters::builder().build().unwrap();
        assert_eq!(elastic.set_budget_bytes(1 << 40).unwrap(), 1 << 40);
        assert!(elastic.set_budget_bytes(u64::MAX).is_err());
        assert_eq!(elastic.stats().budget_bytes, 1 << 40, "what was refused changes nothing");
    }
}
