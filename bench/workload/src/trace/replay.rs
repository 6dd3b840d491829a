//! A trace against a store: its first part decides which keys the store holds, the rest is the workload.

use std::ops::Range;
use std::sync::Arc;

use crate::keys::{PackedKeys, TraceKeys};
use crate::stream::Operation;
use crate::trace::{Trace, TraceKind, TraceOperation};

/// The workload of a trace: its operations by record number.
#[derive(Clone, Debug)]
pub struct Replay {
    operations: Arc<[TraceOperation]>,
    loaded: u32,
    keys: u32,
}

/// The lookups of a part of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lookups.
    pub gets: u64,
    /// Those of absent keys, if operations are done in their order.
    pub absent_gets: u64,
}

impl Trace {
    /// The keys that a store holds after the first `loaded` operations, and the operations behind them.
    pub fn replay_after(self, loaded: usize) -> (TraceKeys, Replay) {
        let (first, rest) = self.operations.split_at(loaded.min(self.operations.len()));
        // When a key was written last, plus 1; 0: before the trace.
        let mut written: Vec<Option<usize>> = vec![None; self.keys()];
        written[..self.there_before as usize].fill(Some(0));
        for (at, operation) in first.iter().enumerate() {
            match operation.kind {
                TraceKind::Put => written[operation.key as usize] = Some(at + 1),
                TraceKind::Delete => written[operation.key as usize] = None,
                TraceKind::Get | TraceKind::Seek => {}
            }
        }
        let mut order: Vec<u32> = (0..self.keys() as u32).collect();
        order.sort_by_key(|&key| written[key as usize].map_or(usize::MAX, |at| at));
        let count = |is: fn(&Option<usize>) -> bool| written.iter().filter(|at| is(at)).count();
        let loaded = count(|at| at.is_some());
        let mut keys = PackedKeys::default();
        let mut records = vec![0; order.len()];
        let loaded_bytes = order[..loaded].iter().map(|&key| self.key(key).len() as u64).sum();
        for (record, key) in (0u32..).zip(order) {
            keys.push(self.key(key));
            records[key as usize] = record;
        }
        let by_record = |operation: &TraceOperation| TraceOperation {
            key: records[operation.key as usize],
            kind: operation.kind,
        };
        let operations = rest.iter().map(by_record).collect();
        let replay = Replay { operations, loaded: loaded as u32, keys: keys.len() as u32 };
        let unordered = count(|at| *at == Some(0)) as u64;
        (TraceKeys { keys, loaded: loaded as u64, loaded_bytes, unordered }, replay)
    }
}

impl Replay {
    /// Number of operations.
    pub fn operations(&self) -> u64 {
        self.operations.len() as u64
    }

    /// Number of different keys, loaded ones and others.
    pub fn keys(&self) -> u64 {
        u64::from(self.keys)
    }

    /// Whether it changes the store.
    pub fn writes(&self) -> bool {
        self.operations.iter().any(|operation| matches!(operation.kind, TraceKind::Put | TraceKind::Delete))
    }

    /// Counts the lookups of a part.
    pub fn counts(&self, part: Range<u64>) -> Counts {
        let mut is_there: Vec<bool> = (0..self.keys).map(|key| key < self.loaded).collect();
        let mut counts = Counts::default();
        for (at, operation) in (0..part.end).zip(self.operations.iter()) {
            let is_there = &mut is_there[operation.key as usize];
            match operation.kind {
                TraceKind::Get if at >= part.start => {
                    counts.gets += 1;
                    counts.absent_gets += u64::from(!*is_there);
                }
                TraceKind::Put => *is_there = true,
                TraceKind::Delete => *is_there = false,
                TraceKind::Get | TraceKind::Seek => {}
            }
        }
        counts
    }

    /// The operations of stream number `stream` of `streams` parallel ones. Each has the operations of its own keys, so that those of a key
    /// stay in their order and lookups find what they found.
    pub fn playback(&self, stream: u64, streams: u64) -> Playback {
        Playback {
            operations: Arc::clone(&self.operations),
            next: 0,
            end: self.operations.len(),
            stream: stream as u32,
            streams: streams as u32,
        }
    }
}

/// A stream of a replay's operations.
#[derive(Clone, Debug)]
pub struct Playback {
    operations: Arc<[TraceOperation]>,
    next: usize,
    /// Operations from here on wait.
    end: usize,
    stream: u32,
    streams: u32,
}

impl Playback {
    /// Ends before operation `end` of the whole replay, for now.
    pub fn play_until(&mut self, end: u64) {
        self.end = usize::try_from(end).unwrap_or(usize::MAX).min(self.operations.len());
    }
}

impl Iterator for Playback {
    type Item = Operation;

    fn next(&mut self) -> Option<Operation> {
        let left = self.operations.get(self.next..self.end)?;
        let Some(skipped) = left.iter().position(|operation| operation.key % self.streams == self.stream)
        else {
            self.next = self.end;
            return None;
        };
        let TraceOperation { kind, key } = left[skipped];
        self.next += skipped + 1;
        let record = u64::from(key);
        Some(match kind {
            TraceKind::Get => Operation::Read(record),
            TraceKind::Put => Operation::Update(record),
            TraceKind::Delete => Operation::Delete(record),
            TraceKind::Seek => Operation::Seek(record),
        })
    }
}
