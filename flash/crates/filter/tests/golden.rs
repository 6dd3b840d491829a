//! A filter that an earlier release wrote.

mod common;

use std::path::Path;

use springbloom_filter::KeyDigest;
use springbloom_flash_filter::{BufferSettings, FlashFilter, Watch};

/// 500 keys in pages, and the log of a writer that was killed with three more. Files are stored without the zeros at their end.
fn version_2() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, len) in [("filter-0000", 8192), ("wal-a", 524_288), ("wal-b", 524_288)] {
        let mut bytes = std::fs::read(Path::new("tests/golden/version-2").join(name)).unwrap();
        bytes.resize(len, 0);
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

fn assert_has_all(filter: &FlashFilter) {
    let closed = (1..=500).map(|n| format!("closed-{n}"));
    let digests: Vec<_> = closed.chain((1..=3).map(|n| format!("killed-{n}"))).collect();
    let digests: Vec<_> = digests.iter().map(|key| KeyDigest::of(key.as_bytes())).collect();
    assert!(filter.contains_many(&digests).iter().all(|found| *found));
    assert!(!filter.contains(KeyDigest::of(b"closed-501")));
}

#[test]
fn a_filter_of_version_2_is_read_as_it_is_and_written_as_version_3() {
    let folder = version_2();
    let buffer = BufferSettings::with_memory_bytes(1 << 20);
    let files =
        || ["filter-0000", "wal-a", "wal-b"].map(|name| std::fs::read(folder.path().join(name)).unwrap());
    let before = files();
    let reader = FlashFilter::open_read_only(folder.path(), buffer).unwrap();
    assert_has_all(&reader);
    assert!(reader.verify(&mut Watch::none()).unwrap().is_sound());
    drop(reader);
    assert!(files() == before, "reading writes nothing");
    let writer = FlashFilter::open(folder.path(), buffer).unwrap();
    assert_has_all(&writer);
    writer.insert(KeyDigest::of(b"new")).unwrap();
    writer.close().unwrap();
    let [pages, ..] = files();
    assert!(pages[512..1024].iter().any(|byte| *byte != 0), "it has a stamp now");
    let again = FlashFilter::open(folder.path(), buffer).unwrap();
    assert_has_all(&again);
    assert!(again.contains(KeyDigest::of(b"new")) && again.verify(&mut Watch::none()).unwrap().is_sound());
}
