//! Reads real files by the tables of `docs/index.md`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use springbloom_flash_index::{
    FlashIndex, INDEX_MAGIC, INDEX_PAGE_BYTES, INDEX_VERSION, IndexMemory, IndexSettings,
};

/// Offset and length of each field of the first table after `heading`.
fn table(heading: &str) -> HashMap<String, (usize, usize)> {
    let path = Path::new("../../docs/index.md");
    let text = fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once(&format!("\n{heading}:\n")).unwrap_or_else(|| panic!("no {heading}"));
    let rows = rest
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let mut end = 0;
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (offset, bytes): (usize, usize) = (cells[1].parse().unwrap(), cells[2].parse().unwrap());
        assert_eq!(offset, end, "{heading}: a gap before {}", cells[3]);
        end = offset + bytes;
        (cells[3].to_owned(), (offset, bytes))
    })
    .collect()
}

fn read(table: &HashMap<String, (usize, usize)>, bytes: &[u8], field: &str) -> u64 {
    let (_, (offset, len)) =
        table.iter().find(|(name, _)| name.starts_with(field)).unwrap_or_else(|| panic!("no {field}"));
    let mut word = [0; 8];
    word[..*len].copy_from_slice(&bytes[*offset..offset + len]);
    u64::from_le_bytes(word)
}

/// 30,000 records of 30 bytes, flushed into buckets.
fn files() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let memory =
        IndexMemory { pending_bytes_min: 20_000, pending_bytes_per_record: 0.0, ..IndexMemory::standard() };
    let index = FlashIndex::create(directory.path(), IndexSettings::new(0), memory).unwrap();
    for n in 0..30_000u32 {
        index.put(format!("{n:08}").as_bytes(), &[7; 20]).unwrap();
    }
    index.close().unwrap();
    directory
}

#[test]
fn files_are_as_documented() {
    let directory = files();
    let file = |name: &str| fs::read(directory.path().join(name)).unwrap();

    let manifest = table("Manifest");
    let commit = table("Commit");
    // `docs/wal-format.md` says where commits are, and has a test of its own. This is the last commit before the log was opened again.
    let wals = ["wal-a", "wal-b"].map(file);
    let wal = wals.iter().find(|wal| &wal[8..16] == b"SPBL-WAL").unwrap();
    let last = wal.chunks(8192).rfind(|pair| &pair[8..16] == b"SPBL-WAL" && pair[20] == 1).unwrap();
    let acknowledged = |field: &str| read(&commit, &last[48..], field);
    assert_eq!((acknowledged("closed"), acknowledged("epoch"), acknowledged("body bytes")), (1, 1, 0));
    let sequence = acknowledged("sequence");
    let newest = ["manifest-a", "manifest-b"][sequence as usize % 2];
    let bytes = file(newest);
    assert_eq!(read(&manifest, &bytes, "sequence"), sequence);
    assert_eq!(read(&manifest, &bytes, "counted page"), acknowledged("end page"));
    assert_eq!(bytes[..8], INDEX_MAGIC);
    assert_eq!(read(&manifest, &bytes, "version"), u64::from(INDEX_VERSION));
    assert_eq!(read(&manifest, &bytes, "bucket sectors"), 16);
    assert_eq!(read(&manifest, &bytes, "zone pages"), 16_384);
    assert_eq!(read(&manifest, &bytes, "zone slots"), 1);
    assert_eq!(read(&manifest, &bytes, "flags"), 1);
    let slots = read(&manifest, &bytes, "bucket slots");
    assert!((256..600).contains(&slots), "{slots} buckets for 256 partitions");
    // No free zone, one zone of fixed size, then the partitions to the end of the body.
    let body_bytes = read(&manifest, &bytes, "body bytes") as usize;
    assert_eq!(body_bytes, 89 - 24 + 4 + 4 + 20 + 4 + 256 * 10);

    let page = table("Page of `records`");
    let records = file("records");
    for number in [0, 1, 100] {
        let bytes = &records[number * INDEX_PAGE_BYTES..][..INDEX_PAGE_BYTES];
        assert_eq!(read(&page, bytes, "page"), number as u64);
        assert_eq!(read(&page, bytes, "epoch"), 1);
        let (first, used) = (read(&page, bytes, "first") as usize, read(&page, bytes, "used") as usize);
        assert_eq!(first, 24);
        assert_eq!((used - first) % 30, 0, "records of 1 + 1 + 8 + 20 bytes");
        assert_eq!(bytes[first..first + 2], [8, 21], "length of the key, length of the value and one");
    }

    let sector = table("Sector of `buckets`");
    let buckets = file("buckets");
    let entries = read(&sector, &buckets, "entries") as usize;
    assert_eq!(read(&sector, &buckets, "fingerprint bits"), 28, "as of a partition of 8 bits");
    let page_bits = read(&sector, &buckets, "page bits") as usize;
    let pages = records.len() / INDEX_PAGE_BYTES;
    assert!(
        entries > 0 && 14 * 8 + entries * (28 + page_bits) <= 512 * 8,
        "{entries} entries of 28 and {page_bits} bits"
    );
    assert!((read(&sector, &buckets, "first page") as usize) < pages);

    let block = table("Block of `waiting` and `filters`");
    for (name, items) in [("waiting", None), ("filters", Some(256))] {
        let bytes = file(name);
        let last = &bytes[(bytes.len() - 1) / 65_536 * 65_536..];
        assert_eq!(read(&block, last, "sequence"), sequence, "{name}");
        assert_eq!(read(&block, last, "number") as usize, (bytes.len() - 1) / 65_536);
        assert_eq!((read(&block, last, "is last"), last.len() % 4096), (1, 0));
        let all: u64 = bytes.chunks(65_536).map(|bytes| read(&block, bytes, "items")).sum();
        assert!(items.is_none_or(|items| all == items), "{name}: {all} items");
    }
    // The first partition's shapes: ribbon, 3 and 4 units.
    let filters = file("filters");
    assert_eq!((filters[24..26].to_vec(), filters[32..34].to_vec()), (vec![2, 3], vec![2, 4]));
}
