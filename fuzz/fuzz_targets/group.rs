//! Any shape with any unit bytes: a group that answers, or an error; longer prefixes only reject more.
#![no_main]

use libfuzzer_sys::fuzz_target;
use springbloom_filter::{FilterGroup, GroupShape, KeyDigest};

/// Shapes that ask for more are not built: the fuzzer has to stay fast.
const MAX_UNIT_BYTES: usize = 1 << 16;

fuzz_target!(|input: ([u8; 8], &[u8], Vec<(u64, u64)>)| {
    let (shape, fill, digests) = input;
    let Ok(shape) = GroupShape::decode(&shape) else { return };
    assert_eq!(GroupShape::decode(&shape.encode()), Ok(shape));
    for resident in 0..=shape.unit_count() {
        assert!((0.0..=1.0).contains(&shape.false_positive_rate(resident)));
    }
    assert!(FilterGroup::from_units(shape, &[fill]).is_ok() == (fill.len() == shape.unit_bytes()));
    if shape.unit_bytes() > MAX_UNIT_BYTES {
        return;
    }
    let unit: Vec<u8> =
        fill.iter().copied().chain(std::iter::repeat(0xaa)).take(shape.unit_bytes()).collect();
    let units = vec![unit.as_slice(); shape.unit_count().into()];
    let mut group = FilterGroup::from_units(shape, &[]).unwrap();
    for resident in 1..=units.len() {
        let longer = FilterGroup::from_units(shape, &units[..resident]).unwrap();
        for &(lo, hi) in &digests {
            let digest = KeyDigest { lo, hi };
            assert!(group.may_match(digest) || !longer.may_match(digest));
        }
        group = longer;
    }
});
