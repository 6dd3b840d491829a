//! What the database must answer: a map per column family.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use super::append;

/// Contents of one column family; cheap enough to copy for a snapshot.
#[derive(Clone, Default)]
pub(crate) struct Model {
    entries: BTreeMap<Arc<[u8]>, Arc<[u8]>>,
}

impl Model {
    pub(crate) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.entries.get(key).map(AsRef::as_ref)
    }

    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) {
        self.entries.insert(key.into(), value.into());
    }

    pub(crate) fn merge(&mut self, key: &[u8], operand: &[u8]) {
        let merged = append(self.get(key), operand);
        self.put(key, &merged);
    }

    pub(crate) fn delete(&mut self, key: &[u8]) {
        self.entries.remove(key);
    }

    pub(crate) fn delete_range(&mut self, from: &[u8], to: &[u8]) {
        let doomed: Vec<_> = self.between(from, Some(to)).map(|(key, _)| Arc::<[u8]>::from(key)).collect();
        for key in doomed {
            self.entries.remove(&key);
        }
    }

    /// Entries from `from` on, below `to`.
    pub(crate) fn between(
        &self,
        from: &[u8],
        to: Option<&[u8]>,
    ) -> impl DoubleEndedIterator<Item = (&[u8], &[u8])> {
        // A range that ends before it begins is empty, not a panic.
        let end = to.map_or(Bound::Unbounded, |to| Bound::Excluded(to.max(from)));
        let bounds = (Bound::Included(from), end);
        let empty = to.is_some_and(|to| to <= from);
        self.entries
            .range::<[u8], _>(if empty { (Bound::Included(from), Bound::Included(from)) } else { bounds })
            .filter(move |_| !empty)
            .map(|(key, value)| (key.as_ref(), value.as_ref()))
    }

    /// Entries up to `last`, the last one first.
    pub(crate) fn backward_from(&self, last: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries
            .range::<[u8], _>((Bound::Unbounded, Bound::Included(last)))
            .rev()
            .map(|(key, value)| (key.as_ref(), value.as_ref()))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries.iter().map(|(key, value)| (key.as_ref(), value.as_ref()))
    }
}
