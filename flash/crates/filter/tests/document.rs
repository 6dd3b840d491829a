//! Reads a filter's files by the tables of `docs/filter-format.md`. Uses no code of the crate except the key digest.

mod common;

use std::collections::HashMap;
use std::path::Path;

use common::{key, keys};
use springbloom_filter::KeyDigest;
use springbloom_flash_filter::{BufferSettings, FilterSettings, FlashFilter, Layout};

const G: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn scale(x: u64, n: u64) -> u64 {
    ((u128::from(x) * u128::from(n)) >> 64) as u64
}

/// Offset and width of the fields in the `nth` table after `heading`.
fn table(heading: &str, nth: usize) -> HashMap<String, (usize, usize)> {
    let path = Path::new("../../docs/filter-format.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once(heading).unwrap_or_else(|| panic!("no {heading}"));
    let mut tables = section.split("| offset | bytes | field | value |\n|---|---|---|---|\n").skip(1);
    let rows = tables.nth(nth).unwrap_or_else(|| panic!("table {nth} of {heading}"));
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

/// A filter's folder with 3,000 keys in pages and 100 more in the log.
fn written(layout: Layout) -> (tempfile::TempDir, u64) {
    let directory = tempfile::tempdir().unwrap();
    let settings = FilterSettings::with_bits_per_key(40_000, 9.0, 5).layout(layout).growing(false);
    let filter =
        FlashFilter::create(directory.path(), &settings, BufferSettings::with_memory_bytes(1 << 20)).unwrap();
    filter.insert_many(&keys(1, 0..3000)).unwrap();
    filter.flush().unwrap();
    filter.insert_many(&keys(1, 3000..3100)).unwrap();
    filter.commit().unwrap();
    (directory, 40_000)
}

#[test]
fn headers_and_pages_are_as_documented() {
    let header = table("## Header of a filter", 0);
    let sector = table("## Pages", 0);
    let stamp = table("### Stamp", 0);
    for (code, layout) in [Layout::Hierarchical, Layout::TwoChoices].into_iter().enumerate() {
        let (directory, capacity) = written(layout);
        let file = std::fs::read(directory.path().join("filter-0000")).unwrap();
        let get = |name: &str| number(&file, header[name]);
        assert_eq!(&file[..8], b"SPBLFLSH");
        assert_eq!((get("version"), get("layout"), get("probes"), get("flags")), (3, code as u64, 5, 2));
        assert_eq!((get("capacity_keys"), get("layer")), (capacity, 0));
        let mut unstamped = file[..4088].to_vec();
        let found = unstamped[512..1024].to_vec();
        unstamped[512..1024].fill(0);
        assert_eq!(get("checksum"), KeyDigest::of(&unstamped).lo);
        let generation = number(&found, stamp["generation"]);
        let sum = KeyDigest::of(&found[..8]).lo ^ mix(get("salt") ^ u64::MAX.wrapping_mul(G));
        assert_eq!(number(&found, stamp["checksum"]), sum);
        let logs = ["wal-a", "wal-b"].map(|name| std::fs::read(directory.path().join(name)).unwrap());
        let of_log = logs.iter().map(|log| number(log, (24, 8))).max();
        assert_eq!(Some(generation), of_log);
        let (page_bytes, page_count) = (get("page_bytes") as usize, get("page_count"));
        assert_eq!(file.len() as u64, 4096 + page_count * page_bytes as u64);
        let sectors = page_bytes / 512;
        for (place, bytes) in file[4096..].chunks(512).enumerate() {
            let (from, width) = sector["bits"];
            let sum = KeyDigest::of(&bytes[from..from + width]).lo
                ^ mix(get("salt") ^ (place as u64).wrapping_mul(G));
            assert_eq!(
                number(bytes, sector["checksum"]),
                (sum ^ (sum >> 32)) & 0xffff_ffff,
                "sector {place}"
            );
        }
        let is_set = |page: u64, bit: u64| {
            let at =
                4096 + page as usize * page_bytes + (bit / 4064) as usize * 512 + (bit % 4064 / 8) as usize;
            file[at] & (1 << (bit % 4064 % 8)) != 0
        };
        let m = 4064 * sectors as u64;
        for n in 0..3000 {
            let KeyDigest { lo, hi } = key(1, n);
            let in_page = |page: u64| {
                (0..5u64).all(|n| {
                    let word = mix(hi.wrapping_add(G.wrapping_mul((n & !1) + 1)));
                    let half = if n % 2 == 0 { word & 0xffff_ffff } else { word >> 32 };
                    is_set(page, (half * m) >> 32)
                })
            };
            let first = scale(lo, page_count);
            let found = match layout {
                Layout::Hierarchical => in_page(first),
                Layout::TwoChoices => in_page(first) || in_page(scale(mix(lo ^ G), page_count)),
            };
            assert!(found, "{layout:?}: key {n}");
        }
    }
}

#[test]
fn the_log_is_as_documented() {
    let (directory, _) = written(Layout::Hierarchical);
    let (start, layer, update) = (table("## Log", 0), table("## Log", 1), table("## Log", 2));
    let filter = std::fs::read(directory.path().join("filter-0000")).unwrap();
    let page_count = number(&filter, table("## Header of a filter", 0)["page_count"]);
    // `docs/wal-format.md` says where start block and commits are, and has a test of its own.
    let logs = ["wal-a", "wal-b"].map(|name| std::fs::read(directory.path().join(name)).unwrap());
    let [log] = logs.iter().filter(|log| &log[8..16] == b"SPBL-WAL").collect::<Vec<_>>()[..] else {
        panic!("one start block is in force, the other is cleared")
    };
    let contents = &log[72..];
    let get = |name: &str| number(contents, start[name]);
    assert_eq!((get("insertions"), get("pending_updates"), get("layer_count")), (3000, 0, 1));
    let (at, width) = layer["header"];
    assert_eq!(contents[32 + at..][..width], filter[..width]);
    let ones: u32 =
        filter[4096..].chunks(512).flat_map(|sector| &sector[..508]).map(|byte| byte.count_ones()).sum();
    assert_eq!(number(&contents[32..], layer["ones"]), u64::from(ones));
    for (n, bytes) in (3000..3100).zip(log[8192 + 48..].chunks(12)) {
        let KeyDigest { lo, hi } = key(1, n);
        let found = (number(bytes, update["page"]), number(bytes, update["value"]));
        assert_eq!(found, (scale(lo, page_count), hi));
    }
}
