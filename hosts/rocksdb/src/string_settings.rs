//! Settings as option strings give them: what an [`ElasticFiltersBuilder`] takes, by name, as text.

use std::time::Duration;

use crate::{ElasticFiltersBuilder, MemoryPressure, budget_control};

/// What each setting is called, with what it takes. In `docs/operations.md` as well.
pub(crate) const NAMES: &[(&str, &str)] = &[
    ("budget", "bytes, such as 64M, 256T at most; 0 for no filters"),
    ("segment_data_bytes", "bytes, such as 4M"),
    ("units", "ribbon:UNITS or bloom:UNITSxBITS"),
    ("policy", "benefit, multi-queue, monkey or uniform"),
    ("lifetime", "lookups"),
    ("warm_start_seconds", "seconds; 0: nothing is remembered"),
    ("negative_cache", "true or false"),
    ("trust_comparators", "true or false"),
    ("write_units", "true or false"),
    ("charge_to_block_cache", "true or false"),
    ("memory_pressure", "off, on, or a file to read it from"),
    ("memory_pressure_floor", "bytes, such as 16M"),
    ("memory_pressure_stall_percent", "a number of percent"),
];

/// Settings in the order in which they were given; those that were not are not in it.
pub(crate) type Given<'a> = [(&'a str, &'a str)];

/// `builder` with `given`. Errors name the setting, what it was given and what it takes.
pub(crate) fn apply(
    mut builder: ElasticFiltersBuilder,
    given: &Given<'_>,
) -> Result<ElasticFiltersBuilder, String> {
    for &(name, value) in given {
        let Some(&(_, takes)) = NAMES.iter().find(|(known, _)| *known == name) else {
            return Err(format!("unknown setting {name}"));
        };
        let wrong = || format!("{name}: got {value}, expected {takes}");
        let number = || value.parse::<u64>().map_err(|_| wrong());
        let bytes = || parse_bytes(value).ok_or_else(wrong);
        let yes = || value.parse::<bool>().map_err(|_| wrong());
        let pressure = builder.memory_pressure.clone();
        let some_pressure = || pressure.ok_or_else(|| format!("{name}: memory_pressure is off"));
        builder = match name {
            "budget" => {
                let budget_bytes = bytes()?;
                budget_control::checked(budget_bytes).map_err(|_| wrong())?;
                builder.budget_bytes(budget_bytes)
            }
            "segment_data_bytes" => builder.segment_data_bytes(bytes()?),
            "units" => builder.units(value.parse().map_err(|error| format!("{}: {error}", wrong()))?),
            "policy" => builder.policy(value.parse().map_err(|_| wrong())?),
            "lifetime" => builder.lifetime(number()?),
            "warm_start_seconds" => {
                let seconds = number()?;
                builder.warm_start_every((seconds > 0).then(|| Duration::from_secs(seconds)))
            }
            "negative_cache" => builder.negative_cache(yes()?),
            "trust_comparators" => builder.trust_comparators(yes()?),
            "write_units" => builder.write_units(yes()?),
            "charge_to_block_cache" => builder.charge_to_block_cache(yes()?),
            "memory_pressure" => match value {
                "off" => ElasticFiltersBuilder { memory_pressure: None, ..builder },
                "on" => {
                    let pressure = MemoryPressure::of_this_process();
                    let unknown =
                        || format!("{name}: this kernel does not tell it; name a file, or turn it off");
                    builder.yield_to_memory_pressure(pressure.ok_or_else(unknown)?)
                }
                file => builder.yield_to_memory_pressure(MemoryPressure::in_file(file)),
            },
            "memory_pressure_floor" => {
                let floor_bytes = bytes()?;
                builder.yield_to_memory_pressure(some_pressure()?.floor_bytes(floor_bytes))
            }
            _ => {
                let percent = value.parse().ok().filter(|percent: &f64| *percent > 0.0);
                let percent = percent.ok_or_else(wrong)?;
                builder.yield_to_memory_pressure(some_pressure()?.stall_percent(percent))
            }
        };
    }
    Ok(builder)
}

/// The first setting, the budget aside, in which two builders differ: its name and both values.
pub(crate) fn difference(
    a: &ElasticFiltersBuilder,
    b: &ElasticFiltersBuilder,
) -> Option<(&'static str, String, String)> {
    let texts = |builder: &ElasticFiltersBuilder| {
        [
            ("segment_data_bytes", builder.segment_data_bytes.to_string()),
            ("units", builder.units.to_string()),
            ("policy", builder.policy.to_string()),
            ("lifetime", format!("{:?}", builder.lifetime)),
            ("warm_start_seconds", format!("{:?}", builder.warm_start_every)),
            ("negative_cache", builder.negative_cache.to_string()),
            ("trust_comparators", builder.trust_comparators.to_string()),
            ("write_units", builder.write_units.to_string()),
            ("charge_to_block_cache", builder.charge_to_block_cache.to_string()),
            ("memory_pressure", format!("{:?}", builder.memory_pressure)),
        ]
    };
    let pairs = texts(a).into_iter().zip(texts(b));
    pairs.map(|((name, a), (_, b))| (name, a, b)).find(|(_, a, b)| a != b)
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
        assert!(given.iter().map(|(name, _)| name).eq(NAMES.iter().map(|(name, _)| name)));
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
        let document = include_str!("../../../docs/operations.md");
        for (name, _) in NAMES {
            assert!(document.contains(&format!("| `{name}` |")), "{name} is not documented");
        }
    }

    #[test]
    fn wrong_values_are_told_by_name_and_what_was_expected() {
        for (name, takes) in NAMES {
            let value = if *name == "memory_pressure" { continue } else { "x-1" };
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
