//! What a block cache trace tells of lookups.

use rocksdb::{BlockBasedOptions, Cache, DB};
use springbloom_rocksdb::cache_trace;

use crate::common::{
    folder, small_tree,
    unsafe_calls::{end_block_cache_trace, start_block_cache_trace},
};

#[test]
fn a_trace_tells_what_lookups_read() {
    let folder = folder();
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&Cache::new_lru_cache(64 << 10));
    table.set_cache_index_and_filter_blocks(true);
    table.set_bloom_filter(10.0, false);
    let mut options = small_tree();
    options.set_block_based_table_factory(&table);
    let mut db = DB::open(&options, folder.path().join("db")).expect("open");
    db.create_cf("other", &options).expect("create");
    let other = db.cf_handle("other").expect("there it is");
    for number in 0..5_000 {
        db.put(format!("{number:08}"), [7; 400]).expect("put");
        db.put_cf(&other, format!("{number:08}"), [7; 400]).expect("put");
    }
    db.flush().expect("flush");
    db.flush_cf(&other).expect("flush");
    let trace = folder.path().join("trace");
    start_block_cache_trace(&db, &trace).expect("start");
    for number in 0..1_000 {
        assert!(db.get(format!("{:08}", number * 4_919 % 5_000)).expect("get").is_some());
    }
    // One block, which is read once.
    (0..100).for_each(|_| assert!(db.get_cf(&other, "00000007").expect("get").is_some()));
    end_block_cache_trace(&db).expect("end");
    let families = cache_trace::read(&trace).expect("a trace");
    let [many, one] = &families[..] else { panic!("{families:?}") };
    assert_eq!((many.name.as_str(), many.lookups), ("default", 1_000));
    assert_eq!((one.name.as_str(), one.lookups), ("other", 100));
    assert!(many.data.asked >= 1_000 && many.index.asked >= 1_000 && many.filters.asked >= 1_000, "{many:?}");
    assert!((500..=many.data.asked).contains(&many.data.missing), "{many:?}");
    assert!(many.data.missing_bytes >= 3_000 * many.data.missing, "{many:?}");
    assert_eq!(one.data.asked, 100);
    assert!(one.data.missing <= 2, "{one:?}");
    cache_trace::read(&folder.path().join("none")).expect_err("there is no such file");
}
