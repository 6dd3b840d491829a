//! What the budget pays for: how much tables may take in addition to their units, and what is left for units.

mod garbage;

pub(crate) use garbage::Garbage;

use std::sync::Arc;

use crate::budget::{MemoryBudget, MemoryKind};
use crate::visits::VisitBuffer;

/// Of a budget that is mostly bookkeeping, one part in this many is left for all else.
const SPARE_PARTS: usize = 16;
/// One part in this many of the units' bytes may stay free for the buffers of reads.
pub(crate) const HEADROOM_PARTS: usize = 256;
/// Each load releases one part in this many of the headroom beyond that.
const HEADROOM_LOADS: usize = 8;

/// The budget, and what is kept free or waits to be freed.
pub(crate) struct Memory {
    pub(crate) budget: MemoryBudget,
    pub(crate) visits: Arc<VisitBuffer>,
    /// Replaced groups that a lookup still probes.
    pub(crate) garbage: Garbage,
    /// Bytes kept free of planned units for the buffer that a read needs.
    headroom_bytes: usize,
}

impl Memory {
    pub(crate) fn new(budget: MemoryBudget, visits: Arc<VisitBuffer>) -> Self {
        Self { visits, garbage: Garbage::new(budget.clone()), headroom_bytes: 0, budget }
    }

    /// The budget to plan for: the one in force, or a lower one that was asked for.
    pub(crate) fn budget_bytes(&self) -> usize {
        self.budget.budget_bytes().min(self.budget.asked_bytes())
    }

    /// Bytes that the budget pays for in addition to units.
    pub(crate) fn other_bytes(&self) -> usize {
        let kinds = [MemoryKind::Bookkeeping, MemoryKind::Buffers, MemoryKind::Indexes];
        kinds.iter().map(|&kind| self.budget.used_bytes_of(kind)).sum::<usize>()
            + self.headroom_bytes
            + self.visits.payable_bytes(self.budget_bytes())
    }

    /// Bytes that are left for units.
    pub(crate) fn unit_budget_bytes(&self) -> usize {
        self.budget_bytes().saturating_sub(self.other_bytes())
    }

    /// Frees what nobody else uses any more, and lowers a budget that could not be reached as far as bytes came free since.
    pub(crate) fn collect(&mut self) {
        self.garbage.collect();
        if self.budget.budget_bytes() > self.budget.asked_bytes() {
            self.budget.follow();
        }
    }

    /// Asks for another budget: from now on nothing is planned beyond it.
    pub(crate) fn ask(&mut self, budget_bytes: usize) {
        self.headroom_bytes = 0;
        self.budget.ask(budget_bytes);
    }

    /// Bytes in use that evictions and the ends of reads free.
    pub(crate) fn movable_bytes(&self) -> usize {
        [MemoryKind::Units, MemoryKind::Loading].map(|kind| self.budget.used_bytes_of(kind)).iter().sum()
    }

    /// Whether bookkeeping may take this many bytes more, where the first few units of all segments take `few_units_bytes`. Bookkeeping
    /// alone saves no read: half of the budget stays for units, or what the first few of all segments take. They take little where tables
    /// are small, and a table that is not known wastes a read in every lookup.
    pub(crate) fn has_share_for(&self, bytes: usize, few_units_bytes: usize) -> bool {
        let bookkeeping_bytes = self.budget.used_bytes_of(MemoryKind::Bookkeeping) + bytes;
        let budget_bytes = self.budget_bytes();
        bookkeeping_bytes <= budget_bytes / 2
            || bookkeeping_bytes + few_units_bytes <= budget_bytes - budget_bytes / SPARE_PARTS
    }

    /// Keeps `bytes` free for a read that did not fit, of which units may take `unit_bytes`. `false` if that would be much of the budget.
    pub(crate) fn make_headroom(&mut self, bytes: usize, unit_bytes: usize) -> bool {
        if bytes > self.headroom_bytes && bytes > (unit_bytes + self.headroom_bytes) / 4 {
            return false;
        }
        self.headroom_bytes = self.headroom_bytes.max(bytes);
        true
    }

    /// Gives headroom for unusually large units back over time, where a read needed `bytes` of it and units may take `unit_bytes`.
    pub(crate) fn give_back_headroom(&mut self, bytes: usize, unit_bytes: usize) {
        let needed = bytes.max((unit_bytes + self.headroom_bytes) / HEADROOM_PARTS);
        self.headroom_bytes -= self.headroom_bytes.saturating_sub(needed).div_ceil(HEADROOM_LOADS);
    }
}
