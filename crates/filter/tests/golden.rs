//! Bytes that must not change without a new kind or format version. The expected values come from an independent implementation (Python
//! with the C library's XXH3).

use springbloom_filter::{GroupShape, KeyDigest, UnitSettings};

const FRUIT: [&str; 8] = ["apple", "banana", "cherry", "damson", "elder", "fig", "grape", "hazel"];

/// Bits per key, unit, its bytes over [`FRUIT`].
const BLOOM_UNITS: [(u8, usize, &str); 12] = [
    (1, 0, "008050040a020100"),
    (1, 1, "2001420000000190"),
    (1, 5, "1002480012200000"),
    (1, 31, "0808015020040000"),
    (4, 0, "138654045a8a212a"),
    (4, 1, "3003e20c0c341190"),
    (4, 5, "5662486a1a20c2a8"),
    (4, 31, "1849137020861b00"),
    (8, 0, "5386f46f5a8b232a"),
    (8, 1, "3243e32e8c3491d0"),
    (8, 5, "7763686e1aa1daa8"),
    (8, 31, "1e5d937220969b03"),
];

/// Unit, its bytes over [`FRUIT`].
const RIBBON_UNITS: [(usize, &str); 4] =
    [(0, "1300000000000000"), (1, "5101000000000000"), (15, "0701000000000000"), (31, "3500000000000000")];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn bloom_units() {
    let digests = FRUIT.map(|key| KeyDigest::of(key.as_bytes()));
    for (bits_per_key, unit, bytes) in BLOOM_UNITS {
        let built = UnitSettings::bloom(32, bits_per_key).unwrap().build(&digests);
        assert_eq!(hex(&built.units[unit]), bytes, "{bits_per_key} bits per key, unit {unit}");
    }
}

#[test]
fn default_units_of_4096_keys() {
    let digests: Vec<KeyDigest> = (0..4096u32).map(|i| KeyDigest::of(&i.to_be_bytes())).collect();
    let all = UnitSettings::bloom(6, 4).unwrap().build(&digests).units.concat();
    assert_eq!(KeyDigest::of(&all), KeyDigest { lo: 0xd09d31086f0d579f, hi: 0xc1edbf208a79a7e8 });
}

#[test]
fn bloom_shape() {
    let digests: Vec<KeyDigest> = (0..1000u32).map(|i| KeyDigest::of(&i.to_be_bytes())).collect();
    let shape = UnitSettings::bloom(6, 4).unwrap().build(&digests).shape;
    // Kind 1, 6 units, 4 bits per key, 3 probes, 1000 keys.
    assert_eq!(shape.encode(), [1, 6, 4, 3, 0xe8, 3, 0, 0]);
    assert_eq!(GroupShape::decode(&[1, 6, 4, 3, 0xe8, 3, 0, 0]), Ok(shape));
}

#[test]
fn ribbon_units() {
    let built = UnitSettings::ribbon(32).unwrap().build(&FRUIT.map(|key| KeyDigest::of(key.as_bytes())));
    for (unit, bytes) in RIBBON_UNITS {
        assert_eq!(hex(&built.units[unit]), bytes, "unit {unit}");
    }
    // Kind 2, 32 units, first size, first seed, 8 keys.
    assert_eq!(built.shape.encode(), [2, 32, 0, 0, 8, 0, 0, 0]);
}

/// The smallest system with bands of 128, and one of the default segment size.
#[test]
fn ribbon_units_of_61_and_4096_keys() {
    let golden = [
        (61, KeyDigest { lo: 0x6103cf36982e5c2b, hi: 0xcb8e90f6b2a9b4e7 }),
        (4096, KeyDigest { lo: 0xf9ab6cc3f24f70ad, hi: 0xbb6dfb7d02a8dd90 }),
    ];
    for (key_count, digest) in golden {
        let digests: Vec<KeyDigest> = (0..key_count).map(|i: u32| KeyDigest::of(&i.to_be_bytes())).collect();
        let all = UnitSettings::ribbon(24).unwrap().build(&digests).units.concat();
        assert_eq!(KeyDigest::of(&all), digest, "{key_count} keys");
    }
}
