//! An index of the known tables by their keys: finds those that overlap a new table.
//!
//! Each level of a scope has a treap (Seidel & Aragon, "Randomized Search Trees", Algorithmica 16, 1996): a binary tree ordered by first
//! keys, and a heap by a hash of the tables' slots. So its depth is about the logarithm of its size, whatever comes and goes. Each node
//! knows which table of its subtree reaches farthest, as in an interval tree.
//!
//! The order of keys can be used only while a table is registered. Removing a table needs no order. If it reached farthest, the farthest
//! is unknown until the next search. A table that moves to another level waits for the next registration. With an order that contradicts
//! itself, neighbours are not found, and nothing else happens.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::keys::{FencesRef, KeyOrder, KeyRange};
use crate::memory::{grow_thriftily, thrifty_bytes};
use crate::names::ScopeId;
use crate::plan::Run;

/// No table.
const NONE: u32 = u32::MAX;
/// In the place of a node's parent: the table is in no tree.
const OUTSIDE: u32 = u32::MAX - 1;
/// The same, and it waits to be put into one. A table without segments waits for ever: it overlaps nothing.
const WAITING: u32 = u32::MAX - 2;

/// A table in the tree of its run.
#[derive(Clone, Copy, Debug)]
struct Node {
    left: u32,
    right: u32,
    parent: u32,
    /// The table of this subtree that reaches farthest; [`NONE`] if that is not known.
    farthest: u32,
}

impl Node {
    const OUTSIDE: Node = Node { left: NONE, right: NONE, parent: OUTSIDE, farthest: NONE };
}

/// The tables of one run.
#[derive(Clone, Copy, Debug)]
struct Tree {
    level: Option<u8>,
    root: u32,
}

/// The runs of one scope.
#[derive(Debug, Default)]
struct Scope {
    trees: Vec<Tree>,
    /// Tables that moved to another level, and those without segments; some may be gone since.
    waiting: Vec<u32>,
    tables: usize,
}

/// Fences by slot, and the order of their keys.
pub(crate) struct Keys<'a> {
    pub fences: &'a dyn Fn(u32) -> Option<FencesRef<'a>>,
    pub order: &'a dyn KeyOrder,
}

impl<'a> Keys<'a> {
    fn range(&self, table: u32) -> Option<KeyRange<'a>> {
        KeyRange::of_table((self.fences)(table)?)
    }

    /// Whether a table's first key is before another one's.
    fn is_before(&self, table: u32, other: u32) -> bool {
        let first = |table| (self.fences)(table)?.get(0);
        match (first(table), first(other)) {
            (Some(first), Some(other)) => first.compare(other, self.order) == Ordering::Less,
            _ => false,
        }
    }

    /// The one of two tables that reaches farther; either may be [`NONE`].
    fn farther(&self, a: u32, b: u32) -> u32 {
        match (self.range(a), self.range(b)) {
            (Some(range), Some(other)) if range.end.is_beyond(other.end, self.order) => a,
            (Some(_), None) => a,
            _ => b,
        }
    }
}

/// Heap order: a hash of the slot. A node has the greatest of its subtree.
fn rank(table: u32) -> u64 {
    let mixed = u64::from(table).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ mixed >> 32).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// All known tables by their keys.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    nodes: Vec<Node>,
    scopes: BTreeMap<ScopeId, Scope>,
}

impl Neighbours {
    /// Bytes of a table.
    pub(crate) const TABLE_BYTES: usize = thrifty_bytes::<Node>();

    /// Adds a table. O(log tables) comparisons, expected.
    pub(crate) fn insert(&mut self, table: u32, run: Run, keys: &Keys<'_>) {
        let slot = table as usize;
        if self.nodes.len() <= slot {
            grow_thriftily(&mut self.nodes, slot + 1);
            self.nodes.resize(slot + 1, Node::OUTSIDE);
        }
        self.scopes.entry(run.scope).or_default().tables += 1;
        self.put(table, run, keys);
    }

