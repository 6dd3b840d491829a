//! The write-ahead log on devices that lose power, are damaged, or are copied while they are written.

use springbloom_flash_testkit::{PowerLoss, SimPower, SimStorage};
use springbloom_page_device::{FlashError, Storage, Wal, WalReport, Watch, checksum};

const SALT: u64 = 1;
const NAMES: [&str; 2] = ["wal-a", "wal-b"];
/// Layout: `docs/wal-format.md`.
const BLOCK_BYTES: usize = 4096;
const PAIR_BYTES: usize = 2 * BLOCK_BYTES;
const PAYLOAD_BYTES: usize = 4048;

fn create(storage: &SimStorage) -> Wal {
    Wal::create(storage, SALT, 0, b"start".to_vec(), &mut Watch::none()).unwrap()
}

fn payload(n: u8, len: usize) -> Vec<u8> {
    vec![n; len]
}

/// The log after opening, and its commits.
fn reopen(storage: &SimStorage) -> Result<(Wal, WalReport, Vec<Vec<u8>>), FlashError> {
    let mut wal = Wal::open(storage)?;
    let mut found = Vec::new();
    let report = wal.replay(&mut |commit| {
        found.push(commit.to_vec());
        Ok(())
    })?;
    Ok((wal, report, found))
}

fn copy_of(storage: &SimStorage) -> SimStorage {
    storage.after_power_loss(PowerLoss::KILLED, 0)
}

#[test]
fn commits_and_snapshots_come_back_in_order() {
    let storage = SimStorage::new(SimPower::steady());
    let mut wal = create(&storage);
    let first = [payload(1, 10), payload(2, 0), payload(3, 3 * PAYLOAD_BYTES + 1)];
    first.iter().for_each(|commit| wal.commit(commit).unwrap());
    let (found, report, commits) = reopen(&storage).unwrap();
    assert_eq!((found.contents(), &commits[..]), (&b"start"[..], &first[..]));
    assert!(found.has_commits() && report.is_sound(), "{report:?}");
    let mut left = vec![payload(7, 20), payload(6, 5000)];
    let mut snapshot = |into: &mut Vec<u8>| left.pop().map(|next| into.extend(next)).is_some();
    wal.start_generation(b"second".to_vec(), &mut snapshot).unwrap();
    let (found, _, commits) = reopen(&storage).unwrap();
    assert_eq!(commits, [payload(6, 5000), payload(7, 20)]);
    assert!(!found.has_commits() && !found.is_empty());
    wal.commit(&payload(8, 1)).unwrap();
    let (mut found, _, commits) = reopen(&storage).unwrap();
    assert_eq!((commits.len(), found.contents()), (3, &b"second"[..]));
    found.start_generation(Vec::new(), &mut |_| false).unwrap();
    assert!(reopen(&storage).unwrap().0.is_empty());
}

#[test]
fn damage_to_any_one_block_is_repaired_and_told() {
    let storage = SimStorage::new(SimPower::steady());
    let mut wal = create(&storage);
    let commits = [payload(1, 10), payload(2, 2 * PAYLOAD_BYTES), payload(3, 100)];
    commits.iter().for_each(|commit| wal.commit(commit).unwrap());
    for block in 0..10 {
        for damage in [|b: &mut [u8]| b[60] ^= 1, |b: &mut [u8]| b.fill(0), |b: &mut [u8]| b.reverse()] {
            let storage = copy_of(&storage);
            storage.damage("wal-a", block * BLOCK_BYTES, |bytes| damage(&mut bytes[..BLOCK_BYTES]));
            let (_, report, found) = reopen(&storage).unwrap();
            assert_eq!(found, commits, "block {block}");
            assert_eq!(report.is_sound(), block >= 8, "block {block}: the last commit's may be torn");
        }
    }
}

