//! Any contents of a set's log behind right checksums, and any damage to it: opening gives an error, or a filter that has what
//! its pages hold and that goes on working.
#![no_main]

mod filter;

use filter::{FLUSHED, buffer, keys, len_bytes, salt, seal_log_block, template};
use libfuzzer_sys::{arbitrary, fuzz_target};
use springbloom_flash_filter::FlashFilter;
use springbloom_flash_testkit::{SimPower, SimStorage};

#[derive(arbitrary::Arbitrary, Debug)]
struct Input<'a> {
    layout: u8,
    changes: Vec<Change<'a>>,
}

#[derive(arbitrary::Arbitrary, Debug)]
enum Change<'a> {
    /// Bytes written anywhere.
    Damage { second: bool, at: u32, bytes: &'a [u8] },
    /// Bytes of a block and its copy, from the magic on, and a right checksum.
    Block { second: bool, number: u8, at: u16, bytes: &'a [u8] },
    /// A whole block with right fields, twice.
    Forged {
        second: bool,
        number: u8,
        kind: u8,
        generation: u8,
        first: u8,
        count: u8,
        len: u16,
        payload: &'a [u8],
    },
}

fuzz_target!(|input: Input<'_>| {
    let storage = template(input.layout);
    let salt = salt(&storage);
    let name = |second: bool| if second { "wal-b" } else { "wal-a" };
    // A block and its copy.
    let seal = |pair: &mut [u8]| {
        let (block, copy) = pair[..8192].split_at_mut(4096);
        seal_log_block(salt, block);
        copy.copy_from_slice(block);
    };
    for change in &input.changes {
        match change {
            Change::Damage { second, at, bytes } => {
                let len = len_bytes(&storage, name(*second));
                let at = *at as usize % len;
                let count = bytes.len().min(len - at);
                storage.damage(name(*second), at, |log| log[..count].copy_from_slice(&bytes[..count]));
            }
            Change::Block { second, number, at, bytes } => {
                storage.damage(name(*second), usize::from(number % 64) * 8192, |log| {
                    let at = 8 + usize::from(*at) % 4088;
                    let count = bytes.len().min(4096 - at);
                    log[at..at + count].copy_from_slice(&bytes[..count]);
                    seal(log);
                });
            }
            Change::Forged { second, number, kind, generation, first, count, len, payload } => {
                let number = number % 64;
                storage.damage(name(*second), usize::from(number) * 8192, |log| {
                    let block = &mut log[..4096];
                    block[8..16].copy_from_slice(b"SPBL-WAL");
                    block[16..20].copy_from_slice(&1u32.to_le_bytes());
                    block[20] = kind % 3;
                    block[24..32].copy_from_slice(&u64::from(*generation % 8).to_le_bytes());
                    block[32..36].copy_from_slice(&u32::from(number).to_le_bytes());
                    block[36..40].copy_from_slice(&u32::from(*first).to_le_bytes());
                    block[40..44].copy_from_slice(&u32::from(*count).to_le_bytes());
                    block[44..48].copy_from_slice(&u32::from(*len % 4100).to_le_bytes());
                    let bytes = payload.len().min(4048);
                    block[48..48 + bytes].copy_from_slice(&payload[..bytes]);
                    seal(log);
                });
            }
        }
    }
    let rescued = std::sync::Arc::new(SimStorage::new(SimPower::steady()));
    if FlashFilter::salvage_in(&*storage, rescued.clone(), buffer()).is_ok() {
        let filter = FlashFilter::open_in(rescued, buffer()).expect("what was salvaged opens");
        assert!(filter.contains_many(&keys(FLUSHED)).iter().all(|found| *found));
    }
    let Ok(filter) = FlashFilter::open_in(storage.clone(), buffer()) else { return };
    assert!(filter.contains_many(&keys(FLUSHED)).iter().all(|found| *found));
    let more = keys(1 << 32..(1 << 32) + 50);
    filter.insert_many(&more).and_then(|()| filter.commit()).expect("a filter that opens can be written");
    drop(filter);
    let filter = FlashFilter::open_in(storage, buffer()).expect("and opened again");
    assert!(filter.contains_many(&[keys(FLUSHED), more].concat()).iter().all(|found| *found));
});