    /// Puts a table into the tree of its run.
    fn put(&mut self, table: u32, run: Run, keys: &Keys<'_>) {
        if keys.range(table).is_none() {
            return self.let_wait(table, run.scope);
        }
        self.nodes[table as usize] = Node { parent: NONE, farthest: table, ..Node::OUTSIDE };
        let Some(scope) = self.scopes.get_mut(&run.scope) else { return };
        let at = scope.trees.iter().position(|tree| tree.level == run.level).unwrap_or_else(|| {
            scope.trees.push(Tree { level: run.level, root: NONE });
            scope.trees.len() - 1
        });
        let root = scope.trees[at].root;
        let root = self.join(root, table, keys);
        self.set_root(run, root);
    }

    /// Removes a table.
    pub(crate) fn remove(&mut self, table: u32, run: Run) {
        self.take_out(table, run);
        if let Some(scope) = self.scopes.get_mut(&run.scope) {
            scope.tables -= 1;
            if scope.tables == 0 {
                self.scopes.remove(&run.scope);
            }
        }
    }

    /// Notes that a table moved to another level of its scope.
    pub(crate) fn move_to_another_level(&mut self, table: u32, run: Run) {
        self.take_out(table, run);
        self.let_wait(table, run.scope);
    }

    fn let_wait(&mut self, table: u32, scope: ScopeId) {
        if let Some(scope) = self.scopes.get_mut(&scope) {
            self.nodes[table as usize].parent = WAITING;
            scope.waiting.push(table);
        }
    }

    /// All tables of some scopes. O(log scopes + tables found).
    pub(crate) fn tables_of(&self, scopes: Range<ScopeId>, run_of: impl Fn(u32) -> Option<Run>) -> Vec<u32> {
        let mut found = Vec::new();
        for (&id, scope) in self.scopes.range(scopes) {
            let mut nodes: Vec<u32> = scope.trees.iter().map(|tree| tree.root).collect();
            while let Some(table) = nodes.pop() {
                let Some(Node { left, right, .. }) = self.nodes.get(table as usize) else { continue };
                nodes.extend([*left, *right]);
                found.push(table);
            }
            let is_here = |&table: &u32| {
                self.nodes.get(table as usize).is_some_and(|node| node.parent == WAITING)
                    && run_of(table).is_some_and(|run| run.scope == id)
            };
            let mut waiting: Vec<u32> = scope.waiting.iter().copied().filter(is_here).collect();
            // One that moved twice is in the list twice.
            waiting.sort_unstable();
            waiting.dedup();
            found.extend(waiting);
        }
        found
    }

    /// Puts moved tables into the trees of their new levels.
    fn put_those_that_moved(&mut self, scope: ScopeId, run_of: impl Fn(u32) -> Option<Run>, keys: &Keys<'_>) {
        let waiting = self.scopes.get_mut(&scope).map(|scope| std::mem::take(&mut scope.waiting));
        for table in waiting.into_iter().flatten() {
            let is_waiting = self.nodes.get(table as usize).is_some_and(|node| node.parent == WAITING);
            if let Some(run) = run_of(table).filter(|run| is_waiting && run.scope == scope) {
                self.put(table, run, keys);
            }
        }
    }

    /// The tables of the scope that overlap `range`: at most `most` of each level, a sample where there are more.
    /// O(log tables + tables found) comparisons for each level, expected.
    pub(crate) fn overlapping(
        &mut self,
        scope: ScopeId,
        range: KeyRange<'_>,
        most: usize,
        run_of: impl Fn(u32) -> Option<Run>,
        keys: &Keys<'_>,
    ) -> Vec<u32> {
        self.put_those_that_moved(scope, run_of, keys);
        let roots: Vec<u32> = self
            .scopes
            .get(&scope)
            .into_iter()
            .flat_map(|scope| &scope.trees)
            .map(|tree| tree.root)
            .collect();
        let mut found = Vec::new();
        for root in roots {
            self.search(root, range, most, keys, &mut found);
        }
        found
    }

