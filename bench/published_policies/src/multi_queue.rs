//! ElasticBF's Multi-Queue (ATC'19 sections 3.3 and 3.4, HotStorage'18 section 3.3).
//!
//! Queue `Qi` holds the segments with `i` units allocated, least recently used first. Every visit moves its segment to the recent end and
//! sets its expiry to `currentTime + lifetime`. Then the segment gets its next unit if that lowers E\[Extra_IO\]: from free bytes, or else
//! from expired segments, searched from `Qn` to `Q1` and from the least recent end of each. If none is expired, nothing changes.
//!
//! Our choices where the papers say nothing:
//!
//! - A segment that lost a unit goes to the *least* recent end of the next lower queue, because its last visit is older than `lifetime`.
//! - A search looks at a few expired segments of each queue: O(1), and one hot segment that is expired for a moment does not protect those
//!   behind it.
//! - One visit evicts a few units at most (more than one only if sizes differ).
//! - `access_count` fades as all measured use does.

use springbloom_filter::MAX_UNITS;
use springbloom_manager::{Allocation, PerSegment, Policy, SegmentRef, VICTIMS_MAX, Visit};

use crate::CHANGES_MAX;
use crate::lists::{Linked, Links, List};

/// Expired segments that one search looks at in each queue.
const SEARCH_PER_QUEUE: usize = 4;

/// A tick in six bytes: enough for a million visits a second in eight years.
#[derive(Clone, Copy, Debug)]
struct Tick([u8; 6]);

impl Tick {
    fn new(tick: u64) -> Self {
        let [t0, t1, t2, t3, t4, t5, ..] = tick.to_le_bytes();
        Self([t0, t1, t2, t3, t4, t5])
    }

    fn get(self) -> u64 {
        let [t0, t1, t2, t3, t4, t5] = self.0;
        u64::from_le_bytes([t0, t1, t2, t3, t4, t5, 0, 0])
    }
}

#[derive(Clone, Debug)]
struct Node {
    links: Links,
    /// Tick after which the segment counts as cold.
    expires_at: Tick,
    /// The queue it stands in: its units when it was put there.
    queue: u8,
}

impl Linked for Node {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }

    fn next(&self) -> SegmentRef {
        self.links.next()
    }
}

/// The policy `multi-queue`.
pub(crate) struct MultiQueue {
    queues: Vec<List>,
    nodes: PerSegment<Node>,
    fixed_lifetime: Option<u64>,
}

impl MultiQueue {
    /// `lifetime` in visits; `None`: always the number of segments, as the paper advises.
    pub(crate) fn new(lifetime: Option<u64>) -> Self {
        Self {
            queues: vec![List::EMPTY; usize::from(MAX_UNITS) + 1],
            nodes: PerSegment::default(),
            fixed_lifetime: lifetime,
        }
    }

    fn unlink(&mut self, segment: SegmentRef) {
        let queue = self.nodes[segment].queue;
        self.queues[usize::from(queue)].remove(&mut self.nodes, segment);
    }

    fn link_recent(&mut self, segment: SegmentRef, units: u8) {
        self.nodes[segment].queue = units;
        self.queues[usize::from(units)].push_back(&mut self.nodes, segment);
    }

    fn link_cold(&mut self, segment: SegmentRef, units: u8) {
        self.nodes[segment].queue = units;
        self.queues[usize::from(units)].push_front(&mut self.nodes, segment);
    }

    fn evict(&mut self, victim: SegmentRef, allocation: &mut Allocation) {
        self.unlink(victim);
        allocation.evict(victim);
        self.link_cold(victim, allocation.segments()[victim].units());
    }

    /// Expired segments whose last units together free `bytes_wanted` and cost less than `gain`, if there are any.
    fn victims(
        &self,
        segment: SegmentRef,
        gain: f32,
        bytes_wanted: usize,
        allocation: &Allocation,
    ) -> Option<([SegmentRef; VICTIMS_MAX], usize)> {
        let (mut victims, mut count) = ([SegmentRef::NONE; VICTIMS_MAX], 0);
        let (mut bytes, mut loss) = (0, 0.0);
        for queue in self.queues[1..].iter().rev() {
            for candidate in queue.iter(&self.nodes).take(SEARCH_PER_QUEUE) {
                if self.nodes[candidate].expires_at.get() >= allocation.ticks() {
                    break;
                }
                let state = &allocation.segments()[candidate];
                let candidate_loss = state.hotness().access_count * state.fpr_loss();
                if candidate == segment || loss + candidate_loss >= gain {
                    continue;
                }
                victims[count] = candidate;
                count += 1;
                loss += candidate_loss;
                bytes += state.last_unit_bytes().unwrap_or(0);
                if bytes >= bytes_wanted {
                    return Some((victims, count));
                }
                if count == VICTIMS_MAX {
                    return None;
                }
            }
        }
        None
    }

