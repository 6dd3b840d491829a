//! Damage anywhere in the pages of a flash filter: no key is lost, neither before nor after more is written over it.
#![no_main]

mod filter;

use filter::{FLUSHED, LOGGED, buffer, keys, len_bytes, template};
use libfuzzer_sys::{arbitrary, fuzz_target};
use springbloom_flash_filter::{FlashFilter, Watch};

#[derive(arbitrary::Arbitrary, Debug)]
struct Input<'a> {
    layout: u8,
    /// Where, and what is written there.
    damage: Vec<(u32, &'a [u8])>,
    more: u16,
}

fuzz_target!(|input: Input<'_>| {
    let storage = template(input.layout);
    let pages = len_bytes(&storage, "filter-0000") - 4096;
    for (at, bytes) in &input.damage {
        let at = *at as usize % pages;
        let len = bytes.len().min(pages - at);
        storage.damage("filter-0000", 4096 + at, |page| page[..len].copy_from_slice(&bytes[..len]));
    }
    let filter = FlashFilter::open_in(storage, buffer()).expect("pages are not read to open a filter");
    let known = keys(FLUSHED.start..LOGGED.end);
    let check = || {
        assert!(filter.contains_many(&known).iter().all(|found| *found));
        assert!(known.iter().step_by(7).all(|digest| filter.contains(*digest)));
    };
    check();
    let report = filter.verify(&mut Watch::none()).expect("verify");
    assert!(report.layers[0].fill <= 1.0 && report.layers[0].fpr <= 1.0);
    let more = keys(1 << 32..(1 << 32) + u64::from(input.more % 512));
    filter.insert_many(&more).and_then(|()| filter.flush()).expect("insert");
    check();
    assert!(filter.contains_many(&more).iter().all(|found| *found));
});
