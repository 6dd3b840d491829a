//! What is simulated, by name.

use std::fmt;
use std::str::FromStr;

use springbloom_published_policies::{PolicyKind, StockFilter};
use springbloom_workload::{FamilyMix, Shares, StreamSettings};

use crate::command::sample::Sample;
use crate::managed::{self, Managed};
use crate::written::{Choice, Written};
use crate::{FamilyRun, Lookups, Rewriting, Tree, optimum};

/// A way to spend memory on filters.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Contender {
    /// A whole manager under this policy. The memory pays for bookkeeping too.
    Policy(PolicyKind),
    /// Stock Bloom filters.
    Bloom,
    /// Stock Ribbon filters.
    Ribbon,
    /// Stock Ribbon filters of another size in each column family, tuned by hand.
    RibbonByFamily(Shares),
    /// Stock Bloom filters with bits by the sizes of sorted runs.
    MonkeyBloom,
    /// Stock Ribbon filters with bits by the sizes of sorted runs.
    MonkeyRibbon,
    /// Stock Ribbon filters. Each gets bits by its table's use when it is written, and keeps them.
    AtCompaction,
    /// The best fixed units with foreknowledge of the lookups, without bookkeeping.
    Optimum,
}

/// More than any filter here can use.
pub(super) const BITS_MAX: f64 = 100.0;

/// Names in addition to those of policies.
const OTHERS: [(&str, Contender); 6] = [
    ("bloom", Contender::Bloom),
    ("ribbon", Contender::Ribbon),
    ("monkey-bloom", Contender::MonkeyBloom),
    ("monkey-ribbon", Contender::MonkeyRibbon),
    ("at-compaction", Contender::AtCompaction),
    ("optimum", Contender::Optimum),
];

impl Contender {
    /// All that have no bits of their own.
    pub(super) fn all() -> Vec<Self> {
        let policies = PolicyKind::ALL.into_iter().map(Self::Policy);
        policies.chain(OTHERS.into_iter().map(|(_, contender)| contender)).collect()
    }

    /// Bits for each key of this many families, to three places, where they are its own.
    pub(super) fn own_bits(&self, families: u32) -> Option<f64> {
        let Self::RibbonByFamily(bits) = self else { return None };
        let sum: f64 = (0..families as usize).map(|family| bits.of(family)).sum();
        Some((sum / f64::from(families) * 1000.0).round() / 1000.0)
    }
}

impl FromStr for Contender {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(bits) = text.strip_prefix("ribbon:").filter(|bits| bits.contains('/')) {
            return Shares::bits_per_key(bits, BITS_MAX).map(Self::RibbonByFamily);
        }
        let all = Self::all();
        let names: Vec<_> = all.iter().map(Self::to_string).collect();
        all.into_iter()
            .find(|contender| contender.to_string() == text)
            .ok_or_else(|| format!("expected one of {} or ribbon:BITS/BITS; got {text:?}", names.join(", ")))
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(policy) => policy.fmt(f),
            Self::RibbonByFamily(bits) => write!(f, "ribbon:{bits}"),
            other => f.pad(OTHERS.iter().find(|(_, known)| known == other).map_or("", |(name, _)| name)),
        }
    }
}

/// The lookups of a run.
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub(super) stream: StreamSettings,
    pub(super) mix: FamilyMix,
    pub(super) warmup: usize,
    pub(super) measured: usize,
    pub(super) rewriting: Option<Rewriting>,
    /// Share of lookups for keys that are hotter than any in the sample.
    pub(super) head: f64,
}

impl Load {
    /// The lookups, from the first one on.
    pub(super) fn lookups(&self, tree: &Tree) -> Lookups {
        Lookups::of(self.stream, &self.mix, tree.family_keys()).expect("settings that the flags allow")
    }
}

impl Contender {
    /// What the families waste with `bits_per_key` bits of memory for each key; `None` if they have no room for the bookkeeping.
    pub(super) fn run(&self, sample: &Sample, bits_per_key: f64, load: &Load) -> Option<Vec<FamilyRun>> {
        let tree = &sample.tree;
        let settings = managed::settings(tree, bits_per_key);
        let mut lookups = load.lookups(tree);
        let written = |stock, choice, lookups: &mut Lookups| {
            let mut written = Written::new(tree, bits_per_key, (stock, choice), load.rewriting);
            written.run(lookups, load.warmup);
            written.run(lookups, load.measured);
            written.families
        };
        Some(match self {
            Self::Policy(policy) => {
                let mut managed = Managed::new(tree, policy.manager(settings))?;
                load.rewriting.into_iter().for_each(|rewriting| managed.rewrite_tables(rewriting));
                managed.run(&mut lookups, load.warmup);
                managed.run(&mut lookups, load.measured);
                managed.families.iter_mut().for_each(|family| family.wasted_reads *= 1.0 - load.head);
                managed.families
            }
            Self::Bloom => written(StockFilter::Bloom, Choice::Same, &mut lookups),
            Self::Ribbon => written(StockFilter::Ribbon, Choice::Same, &mut lookups),
            Self::RibbonByFamily(bits) => {
                written(StockFilter::Ribbon, Choice::Family(bits.clone()), &mut lookups)
            }
            Self::MonkeyBloom => written(StockFilter::Bloom, Choice::RunSize, &mut lookups),
            Self::MonkeyRibbon => written(StockFilter::Ribbon, Choice::RunSize, &mut lookups),
            // As long a memory as the manager's.
            Self::AtCompaction => {
                let visits = Choice::Visits { half_life: 32.0 * f64::from(tree.segments()) };
                written(StockFilter::Ribbon, visits, &mut lookups)
            }
            Self::Optimum => {
                // The lookups that the others are measured by.
                optimum(tree, bits_per_key, lookups.skip(load.warmup).take(load.measured))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let by_hand = "ribbon:13/0.5".parse::<Contender>().expect("bits");
        assert_eq!((by_hand.own_bits(4), by_hand.own_bits(3)), (Some(3.625), Some(4.667)));
        for contender in Contender::all().into_iter().chain([by_hand]) {
            assert_eq!(contender.to_string().parse(), Ok(contender));
        }
        assert!("ribbon:4".parse::<Contender>().is_err() && "ribbon:0/0".parse::<Contender>().is_err());
        let error = "best".parse::<Contender>().unwrap_err();
        assert!(error.contains("monkey-ribbon") && error.contains("\"best\""), "{error}");
    }
}
