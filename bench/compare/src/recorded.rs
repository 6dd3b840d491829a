//! A recorded trace as a workload: what of it fills the databases, and what was left out.

use std::path::Path;

use anyhow::Result;
use springbloom_console::{Step, bad_input, output};
use springbloom_workload::trace::LeftOut;
use springbloom_workload::{Replay, Trace, TraceKeys};

/// The part of a trace without known keys that fills the databases.
const LOAD_SHARE: f64 = 0.5;

/// A trace that is replayed.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) replay: Replay,
    /// Name of its file.
    pub(crate) name: String,
    /// Operations that fill the databases.
    pub(crate) load_ops: u64,
    /// Mean size of the values.
    pub(crate) value_bytes: Option<u64>,
}

impl Recorded {
    /// Reads the trace at `path`, and a file of the keys that were there before.
    pub(crate) fn read(
        path: &Path,
        keys: Option<&Path>,
        load_share: Option<f64>,
    ) -> Result<(TraceKeys, Recorded)> {
        let step = Step::waiting("reading the trace");
        let trace = Trace::read(path, keys).map_err(|error| bad_input(error.to_string()))?;
        drop(step);
        let name = path.file_name().unwrap_or_default().display().to_string();
        say_what_is_left_out(&name, trace.left_out);
        let share = load_share.unwrap_or(if keys.is_some() { 0.0 } else { LOAD_SHARE });
        let load_ops = (trace.operations() as f64 * share) as usize;
        let value_bytes = trace.value_bytes;
        let (there, replay) = trace.replay_after(load_ops);
        if there.loaded() == 0 {
            let listed = match keys {
                Some(keys) => {
                    format!("{} lists no key: list those that were there before the trace", keys.display())
                }
                None => "list the keys that were there before the trace in a file for --keys".to_owned(),
            };
            return Err(bad_input(format!(
                "{name}: its first {load_ops} operations leave no key in the databases: {listed}, or choose a larger --load-share"
            )));
        }
        let counts = replay.counts(0..replay.operations());
        if counts.gets == 0 {
            output::warn(format_args!(
                "{name}: behind its first {load_ops} operations it looks nothing up, and filters serve lookups alone"
            ));
        } else if let Some(keys) = keys.filter(|_| counts.absent_gets == counts.gets) {
            output::warn(format_args!(
                "{name}: no lookup is for a key of {}, nor for one that the trace wrote: are they keys of the same database, and in the \
                 same form?",
                keys.display()
            ));
        }
        let keys = there;
        Ok((keys, Recorded { replay, name, load_ops: load_ops as u64, value_bytes }))
    }
}

fn say_what_is_left_out(name: &str, left_out: LeftOut) {
    let LeftOut { range_deletions, rollbacks, is_cut_off } = left_out;
    if range_deletions > 0 {
        output::warn(format_args!("{name}: {range_deletions} deletions of ranges are left out"));
    }
    if rollbacks > 0 {
        output::warn(format_args!(
            "{name}: writes of {rollbacks} transactions that were rolled back are replayed"
        ));
    }
    if is_cut_off {
        output::warn(format_args!("{name} ends within a record; the operations before it are used"));
    }
}
