//! How many bytes an allocation takes from the process.
//!
//! glibc's malloc adds 8 bytes to each allocation and rounds to 16. jemalloc, mimalloc and others have size classes, four to a factor of
//! two: they take up to a quarter more than was asked for, and a fifth more for usual groups of units. That is too much to ignore, and too
//! much to charge where it is not so. The addresses of some allocations tell which kind the process has.

use std::sync::LazyLock;

use springbloom_filter::GroupShape;

/// Most bytes that glibc's malloc takes in addition to those that were asked for, if those are not few.
pub(crate) const ALLOCATION_BYTES: usize = 23;

/// From here on glibc's malloc may ask the system for pages of their own.
const PAGES_FROM_BYTES: usize = 128 << 10;
const PAGE_BYTES: usize = 4096;

/// Bytes that a request takes at most, whichever of the usual allocators serves it; nothing for nothing.
pub const fn allocated_bytes(requested: usize) -> usize {
    // No allocator serves more. An absurd request must not overflow here: it finds no room.
    let requested = if requested > isize::MAX as usize { isize::MAX as usize } else { requested };
    let (in_steps, in_classes) = (bytes_in_steps(requested), bytes_in_classes(requested));
    if in_steps > in_classes { in_steps } else { in_classes }
}

/// What glibc's malloc takes: a header of 8, in steps of 16, at least 32; whole pages for much.
const fn bytes_in_steps(requested: usize) -> usize {
    match requested {
        0 => 0,
        1..24 => 32,
        24..PAGES_FROM_BYTES => (requested + 8).next_multiple_of(16),
        _ => (requested + 16).next_multiple_of(PAGE_BYTES),
    }
}

/// What an allocator with size classes takes: steps of 16 up to 128, then four classes to a factor of two.
const fn bytes_in_classes(requested: usize) -> usize {
    match requested {
        0 => 0,
        1..=128 => requested.next_multiple_of(16),
        _ => requested.next_multiple_of(requested.next_power_of_two() / 8),
    }
}

/// A request for which the two kinds differ much, and how often it is made to see of which kind the allocator is.
const PROBED_BYTES: usize = 1040;
const PROBES: usize = 64;

/// Whether the process's allocator is jemalloc, mimalloc or another one with size classes. Allocations of one class lie a class apart at
/// least; of 64 made together two are neighbours under glibc's malloc. Where its heap is in pieces and none are, too much is counted, not
/// too little.
pub(crate) static HAS_SIZE_CLASSES: LazyLock<bool> = LazyLock::new(|| {
    let blocks = [(); PROBES].map(|()| Vec::<u8>::with_capacity(PROBED_BYTES));
    let mut places = blocks.each_ref().map(|block| block.as_ptr().addr());
    places.sort_unstable();
    let nearest = places.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(0);
    nearest > bytes_in_steps(PROBED_BYTES)
});

/// Bytes that a request takes of the process's allocator.
pub(crate) fn taken_bytes(requested: usize) -> usize {
    if *HAS_SIZE_CLASSES { allocated_bytes(requested) } else { bytes_in_steps(requested) }
}

/// Bytes that part of larger allocations takes at most: those of lists that tables share.
pub(crate) fn taken_bytes_of_part(bytes: usize) -> usize {
    if *HAS_SIZE_CLASSES { bytes + bytes / 4 } else { bytes }
}

/// What stands before the words of a resident group.
pub(crate) const GROUP_HEAD_BYTES: usize = 8;

/// Bytes that a segment's group takes with `units` units resident, with everything that owns it.
pub fn group_bytes(shape: GroupShape, units: u8) -> usize {
    match units.min(shape.unit_count()) {
        0 => 0,
        units => taken_bytes(GROUP_HEAD_BYTES + shape.unit_bytes() * usize::from(units)),
    }
}

/// Places of a list with this number of elements, which doubles as it grows.
pub(crate) fn list_places(elements: usize) -> usize {
    match elements {
        0 => 0,
        _ => elements.next_power_of_two().max(4),
    }
}

/// Bytes of a list with this number of elements.
pub(crate) fn list_bytes<T>(elements: usize) -> usize {
    taken_bytes(list_places(elements) * size_of::<T>())
}

/// A thrifty vector grows by one part in this many.
const SPARE: usize = 32;

/// Has room for `length` elements, with one in [`SPARE`] to spare where a `Vec` would double: growing copies each element about that often.
pub(crate) fn grow_thriftily<T>(elements: &mut Vec<T>, length: usize) {
    if elements.capacity() < length {
        elements.reserve_exact(length + length / SPARE - elements.len());
    }
}

/// Gives back room where more than one element in [`SPARE`], and a few, are to spare.
pub(crate) fn shrink_thriftily<T>(elements: &mut Vec<T>) {
    if elements.capacity() > elements.len() + elements.len() / SPARE + SPARE {
        elements.shrink_to_fit();
    }
}

/// Bytes of one `T` in a vector that grows thriftily.
pub(crate) const fn thrifty_bytes<T>() -> usize {
    (size_of::<T>() * (SPARE + 1)).div_ceil(SPARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_enough_for_any_allocator() {
        for requested in (0..5000).chain([100_000, 131_072, 1 << 20, (1 << 20) + 16]) {
            let most = allocated_bytes(requested);
            assert!(most >= bytes_in_steps(requested) && most >= bytes_in_classes(requested));
            assert!(
                bytes_in_classes(requested) >= requested
                    && most
                        <= requested
                            + requested / 4
                            + 32.max(PAGE_BYTES * usize::from(requested >= PAGES_FROM_BYTES))
            );
        }
        assert!(allocated_bytes(usize::MAX) >= isize::MAX as usize);
        assert_eq!([0, 1, 24, 25, 128, 200, 1040].map(bytes_in_steps), [0, 32, 32, 48, 144, 208, 1056]);
        assert_eq!([0, 1, 17, 128, 129, 1040, 4112].map(bytes_in_classes), [0, 16, 32, 128, 160, 1280, 5120]);
    }
}
