//! Any damage to the units of a good block: what still decodes is what was written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use springbloom_filter::UnitSettings;
use springbloom_format::{BlockWriter, Directory};

/// Changes to make: where (modulo the length of the units) and what to XOR there.
type Damage = Vec<(u16, u8)>;

fuzz_target!(|input: (Damage, Option<u16>, u8)| {
    let (damage, cut, unit) = input;
    let mut writer = BlockWriter::new(UnitSettings::default(), 1000);
    for key in 0..40u32 {
        writer.add(&key.to_be_bytes(), 100);
    }
    let pristine = writer.finish();
    let directory = Directory::parse(&pristine).unwrap();
    let unit = unit % directory.unit_count();
    let row = directory.row_span(unit);
    let good = &pristine[row.start as usize..row.end as usize];
    let mut bytes = good.to_vec();
    for (at, xor) in damage {
        let at = usize::from(at) % bytes.len();
        bytes[at] ^= xor;
    }
    bytes.truncate(cut.map_or(usize::MAX, usize::from));
    let expected: Vec<_> = directory.decode_row(unit, good).map(|(_, bytes)| bytes.unwrap()).collect();
    for (segment, decoded) in directory.decode_row(unit, &bytes) {
        assert!(decoded.is_err() || decoded == Ok(expected[segment as usize]));
    }
});
