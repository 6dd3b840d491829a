//! Reads the files of a log by the tables of `docs/wal-format.md`. Uses no code of the crate except the key digest.

use std::collections::HashMap;
use std::path::Path;

use springbloom_filter::KeyDigest;
use springbloom_page_device::{Access, FileStorage, IoEngine, Wal, Watch};

const G: u64 = 0x9e37_79b9_7f4a_7c15;
const SALT: u64 = 0x0123_4567_89ab_cdef;

fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Offset and width of the fields in the table after `heading`.
fn table(heading: &str) -> HashMap<String, (usize, usize)> {
    let path = Path::new("../../docs/wal-format.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once(heading).unwrap_or_else(|| panic!("no {heading}"));
    let (_, rows) = section.split_once("| offset | bytes | field | value |\n|---|---|---|---|\n").unwrap();
    rows.lines()
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            (cells[3].to_owned(), (cells[1].parse().unwrap(), cells[2].parse().unwrap()))
        })
        .collect()
}

fn number(bytes: &[u8], (offset, width): (usize, usize)) -> u64 {
    bytes[offset..offset + width].iter().rev().fold(0, |n, byte| (n << 8) | u64::from(*byte))
}

#[test]
fn the_log_is_as_documented() {
    let (block, start) = (table("## Block"), table("## Start"));
    let folder = tempfile::tempdir().unwrap();
    let storage = FileStorage::open(folder.path(), Access::Write, IoEngine::Auto).unwrap();
    let mut wal = Wal::create(&storage, SALT, 100, b"first".to_vec(), &mut Watch::none()).unwrap();
    let mut snapshot = Some(b"repeated".to_vec());
    wal.start_generation(b"second".to_vec(), &mut |into| {
        snapshot.take().map(|bytes| into.extend(bytes)).is_some()
    })
    .unwrap();
    let commit: Vec<u8> = (0..5000u32).map(|n| n as u8).collect();
    wal.commit(&commit).unwrap();

    let [old, log] = ["wal-a", "wal-b"].map(|name| std::fs::read(folder.path().join(name)).unwrap());
    assert!(old[..8192].iter().all(|byte| *byte == 0), "the start block before is cleared");
    let pair = |i: usize| (&log[i * 8192..][..4096], &log[i * 8192 + 4096..][..4096]);
    for i in 0..4 {
        let (bytes, copy) = pair(i);
        assert_eq!(bytes, copy);
        let sum = KeyDigest::of(&bytes[8..]).lo ^ mix(SALT ^ (i as u64).wrapping_mul(G));
        assert_eq!((number(bytes, block["checksum"]), &bytes[8..16]), (sum, &b"SPBL-WAL"[..]));
        let get = |name: &str| number(bytes, block[name]);
        assert_eq!((get("version"), get("generation"), get("index")), (1, 2, i as u64));
        let place = (get("kind"), get("first"), get("count"));
        assert_eq!(place, [(0, 0, 1), (1, 1, 1), (1, 2, 2), (1, 2, 2)][i]);
    }
    let of_start = |name: &str| number(pair(0).0, start[name]);
    assert_eq!((of_start("salt"), of_start("snapshot_blocks"), of_start("blocks")), (SALT, 1, 100));
    assert_eq!(of_start("contents_bytes"), 6);
    let payload = |i: usize, of: &str| {
        let (bytes, len) =
            (pair(i).0, if of == "contents" { 6 } else { number(pair(i).0, block["payload_bytes"]) });
        let from = if of == "contents" { start["contents"].0 } else { block["payload"].0 };
        bytes[from..from + len as usize].to_vec()
    };
    assert_eq!(payload(0, "contents"), b"second");
    assert_eq!(payload(1, "payload"), b"repeated");
    assert_eq!([payload(2, "payload"), payload(3, "payload")].concat(), commit);
    assert!(pair(4).0.iter().all(|byte| *byte == 0));
}