    /// The adjusting rule for one segment; whether it got a unit.
    fn try_grow(&mut self, segment: SegmentRef, allocation: &mut Allocation) -> bool {
        let Some(bytes) = allocation.admissible_bytes(segment) else { return false };
        let state = &allocation.segments()[segment];
        let gain = state.hotness().access_count * state.fpr_gain();
        if gain <= 0.0 {
            return false;
        }
        if bytes > allocation.free_bytes() {
            let wanted = bytes - allocation.free_bytes();
            let Some((victims, count)) = self.victims(segment, gain, wanted, allocation) else {
                return false;
            };
            victims[..count].iter().for_each(|&victim| self.evict(victim, allocation));
        }
        self.unlink(segment);
        let admitted = allocation.admit(segment);
        self.link_recent(segment, allocation.segments()[segment].units());
        admitted
    }

    fn touch(&mut self, segment: SegmentRef, allocation: &Allocation) {
        let lifetime = self.fixed_lifetime.unwrap_or(allocation.segment_count() as u64);
        self.unlink(segment);
        self.nodes[segment].expires_at = Tick::new(allocation.ticks() + lifetime);
        self.link_recent(segment, allocation.segments()[segment].units());
    }
}

impl Policy for MultiQueue {
    fn add_table(&mut self, table: u32, allocation: &mut Allocation) {
        let lifetime = self.fixed_lifetime.unwrap_or(allocation.segment_count() as u64);
        let node =
            Node { links: Links::UNLINKED, expires_at: Tick::new(allocation.ticks() + lifetime), queue: 0 };
        let segments = allocation.segments().table(table).len();
        self.nodes.insert_table(table, std::iter::repeat_n(node, segments));
        (0..segments as u32).for_each(|segment| self.link_recent(SegmentRef { table, segment }, 0));
    }

    fn place(&mut self, segment: SegmentRef, allocation: &mut Allocation) {
        if allocation.segments()[segment].hotness().access_count > 0.0 {
            while self.try_grow(segment, allocation) {}
        } else {
            self.unlink(segment);
            allocation.admit(segment);
            self.link_recent(segment, allocation.segments()[segment].units());
        }
    }

    fn remove_table(&mut self, table: u32, allocation: &Allocation) {
        let segments = allocation.segments().table(table).len() as u32;
        (0..segments).for_each(|segment| self.unlink(SegmentRef { table, segment }));
        self.nodes.remove_table(table);
    }

    fn on_visit(&mut self, visit: Visit, allocation: &mut Allocation) {
        self.touch(visit.segment, allocation);
        self.try_grow(visit.segment, allocation);
    }

    fn on_units_changed(&mut self, segment: SegmentRef, allocation: &Allocation) {
        self.unlink(segment);
        self.link_cold(segment, allocation.segments()[segment].units());
    }

    fn evict_one(&mut self, allocation: &mut Allocation) -> bool {
        let victim = self.queues[1..].iter().rev().find_map(|queue| queue.iter(&self.nodes).next());
        victim.inspect(|&victim| self.evict(victim, allocation)).is_some()
    }

    fn changes_max(&self) -> usize {
        CHANGES_MAX
    }

    fn table_bytes(&self, segments: usize) -> usize {
        PerSegment::<Node>::table_bytes(segments)
    }