    /// From the root downwards: the first tables found have the highest ranks, so they are an even sample.
    fn search(&mut self, root: u32, range: KeyRange<'_>, most: usize, keys: &Keys<'_>, found: &mut Vec<u32>) {
        let mut nodes = vec![root];
        let (mut next, found_max) = (0, found.len() + most);
        while let Some(&table) = nodes.get(next)
            && found.len() < found_max
        {
            next += 1;
            if table == NONE {
                continue;
            }
            let farthest = self.farthest(table, keys);
            let reaches =
                |table| keys.range(table).is_some_and(|theirs| theirs.end.reaches(range.first, keys.order));
            if !reaches(farthest) {
                continue;
            }
            let Node { left, right, .. } = self.nodes[table as usize];
            nodes.push(left);
            let first = keys.range(table).map(|theirs| theirs.first);
            if first.is_some_and(|first| range.end.reaches(first, keys.order)) {
                found.extend(reaches(table).then_some(table));
                nodes.push(right);
            }
        }
    }

    /// The table that reaches farthest in a subtree. Goes down only where that is not known.
    fn farthest(&mut self, table: u32, keys: &Keys<'_>) -> u32 {
        let Some(&Node { left, right, farthest, .. }) = self.nodes.get(table as usize) else { return NONE };
        if farthest != NONE {
            return farthest;
        }
        let below = [left, right].map(|child| self.farthest(child, keys));
        let farthest = below.into_iter().fold(table, |farthest, child| keys.farther(child, farthest));
        self.nodes[table as usize].farthest = farthest;
        farthest
    }

    fn set_root(&mut self, run: Run, root: u32) {
        let trees = self.scopes.get_mut(&run.scope).map(|scope| &mut scope.trees);
        let Some(trees) = trees else { return };
        match root {
            NONE => trees.retain(|tree| tree.level != run.level),
            _ => {
                self.nodes[root as usize].parent = NONE;
                trees.iter_mut().filter(|tree| tree.level == run.level).for_each(|tree| tree.root = root);
            }
        }
    }

    fn set_left(&mut self, table: u32, left: u32) {
        self.nodes[table as usize].left = left;
        if left != NONE {
            self.nodes[left as usize].parent = table;
        }
    }

    fn set_right(&mut self, table: u32, right: u32) {
        self.nodes[table as usize].right = right;
        if right != NONE {
            self.nodes[right as usize].parent = table;
        }
    }

    /// Inserts a table into a subtree and returns its new root.
    fn join(&mut self, root: u32, table: u32, keys: &Keys<'_>) -> u32 {
        if root == NONE {
            return table;
        }
        if rank(table) > rank(root) {
            let (left, right) = self.split(root, table, keys);
            self.set_left(table, left);
            self.set_right(table, right);
            self.nodes[table as usize].farthest = NONE;
            return table;
        }
        let Node { left, right, farthest, .. } = self.nodes[root as usize];
        if farthest != NONE {
            self.nodes[root as usize].farthest = keys.farther(table, farthest);
        }
        if keys.is_before(table, root) {
            let left = self.join(left, table, keys);
            self.set_left(root, left);
        } else {
            let right = self.join(right, table, keys);
            self.set_right(root, right);
        }
        root
    }

    /// Splits a subtree into the tables before and behind a table.
    fn split(&mut self, root: u32, table: u32, keys: &Keys<'_>) -> (u32, u32) {
        if root == NONE {
            return (NONE, NONE);
        }
        let Node { left, right, .. } = self.nodes[root as usize];
        self.nodes[root as usize].farthest = NONE;
        if keys.is_before(table, root) {
            let (before, behind) = self.split(left, table, keys);
            self.set_left(root, behind);
            (before, root)
        } else {
            let (before, behind) = self.split(right, table, keys);
            self.set_right(root, before);
            (root, behind)
        }
    }

