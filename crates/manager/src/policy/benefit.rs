//! Units ranked by what they were observed to do, per byte (beyond the papers; the idea of SHaMBa's utility
//! `f * (1 - tp) * (difference of fpr)` with measured instead of assumed terms).
//!
//! A segment's next unit is worth the wasted reads it would have stopped; its last unit is worth the rejections that it
//! alone made, `negatives * (fpr_{n-1} - fpr_n)`. True positives teach nothing. A wasted read is the occasion to ask whether the segment
//! should have its next unit: from free bytes if it repays its own read within the memory of the measurement, else in
//! place of the units that are worth least, if it is worth clearly more than they are *and* repays its read.
//!
//! Segments with units stand in buckets by the worth of their last unit, two per factor of two. Worth changes only when
//! the segment is visited (fading scales all alike), so a visit costs O(1) and nothing else has work to do.

use super::lists::{Linked, Links, List};
use super::{AllocationPolicy, VICTIMS_MAX};
use crate::Outcome;
use crate::allocation::{Allocation, SegmentState};
use crate::segments::{PerSegment, SegmentRef};

const BUCKETS: usize = 192;
/// `f32` bits of the least worth that has a bucket of its own, shifted so that half octaves remain: 2^-56.
const BUCKET_BASE: u32 = (127 - 56) << 1;
const NO_BUCKET: u16 = u16::MAX;

/// Segments of the least bucket whose worth is compared exactly.
const SEARCH: usize = 6;
/// A unit must be worth this many times those that it replaces.
const HYSTERESIS: f32 = 1.1;
/// Wasted reads within the memory of the measurement that a load must save, net, to repay its own read.
const REPAY_READS: f32 = 1.0;

#[derive(Clone, Debug)]
struct Node {
    links: Links,
    bucket: u16,
}

impl Linked for Node {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }

    fn next(&self) -> SegmentRef {
        self.links.next()
    }
}

/// The policy `benefit`.
pub(super) struct Benefit {
    buckets: Vec<List>,
    nodes: PerSegment<Node>,
}

/// Weighted wasted reads that the last unit saves.
fn loss(state: &SegmentState) -> f32 {
    state.hotness.negatives * state.fpr_loss()
}

/// Weighted wasted reads that the next unit would save.
fn gain(state: &SegmentState) -> f32 {
    let fpr = state.fpr();
    if fpr <= 0.0 {
        return 0.0;
    }
    let expected = state.hotness.negatives * fpr;
    let wasted = OBSERVED_SHARE * state.hotness.wasted_reads + (1.0 - OBSERVED_SHARE) * expected;
    wasted * state.fpr_gain() / fpr
}

/// How far observed wasted reads are believed over those that follow from the analytic rate.
const OBSERVED_SHARE: f32 = 0.5;

fn bucket_of(state: &SegmentState) -> u16 {
    match state.last_unit_bytes() {
        None => NO_BUCKET,
        Some(bytes) => {
            let worth = loss(state) / bytes as f32;
            (worth.to_bits() >> 22).saturating_sub(BUCKET_BASE).min(BUCKETS as u32 - 1) as u16
        }
    }
}

impl Benefit {
    pub(super) fn new() -> Self {
        Self { buckets: vec![List::EMPTY; BUCKETS], nodes: PerSegment::new() }
    }

    /// Puts the segment where its worth belongs, at the recent end if it moves.
    fn relink(&mut self, segment: SegmentRef, allocation: &Allocation) {
        let bucket = bucket_of(&allocation.segments()[segment]);
        let old = self.nodes[segment].bucket;
        if bucket == old {
            return;
        }
        self.unlink(segment);
        self.nodes[segment].bucket = bucket;
        if bucket != NO_BUCKET {
            self.buckets[usize::from(bucket)].push_back(&mut self.nodes, segment);
        }
    }

    fn unlink(&mut self, segment: SegmentRef) {
        let old = std::mem::replace(&mut self.nodes[segment].bucket, NO_BUCKET);
        if old != NO_BUCKET {
            self.buckets[usize::from(old)].remove(&mut self.nodes, segment);
        }
    }

