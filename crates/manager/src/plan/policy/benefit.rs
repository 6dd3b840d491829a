//! Ranks units by the wasted reads that they save per byte (beyond the papers: SHaMBa's utility `f * (1 - tp) * (difference of fpr)` with
//! measured instead of assumed terms).
//!
//! The next unit of a segment is worth its share of the reads that the segment will waste; the last unit, the reads that would be wasted
//! without it ([`forecast`](crate::plan::forecast)). Each wasted read raises the question whether its segment should get its next unit. It
//! does, from free bytes, if the unit repays its own read within the memory of the measurement; or in place of the units that are worth
//! least, if it is worth clearly more than they are *and* repays its read.

use super::fill::{Fill, gain};
use super::prior::Prior;
use super::victims::Victims;
use super::{Policy, VICTIMS_MAX};
use crate::names::SegmentRef;
use crate::plan::allocation::Allocation;
use crate::visits::Visit;

/// Segments that the clock hand looks at after each wasted read.
const HAND_STEPS: usize = 4;
/// A unit must be worth this many times those that it replaces.
const HYSTERESIS: f32 = 1.4;
/// `changes_max`: a segment that gets a unit, and its victims.
const CHANGES_MAX: usize = 64;
/// Wasted reads that a load must save within the memory of the measurement, net, to repay its own read. Half a read, because most units
/// stay for longer than that memory.
const REPAY_READS: f32 = 0.5;

/// Springbloom's policy, `benefit`.
pub struct Benefit {
    victims: Victims,
    prior: Prior,
    fill: Fill,
}

impl Default for Benefit {
    fn default() -> Self {
        Self { victims: Victims::new(), prior: Prior::default(), fill: Fill::new() }
    }
}

impl Benefit {
    /// Admits the segment's next unit if it is worth more than its victims. `repay` is the weight of the wasted reads that it must save to
    /// repay the read that loads it.
    fn try_grow(&mut self, segment: SegmentRef, repay: f32, allocation: &mut Allocation) -> bool {
        let Some(bytes) = allocation.admissible_bytes(segment) else { return false };
        let gain = gain(segment, allocation);
        let mut free = allocation.free_bytes();
        let least_lost = self.victims.least_worth() * bytes.saturating_sub(free) as f32;
        if gain < repay || gain < least_lost * HYSTERESIS + repay {
            return false;
        }
        let (mut victims, mut count) = ([SegmentRef::NONE; VICTIMS_MAX], 0);
        let mut lost = 0.0;
        while free < bytes && count < VICTIMS_MAX && gain >= lost * HYSTERESIS + repay {
            let Some(victim) = self.victims.pop(allocation) else { break };
            victims[count] = victim;
            count += 1;
            if victim != segment {
                lost += allocation.saved_by_last(victim);
                free += allocation.segments()[victim].last_unit_bytes().unwrap_or(0);
            }
        }
        let is_worth_it = free >= bytes && gain >= lost * HYSTERESIS + repay;
        for &victim in &victims[..count] {
            if is_worth_it && victim != segment {
                allocation.evict(victim);
            }
            self.victims.offer(victim, allocation);
        }
        let admitted = is_worth_it && allocation.admit(segment);
        self.victims.offer(segment, allocation);
        admitted
    }
}

impl Policy for Benefit {
    fn place(&mut self, segment: SegmentRef, allocation: &mut Allocation) {
        let repay = REPAY_READS * allocation.weight();
        let has_place = |allocation: &Allocation| allocation.changed().len() + VICTIMS_MAX < CHANGES_MAX;
        while has_place(allocation) && self.try_grow(segment, repay, allocation) {}
        // Nothing is known of it: a first unit, if bytes are free.
        if allocation.segments()[segment].units() == 0 {
            allocation.admit(segment);
        }
    }

    fn add_table(&mut self, table: u32, allocation: &mut Allocation) {
        self.prior.add_table(table, allocation);
        self.fill.restart();
    }

    fn remove_table(&mut self, table: u32, _allocation: &Allocation) {
        self.victims.remove_table(table);
        self.prior.remove_table(table);
        self.fill.restart();
    }

    fn fill(&mut self, allocation: &mut Allocation) -> bool {
        if self.prior.set(allocation) {
            return true;
        }
        let worked = self.fill.step(CHANGES_MAX, allocation);
        // They are the first to go when others need the bytes.
        for &segment in allocation.changed() {
            self.victims.offer(segment, allocation);
        }
        worked
    }

    fn on_visit(&mut self, visit: Visit, allocation: &mut Allocation) {
        if visit.outcome.asks_for_units() {
            self.victims.look(HAND_STEPS, allocation);
            // A sample that stands for many is no better evidence than one visit: as many samples must speak for a load.
            let repay = REPAY_READS * visit.sample_weight as f32 * allocation.weight();
            self.try_grow(visit.segment, repay, allocation);
        }
    }

    fn on_units_changed(&mut self, segment: SegmentRef, allocation: &Allocation) {
        self.victims.offer(segment, allocation);
        self.fill.restart();
    }

    fn on_rescale(&mut self, factor: f32) {
        self.victims.scale(factor);
        self.fill.scale(factor);
    }

    fn evict_one(&mut self, allocation: &mut Allocation) -> bool {
        let Some(victim) = self.victims.pop(allocation) else { return false };
        allocation.evict(victim);
        self.victims.offer(victim, allocation);
        self.fill.restart();
        true
    }

    fn least_worth(&self) -> f32 {
        self.victims.least_worth()
    }

    fn changes_max(&self) -> usize {
        CHANGES_MAX
    }

    fn table_bytes(&self, _segments: usize) -> usize {
        Prior::TABLE_BYTES
    }

    fn list_bytes(&self, segments: usize) -> usize {
        Victims::list_bytes(segments)
    }

    #[cfg(test)]
    fn assert_consistent(&self, allocation: &Allocation) {
        self.victims.assert_consistent(allocation);
    }
}
