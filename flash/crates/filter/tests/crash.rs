//! Power losses at many kinds of moments. Acknowledged keys are found, and the filter can always be opened.
//!
//! `SPRINGBLOOM_CRASHES` sets the number of crash points (default 400).

mod common;

use std::sync::Arc;

use common::{keys, small_buffer};
use rand::RngExt;
use springbloom_flash_filter::{FilterSettings, FlashFilter, FlushPolicy, Layout, WhenFull};
use springbloom_flash_testkit::{PowerLoss, SimPower, SimStorage};
use springbloom_page_device::BlockSizes;
use springbloom_testkit::seed;

const LOSSES: [PowerLoss; 4] =
    [PowerLoss::KILLED, PowerLoss::WHOLE_WRITES, PowerLoss::WHOLE_SECTORS, PowerLoss::TORN_SECTORS];

/// Devices of every kind. On the second, a torn write damages neighbours too.
const BLOCKS: [BlockSizes; 3] = [BlockSizes::SMALL, BlockSizes::EMULATED, BlockSizes::LARGE];

/// Acknowledged state of the workload at the power loss.
#[derive(Default, Debug)]
struct Acknowledged {
    /// Keys `0..keys` of the family.
    keys: u64,
    is_created: bool,
}

/// Creates a filter and inserts in rounds of random length, with random commits and flushes, until the power is cut or the keys run out.
fn run(
    storage: Arc<SimStorage>,
    settings: &FilterSettings,
    policy: FlushPolicy,
    rng: &mut seed::TestRng,
) -> Acknowledged {
    let mut acknowledged = Acknowledged::default();
    let Ok(filter) = FlashFilter::create_in(storage, settings, small_buffer(policy)) else {
        return acknowledged;
    };
    acknowledged.is_created = true;
    filter.set_when_full(WhenFull::Grow);
    let mut inserted = 0;
    while inserted < 12_000 {
        // Many small commits fill the log, so that generations change while updates are pending.
        let next = inserted + rng.random_range(1..200);
        if filter.insert_many(&keys(1, inserted..next)).is_err() {
            break;
        }
        inserted = next;
        let ended = match rng.random_range(0..40) {
            0 => filter.flush(),
            1..=30 => filter.commit(),
            _ => continue,
        };
        if ended.is_err() {
            break;
        }
        acknowledged.keys = inserted;
    }
    acknowledged
}

fn check(storage: Arc<SimStorage>, acknowledged: &Acknowledged, policy: FlushPolicy, what: &str) {
    let filter = match FlashFilter::open_in(storage.clone(), small_buffer(policy)) {
        Ok(filter) => filter,
        Err(_) if !acknowledged.is_created => return,
        Err(e) => panic!("{what}: {acknowledged:?}: {e}"),
    };
    let known = keys(1, 0..acknowledged.keys);
    let lost = filter.contains_many(&known).iter().filter(|found| !**found).count();
    assert_eq!(lost, 0, "{what}: {acknowledged:?}");
    // The recovered filter works, and new insertions are durable.
    filter.set_when_full(WhenFull::Grow);
    filter.insert_many(&keys(2, 0..300)).unwrap();
    filter.commit().unwrap();
    drop(filter);
    let filter = FlashFilter::open_in(storage, small_buffer(policy)).unwrap();
    let all: Vec<_> = known.into_iter().chain(keys(2, 0..300)).collect();
    assert!(filter.contains_many(&all).iter().all(|found| *found), "{what}: after going on");
}

