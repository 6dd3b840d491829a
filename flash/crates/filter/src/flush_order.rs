//! The order in which groups of pages are flushed (BloomFlash section III-E).

use crate::settings::FlushPolicy;

/// Counts pending updates per group and picks groups by policy.
pub(crate) struct FlushOrder {
    policy: FlushPolicy,
    counts: MaxTree,
    cursor: u32,
}

impl FlushOrder {
    pub(crate) fn new(policy: FlushPolicy, groups: u32) -> FlushOrder {
        FlushOrder { policy, counts: MaxTree::new(groups), cursor: 0 }
    }

    /// Memory for `groups` groups, in bytes.
    pub(crate) fn memory_bytes(groups: u32) -> u64 {
        u64::from(groups.next_power_of_two()) * 8
    }

    /// Counts one more pending update of `group`.
    pub(crate) fn note(&mut self, group: u32) {
        self.counts.set(group, self.counts.get(group) + 1);
    }

    /// Picks the next group to flush and resets its count. `None` if nothing is pending.
    pub(crate) fn take(&mut self) -> Option<u32> {
        if self.counts.top() == 0 {
            return None;
        }
        let group = match self.policy {
            FlushPolicy::DirtiestGroupFirst => self.counts.arg_max(),
            FlushPolicy::Sequential => {
                while self.counts.get(self.cursor) == 0 {
                    self.cursor = (self.cursor + 1) % self.counts.len;
                }
                self.cursor
            }
        };
        self.counts.set(group, 0);
        Some(group)
    }
}

/// A tree over an array of counts. Changing a count and finding the largest take O(log n).
struct MaxTree {
    nodes: Vec<u32>,
    leaves: usize,
    len: u32,
}

impl MaxTree {
    fn new(len: u32) -> MaxTree {
        let leaves = len.next_power_of_two() as usize;
        MaxTree { nodes: vec![0; 2 * leaves], leaves, len }
    }

    fn get(&self, i: u32) -> u32 {
        self.nodes[self.leaves + i as usize]
    }

    fn top(&self) -> u32 {
        self.nodes[1]
    }

    fn set(&mut self, i: u32, count: u32) {
        let mut node = self.leaves + i as usize;
        self.nodes[node] = count;
        while node > 1 {
            let parent = node / 2;
            let larger = self.nodes[2 * parent].max(self.nodes[2 * parent + 1]);
            if self.nodes[parent] == larger {
                break;
            }
            self.nodes[parent] = larger;
            node = parent;
        }
    }

    /// Index of the largest count, the first if there are several.
    fn arg_max(&self) -> u32 {
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            if self.nodes[node] < self.nodes[node + 1] {
                node += 1;
            }
        }
        (node - self.leaves) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(mut order: FlushOrder) -> Vec<u32> {
        std::iter::from_fn(|| order.take()).collect()
    }

    #[test]
    fn dirtiest_first_and_sequential_with_wraparound() {
        let counts = [(0, 3), (2, 9), (4, 1), (5, 9)];
        let filled = |policy| {
            let mut order = FlushOrder::new(policy, 7);
            counts.iter().for_each(|(group, n)| (0..*n).for_each(|_| order.note(*group)));
            order
        };
        assert_eq!(drain(filled(FlushPolicy::DirtiestGroupFirst)), [2, 5, 0, 4]);
        let mut order = filled(FlushPolicy::Sequential);
        assert_eq!([order.take(), order.take()], [Some(0), Some(2)]);
        order.note(0);
        assert_eq!(drain(order), [4, 5, 0], "a group behind the cursor waits for the next round");
    }

    #[test]
    fn the_tree_agrees_with_a_plain_search() {
        use rand::RngExt;
        let mut rng = springbloom_testkit::seed::rng("the_tree_agrees_with_a_plain_search");
        for len in [1, 2, 3, 13, 64] {
            let mut tree = MaxTree::new(len);
            let mut plain = vec![0; len as usize];
            for _ in 0..500 {
                let (i, count) = (rng.random_range(0..len), rng.random_range(0..20));
                tree.set(i, count);
                plain[i as usize] = count;
                let largest = plain.iter().copied().max().unwrap_or(0);
                assert_eq!(tree.top(), largest);
                assert_eq!(plain[tree.arg_max() as usize], largest);
            }
        }
    }
}
