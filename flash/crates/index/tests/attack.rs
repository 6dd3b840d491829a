//! Damages every block of every file in every way. A lookup gives a right answer or an error, no acknowledged record is lost silently, and
//! nothing panics or hangs.

mod support;

use std::sync::Arc;

use springbloom_flash_index::{FlashError, FlashIndex, IndexMemory, Watch};
use springbloom_flash_testkit::{PowerLoss, SimPower, SimStorage};
use springbloom_page_device::Storage;
use springbloom_testkit::damage::{BLOCK_BYTES, Damage, Tally};
use support::{key, small, steady, value};

const KEYS: u64 = 1200;

/// An index after a clean close, and after an interruption.
fn left_behind() -> [(&'static str, SimStorage); 2] {
    let filled = |and_then: &dyn Fn(FlashIndex)| {
        let storage = steady();
        let (settings, memory) = small();
        let index = FlashIndex::create_in(storage.clone(), settings, memory, 77).unwrap();
        for version in 0..2 {
            for n in 0..KEYS {
                index.put(&key(n), &value(n, version, 50)).unwrap();
            }
            index.commit().unwrap();
        }
        index.put(&key(KEYS), &value(KEYS, 1, 20_000)).unwrap();
        (0..50).for_each(|n| index.delete(&key(n)).unwrap());
        index.commit().unwrap();
        and_then(index);
        storage.after_power_loss(PowerLoss::KILLED, 0)
    };
    [("closed", filled(&|index| index.close().unwrap())), ("interrupted", filled(&drop))]
}

fn expected(n: u64) -> Option<Vec<u8>> {
    match n {
        0..50 => None,
        KEYS => Some(value(n, 1, 20_000)),
        _ => Some(value(n, 1, 50)),
    }
}

/// Whether any lookup returned an error. Panics at a wrong answer.
fn any_error(index: &FlashIndex, what: &str) -> bool {
    let names: Vec<Vec<u8>> = (0..=KEYS).map(key).collect();
    let wanted: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    if let Ok(found) = index.get_many(&wanted) {
        for (n, found) in (0..).zip(found) {
            assert!(found == expected(n), "{what}: key {n} has a wrong answer");
        }
        return false;
    }
    for n in 0..=KEYS {
        match index.get(&key(n)) {
            Ok(found) => assert!(found == expected(n), "{what}: key {n} has a wrong answer"),
            Err(FlashError::Damaged { .. } | FlashError::Io { .. }) => {}
            Err(other) => panic!("{what}: {other}"),
        }
    }
    true
}

fn is_told(storage: &SimStorage, what: &str) -> bool {
    let storage = Arc::new(storage.after_power_loss(PowerLoss::KILLED, 0));
    let memory = IndexMemory { ..small().1 };
    let Ok(index) = FlashIndex::open_in(storage.clone(), memory) else {
        let (from, rescued) = (storage as Arc<dyn Storage>, steady());
        if let Ok(report) = FlashIndex::salvage_in(&from, rescued.clone(), 5)
            && !report.has_losses()
        {
            let index = FlashIndex::open_in(rescued, memory).unwrap();
            assert!(!any_error(&index, &format!("{what}, salvaged")));
        }
        return true;
    };
    let mut is_told = any_error(&index, what);
    is_told |= index.verify(&mut Watch::none()).map_or(true, |report| !report.is_sound());
    // Goes on writing: a new put is found, or it fails.
    let is_written = (0..300).try_for_each(|n| index.put(&key(5000 + n), &value(n, 9, 50)));
    let is_closed = is_written.and_then(|()| index.commit()).and_then(|()| index.close());
    is_told |= is_closed.is_err();
    match FlashIndex::open_in(storage, memory) {
        Ok(index) => {
            is_told |= any_error(&index, &format!("{what}, written on"));
            let lost = |n: u64| !matches!(index.get(&key(5000 + n)), Ok(Some(_)) | Err(_));
            assert!(is_closed.is_err() || !(0..300).any(lost), "{what}: lost what was put after the damage");
        }
        Err(_) => is_told = true,
    }
    is_told
}

#[test]
fn damage_to_any_block_loses_nothing_silently() {
    let mut tally = Tally::default();
    for (state, storage) in left_behind() {
        let names = storage.names().unwrap().into_iter();
        let files: Vec<_> = names.map(|name| (name.clone(), storage.len_bytes(&name))).collect();
        tally += Tally::of_all(&files, |file, block, damage| {
            let (damaged, at) = (storage.after_power_loss(PowerLoss::KILLED, 0), block * BLOCK_BYTES);
            if damage == Damage::Truncated {
                damaged.truncate(file, at);
            } else {
                damaged.damage(file, at, |bytes| damage.apply(bytes, block as u64 * 5));
            }
            is_told(&damaged, &format!("{state}: {file}, block {block}, {damage:?}"))
        });
    }
    println!("flash index, exhaustive damage: {tally}");
    assert!(tally.trials > 2000 && tally.told > 500, "{tally}");
}

/// Storage that is writable in part, as without permissions or on a read-only file system.
#[test]
fn a_read_only_index_answers_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (settings, memory) = small();
    let index = FlashIndex::create(folder.path(), settings, memory).unwrap();
    (0..KEYS).for_each(|n| index.put(&key(n), &value(n, 1, 50)).unwrap());
    index.commit().unwrap();
    drop(index);
    let contents = || {
        let mut files: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(|file| (file.clone(), std::fs::read(file).unwrap())).collect::<Vec<_>>()
    };
    for closes in [false, true] {
        let before = contents();
        let readers = [(); 4].map(|()| FlashIndex::open_read_only(folder.path(), memory).unwrap());
        for reader in readers {
            assert!((0..KEYS).all(|n| reader.get(&key(n)).unwrap() == Some(value(n, 1, 50))));
            assert!(matches!(reader.put(b"key", b"value"), Err(FlashError::ReadOnly { .. })));
            assert!(reader.verify(&mut Watch::none()).unwrap().is_sound());
            assert!(matches!(FlashIndex::open(folder.path(), memory), Err(FlashError::InUse { .. })));
            reader.close().unwrap();
        }
        assert!(before == contents(), "readers wrote");
        if !closes {
            FlashIndex::open(folder.path(), memory).unwrap().close().unwrap();
        }
    }
}

/// Files of another program are never replaced.
#[test]
fn create_wants_an_empty_folder_and_leaves_nothing_when_it_fails() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("records"), "of somebody").unwrap();
    let (settings, memory) = small();
    let refused = FlashIndex::create(folder.path(), settings, memory);
    assert!(matches!(refused.err(), Some(FlashError::NotEmpty { .. })));
    assert_eq!(std::fs::read(folder.path().join("records")).unwrap(), b"of somebody");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    for n in 0.. {
        let power = SimPower::steady();
        power.fail_once_after(n);
        let storage = Arc::new(SimStorage::new(power));
        if FlashIndex::create_in(storage.clone(), settings, memory, 3).is_ok() {
            break;
        }
        let found = Arc::new(storage.after_power_loss(PowerLoss::KILLED, n));
        if let Ok(index) = FlashIndex::open_in(found, memory) {
            assert_eq!(index.get(b"key").unwrap(), None, "operation {n}: complete, and empty");
        }
    }
}
