//! Properties of the units of every kind: no false negatives, monotone prefixes, total decoding.

mod support;

use proptest::prelude::*;
use rand::RngExt;
use springbloom_filter::{
    BuiltGroup, FilterError, FilterGroup, GroupLayout, GroupShape, KEYS_MAX, KeyDigest, SHAPE_BYTES,
    UnitSettings,
};
use springbloom_testkit::seed;
use support::{digest, digests, every_settings, prefix};

/// Numbers of keys around changes of words and rows, and the smallest and largest that tests can afford.
const KEY_COUNTS: [usize; 22] =
    [0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 47, 48, 56, 57, 63, 64, 65, 127, 500, 1000, 4096, 31_900];

#[test]
fn no_false_negative_under_any_prefix() {
    let set = seed::seed("no_false_negative_under_any_prefix");
    for settings in every_settings() {
        for key_count in KEY_COUNTS {
            let keys = digests(set, key_count);
            let built = settings.build(&keys);
            assert_eq!(built.shape.key_count() as usize, key_count);
            assert_eq!(built.units.len(), usize::from(settings.unit_count()));
            assert!(built.units.iter().all(|unit| unit.len() == built.shape.unit_bytes()));
            for resident in 0..=settings.unit_count() {
                let group = prefix(&built, resident);
                let missing = keys.iter().position(|&key| !group.may_match(key));
                assert_eq!(missing, None, "{settings}, {key_count} keys, {resident} resident");
            }
        }
    }
}

#[test]
fn the_rejecting_unit_is_the_one_that_ends_the_longest_matching_prefix() {
    let set = seed::seed("the_rejecting_unit");
    for settings in every_settings() {
        let built = settings.build(&digests(set, 700));
        let whole = prefix(&built, settings.unit_count());
        for stranger in digests(set + 1, 300) {
            let longest = (0..=settings.unit_count()).rev().find(|&n| prefix(&built, n).may_match(stranger));
            let expected = longest.filter(|&units| units < settings.unit_count());
            assert_eq!(whole.rejecting_unit(stranger), expected, "{settings}");
        }
    }
}

#[test]
fn repeated_digests_are_one_key() {
    for settings in every_settings() {
        let keys = digests(1, 300);
        let repeated: Vec<KeyDigest> = keys.iter().flat_map(|&key| [key; 3]).collect();
        for keys in [repeated, vec![keys[0]; 5000]] {
            let built = settings.build(&keys);
            let group = prefix(&built, settings.unit_count());
            assert!(keys.iter().all(|&key| group.may_match(key)), "{settings}");
        }
    }
}

#[test]
fn no_keys_match_nothing_once_a_unit_is_resident() {
    for settings in every_settings() {
        let built = settings.build(&[]);
        assert_eq!((built.shape.key_count(), built.shape.unit_bytes()), (0, 0));
        assert!(prefix(&built, 0).may_match(digest(0, 0)), "nothing resident: may match");
        assert!(!prefix(&built, 1).may_match(digest(0, 0)));
        assert_eq!(built.shape.false_positive_rate(0), 1.0);
        assert_eq!(built.shape.false_positive_rate(1), 0.0);
    }
}

/// Words of a group that a caller allocates.
fn words_of(built: &BuiltGroup, resident_units: u8) -> (GroupLayout, Vec<u64>) {
    let layout = GroupLayout::new(built.shape, resident_units);
    let mut words = vec![0; layout.words()];
    for (unit, bytes) in built.units.iter().take(resident_units.into()).enumerate() {
        layout.set_unit(&mut words, unit, bytes).unwrap();
    }
    (layout, words)
}

#[test]
fn every_way_to_a_prefix_gives_the_same_words() {
    let mut rng = seed::rng("every_way_to_a_prefix_gives_the_same_words");
    for settings in every_settings() {
        for key_count in [0, 1, 64, 65, 3000] {
            let built = settings.build(&digests(rng.random(), key_count));
            let full = words_of(&built, settings.unit_count());
            for resident in 0..=settings.unit_count() {
                let (layout, words) = words_of(&built, resident);
                assert_eq!(layout.resident_units(), resident);
                let rearranged = |(from, words): &(GroupLayout, Vec<u64>)| {
                    let mut words = words.clone();
                    words.resize(words.len().max(layout.words()), 0);
                    layout.rearrange(&mut words, from);
                    words.truncate(layout.words());
                    words
                };
                assert_eq!(rearranged(&full), words, "{settings}, {key_count} keys: cut to {resident}");
                for before in (0..resident).map(|fewer| words_of(&built, fewer)) {
                    let mut grown = rearranged(&before);
                    for unit in before.0.resident_units()..resident {
                        layout.set_unit(&mut grown, unit.into(), &built.units[usize::from(unit)]).unwrap();
                    }
                    assert_eq!(grown, words, "{settings}, {key_count} keys: grown to {resident}");
                }
                let group = prefix(&built, resident);
                for _ in 0..100 {
                    let digest = KeyDigest { lo: rng.random(), hi: rng.random() };
                    assert_eq!(layout.rejecting_unit(&words, digest), group.rejecting_unit(digest));
                }
            }
            assert_eq!(GroupLayout::new(built.shape, u8::MAX), full.0);
        }
    }
}

