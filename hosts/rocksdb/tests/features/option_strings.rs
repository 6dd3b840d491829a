//! Elastic filters chosen by an option string, as a C++ user would.

use rocksdb::{DB, Options, statistics::Ticker};

use crate::common::{
    ample,
    contents::{check_db, fill_db},
    folder, small_tree, tables, wait_until,
};

/// `small_tree` with what the string says.
fn from_string(text: &str) -> Result<Options, rocksdb::Error> {
    // Any installation makes the id known.
    ample().install(&mut Options::default()).expect("install");
    let mut options = small_tree().get_options_from_string(text)?;
    options.enable_statistics();
    Ok(options)
}

#[test]
fn the_id_in_an_option_string_brings_filters() {
    let folder = folder();
    let options =
        from_string("table_factory={id=springbloom;budget=64M;segment_data_bytes=16K;policy=uniform}")
            .expect("the string is sound");
    let db = DB::open(&options, folder.path()).expect("open");
    fill_db(&db, "string");
    wait_until("lookups are rejected", || {
        check_db(&db, "string");
        options.get_ticker_count(Ticker::BloomFilterUseful) > 1_000
    });
    assert!(tables::with_and_without_units(folder.path()).0 > 0);
}

#[test]
fn options_of_the_block_based_format_stand_in_the_same_string() {
    let folder = folder();
    let options = from_string("table_factory={id=springbloom;budget=64M;block_size=1024;format_version=5}")
        .expect("the string is sound");
    let db = DB::open(&options, folder.path()).expect("open");
    fill_db(&db, "both");
    check_db(&db, "both");
    assert!(tables::with_and_without_units(folder.path()).0 > 0);
}

#[test]
fn settings_that_cannot_work_are_refused_in_words() {
    for (setting, word) in [
        ("policy=lru", "policy"),
        ("budget=plenty", "budget"),
        ("units=bloom:6x0", "0"),
        ("units=ribbon:300", "ribbon:300"),
        ("colour=green", "not recognized"),
    ] {
        let text = format!("table_factory={{id=springbloom;{setting}}}");
        let error = match from_string(&text) {
            Err(error) => error,
            Ok(options) => {
                DB::open(&options, folder().path()).err().unwrap_or_else(|| panic!("{setting} was accepted"))
            }
        };
        assert!(error.to_string().contains(word), "{setting}: {error}");
    }
}