    fn list_bytes(&self, segments: usize) -> usize {
        if segments > 0 { size_of_val(&*self.queues) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use springbloom_filter::{GroupShape, KeyDigest, UnitSettings};
    use springbloom_manager::{Hotness, Outcome, Planner, ScopeId, group_bytes};

    use super::*;

    const UNITS: u8 = 4;
    const LIFETIME: u64 = 6;

    fn shape() -> GroupShape {
        let digests: Vec<_> = (0..100u32).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
        UnitSettings::bloom(UNITS, 4).unwrap().build(&digests).shape
    }

    /// The policy, whose queues agree with the allocation after each visit.
    struct Checked(MultiQueue);

    impl Checked {
        fn assert_consistent(&self, allocation: &Allocation) {
            let Self(MultiQueue { queues, nodes, .. }) = self;
            let mut seen = 0;
            for (units, queue) in queues.iter().enumerate() {
                for segment in queue.iter(nodes) {
                    assert_eq!(usize::from(allocation.segments()[segment].units()), units);
                    assert_eq!(usize::from(nodes[segment].queue), units);
                    seen += 1;
                }
            }
            assert_eq!(seen, allocation.segment_count());
        }
    }

    impl Policy for Checked {
        fn add_table(&mut self, table: u32, allocation: &mut Allocation) {
            self.0.add_table(table, allocation);
        }

        fn place(&mut self, segment: SegmentRef, allocation: &mut Allocation) {
            self.0.place(segment, allocation);
        }

        fn on_visit(&mut self, visit: Visit, allocation: &mut Allocation) {
            self.0.on_visit(visit, allocation);
            self.assert_consistent(allocation);
        }

        fn evict_one(&mut self, allocation: &mut Allocation) -> bool {
            self.0.evict_one(allocation)
        }

        fn changes_max(&self) -> usize {
            self.0.changes_max()
        }
    }

    /// The rule again, with vectors that are searched from end to end.
    struct Naive {
        shape: GroupShape,
        queues: Vec<Vec<usize>>,
        visits: Vec<f32>,
        expires_at: Vec<u64>,
        budget_bytes: usize,
    }

    impl Naive {
        fn units(&self, segment: usize) -> u8 {
            self.queues.iter().position(|queue| queue.contains(&segment)).unwrap() as u8
        }

        fn bytes(&self) -> usize {
            self.queues
                .iter()
                .enumerate()
                .map(|(units, queue)| queue.len() * group_bytes(self.shape, units as u8))
                .sum()
        }

        fn fpr(&self, units: u8) -> f32 {
            self.shape.false_positive_rate(units) as f32
        }

        fn visit(&mut self, segment: usize, now: u64) {
            let units = self.units(segment);
            self.visits[segment] += 1.0;
            self.expires_at[segment] = now + LIFETIME;
            self.queues[usize::from(units)].retain(|&other| other != segment);
            self.queues[usize::from(units)].push(segment);
            if units == UNITS {
                return;
            }
            let gain = self.visits[segment] * (self.fpr(units) - self.fpr(units + 1));
            let cost = |units: u8| group_bytes(self.shape, units + 1) - group_bytes(self.shape, units);
            let (mut victims, mut loss) = (Vec::new(), 0.0);
            let mut free = self.budget_bytes - self.bytes();
            for queue in (1..=UNITS).rev() {
                let expired = self.queues[usize::from(queue)].iter().take(SEARCH_PER_QUEUE);
                for &victim in expired.take_while(|&&victim| self.expires_at[victim] < now) {
                    let its_loss = self.visits[victim] * (self.fpr(queue - 1) - self.fpr(queue));
                    if free >= cost(units) || victim == segment || loss + its_loss >= gain {
                        continue;
                    }
                    loss += its_loss;
                    free += cost(queue - 1);
                    victims.push((victim, queue));
                }
            }
            if free < cost(units) {
                return;
            }
            for (victim, queue) in victims {
                self.queues[usize::from(queue)].retain(|&other| other != victim);
                self.queues[usize::from(queue) - 1].insert(0, victim);
            }
            self.queues[usize::from(units)].retain(|&other| other != segment);
            self.queues[usize::from(units) + 1].push(segment);
        }
    }

    proptest! {
        #[test]
        fn queues_follow_the_naive_rule(visits in prop::collection::vec(0..8usize, 1..300), units in 1..14usize) {
            let shape = shape();
            let budget_bytes = units * group_bytes(shape, 1);
            let half_life = Some(1 << 40); // visits weigh the same, exactly, in the naive rule
            let policy = Box::new(Checked(MultiQueue::new(Some(LIFETIME))));
            let mut planner = Planner::with_policy(policy, half_life, budget_bytes);
            planner.add_table(0, ScopeId(0), None, &[(shape, Hotness::default()); 8]);
            let mut naive = Naive {
                shape,
                queues: vec![Vec::new(); usize::from(UNITS) + 1],
                visits: vec![0.0; 8],
                expires_at: vec![LIFETIME; 8],
                budget_bytes,
            };
            // New segments get a unit each while there is room.
            naive.queues[1].extend(0..units.min(8));
            naive.queues[0].extend(units.min(8)..8);
            for (at, &visited) in visits.iter().enumerate() {
                planner.visit(0, visited as u32, Outcome::Rejected);
                naive.visit(visited, at as u64 + 1);
                for other in 0..8 {
                    let units = planner.units(0, other as u32);
                    prop_assert_eq!(units, naive.units(other), "segment {} after {:?}", other, &visits[..=at]);
                }
            }
        }
    }
}