#[test]
fn a_longer_prefix_matches_a_subset() {
    let mut rng = seed::rng("a_longer_prefix_matches_a_subset");
    for settings in every_settings() {
        for key_count in [1, 60, 65, 3000] {
            let built = settings.build(&digests(rng.random(), key_count));
            let groups: Vec<FilterGroup> = (0..=settings.unit_count()).map(|n| prefix(&built, n)).collect();
            for _ in 0..2000 {
                let absent = KeyDigest { lo: rng.random(), hi: rng.random() };
                let rejected_at = groups.iter().position(|group| !group.may_match(absent));
                if let Some(first) = rejected_at {
                    assert!(groups[first..].iter().all(|group| !group.may_match(absent)), "{settings}");
                }
            }
        }
    }
}

#[test]
fn wrong_units_are_errors_not_panics() {
    for settings in every_settings() {
        let built = settings.build(&digests(0, 100));
        let expected = built.shape.unit_bytes();
        for bad in [0, 1, expected - 8, expected - 1, expected + 1, expected + 8, 2 * expected] {
            let bytes = vec![0xff; bad];
            let error = FilterError::UnitBytes { unit: 0, got: bad, expected };
            assert_eq!(FilterGroup::from_units(built.shape, &[&bytes]), Err(error.clone()));
            let (layout, mut words) = words_of(&built, 1);
            assert_eq!(layout.set_unit(&mut words, 0, &bytes), Err(error));
        }
        let got = built.units.len() + 1;
        let mut units: Vec<&[u8]> = built.units.iter().map(Vec::as_slice).collect();
        units.push(units[0]);
        let error = Err(FilterError::TooManyUnits { got, built: settings.unit_count() });
        assert_eq!(FilterGroup::from_units(built.shape, &units), error);
        let (layout, mut words) = words_of(&built, settings.unit_count());
        assert_eq!(layout.set_unit(&mut words, got - 1, units[0]).err(), error.err());
    }
}

/// Shapes of half a gigabyte. Larger ones are refused at once, and these by length before the allocation.
#[test]
fn a_shape_that_asks_for_gigabytes_allocates_nothing() {
    for kind in [[1, 32, 8, 3], [2, 32, 15, 0]] {
        let error = FilterError::ShapeParameter { name: "key_count", got: 0xffff_ffff };
        assert_eq!(GroupShape::decode(&[kind, [0xff; 4]].concat()), Err(error));
        let shape = GroupShape::decode(&[kind, KEYS_MAX.to_le_bytes()].concat()).unwrap();
        let expected = shape.unit_bytes();
        assert!(expected > 1 << 21);
        let error = Err(FilterError::UnitBytes { unit: 0, got: 8, expected });
        assert_eq!(FilterGroup::from_units(shape, &[[0; 8].as_slice(); 32]), error);
    }
}

#[test]
fn shapes_survive_encoding() {
    for settings in every_settings() {
        for key_count in KEY_COUNTS {
            let shape = settings.build(&digests(0, key_count)).shape;
            assert_eq!(GroupShape::decode(&shape.encode()), Ok(shape), "{settings}, {key_count} keys");
        }
    }
    assert!(size_of::<GroupShape>() <= 6, "there is one for every segment in memory");
}

#[test]
fn settings_out_of_range_are_errors() {
    assert!(matches!(UnitSettings::bloom(0, 4), Err(FilterError::UnitCount { got: 0, .. })));
    assert!(matches!(UnitSettings::bloom(33, 4), Err(FilterError::UnitCount { got: 33, .. })));
    assert!(matches!(UnitSettings::bloom(6, 0), Err(FilterError::BitsPerKey { got: 0, .. })));
    assert!(matches!(UnitSettings::bloom(6, 9), Err(FilterError::BitsPerKey { got: 9, .. })));
    assert_eq!(UnitSettings::default(), UnitSettings::ribbon(16).unwrap());
    assert_eq!(UnitSettings::default().to_string(), "ribbon:16");
}

/// An encoded shape that is likely to be accepted: known kind codes and small parameters.
fn likely_shape() -> impl Strategy<Value = [u8; SHAPE_BYTES]> {
    (0..4u8, 0..34u8, 0..10u8, 0..20u8, prop_oneof![0..70u32, 0..5000u32]).prop_map(
        |(kind, units, a, b, keys)| {
            let [k0, k1, k2, k3] = keys.to_le_bytes();
            [kind, units, a, b, k0, k1, k2, k3]
        },
    )
}

proptest! {
    #[test]
    fn any_bytes_decode_to_a_usable_shape_or_an_error(bytes: Vec<u8>) {
        if let Ok(shape) = GroupShape::decode(&bytes) {
            prop_assert_eq!(shape.encode().to_vec(), bytes);
        }
    }

    #[test]
    fn any_shape_and_any_unit_bytes_answer(bytes in likely_shape(), fill: u64, lo: u64, hi: u64) {
        let Ok(shape) = GroupShape::decode(&bytes) else { return Ok(()) };
        let unit: Vec<u8> = (0..shape.unit_bytes() as u64).map(|i| (fill.rotate_left(i as u32) ^ i) as u8).collect();
        for resident in [0, 1, shape.unit_count() / 2, shape.unit_count()] {
            let rate = shape.false_positive_rate(resident);
            prop_assert!((0.0..=1.0).contains(&rate), "{:?}: {}", shape, rate);
            let group = FilterGroup::from_units(shape, &vec![unit.as_slice(); resident.into()]).unwrap();
            group.may_match(KeyDigest { lo, hi });
        }
    }
}
