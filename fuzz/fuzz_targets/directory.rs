//! Any bytes as a directory behind right checksums: a directory whose every answer is usable, or an error.
#![no_main]

use libfuzzer_sys::{arbitrary, fuzz_target};
use springbloom_format::{Directory, HEADER_BYTES, MAGIC};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What the fuzzer chooses: header fields, then the directory as bytes.
#[derive(arbitrary::Arbitrary, Debug)]
struct Input<'a> {
    /// Of keys, of keys before prefixes, of prefixes.
    contents: u8,
    unit_count: u8,
    segment_count: u32,
    block_bytes: u64,
    directory: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let mut block = MAGIC.to_vec();
    let contents = input.contents % 3;
    let version = [1, 2, 2][usize::from(contents)];
    block.extend([version, 0, input.unit_count, contents]);
    block.extend(input.segment_count.to_le_bytes());
    block.extend(input.block_bytes.to_le_bytes());
    block.extend((input.directory.len() as u64 + 4).to_le_bytes());
    block.extend([0; 4]);
    block.extend((xxh3_64_with_seed(&block, 1 << 56) as u32).to_le_bytes());
    assert_eq!(block.len(), HEADER_BYTES);
    block.extend_from_slice(input.directory);
    block.extend((xxh3_64_with_seed(input.directory, 2 << 56) as u32).to_le_bytes());
    check(&block);
    // With the block length that the directory implies, so that its acceptance does not hang on a guess.
    if let Err(springbloom_format::FormatError::Inconsistent { field: "bytes of all units", got, .. }) =
        Directory::parse(&block)
    {
        // Before prefixes there is more.
        block[16..24].copy_from_slice(&(got.saturating_add(u64::from(contents == 1))).to_le_bytes());
        let sum = xxh3_64_with_seed(&block[..36], 1 << 56) as u32;
        block[36..40].copy_from_slice(&sum.to_le_bytes());
        check(&block);
    }
});

fn check(block: &[u8]) {
    let Ok(directory) = Directory::parse(block) else { return };
    // What it takes is bounded by the bytes.
    assert!(directory.segment_count() as usize * 20 < block.len());
    let (mut fences, mut at) = (0, directory.row_span(0).start);
    for unit in 0..directory.unit_count() {
        for segment in 0..directory.segment_count() {
            fences += if unit == 0 { directory.fence(segment).len() } else { 0 };
            let span = directory.unit_span(segment, unit);
            assert_eq!(
                (span.start, span.end - span.start),
                (at, directory.shape(segment).unit_bytes() as u64 + 4)
            );
            at = span.end;
            assert!(
                directory.decode_unit(segment, unit, block).is_err()
                    || span.end - span.start == block.len() as u64
            );
        }
    }
    assert_eq!(at, directory.block_bytes());
    assert!(directory.prefixes_at().is_none_or(|prefixes_at| prefixes_at == at));
    let last = directory.last_key();
    assert!(fences + last.len() < block.len());
}