#[test]
fn damage_to_both_copies_is_an_error_unless_it_can_be_a_torn_tail() {
    let storage = SimStorage::new(SimPower::steady());
    let mut wal = create(&storage);
    let commits = [payload(1, 10), payload(2, 2 * PAYLOAD_BYTES), payload(3, 100)];
    commits.iter().for_each(|commit| wal.commit(commit).unwrap());
    for pair in 0..5 {
        let storage = copy_of(&storage);
        let at = pair * PAIR_BYTES;
        storage.damage("wal-a", at, |bytes| bytes[..PAIR_BYTES].fill(9));
        match reopen(&storage) {
            Ok((_, _, found)) => assert!(pair == 4 && found == commits[..2], "pair {pair}"),
            Err(e) => assert!(pair < 4 && matches!(e, FlashError::Damaged { .. }), "pair {pair}: {e}"),
        }
        if (1..4).contains(&pair) {
            let mut found = Vec::new();
            let report = Wal::open(&storage).unwrap().salvage(&mut |commit| {
                found.push(commit[0]);
                Ok(())
            });
            let expected: &[u8] = if pair == 1 { &[2, 3] } else { &[1, 3] };
            assert_eq!((found.as_slice(), report.unwrap().lost_commits), (expected, 1), "pair {pair}");
        }
    }
}

#[test]
fn a_snapshot_that_cannot_be_read_is_never_the_end_of_the_log() {
    let storage = SimStorage::new(SimPower::steady());
    let mut wal = create(&storage);
    let mut left = vec![payload(2, 10), payload(1, 10)].into_iter();
    wal.start_generation(Vec::new(), &mut |into| left.next().map(|next| into.extend(next)).is_some())
        .unwrap();
    wal.commit(b"behind").unwrap();
    for pair in 1..=3 {
        let storage = copy_of(&storage);
        storage.damage("wal-b", pair * PAIR_BYTES, |bytes| bytes[..PAIR_BYTES].fill(0));
        let is_told = matches!(reopen(&storage), Err(FlashError::Damaged { .. }));
        assert_eq!(is_told, pair < 3, "pair {pair}");
    }
    let mut left = vec![payload(3, 10)].into_iter();
    wal.start_generation(Vec::new(), &mut |into| left.next().map(|next| into.extend(next)).is_some())
        .unwrap();
    storage.damage("wal-a", PAIR_BYTES, |bytes| bytes[..PAIR_BYTES].fill(0));
    assert!(matches!(reopen(&storage), Err(FlashError::Damaged { .. })), "also where no commit follows it");
}

#[test]
fn a_log_that_is_cut_short_or_of_a_later_version_is_told() {
    let storage = SimStorage::new(SimPower::steady());
    let mut wal = create(&storage);
    wal.commit(b"one").unwrap();
    wal.start_generation(b"now in b".to_vec(), &mut |_| false).unwrap();
    let short = SimStorage::new(SimPower::steady());
    for name in NAMES {
        let from = storage.open(name).unwrap();
        let len = if name == "wal-b" { 4 * BLOCK_BYTES } else { from.len_bytes() as usize };
        let mut bytes = vec![0; len];
        from.read_at(0, &mut bytes).unwrap();
        short.create(name, len as u64).unwrap().write_at(0, &bytes).unwrap();
    }
    assert!(matches!(reopen(&short), Err(FlashError::Truncated { .. })));
    let mut later = [0; BLOCK_BYTES];
    storage.open("wal-b").unwrap().read_at(0, &mut later).unwrap();
    later[16] = 2;
    let sum = checksum(SALT, 0, &later[8..]);
    later[..8].copy_from_slice(&sum.to_le_bytes());
    storage.damage("wal-a", 0, |bytes| bytes[..BLOCK_BYTES].copy_from_slice(&later));
    assert!(matches!(reopen(&storage), Err(FlashError::NewerVersion { got: 2, .. })));
}

