//! Any sequence of operations and power losses: what was acknowledged is there.
#![no_main]

mod filter;

use std::sync::Arc;

use filter::{LAYOUTS, buffer, keys};
use libfuzzer_sys::{arbitrary, fuzz_target};
use springbloom_flash_filter::{FilterSettings, FlashFilter, WhenFull};
use springbloom_flash_testkit::{PowerLoss, SimPower, SimStorage};
use springbloom_page_device::BlockSizes;

#[derive(arbitrary::Arbitrary, Debug)]
struct Input {
    layout: u8,
    grows: bool,
    blocks: u8,
    steps: Vec<Step>,
}

#[derive(arbitrary::Arbitrary, Debug)]
enum Step {
    Insert(u8),
    Commit,
    Flush,
    /// The power goes after this many writes and syncs.
    CutAfter(u8),
    /// What is left of it, and the filter opened again.
    Reopen {
        loss: u8,
        seed: u64,
    },
}

const LOSSES: [PowerLoss; 5] = [
    PowerLoss::KILLED,
    PowerLoss::ALL_LOST,
    PowerLoss::WHOLE_WRITES,
    PowerLoss::WHOLE_SECTORS,
    PowerLoss::TORN_SECTORS,
];
const BLOCKS: [BlockSizes; 3] = [BlockSizes::SMALL, BlockSizes::EMULATED, BlockSizes::LARGE];

fuzz_target!(|input: Input| {
    let blocks = BLOCKS[usize::from(input.blocks) % BLOCKS.len()];
    let settings = FilterSettings::new(400, 0.02)
        .layout(LAYOUTS[usize::from(input.layout) % LAYOUTS.len()])
        .growing(input.grows);
    let mut storage = Arc::new(SimStorage::with_blocks(SimPower::steady(), blocks));
    let mut filter = FlashFilter::create_in(storage.clone(), &settings, buffer()).expect("create");
    filter.set_when_full(WhenFull::Exceed);
    let (mut inserted, mut acknowledged) = (0, 0);
    for step in input.steps.iter().take(200) {
        match step {
            Step::Insert(count) => {
                // A failed insertion may have been one for some keys; they are not acknowledged.
                let _ = filter.insert_many(&keys(inserted..inserted + u64::from(*count)));
                inserted += u64::from(*count);
            }
            Step::Commit | Step::Flush => {
                let done = if matches!(step, Step::Commit) { filter.commit() } else { filter.flush() };
                if done.is_ok() {
                    acknowledged = inserted;
                }
            }
            Step::CutAfter(operations) => storage.power().cut_after(u64::from(*operations)),
            Step::Reopen { loss, seed } => {
                drop(filter);
                let loss = LOSSES[usize::from(*loss) % LOSSES.len()];
                storage = Arc::new(storage.after_power_loss(loss, *seed));
                filter =
                    FlashFilter::open_in(storage.clone(), buffer()).expect("what was acknowledged opens");
                filter.set_when_full(WhenFull::Exceed);
                assert!(filter.contains_many(&keys(0..acknowledged)).iter().all(|found| *found));
                inserted = acknowledged;
            }
        }
    }
});
