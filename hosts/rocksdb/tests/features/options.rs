//! Options that change or are read back while tables with filters exist.

use rocksdb::{Cache, DB, Env, Options, PlainTableFactoryOptions};
use springbloom_rocksdb::Error;

use crate::common::{
    ample,
    contents::{check_db, check_db_filtered, fill_db, key, value},
    folder, installed, small_tree, stock, tables,
};

#[test]
fn table_options_can_be_set_while_the_database_is_open() {
    let (folder, elastic) = (folder(), ample());
    let db = DB::open(&installed(&elastic, &small_tree()), folder.path()).expect("open");
    fill_db(&db, "before");
    db.set_options(&[("block_based_table_factory", "{block_size=1024;block_restart_interval=4}")])
        .expect("set_options");
    check_db_filtered(&elastic, &db, "before");
    fill_db(&db, "after");
    stock::rewrite(&db);
    check_db_filtered(&elastic, &db, "after");
    assert_eq!(tables::with_and_without_units(folder.path()).1, 0, "the new options kept the filters");
    db.set_options(&[("write_buffer_size", "32768"), ("ttl", "100000")]).expect("set_options");
    fill_db(&db, "later");
    check_db_filtered(&elastic, &db, "later");
}

#[test]
fn stock_rocksdb_reads_the_options_file() {
    let (folder, elastic) = (folder(), ample());
    fill_db(&DB::open(&installed(&elastic, &small_tree()), folder.path()).expect("open"), "kept");
    let cache = Cache::new_lru_cache(1 << 20);
    let (options, families) =
        Options::load_latest(folder.path(), Env::new().expect("environment"), false, cache)
            .expect("load_latest");
    let db = DB::open_cf_descriptors(&options, folder.path(), families)
        .expect("stock opens with the file's options");
    check_db(&db, "kept");
    // Tables of both kinds.
    db.put(key(1), "stock").expect("put");
    db.delete(key(2)).expect("delete");
    db.flush().expect("flush");
    let found = [1, 2, 3, 4].map(|number| db.get(key(number)).expect("get"));
    assert_eq!(found, [Some(b"stock".to_vec()), None, None, Some(value("kept", 4))]);
    db.delete(key(1)).expect("delete");
    fill_db(&db, "stock");
    check_db(&db, "stock");
    stock::rewrite(&db);
    drop(db);
    assert_eq!(tables::with_and_without_units(folder.path()).0, 0, "stock writes stock tables");
    let db = DB::open(&installed(&elastic, &small_tree()), folder.path()).expect("open");
    check_db(&db, "stock");
    stock::rewrite(&db);
    check_db_filtered(&elastic, &db, "stock");
}

#[test]
fn other_table_formats_are_refused_in_words() {
    let mut options = small_tree();
    options.set_plain_table_factory(&PlainTableFactoryOptions {
        user_key_length: 0,
        bloom_bits_per_key: 10,
        hash_table_ratio: 0.75,
        index_sparseness: 16,
        huge_page_tlb_size: 0,
        encoding_type: rocksdb::KeyEncodingType::Plain,
        full_scan_mode: false,
        store_index_in_file: false,
    });
    let error = ample().install(&mut options).expect_err("a plain table has no room for units");
    assert!(matches!(error, Error::Install(_)));
    assert!(error.to_string().contains("block-based") && error.to_string().contains("PlainTable"), "{error}");
}

#[test]
fn installing_twice_is_installing_the_last() {
    let (folder, first, second) = (folder(), ample(), ample());
    let mut options = installed(&first, &small_tree());
    second.install(&mut options).expect("install");
    let db = DB::open(&options, folder.path()).expect("open");
    fill_db(&db, "twice");
    check_db_filtered(&second, &db, "twice");
    assert!(second.status(&db).expect("status").is_active && !first.status(&db).expect("status").is_active);
    assert_eq!(first.stats().tables, 0);
}