fn crashes() -> u64 {
    std::env::var("SPRINGBLOOM_CRASHES").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

#[test]
fn nothing_acknowledged_is_lost_by_a_power_loss() {
    let mut rng = seed::rng("nothing_acknowledged_is_lost_by_a_power_loss");
    let mut unacknowledged_losses = 0;
    for crash in 0..crashes() {
        let policy = if crash % 2 == 0 { FlushPolicy::DirtiestGroupFirst } else { FlushPolicy::Sequential };
        let settings = match rng.random_range(0..6) {
            0 => FilterSettings::new(3000, 0.02).growing(true),
            5 => FilterSettings::new(3000, 0.02),
            1 => FilterSettings::new(12_000, 0.01).logged(false),
            2 => FilterSettings::new(12_000, 0.01).layout(Layout::TwoChoices),
            _ => FilterSettings::new(12_000, 0.01),
        };
        let loss = LOSSES[crash as usize % LOSSES.len()];
        let blocks = BLOCKS[rng.random_range(0..BLOCKS.len())];
        // Two pages per block of the device, where it accepts such pages.
        let halves = blocks.logical_bytes <= 2048 && rng.random_bool(0.5);
        let settings = if halves { settings.page_bytes(2048) } else { settings };
        let power = SimPower::steady();
        // A whole run has a few hundred operations. The first ones are those of creation.
        power.cut_after(rng.random_range(0..400));
        let storage = Arc::new(SimStorage::with_blocks(power.clone(), blocks));
        let acknowledged = run(storage.clone(), &settings, policy, &mut rng);
        unacknowledged_losses += u64::from(power.is_cut());
        let survived = Arc::new(storage.after_power_loss(loss, rng.random()));
        check(survived, &acknowledged, policy, &format!("crash {crash}, {loss:?}, {blocks:?}, {settings:?}"));
    }
    assert!(unacknowledged_losses > crashes() / 4, "only {unacknowledged_losses} runs were interrupted");
}

/// A short run in which the log's generation changes while updates are pending. Every operation is the last one of some run.
#[test]
fn every_single_operation_may_be_the_last() {
    let mut rng = seed::rng("every_single_operation_may_be_the_last");
    let policy = FlushPolicy::Sequential;
    let workload = |power: Arc<SimPower>, blocks: BlockSizes| {
        let storage = Arc::new(SimStorage::with_blocks(power, blocks));
        let mut acknowledged = Acknowledged::default();
        let settings = FilterSettings::new(2000, 0.01);
        if let Ok(filter) = FlashFilter::create_in(storage.clone(), &settings, small_buffer(policy)) {
            acknowledged.is_created = true;
            // One block of the log per commit. The log has 64.
            for first in (0..800).step_by(10) {
                let inserted = filter.insert_many(&keys(1, first..first + 10)).and_then(|()| filter.commit());
                if inserted.is_err() {
                    break;
                }
                acknowledged.keys = first + 10;
            }
        }
        (storage, acknowledged)
    };
    let steady = SimPower::steady();
    assert_eq!(workload(steady.clone(), BlockSizes::SMALL).1.keys, 800);
    for operations in 0..steady.operations() {
        let power = SimPower::steady();
        power.cut_after(operations);
        let (storage, acknowledged) = workload(power, BLOCKS[operations as usize % BLOCKS.len()]);
        for loss in LOSSES {
            let survived = Arc::new(storage.after_power_loss(loss, rng.random()));
            check(survived, &acknowledged, policy, &format!("operation {operations}, {loss:?}"));
        }
    }
}

#[test]
fn a_second_power_loss_during_or_after_recovery_loses_nothing_either() {
    let mut rng = seed::rng("a_second_power_loss_during_or_after_recovery");
    for crash in 0..crashes() / 8 {
        let settings = FilterSettings::new(12_000, 0.01);
        let policy = FlushPolicy::DirtiestGroupFirst;
        let power = SimPower::steady();
        power.cut_after(rng.random_range(100..400));
        let blocks = BLOCKS[crash as usize % BLOCKS.len()];
        let storage = Arc::new(SimStorage::with_blocks(power, blocks));
        let mut acknowledged = run(storage.clone(), &settings, policy, &mut rng);
        let mut storage = storage.after_power_loss(PowerLoss::TORN_SECTORS, rng.random());
        for _ in 0..3 {
            storage.power().cut_after(rng.random_range(0..30));
            let shared = Arc::new(storage);
            if let Ok(filter) = FlashFilter::open_in(shared.clone(), small_buffer(policy)) {
                filter.set_when_full(WhenFull::Grow);
                let next = acknowledged.keys + 200;
                if filter
                    .insert_many(&keys(1, acknowledged.keys..next))
                    .and_then(|()| filter.commit())
                    .is_ok()
                {
                    acknowledged.keys = next;
                }
            }
            storage = shared.after_power_loss(PowerLoss::TORN_SECTORS, rng.random());
        }
        check(Arc::new(storage), &acknowledged, policy, &format!("crash {crash}"));
    }
}

/// One write or sync fails, and both device and program go on. Later acknowledged insertions must be durable, or nothing may be
/// acknowledged.
#[test]
fn nothing_acknowledged_after_a_failed_operation_is_lost() {
    let mut rng = seed::rng("nothing_acknowledged_after_a_failed_operation_is_lost");
    let policy = FlushPolicy::DirtiestGroupFirst;
    let mut failed = 0;
    for case in 0..crashes() {
        let settings = match case % 3 {
            0 => FilterSettings::new(1500, 0.02).growing(true),
            1 => FilterSettings::new(12_000, 0.01).logged(false),
            _ => FilterSettings::new(12_000, 0.01),
        };
        let power = SimPower::steady();
        let storage = Arc::new(SimStorage::new(power.clone()));
        let filter = FlashFilter::create_in(storage.clone(), &settings, small_buffer(policy)).unwrap();
        power.fail_once_after(rng.random_range(0..300));
        // Keys of a failed call do not matter. The next call uses later keys.
        let (mut inserted, mut acknowledged) = (0, Vec::new());
        let mut waiting = Vec::new();
        for _ in 0..60 {
            let next = inserted + rng.random_range(1..150);
            match filter.insert_many(&keys(1, inserted..next)) {
                Ok(()) => waiting.push(inserted..next),
                Err(_) => failed += 1,
            }
            inserted = next;
            let ended = if rng.random_bool(0.2) { filter.flush() } else { filter.commit() };
            if ended.is_ok() {
                acknowledged.append(&mut waiting);
            }
        }
        drop(filter);
        let survived = Arc::new(storage.after_power_loss(PowerLoss::ALL_LOST, rng.random()));
        let filter = FlashFilter::open_in(survived, small_buffer(policy)).unwrap();
        for range in acknowledged {
            let lost = filter.contains_many(&keys(1, range)).iter().filter(|found| !**found).count();
            assert_eq!(lost, 0, "case {case}, {settings:?}");
        }
    }
    assert!(failed > crashes() / 4, "only {failed} insertions were refused");
}

/// Shows that the tests above can fail: without the sync of a commit, they do.
#[test]
fn a_device_that_lies_about_syncs_is_found_out() {
    let storage = Arc::new(SimStorage::new(SimPower::steady()));
    let filter = FlashFilter::create_in(
        storage.clone(),
        &FilterSettings::new(12_000, 0.01),
        small_buffer(FlushPolicy::Sequential),
    )
    .unwrap();
    filter.insert_many(&keys(1, 0..500)).unwrap();
    // Not committed, so a power loss may take the keys, and this one does.
    let survived = Arc::new(storage.after_power_loss(PowerLoss::ALL_LOST, 1));
    let reopened = FlashFilter::open_in(survived, small_buffer(FlushPolicy::Sequential)).unwrap();
    assert!(reopened.contains_many(&keys(1, 0..500)).iter().any(|found| !found));
}
