//! Compares `docs/format.md` with the code: a reader that uses only the tables of the document must agree with the crate on every field.

mod support;

use std::ops::Range;

use springbloom_filter::{SHAPE_BYTES, UnitSettings};
use springbloom_format::{BlockHeader, BlockWriter, Directory, HEADER_BYTES, MAGIC};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Two segments of two units.
fn tiny_block() -> Vec<u8> {
    let entries = [(b"apple".to_vec(), 10), (b"pear".to_vec(), 10), (b"quince".to_vec(), 10)];
    let writer = BlockWriter::new(UnitSettings::bloom(2, 4).unwrap(), 20).with_identity(0x7ab1_e001);
    support::write(writer, &entries)
}

fn document() -> String {
    std::fs::read_to_string("../../docs/format.md").unwrap()
}

struct Field {
    span: Range<usize>,
    name: String,
    value: String,
}

/// The first table under `heading` as fields; panics unless they are contiguous from 0.
fn table(document: &str, heading: &str) -> Vec<Field> {
    let section = document.split(&format!("\n{heading}\n")).nth(1).unwrap_or_else(|| panic!("no {heading}"));
    let rows =
        section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let mut end = 0;
    rows.skip(2)
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let (offset, bytes): (usize, usize) = (cells[0].parse().unwrap(), cells[1].parse().unwrap());
            assert_eq!(offset, end, "{heading}: {}", cells[2]);
            end = offset + bytes;
            Field { span: offset..end, name: cells[2].into(), value: cells[3].into() }
        })
        .collect()
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn get(fields: &[Field], name: &str, bytes: &[u8]) -> u64 {
    let field = fields.iter().find(|field| field.name == name).unwrap_or_else(|| panic!("no field {name}"));
    number(&bytes[field.span.clone()])
}

fn assert_checksum(covered: &[u8], seed: u64, stored: &[u8]) {
    assert_eq!(u64::from(xxh3_64_with_seed(covered, seed) as u32), number(stored));
}

#[test]
fn a_reader_of_the_document_agrees_with_the_crate() {
    let document = document();
    let (header_fields, entry_fields) =
        (table(&document, "## Header"), table(&document, "### Segment entry"));
    assert_eq!(header_fields.last().unwrap().span.end, HEADER_BYTES);
    let entry_bytes = entry_fields.last().unwrap().span.end;

    let block = tiny_block();
    assert_eq!(block[..8], MAGIC);
    assert_eq!(header_fields[0].value, format!("`{}` in ASCII", std::str::from_utf8(&MAGIC).unwrap()));
    assert_eq!(header_fields[1].value, "1; 2 for the contents 1 and 2");
    let header = BlockHeader::parse(&block).unwrap();
    let from_document = |name| get(&header_fields, name, &block);
    assert_eq!(from_document("version"), 1, "of a block without prefixes");
    assert_eq!(from_document("contents"), 0);
    assert_eq!(from_document("unit_count"), header.unit_count.into());
    assert_eq!(from_document("segment_count"), header.segment_count.into());
    assert_eq!(from_document("block_bytes"), header.block_bytes);
    assert_eq!(from_document("block_bytes"), block.len() as u64);
    assert_eq!(from_document("directory_bytes"), header.directory_bytes);
    assert_eq!(from_document("identity"), header.identity.into());
    assert_checksum(&block[..36], 1 << 56, &block[36..40]);

    let head = HEADER_BYTES + header.directory_bytes as usize;
    let entries = &block[HEADER_BYTES..head - 4];
    assert_checksum(entries, 2 << 56, &block[head - 4..head]);
    let directory = Directory::parse(&block).unwrap();
    let fences = &entries[entry_bytes * header.segment_count as usize..];
    let (mut fence_start, mut at) = (0, head);
    for unit in 0..header.unit_count {
        for segment in 0..header.segment_count {
            let entry = &entries[segment as usize * entry_bytes..][..entry_bytes];
            let shape = directory.shape(segment);
            assert_eq!(entry[..SHAPE_BYTES], shape.encode());
            assert_eq!(get(&entry_fields, "kind", entry), shape.kind() as u64);
            assert_eq!(get(&entry_fields, "unit_count", entry), shape.unit_count().into());
            assert_eq!(get(&entry_fields, "key_count", entry), shape.key_count().into());
            assert_eq!(get(&entry_fields, "data_bytes", entry), directory.data_bytes(segment));
            if unit == 0 {
                let fence_end = get(&entry_fields, "fence_end", entry) as usize;
                assert_eq!(&fences[fence_start..fence_end], directory.fence(segment));
                fence_start = fence_end;
            }
            let bits = (get(&entry_fields, "key_count", entry) * get(&entry_fields, "parameter_a", entry))
                .div_ceil(64)
                * 64;
            let end = at + bits as usize / 8;
            let place = 3 << 56 | u64::from(segment) << 8 | u64::from(unit);
            let seed = place ^ u64::from(header.identity).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            assert_checksum(&block[at..end], seed, &block[end..end + 4]);
            assert_eq!(directory.unit_span(segment, unit), at as u64..end as u64 + 4);
            at = end + 4;
        }
    }
    assert_eq!(at, block.len());
    assert_eq!(&fences[fence_start..], directory.last_key());
}
