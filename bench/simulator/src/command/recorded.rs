//! The lookups of a recorded trace, on a tree of any size.
//!
//! The place of a key in the tree is its rank among the keys of the trace, so that keys which are neighbours stay neighbours. A sample
//! takes the keys whose hash falls into its share, with all of their lookups: spatially hashed sampling (Waldspurger et al., FAST'15).
//! Whether a lookup finds its key depends on the writes before it.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use springbloom_console::{Step, bad_input};
use springbloom_workload::hash::{mix, unit_interval};
use springbloom_workload::{Trace, TraceKind};

use crate::Lookup;

/// Fewest lookups of a sample.
const LOOKUPS_MIN: usize = 1000;

/// A trace that was read.
pub(super) struct Recorded {
    trace: Trace,
    pub(super) name: String,
}

/// The lookups of a sample.
#[derive(Clone, Debug)]
pub(super) struct Sampled {
    pub(super) lookups: Arc<[Lookup]>,
    /// Share of lookups for absent keys.
    pub(super) absent: f64,
}

impl Recorded {
    /// Reads the trace at `path`, and a file of the keys that were there before.
    pub(super) fn read(path: &Path, keys: Option<&Path>) -> Result<Self> {
        let step = Step::waiting("reading the trace");
        let trace = Trace::read(path, keys).map_err(|error| bad_input(error.to_string()))?;
        drop(step);
        Ok(Recorded { trace, name: path.file_name().unwrap_or_default().display().to_string() })
    }

    /// Number of keys that are ever there.
    pub(super) fn records(&self) -> u64 {
        let mut was_there = vec![false; self.trace.keys()];
        was_there[..self.trace.keys_before() as usize].fill(true);
        let puts = self.trace.iter().filter(|operation| operation.kind == TraceKind::Put);
        puts.for_each(|operation| was_there[operation.key as usize] = true);
        was_there.into_iter().filter(|was_there| *was_there).count() as u64
    }

    /// The lookups of keys in a sample of this share.
    pub(super) fn sample(&self, share: f64, seed: u64) -> Result<Sampled> {
        let is_sampled: Vec<bool> =
            (0..self.trace.keys() as u64).map(|key| unit_interval(mix(key ^ mix(seed))) < share).collect();
        let ranks = self.trace.ranks();
        let mut by_rank = vec![0; ranks.len()];
        (0..).zip(&ranks).for_each(|(key, &rank): (usize, _)| by_rank[rank as usize] = key);
        let count = is_sampled.iter().filter(|sampled| **sampled).count() as u128;
        let mut places = vec![0; ranks.len()];
        let sampled = by_rank.into_iter().filter(|&key| is_sampled[key]);
        // In the middle of its part of the key space.
        sampled.zip(0u128..).for_each(|(key, rank)| places[key] = (((2 * rank + 1) << 63) / count) as u64);
        let lookups: Arc<[Lookup]> = (self.trace.gets())
            .filter(|&(key, _)| is_sampled[key as usize])
            .map(|(key, is_absent)| Lookup { family: 0, key: places[key as usize], is_absent })
            .collect();
        let all = self.trace.gets().count();
        if all < LOOKUPS_MIN {
            return Err(bad_input(format!(
                "{}: got {all} lookups (get), expected at least {LOOKUPS_MIN}: record a longer time",
                self.name
            )));
        }
        if lookups.len() < LOOKUPS_MIN {
            return Err(bad_input(format!(
                "{}: {} of its {} lookups are for keys of the sample, which has {share:.2e} of all; expected at least {LOOKUPS_MIN}: \
                 record more, or simulate more --segments or fewer --records",
                self.name,
                lookups.len(),
                all
            )));
        }
        let absent = lookups.iter().filter(|lookup| lookup.is_absent).count() as f64 / lookups.len() as f64;
        Ok(Sampled { lookups, absent })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn recorded(text: &str) -> Recorded {
        let mut file = tempfile::NamedTempFile::new().expect("file");
        file.write_all(text.as_bytes()).expect("write");
        Recorded::read(file.path(), None).expect("trace")
    }

    fn lookups(keys: u32, times: u32) -> String {
        (0..keys * times).map(|n| format!("get,k{:06}\n", n % keys)).collect()
    }

    #[test]
    fn keys_keep_their_order_and_lookups_know_what_was_written() {
        let recorded = recorded(&format!("put,a\nget,c\nget,a\nput,c\nget,c\nget,b\n{}", lookups(500, 2)));
        assert_eq!(recorded.records(), 2);
        let Sampled { lookups, absent } = recorded.sample(1.0, 1).expect("all");
        let first: Vec<_> = lookups[..4].iter().map(|lookup| lookup.is_absent).collect();
        assert_eq!(first, [true, false, false, true]);
        let [c, a, again, b] = [0, 1, 2, 3].map(|n| lookups[n].key);
        assert!(a < b && b < c && c == again && lookups[4].key > c);
        assert!((absent - 1002.0 / 1004.0).abs() < 1e-9);
    }

    #[test]
    fn a_sample_has_all_lookups_of_its_keys_and_spreads_them() {
        let recorded = recorded(&lookups(20_000, 3));
        let Sampled { lookups, .. } = recorded.sample(0.1, 1).expect("a tenth");
        let keys: std::collections::BTreeSet<_> = lookups.iter().map(|lookup| lookup.key).collect();
        springbloom_testkit::binomial::assert_rate(keys.len() as u64, 20_000, 0.1, "keys of the sample");
        assert_eq!(lookups.len(), keys.len() * 3);
        let gaps: Vec<_> = keys.iter().zip(keys.iter().skip(1)).map(|(one, next)| next - one).collect();
        assert!(gaps.iter().max() <= gaps.iter().min().map(|gap| gap + 1).as_ref(), "{gaps:?}");
        let error = recorded.sample(0.001, 1).expect_err("too few").to_string();
        assert!(error.contains("--segments"), "{error}");
        for (text, count) in [("put,a\n", 0), ("put,a\nget,a\n", 1)] {
            let error = super::tests::recorded(text).sample(1.0, 1).expect_err("too few").to_string();
            assert!(
                error.contains(&format!("got {count} lookups (get), expected at least 1000: record")),
                "{error}"
            );
        }
    }
}
