//! Compares `docs/format.md` with the code. A reader that uses only the tables of the document must agree with the crate on every field,
//! and the annotated dump in the document must be that of the crate's output.

mod support;

use std::fmt::Write as _;
use std::ops::Range;
use std::path::PathBuf;

use springbloom_filter::{SHAPE_BYTES, UnitSettings};
use springbloom_format::{BlockHeader, BlockWriter, Directory, FORMAT_VERSION, HEADER_BYTES, MAGIC};
use xxhash_rust::xxh3::xxh3_64_with_seed;

const BEGIN: &str = "<!-- dump: begin -->\n";
const END: &str = "<!-- dump: end -->";

/// The block of the document: two segments of two units.
fn tiny_block() -> Vec<u8> {
    let entries = [(b"apple".to_vec(), 10), (b"pear".to_vec(), 10), (b"quince".to_vec(), 10)];
    let writer = BlockWriter::new(UnitSettings::bloom(2, 4).unwrap(), 20).with_identity(0x7ab1_e001);
    support::write(writer, &entries)
}

fn document_path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/format.md")
}

fn document() -> String {
    std::fs::read_to_string(document_path()).unwrap()
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
    assert_eq!(header_fields[1].value, format!("1; {FORMAT_VERSION} for the contents 1 and 2"));
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
            assert_eq!(get(&entry_fields, "kind", entry), shape.family() as u64);
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

#[test]
fn the_dump_is_what_the_crate_writes() {
    let document = document();
    let (before, rest) = document.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once(END).unwrap();
    let dump = format!("```\n{}```\n", dump(&document, &tiny_block()));
    if std::env::var_os("SPRINGBLOOM_BLESS").is_some() {
        std::fs::write(document_path(), format!("{before}{BEGIN}{dump}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(shown, dump, "regenerate with SPRINGBLOOM_BLESS=1");
}

/// Annotated hexadecimal dump of `block`, by the document's tables.
fn dump(document: &str, block: &[u8]) -> String {
    let mut out = String::new();
    let mut line = |span: Range<usize>, note: &str| {
        for (i, bytes) in block[span.clone()].chunks(8).enumerate() {
            let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let note = if i == 0 { note } else { "" };
            writeln!(
                out,
                "{}",
                format!("{:04x}  {:<23}  {note}", span.start + 8 * i, hex.join(" ")).trim_end()
            )
            .unwrap();
        }
    };
    let note = |field: &Field, value: &[u8]| match &*field.name {
        "magic" | "checksum" | "reserved" => field.name.clone(),
        name => format!("{name} = {}", number(value)),
    };
    for field in table(document, "## Header") {
        line(field.span.clone(), &format!("header: {}", note(&field, &block[field.span.clone()])));
    }
    let directory = Directory::parse(block).unwrap();
    let mut at = HEADER_BYTES;
    for segment in 0..directory.segment_count() {
        let fields = table(document, "### Segment entry");
        for field in &fields {
            let span = at + field.span.start..at + field.span.end;
            line(span.clone(), &format!("segment {segment}: {}", note(field, &block[span])));
        }
        at += fields.last().unwrap().span.end;
    }
    for segment in 0..directory.segment_count() {
        let fence = directory.fence(segment);
        line(
            at..at + fence.len(),
            &format!("fence of segment {segment}: \"{}\"", str::from_utf8(fence).unwrap()),
        );
        at += fence.len();
    }
    let last_key = directory.last_key();
    line(at..at + last_key.len(), &format!("last key: \"{}\"", str::from_utf8(last_key).unwrap()));
    at += last_key.len();
    line(at..at + 4, "directory: checksum");
    for unit in 0..directory.unit_count() {
        for segment in 0..directory.segment_count() {
            let span = directory.unit_span(segment, unit);
            let (start, end) = (span.start as usize, span.end as usize);
            line(start..end - 4, &format!("unit {unit} of segment {segment}"));
            line(end - 4..end, "checksum");
        }
    }
    out
}
