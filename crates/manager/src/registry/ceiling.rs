//! Keeps what is resident under the budget, also while the budget moves.

use super::Registry;
use super::residents::LoadBy;
use crate::budget::MemoryKind;

/// When the budget shrinks, so many segments change before the mutex is let go of.
const CHANGES_PER_PIECE: usize = 1024;

impl Registry {
    /// Bytes that the budget pays for beside units.
    pub(crate) fn other_bytes(&self) -> usize {
        let kinds =
            [MemoryKind::Bookkeeping, MemoryKind::Buffers, MemoryKind::NegativeCache, MemoryKind::HandedOver];
        kinds.iter().map(|&kind| self.budget.used_bytes_of(kind)).sum::<usize>()
            + self.headroom_bytes
            + self.lookups.visits.payable_bytes(self.budget_bytes())
    }

    /// The ceiling to keep to: the one in force, or a lower one that is about to be.
    pub(super) fn budget_bytes(&self) -> usize {
        self.budget.budget_bytes().min(self.pending_budget_bytes)
    }

    /// One try to move the budget. Gives the bytes that it has from now on. `None`: try again, because more bytes will come free. There is
    /// more to evict, a lookup still probes an evicted group, a read is under way, or the negative cache was just given up.
    pub(crate) fn move_budget(&mut self, budget_bytes: usize) -> Option<usize> {
        self.headroom_bytes = 0;
        self.pending_budget_bytes = budget_bytes;
        self.lookups.visits.fit(budget_bytes);
        self.shrink_negative_cache(budget_bytes);
        // The ceiling falls after all is evicted: until then, shrinking groups need room for their copies.
        if self.fit_piece() {
            return None;
        }
        let reached_bytes = self.budget.set_budget_bytes(budget_bytes);
        let movable = [MemoryKind::Units, MemoryKind::Loading];
        let movable_bytes: usize = movable.map(|kind| self.budget.used_bytes_of(kind)).iter().sum();
        if reached_bytes <= budget_bytes {
            self.lookups.visits.fit(budget_bytes);
            self.fit(0);
            self.fit_negative_cache(reached_bytes);
            return Some(reached_bytes);
        }
        if movable_bytes > 0 || self.give_up_negative_cache() {
            return None;
        }
        self.lower_ceiling();
        let reached_bytes = self.budget.budget_bytes();
        if reached_bytes > budget_bytes {
            self.notices.warn(format!(
                "a filter budget of {budget_bytes} bytes is less than what stays in use for now: {reached_bytes} bytes"
            ));
        }
        Some(reached_bytes)
    }

    /// Lowers a ceiling that could not be reached as far as bytes came free since.
    pub(super) fn lower_ceiling(&mut self) {
        self.lookups.visits.reclaim();
        if self.budget.budget_bytes() > self.pending_budget_bytes {
            if self.free_indices.len() == self.tables.len() {
                // As in a manager that is made with such a budget.
                self.fixed_reservation = None;
            }
            self.budget.set_budget_bytes(self.pending_budget_bytes);
        }
    }

    /// Brings the plan under what the budget leaves for units, `spare_bytes` less, and evicts what is over.
    pub(crate) fn fit(&mut self, spare_bytes: usize) {
        self.fit_plan_budget(spare_bytes);
        while self.planner.shrink_step() {
            self.apply_plan(LoadBy::Table);
        }
    }

    /// A piece of [`fit`](Self::fit) without spare bytes, so that others do not wait long for the mutex. Gives whether there is more to do.
    pub(crate) fn fit_piece(&mut self) -> bool {
        self.fit_plan_budget(0);
        let mut changed = 0;
        while changed < CHANGES_PER_PIECE {
            if !self.planner.shrink_step() {
                return false;
            }
            changed += self.apply_plan(LoadBy::Table).max(1);
        }
        true
    }

    pub(super) fn fit_plan_budget(&mut self, spare_bytes: usize) {
        self.garbage.collect(&mut self.sources);
        self.lower_ceiling();
        let fixed = self.other_bytes() + spare_bytes;
        let unit_budget_bytes = self.budget_bytes().saturating_sub(fixed);
        self.planner.allocation_mut().set_unit_budget_bytes(unit_budget_bytes);
    }
}
