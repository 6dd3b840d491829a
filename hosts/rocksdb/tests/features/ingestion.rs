//! Tables written outside a database and taken in.

use rocksdb::{DB, IngestExternalFileOptions, Options, SstFileWriter};

use crate::common::{
    ample,
    contents::{NUMBERS, check_db, check_db_filtered, fill_db, is_present, key, rejections, value},
    folder, installed, small_tree, stock, tables,
};

/// Writes all even numbers to table files of `options`, a quarter of the range each.
fn write_tables(options: &Options, folder: &std::path::Path, tag: &str) -> Vec<std::path::PathBuf> {
    std::fs::create_dir_all(folder).expect("folder");
    (0..4)
        .map(|quarter| {
            let path = folder.join(format!("{tag}{quarter}.sst"));
            let mut writer = SstFileWriter::create(options);
            writer.open(&path).expect("open");
            for number in
                (quarter * NUMBERS / 4..(quarter + 1) * NUMBERS / 4).filter(|&number| is_present(number))
            {
                writer.put(key(number), value(tag, number)).expect("put");
            }
            writer.finish().expect("finish");
            path
        })
        .collect()
}

fn options_of_ingestion(move_files: bool) -> IngestExternalFileOptions {
    let mut options = IngestExternalFileOptions::default();
    options.set_move_files(move_files);
    options
}

#[test]
fn ingested_tables_bring_their_filters() {
    for move_files in [false, true] {
        let (folder, elastic) = (folder(), ample());
        let options = installed(&elastic, &small_tree());
        let files = write_tables(&options, &folder.path().join("outside"), "ingested");
        let db = DB::open(&options, folder.path().join("db")).expect("open");
        // Entries under the ingested ones, so that they get a global sequence number above them.
        fill_db(&db, "covered");
        db.ingest_external_file_opts(&options_of_ingestion(move_files), files).expect("ingest");
        check_db_filtered(&elastic, &db, "ingested");
        stock::verify_checksums(&db).expect("checksums");
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        check_db_filtered(&elastic, &db, "ingested");
    }
}

#[test]
fn stock_tables_are_ingested_too_and_gain_filters_when_compacted() {
    let (folder, elastic) = (folder(), ample());
    let files = write_tables(&small_tree(), &folder.path().join("outside"), "stock");
    let path = folder.path().join("db");
    let db = DB::open(&installed(&elastic, &small_tree()), &path).expect("open");
    db.ingest_external_file(files).expect("ingest");
    assert_eq!(rejections(&elastic, || check_db(&db, "stock")), 0);
    stock::rewrite(&db);
    check_db_filtered(&elastic, &db, "stock");
    drop(db);
    assert_eq!(tables::with_and_without_units(&path).1, 0, "every table has units now");
}

#[test]
fn elastic_tables_are_ingested_by_stock() {
    let (folder, elastic) = (folder(), ample());
    let files = write_tables(&installed(&elastic, &small_tree()), &folder.path().join("outside"), "elastic");
    let db = DB::open(&small_tree(), folder.path().join("db")).expect("open");
    db.ingest_external_file(files).expect("ingest");
    check_db(&db, "elastic");
    stock::verify_checksums(&db).expect("checksums");
}

#[test]
fn tables_that_nobody_opens_do_not_hold_the_budget() {
    let (folder, elastic) = (folder(), ample());
    let options = installed(&elastic, &small_tree());
    write_tables(&options, &folder.path().join("outside"), "unused");
    elastic.set_budget_bytes(0).unwrap();
    let stats = elastic.stats();
    assert_eq!((stats.used.units, stats.used.loading, stats.used.garbage), (0, 0, 0), "{stats:?}");
    assert!(stats.used_bytes <= stats.budget_bytes && stats.budget_bytes < 64 << 10, "{stats:?}");
}
