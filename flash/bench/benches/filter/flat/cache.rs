//! Pages that were read lately, each in the one slot where it can be, as in the flash filter.

use springbloom_page_device::{mix, scale};

use super::PAGE_BYTES;

#[derive(Clone, Default)]
struct Slot {
    page: Option<u32>,
    bytes: Vec<u8>,
}

pub(super) struct Cache {
    slots: Vec<Slot>,
}

impl Cache {
    /// As many pages as `memory_bytes` hold.
    pub(super) fn new(memory_bytes: u64) -> Cache {
        let slots = memory_bytes as usize / (PAGE_BYTES + size_of::<Slot>());
        Cache { slots: vec![Slot::default(); slots] }
    }

    fn slot(&mut self, page: u32) -> Option<&mut Slot> {
        let index = scale(mix(u64::from(page)), self.slots.len() as u64) as usize;
        self.slots.get_mut(index)
    }

    pub(super) fn get(&mut self, page: u32) -> Option<&[u8]> {
        self.slot(page).filter(|slot| slot.page == Some(page)).map(|slot| &slot.bytes[..])
    }

    pub(super) fn keep(&mut self, page: u32, bytes: &[u8]) {
        if let Some(slot) = self.slot(page) {
            slot.page = Some(page);
            slot.bytes.clear();
            slot.bytes.extend_from_slice(bytes);
        }
    }

    /// `page` has been written.
    pub(super) fn forget(&mut self, page: u32) {
        if let Some(slot) = self.slot(page).filter(|slot| slot.page == Some(page)) {
            slot.page = None;
        }
    }
}
