//! The operations of a run: generated, or those of a recorded trace.

use anyhow::Result;
use springbloom_workload::{
    FamilyMix, FamilyStream, KeySpace, Operation, Playback, Replay, StreamSettings, WorkloadError,
};

use crate::run::oracle::Oracle;

/// What databases are asked.
#[derive(Clone, Debug)]
pub(crate) enum Workload {
    /// All but seeds and stream numbers, and how families share it.
    Generated(StreamSettings, FamilyMix),
    Trace(Replay),
}

/// Numbers of operations that an oracle needs room for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Of all runs together, on one database.
    pub(crate) ops: u64,
    pub(crate) rounds: u32,
    pub(crate) most_threads: u64,
}

/// One of several parallel streams of operations.
#[derive(Clone, Debug)]
pub(crate) enum Operations {
    Generated(Box<FamilyStream>),
    Trace(Playback),
}

impl Workload {
    /// Whether it changes the databases.
    pub(crate) fn writes(&self) -> bool {
        match self {
            Workload::Generated(stream, _) => stream.mix.writes(),
            Workload::Trace(replay) => replay.writes(),
        }
    }

    /// What a correct answer is, on databases with `keys`.
    pub(crate) fn oracle(&self, keys: &KeySpace, extent: Extent) -> Oracle {
        let loaded = keys.records();
        match self {
            Workload::Generated(stream, _) if !stream.mix.writes() => Oracle::read_only(),
            Workload::Generated(stream, _) => {
                // Streams insert side by side and may be apart by as many records as one of them inserts.
                let Extent { ops, rounds, most_threads } = extent;
                let room =
                    if stream.mix.inserts() { (ops + u64::from(rounds) + 1) * most_threads } else { 0 };
                Oracle::new(loaded, loaded + room)
            }
            // It also looks up keys that are never there.
            Workload::Trace(replay) => Oracle::new(loaded, replay.keys()),
        }
    }

    /// The operations of `stream`, one of `streams`. The seeds, of hot keys and of requests, are for generated ones.
    pub(crate) fn operations(
        &self,
        keys: &KeySpace,
        (hot_key_seed, seed): (u64, u64),
        (stream, streams): (u64, u64),
    ) -> Result<Operations, WorkloadError> {
        Ok(match self {
            Workload::Generated(settings, mix) => {
                let settings = StreamSettings { hot_key_seed, seed, stream, streams, ..*settings };
                Operations::Generated(Box::new(FamilyStream::new(settings, mix, keys)?))
            }
            Workload::Trace(replay) => Operations::Trace(replay.playback(stream, streams)),
        })
    }
}

impl Operations {
    /// Lets the next `operations` of a run be done, by all of its streams together, of which `done` were done before. Gives how many this
    /// one, one of `streams`, does at most.
    pub(crate) fn proceed(&mut self, done: u64, operations: u64, streams: u64) -> u64 {
        match self {
            Operations::Generated(_) => operations.div_ceil(streams),
            // A stream has the operations of its keys: hot ones have more.
            Operations::Trace(playback) => {
                playback.play_until(done + operations);
                operations
            }
        }
    }
}

impl Iterator for Operations {
    /// The family that it is for, and the operation.
    type Item = (usize, Operation);

    /// `None` at the end of a trace.
    #[inline]
    fn next(&mut self) -> Option<(usize, Operation)> {
        match self {
            Operations::Generated(stream) => Some(stream.next_operation()),
            Operations::Trace(playback) => playback.next().map(|operation| (0, operation)),
        }
    }
}