    /// Joins two subtrees; all tables of the first are before those of the second.
    fn merge(&mut self, before: u32, behind: u32) -> u32 {
        if before == NONE || behind == NONE {
            return before.min(behind); // `NONE` is the greatest
        }
        if rank(before) > rank(behind) {
            let right = self.merge(self.nodes[before as usize].right, behind);
            self.set_right(before, right);
            self.nodes[before as usize].farthest = NONE;
            before
        } else {
            let left = self.merge(before, self.nodes[behind as usize].left);
            self.set_left(behind, left);
            self.nodes[behind as usize].farthest = NONE;
            behind
        }
    }

    /// Removes a table from the tree of its run, if it is in it.
    fn take_out(&mut self, table: u32, run: Run) {
        let Some(node) = self.nodes.get_mut(table as usize) else { return };
        let Node { left, right, mut parent, .. } = std::mem::replace(node, Node::OUTSIDE);
        if parent == OUTSIDE || parent == WAITING {
            return;
        }
        let merged = self.merge(left, right);
        match self.nodes.get(parent as usize) {
            None => self.set_root(run, merged),
            Some(node) if node.left == table => self.set_left(parent, merged),
            Some(_) => self.set_right(parent, merged),
        }
        while let Some(node) = self.nodes.get_mut(parent as usize) {
            if node.farthest == table {
                node.farthest = NONE;
            }
            parent = node.parent;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::keys::{BytewiseOrder, Fences};

    const LEVELS: [Option<u8>; 3] = [None, Some(0), Some(1)];

    struct Known {
        fences: Fences,
        first: u8,
        last: u8,
        run: Run,
    }

    fn known(first: u8, length: u8, run: Run) -> Known {
        let last = first.saturating_add(length);
        let fences = Fences::pack([[first]], Some(&[last]), &BytewiseOrder).unwrap();
        Known { fences, first, last, run }
    }

    struct Model {
        neighbours: Neighbours,
        tables: Vec<Option<Known>>,
    }

    impl Model {
        fn with_keys<T>(&mut self, run: impl FnOnce(&mut Neighbours, &Keys<'_>, &[Option<Known>]) -> T) -> T {
            let Self { neighbours, tables } = self;
            let fences = |table: u32| tables.get(table as usize)?.as_ref().map(|known| known.fences.as_ref());
            run(neighbours, &Keys { fences: &fences, order: &BytewiseOrder }, tables)
        }

        fn overlapping(&mut self, new: &Known, most: usize) -> Vec<u32> {
            let range = KeyRange::of_table(new.fences.as_ref()).unwrap();
            self.with_keys(|neighbours, keys, tables| {
                let run_of = |table: u32| tables[table as usize].as_ref().map(|known| known.run);
                neighbours.overlapping(new.run.scope, range, most, run_of, keys)
            })
        }

        fn insert(&mut self, table: u32, new: Known) {
            let run = new.run;
            self.tables[table as usize] = Some(new);
            self.with_keys(|neighbours, keys, _| neighbours.insert(table, run, keys));
        }
    }

    #[test]
    fn many_tables_are_kept_in_a_tree_of_little_depth() {
        let run = Run { scope: ScopeId(1), level: Some(6) };
        let count = 20_000u32;
        let fences: Vec<_> = (0..count)
            .map(|n| Fences::pack([n.to_be_bytes()], Some(&n.to_be_bytes()), &BytewiseOrder).unwrap())
            .collect();
        let compared = std::cell::Cell::new(0);
        let of = |table: u32| {
            compared.set(compared.get() + 1);
            fences.get(table as usize).map(Fences::as_ref)
        };
        let keys = Keys { fences: &of, order: &BytewiseOrder };
        let mut neighbours = Neighbours::default();
        for table in 0..count {
            let range = KeyRange::of_table(fences[table as usize].as_ref()).unwrap();
            assert!(neighbours.overlapping(run.scope, range, 9, |_| None, &keys).is_empty());
            neighbours.insert(table, run, &keys);
        }
        let each = compared.get() / count as usize;
        assert!(each < 300, "fences are asked for {each} times for each of {count} tables");
    }

    #[test]
    fn of_more_than_are_wanted_an_even_sample_is_found() {
        let run = Run { scope: ScopeId(1), level: Some(1) };
        let mut model = Model { neighbours: Neighbours::default(), tables: (0..250).map(|_| None).collect() };
        (0..250).for_each(|table| model.insert(table, known(table as u8, 0, run)));
        let found = model.overlapping(&known(0, 255, run), 100);
        let low = found.iter().filter(|&&table| table < 125).count();
        assert!(found.len() == 100 && (25..75).contains(&low), "{low} of {} are low", found.len());
    }

    #[test]
    fn a_table_without_segments_is_of_its_scope_and_overlaps_nothing() {
        let run = Run { scope: ScopeId(1), level: Some(1) };
        let mut model = Model { neighbours: Neighbours::default(), tables: (0..3).map(|_| None).collect() };
        let empty = Fences::pack([[0; 0]; 0], None, &BytewiseOrder).unwrap();
        model.insert(0, Known { fences: empty, first: 0, last: 0, run });
        (1..3).for_each(|table| model.insert(table, known(table as u8, 0, run)));
        assert_eq!(model.overlapping(&known(0, 255, run), 100).len(), 2);
        let of_scope =
            |model: &Model| model.neighbours.tables_of(ScopeId(1)..ScopeId(2), |_| Some(run)).len();
        assert_eq!(of_scope(&model), 3);
        model.neighbours.remove(0, run);
        assert_eq!(of_scope(&model), 2);
    }

    proptest! {
        /// What is found is what overlaps, whatever comes, goes and moves.
        #[test]
        fn finds_what_overlaps(
            steps in prop::collection::vec((0..40u32, any::<u8>(), 0..30u8, 0..6usize, 0..8u8), 1..200),
        ) {
            let mut model = Model { neighbours: Neighbours::default(), tables: (0..40).map(|_| None).collect() };
            for (table, first, length, at, what) in steps {
                let run = Run { scope: ScopeId(at as u64 / 3), level: LEVELS[at % 3] };
                let slot = table as usize;
                let old = model.tables[slot].as_ref().map(|known| known.run);
                match (what, old) {
                    (0, Some(old)) => {
                        model.neighbours.remove(table, old);
                        model.tables[slot] = None;
                    }
                    (1, Some(old)) => {
                        model.neighbours.move_to_another_level(table, old);
                        model.tables[slot].as_mut().unwrap().run.level = run.level;
                    }
                    (2.., None) => model.insert(table, known(first, length, run)),
                    _ => (),
                }
                let asked = known(first, length, run);
                let mut found = model.overlapping(&asked, 1000);
                found.sort_unstable();
                let overlaps = |other: &Known| {
                    other.run.scope == run.scope && other.first <= asked.last && asked.first <= other.last
                };
                let expected: Vec<u32> = (0..40)
                    .filter(|&table| model.tables[table as usize].as_ref().is_some_and(overlaps))
                    .collect();
                prop_assert_eq!(found, expected);
                let scopes = run.scope..ScopeId(run.scope.0 + 1);
                let run_of = |table: u32| model.tables[table as usize].as_ref().map(|known| known.run);
                let mut found = model.neighbours.tables_of(scopes, run_of);
                found.sort_unstable();
                let is_of_scope = |table: &u32| run_of(*table).is_some_and(|of| of.scope == run.scope);
                prop_assert_eq!(found, (0..40).filter(is_of_scope).collect::<Vec<_>>());
            }
        }
    }
}
