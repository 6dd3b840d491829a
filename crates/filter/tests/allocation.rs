//! Allocations of lookups and groups.

mod support;
#[path = "support/unsafe_counting_allocator.rs"]
mod unsafe_counting_allocator;

use springbloom_filter::FilterGroup;
use support::{digests, every_settings, prefix};
use unsafe_counting_allocator::{CountingAllocator, requested_during};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn lookups_allocate_nothing() {
    let (keys, absent) = (digests(1, 1000), digests(2, 1000));
    for settings in every_settings() {
        let group = prefix(&settings.build(&keys), settings.unit_count());
        let (_, calls, _) = requested_during(|| {
            keys.iter().chain(&absent).filter(|&&digest| group.may_match(digest)).count()
        });
        assert_eq!(calls, 0, "{settings}");
    }
}

#[test]
fn a_group_is_one_allocation_of_its_units() {
    for settings in every_settings() {
        for key_count in [0, 1, 61, 4096] {
            let built = settings.build(&digests(1, key_count));
            let units: Vec<&[u8]> = built.units.iter().map(Vec::as_slice).collect();
            for resident in 0..=units.len() {
                let (_group, calls, bytes) =
                    requested_during(|| FilterGroup::from_units(built.shape, &units[..resident]).unwrap());
                assert_eq!(calls, usize::from(bytes > 0));
                assert_eq!(bytes, resident * built.shape.unit_bytes(), "{settings}");
            }
        }
    }
}