/// Commits and changes of generation, with the power cut after each operation. All acknowledged commits are found, in order, and at most
/// one more.
#[test]
fn whatever_a_power_loss_leaves_the_acknowledged_commits_are_there() {
    let mut seeds = 0;
    for cut in 0.. {
        let power = SimPower::steady();
        let storage = SimStorage::new(power.clone());
        let mut wal = create(&storage);
        power.cut_after(cut);
        let mut acknowledged: Vec<Vec<u8>> = Vec::new();
        let mut tried = Vec::new();
        let mut work = || -> Result<(), FlashError> {
            for n in 0..12u8 {
                tried = payload(n, usize::from(n) * 900);
                wal.commit(&tried)?;
                acknowledged.push(tried.clone());
                if n % 5 == 4 {
                    let mut left = acknowledged.clone().into_iter();
                    wal.start_generation(vec![n], &mut |into| {
                        left.next().map(|next| into.extend(next)).is_some()
                    })?;
                }
            }
            Ok(())
        };
        let done = work();
        for loss in
            [PowerLoss::KILLED, PowerLoss::ALL_LOST, PowerLoss::WHOLE_SECTORS, PowerLoss::TORN_SECTORS]
        {
            for seed in 0..4 {
                seeds += 1;
                let (_, report, found) = reopen(&storage.after_power_loss(loss, seed)).unwrap();
                let (whole, more) = found.split_at(acknowledged.len());
                assert!(
                    whole == acknowledged && more.iter().all(|commit| *commit == tried),
                    "cut {cut}, {loss:?}, {seed}"
                );
                assert!(more.len() <= 1 && report.lost_commits == 0);
            }
        }
        if done.is_ok() {
            break;
        }
    }
    assert!(seeds > 500);
}

/// Each write and each sync fails in one run. No acknowledged commit is overwritten.
#[test]
fn after_a_failed_write_nothing_more_is_written() {
    for n in 0..14 {
        let power = SimPower::steady();
        let storage = SimStorage::new(power.clone());
        let mut wal = create(&storage);
        wal.commit(b"acknowledged").unwrap();
        power.fail_once_after(n);
        let mut failed = false;
        for _ in 0..3 {
            let result = wal.commit(b"x").and_then(|()| wal.start_generation(Vec::new(), &mut |_| false));
            assert!(!failed || matches!(result, Err(FlashError::WriterFailed { .. })));
            failed |= result.is_err();
        }
        let found = reopen(&copy_of(&storage)).unwrap().2;
        assert!(
            !failed || found.first().is_none_or(|first| first == b"acknowledged" || first == b"x"),
            "operation {n}"
        );
    }
}

/// Copies the blocks of a file from `from` to `to`, as a program does that reads it piece by piece.
fn copy_blocks(from: &SimStorage, to: &SimStorage, name: &str, blocks: std::ops::Range<usize>) {
    let (read, written) = (from.open(name).unwrap(), to.open(name).unwrap());
    let mut bytes = vec![0; blocks.len() * BLOCK_BYTES];
    read.read_at((blocks.start * BLOCK_BYTES) as u64, &mut bytes).unwrap();
    written.write_at((blocks.start * BLOCK_BYTES) as u64, &bytes).unwrap();
}

#[test]
fn a_copy_that_the_writer_overtook_is_refused() {
    let storage = SimStorage::new(SimPower::steady());
    let mut wal = create(&storage);
    (1..4).for_each(|n| wal.commit(&payload(n, 10)).unwrap());
    // A program copies the start, and is slow: the file is written again before it reads on.
    let copy = copy_of(&storage);
    wal.start_generation(Vec::new(), &mut |_| false).unwrap();
    wal.start_generation(Vec::new(), &mut |_| false).unwrap();
    assert!(matches!(reopen(&copy), Ok((.., commits)) if commits.len() == 3), "not yet");
    wal.commit(&payload(9, 10)).unwrap();
    copy_blocks(&storage, &copy, "wal-a", 2..8);
    assert!(matches!(reopen(&copy).err(), Some(FlashError::TornCopy { got: 3, expected: 1, .. })));
    let (_, report, commits) = reopen(&storage).unwrap();
    assert!(report.is_sound() && commits == [payload(9, 10)], "the original is whole");
    let mut left = Vec::new();
    let report = Wal::open(&copy).unwrap().salvage(&mut |commit| {
        left.push(commit.to_vec());
        Ok(())
    });
    assert!(report.unwrap().lost_commits > 0 && left == [payload(2, 10), payload(3, 10)]);
}
