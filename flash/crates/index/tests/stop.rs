//! A compaction that its caller ends early, at every step: also between the records of a zone.

mod support;

use springbloom_flash_index::{FlashError, FlashIndex, IndexMemory, IndexSettings, Watch};
use springbloom_flash_testkit::ending_after;
use support::{key, steady, value};

const KEYS: u64 = 12_000;

fn check(index: &FlashIndex, what: &str) {
    for n in 0..KEYS {
        let expected = (n % 3 != 2).then(|| value(n, n % 3, 100));
        assert_eq!(index.get(&key(n)).unwrap(), expected, "{what}, key {n}");
    }
}

#[test]
fn nothing_is_lost_or_comes_back_and_the_next_one_goes_on() {
    // Zones of many runs of pages, each with records that stay.
    let settings = IndexSettings { zone_pages: 256, ..IndexSettings::new(0) };
    let memory = IndexMemory { pending_bytes_min: 1 << 10, ..IndexMemory::standard() };
    let mut inside_zones = 0;
    for steps in 0.. {
        let storage = steady();
        let index = FlashIndex::create_in(storage.clone(), settings, memory, 7).unwrap();
        (0..KEYS).for_each(|n| index.put(&key(n), &value(n, 0, 100)).unwrap());
        for n in 0..KEYS {
            match n % 3 {
                0 => {}
                1 => index.put(&key(n), &value(n, 1, 100)).unwrap(),
                _ => index.delete(&key(n)).unwrap(),
            }
        }
        let before = index.stats();
        let compacted = index.compact(&mut ending_after(steps));
        let moved = index.stats().records_moved - before.records_moved;
        let reclaimed = index.stats().zones_reclaimed - before.zones_reclaimed;
        inside_zones += u64::from(compacted.is_err() && moved > 0 && reclaimed == 0);
        check(&index, &format!("{steps} steps"));
        index.commit().unwrap();
        drop(index);
        let index = FlashIndex::open_in(storage, memory).unwrap();
        check(&index, &format!("{steps} steps, opened"));
        index.compact(&mut Watch::none()).unwrap();
        check(&index, &format!("{steps} steps, compacted"));
        match compacted {
            Err(error) => assert!(matches!(error, FlashError::Stopped), "{error}"),
            Ok(_) => break,
        }
    }
    assert!(inside_zones > 2, "{inside_zones}");
}
