//! Tables that change their level without being written: trivial moves.

use std::collections::BTreeMap;

use rocksdb::{DB, WaitForCompactOptions};
use springbloom_rocksdb::ElasticFilters;

use crate::common::{
    ample,
    contents::{key, rejections, value},
    folder, installed, small_tree, wait_until,
};

/// Keys by level as the manager has them.
fn keys_by_level(elastic: &ElasticFilters) -> BTreeMap<i32, u64> {
    let levels = elastic.stats().levels.into_iter();
    levels.map(|level| (level.level.map_or(-1, i32::from), level.keys)).collect()
}

/// Keys by level as RocksDB has them.
fn entries_by_level(db: &DB) -> BTreeMap<i32, u64> {
    let mut entries = BTreeMap::new();
    for file in db.live_files().expect("live_files") {
        *entries.entry(file.level).or_default() += file.num_entries;
    }
    entries
}

#[test]
fn tables_that_are_moved_are_known_to_be_where_they_are() {
    let (folder, elastic) = (folder(), ample());
    // Installed twice: one listener.
    let options = installed(&elastic, &installed(&elastic, &small_tree()));
    let db = DB::open(&options, folder.path()).expect("open");
    // Ascending keys: nothing overlaps, so that tables sink without being written again.
    for number in 0..12_000 {
        db.put(key(number), value("moved", number)).expect("put");
        if number % 1_000 == 999 {
            db.flush().expect("flush");
        }
    }
    db.wait_for_compact(&WaitForCompactOptions::default()).expect("compaction");
    let log = std::fs::read_to_string(folder.path().join("LOG")).expect("the log can be read");
    assert!(log.contains("trivial_move"), "nothing was moved");
    assert!(entries_by_level(&db).len() > 1, "{:?}", entries_by_level(&db));
    wait_until("the manager has every key at its level", || {
        let (known, entries) = (keys_by_level(&elastic), entries_by_level(&db));
        known.into_iter().filter(|&(_, keys)| keys > 0).eq(entries)
    });
    let rejected = rejections(&elastic, || {
        for number in 0..12_000 {
            let got = db.get(key(number)).expect("get");
            assert_eq!(got, Some(value("moved", number)));
            assert_eq!(db.get([&key(number)[..], b"?"].concat()).expect("get"), None);
        }
    });
    assert!(rejected > 6_000, "{rejected}");
}
