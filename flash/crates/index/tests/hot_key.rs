//! A key that is put again and again takes no more memory than as many different keys, counted by the allocator of the process.
//!
//! `SPRINGBLOOM_HOT_PUTS` sets the number of puts (default 400,000).

mod unsafe_counting;

use springbloom_flash_index::{FlashIndex, IndexMemory, IndexSettings, Watch};
use unsafe_counting::peak_while;

fn put_all(puts: u64, key_of: impl Fn(u64) -> u64) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let settings = IndexSettings { zone_pages: 256, ..IndexSettings::new(0) };
    peak_while(|| {
        let index = FlashIndex::create(folder.path(), settings, IndexMemory::standard()).unwrap();
        for n in 0..puts {
            index.put(&key_of(n).to_be_bytes(), &n.to_le_bytes()).unwrap();
        }
        let last = (puts - 1).to_le_bytes().to_vec();
        assert_eq!(index.get(&key_of(puts - 1).to_be_bytes()).unwrap(), Some(last));
        // As many concurrent lookups of it.
        let names: Vec<[u8; 8]> = (0..4096).map(|n| key_of(puts - 1 - n).to_be_bytes()).collect();
        let wanted: Vec<&[u8]> = names.iter().map(|name| &name[..]).collect();
        assert!(index.get_many(&wanted).unwrap().iter().all(Option::is_some));
        index.compact(&mut Watch::none()).unwrap();
        index.close().unwrap();
    })
}

#[test]
fn a_hot_key_takes_no_more_memory_than_distinct_ones() {
    let puts = std::env::var("SPRINGBLOOM_HOT_PUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(400_000);
    let distinct = put_all(puts, |n| n);
    let hot = put_all(puts, |_| 7);
    // Two alternating keys, so that no two records of one key are adjacent.
    let two = put_all(puts, |n| n % 2);
    println!("peak of {puts} puts: {distinct} bytes for distinct keys, {hot} for one, {two} for two");
    assert!(
        hot as f64 <= distinct as f64 * 1.5 && two as f64 <= distinct as f64 * 1.5,
        "{distinct}, {hot}, {two}"
    );
}
