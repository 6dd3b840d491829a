//! Optional cache of recently read pages, for workloads that repeat keys. It never holds older data than the device.
//!
//! Each page has one slot. A reader that misses takes the slot's epoch before it reads the device. It stores the page only if the epoch is
//! unchanged. A writer advances the epoch *after* writing a page. So a page read before or during the write is not stored afterwards, and
//! one stored earlier is dropped.

use parking_lot::Mutex;
use springbloom_page_device::{mix, scale};

/// A page of one filter of the chain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageName {
    pub(crate) layer: u32,
    pub(crate) page: u32,
}

#[derive(Default)]
struct Slot {
    holds: Option<PageName>,
    epoch: u64,
    bytes: Vec<u8>,
}

/// The right to store a page that is about to be read.
pub(crate) struct Ticket {
    slot: usize,
    epoch: u64,
}

pub(crate) struct PageCache {
    slots: Box<[Mutex<Slot>]>,
}

impl PageCache {
    /// A cache of `pages` pages, or no cache if that is 0.
    pub(crate) fn new(pages: usize) -> PageCache {
        PageCache { slots: (0..pages).map(|_| Mutex::default()).collect() }
    }

    /// Memory of one cached page of `page_bytes`.
    pub(crate) fn page_memory_bytes(page_bytes: u32) -> u64 {
        u64::from(page_bytes) + size_of::<Mutex<Slot>>() as u64 + 16
    }

    fn index(&self, name: PageName) -> usize {
        let number = (u64::from(name.layer) << 32) | u64::from(name.page);
        scale(mix(number), self.slots.len() as u64) as usize
    }

    /// Passes the cached page to `visit`. If it is not cached, returns a ticket to store it (`None` without a cache).
    pub(crate) fn ask<T>(&self, name: PageName, visit: impl FnOnce(&[u8]) -> T) -> Result<T, Option<Ticket>> {
        if self.slots.is_empty() {
            return Err(None);
        }
        let index = self.index(name);
        let slot = self.slots[index].lock();
        if slot.holds == Some(name) {
            return Ok(visit(&slot.bytes));
        }
        Err(Some(Ticket { slot: index, epoch: slot.epoch }))
    }

    /// Stores `bytes`, which were read after `ticket` was given, unless the page may have been written since.
    pub(crate) fn keep(&self, ticket: Option<&Ticket>, name: PageName, bytes: &[u8]) {
        let Some(ticket) = ticket else { return };
        let mut slot = self.slots[ticket.slot].lock();
        if slot.epoch == ticket.epoch {
            slot.holds = Some(name);
            slot.bytes.clear();
            slot.bytes.extend_from_slice(bytes);
        }
    }

    /// Drops a page that has been written.
    pub(crate) fn forget(&self, name: PageName) {
        if self.slots.is_empty() {
            return;
        }
        let mut slot = self.slots[self.index(name)].lock();
        slot.epoch += 1;
        if slot.holds == Some(name) {
            slot.holds = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: PageName = PageName { layer: 0, page: 7 };

    fn held(cache: &PageCache) -> Option<Vec<u8>> {
        cache.ask(NAME, <[u8]>::to_vec).ok()
    }

    #[test]
    fn a_page_is_kept_until_it_is_written() {
        let cache = PageCache::new(4);
        let Err(ticket) = cache.ask(NAME, |_| ()) else { panic!("empty at first") };
        cache.keep(ticket.as_ref(), NAME, &[1, 2]);
        assert_eq!(held(&cache), Some(vec![1, 2]));
        cache.forget(NAME);
        assert_eq!(held(&cache), None);
    }

    #[test]
    fn what_was_read_before_a_write_ended_does_not_enter_after_it() {
        let cache = PageCache::new(1);
        let Err(ticket) = cache.ask(NAME, |_| ()) else { panic!("empty at first") };
        cache.forget(NAME);
        cache.keep(ticket.as_ref(), NAME, &[1]);
        assert_eq!(held(&cache), None);
    }

    #[test]
    fn no_cache_holds_nothing() {
        let cache = PageCache::new(0);
        assert!(matches!(cache.ask(NAME, |_| ()), Err(None)));
        cache.keep(None, NAME, &[1]);
        cache.forget(NAME);
        assert_eq!(held(&cache), None);
    }
}