    /// The unit that is worth least of those not yet chosen and not `but`.
    fn least(&self, but: SegmentRef, chosen: &[SegmentRef], allocation: &Allocation) -> Option<SegmentRef> {
        let worth = |&segment: &SegmentRef| {
            let state = &allocation.segments()[segment];
            loss(state) / state.last_unit_bytes().unwrap_or(1) as f32
        };
        self.buckets.iter().filter(|bucket| !bucket.is_empty()).find_map(|bucket| {
            bucket
                .iter(&self.nodes)
                .take(SEARCH + chosen.len() + 1)
                .filter(|segment| *segment != but && !chosen.contains(segment))
                .min_by(|a, b| worth(a).total_cmp(&worth(b)))
        })
    }

    fn try_grow(&mut self, segment: SegmentRef, allocation: &mut Allocation) -> bool {
        let Some(bytes) = allocation.admissible_bytes(segment) else { return false };
        let state = &allocation.segments()[segment];
        let gain = gain(state);
        let repay = REPAY_READS * allocation.decay().weight() as f32;
        if gain < repay {
            return false;
        }
        let (mut victims, mut count) = ([SegmentRef::NONE; VICTIMS_MAX], 0);
        let (mut freed, mut lost) = (allocation.free_bytes(), 0.0);
        while freed < bytes {
            if count == VICTIMS_MAX {
                return false;
            }
            let Some(victim) = self.least(segment, &victims[..count], allocation) else { return false };
            let state = &allocation.segments()[victim];
            lost += loss(state);
            freed += state.last_unit_bytes().unwrap_or(0);
            if gain < lost * HYSTERESIS + repay {
                return false;
            }
            victims[count] = victim;
            count += 1;
        }
        for &victim in &victims[..count] {
            allocation.evict(victim);
            self.relink(victim, allocation);
        }
        let admitted = allocation.admit(segment);
        self.relink(segment, allocation);
        admitted
    }
}

impl AllocationPolicy for Benefit {
    fn add_table(&mut self, table: u32, allocation: &mut Allocation) {
        let node = Node { links: Links::UNLINKED, bucket: NO_BUCKET };
        self.nodes.insert_table(table, std::iter::repeat_n(node, allocation.segments().table(table).len()));
    }

    fn place(&mut self, segment: SegmentRef, allocation: &mut Allocation) {
        while self.try_grow(segment, allocation) {}
        // Nothing is known of it: a first unit if nobody else has a use for the bytes.
        if allocation.segments()[segment].units() == 0 && allocation.admit(segment) {
            self.relink(segment, allocation);
        }
    }

    fn remove_table(&mut self, table: u32, allocation: &Allocation) {
        let segments = allocation.segments().table(table).len() as u32;
        (0..segments).for_each(|segment| self.unlink(SegmentRef { table, segment }));
        self.nodes.remove_table(table);
    }

    fn on_access(&mut self, segment: SegmentRef, outcome: Outcome, allocation: &mut Allocation) {
        if !outcome.is_negative() {
            return;
        }
        self.relink(segment, allocation);
        if outcome == Outcome::WastedRead {
            self.try_grow(segment, allocation);
        }
    }

    fn on_units_changed(&mut self, segment: SegmentRef, allocation: &Allocation) {
        self.relink(segment, allocation);
    }

    fn on_rescale(&mut self, allocation: &Allocation) {
        for (segment, _) in allocation.segments().iter() {
            self.relink(segment, allocation);
        }
    }

    fn evict_one(&mut self, allocation: &mut Allocation) -> bool {
        let Some(victim) = self.least(SegmentRef::NONE, &[], allocation) else { return false };
        allocation.evict(victim);
        self.relink(victim, allocation);
        true
    }

    fn rebalance(&mut self, _allocation: &mut Allocation) -> bool {
        false
    }

    fn segment_bytes(&self) -> usize {
        size_of::<Node>()
    }

    fn fixed_bytes(&self) -> usize {
        size_of_val(&*self.buckets)
    }

    #[cfg(test)]
    fn assert_consistent(&self, allocation: &Allocation) {
        let mut seen = 0;
        for (index, bucket) in self.buckets.iter().enumerate() {
            for segment in bucket.iter(&self.nodes) {
                assert_eq!(usize::from(bucket_of(&allocation.segments()[segment])), index);
                seen += 1;
            }
        }
        let with_units = allocation.segments().iter().filter(|(_, state)| state.units() > 0).count();
        assert_eq!(seen, with_units);
    }
}
