//! Lookups of several column families or databases at once: how traffic and absent keys are shared among them.

use std::fmt;
use std::str::FromStr;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::error::WorkloadError;
use crate::keys::KeySpace;
use crate::permutation::mix64;
use crate::stream::{Operation, OperationStream, StreamSettings};

/// Sums stay finite.
const SHARE_MAX: f64 = 1e9;

/// Shares by family, separated by `/`. The last one holds for all families that follow.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares(Vec<f64>);

/// How the traffic is shared.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// Each family has as much as any other.
    Equal,
    /// Each family has half as much as the one before.
    Halving,
    /// In these proportions.
    By(Shares),
}

/// Several families of the same size.
#[derive(Clone, Debug, PartialEq)]
pub struct FamilyMix {
    /// Share of the operations of each family. They sum to 1.
    pub traffic: Vec<f64>,
    /// Share of absent keys among the reads of each family.
    pub absent: Vec<f64>,
}

impl FamilyMix {
    /// Share of absent keys among all reads.
    pub fn absent_share(&self) -> f64 {
        self.traffic.iter().zip(&self.absent).map(|(traffic, absent)| traffic * absent).sum()
    }
}

impl FromStr for Shares {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shares =
            text.split('/').map(|share| share.parse().ok().filter(|share| (0.0..=SHARE_MAX).contains(share)));
        let shares: Option<Vec<f64>> =
            shares.map(|share| share.filter(|share: &f64| share.is_finite())).collect();
        shares.map(Self).ok_or_else(|| format!("expected shares of at least 0, such as 1/0; got {text:?}"))
    }
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shares: Vec<_> = self.0.iter().map(f64::to_string).collect();
        f.write_str(&shares.join("/"))
    }
}

impl Shares {
    /// Bits per key of filters by family, of which at least one is above 0: without bits, there is no filter.
    pub fn bits_per_key(text: &str, most: f64) -> Result<Self, String> {
        let bits: Self = text.parse().map_err(|error| format!("bits per key by family: {error}"))?;
        match bits.greatest() {
            0.0 => {
                Err("no family has a filter: expected more than 0 bits per key for one at least".to_owned())
            }
            greatest if greatest > most => {
                Err(format!("expected at most {most} bits per key in a family, got {greatest}"))
            }
            _ => Ok(bits),
        }
    }

    /// That of family `family`.
    pub fn of(&self, family: usize) -> f64 {
        *self.0.get(family).or(self.0.last()).unwrap_or(&0.0)
    }

    /// The greatest one.
    pub fn greatest(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }

    /// Those of this many families.
    pub fn of_all(&self, families: u32) -> Result<Vec<f64>, String> {
        let given = self.0.len();
        if given > families as usize {
            return Err(format!("{given} values are given for {families} column families"));
        }
        Ok((0..families as usize).map(|family| self.of(family)).collect())
    }
}

impl FromStr for Traffic {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "equal" => Ok(Self::Equal),
            "halving" => Ok(Self::Halving),
            _ => text
                .parse()
                .map(Self::By)
                .map_err(|error| format!("expected equal, halving or shares: {error}")),
        }
    }
}

impl Traffic {
    /// Shares of this many families, which sum to 1.
    pub fn of_all(&self, families: u32) -> Result<Vec<f64>, String> {
        let shares = match self {
            Self::Equal => vec![1.0; families as usize],
            Self::Halving => (0..families).map(|family| 0.5f64.powi(family as i32)).collect(),
            Self::By(shares) => shares.of_all(families)?,
        };
        let sum: f64 = shares.iter().sum();
        if sum > 0.0 {
            Ok(shares.into_iter().map(|share| share / sum).collect())
        } else {
            Err("expected a share above 0 of at least one family".to_owned())
        }
    }
}

/// An endless, deterministic sequence of operations on several families. Each has popular keys of its own.
#[derive(Clone, Debug)]
pub struct FamilyStream {
    streams: Vec<OperationStream>,
    traffic: Vec<f64>,
    rng: Pcg64Mcg,
}

impl FamilyStream {
    /// The stream of `mix` where each family has `keys`. `settings` hold for all families but for the share of absent keys.
    pub fn new(settings: StreamSettings, mix: &FamilyMix, keys: &KeySpace) -> Result<Self, WorkloadError> {
        let of_family = |(&absent_share, family)| {
            let own = mix64(family);
            let (hot_key_seed, seed) = (settings.hot_key_seed ^ own, settings.seed ^ own);
            OperationStream::new(StreamSettings { absent_share, hot_key_seed, seed, ..settings }, keys)
        };
        Ok(Self {
            streams: mix.absent.iter().zip(0..).map(of_family).collect::<Result<_, _>>()?,
            traffic: mix.traffic.clone(),
            rng: Pcg64Mcg::seed_from_u64(settings.seed ^ mix64(settings.stream ^ FAMILY_SEED)),
        })
    }

    /// The next operation, and the family that it is for.
    pub fn next_operation(&mut self) -> (usize, Operation) {
        let mut left: f64 = self.rng.random();
        let is_it = |share: &f64| {
            left -= share;
            left < 0.0
        };
        // Rounding may leave a rest.
        let family = self.traffic.iter().position(is_it).unwrap_or(0);
        (family, self.streams[family].next_operation())
    }
}

/// Separates the choice of families from the choice of keys.
const FAMILY_SEED: u64 = 0x5A5A_F00D;

#[cfg(test)]
mod tests {
    use springbloom_testkit::{binomial, seed};

    use super::*;

    #[test]
    fn shares_are_read_and_the_last_one_goes_on() {
        let shares: Shares = "1/.5/0".parse().expect("shares");
        assert_eq!(shares.of_all(5), Ok(vec![1.0, 0.5, 0.0, 0.0, 0.0]));
        assert!(shares.of_all(2).is_err());
        assert_eq!(shares.to_string(), "1/0.5/0");
        for wrong in ["", "a", "1e308/1e308", "1/", "-1", "1/NaN", "inf"] {
            assert!(wrong.parse::<Shares>().is_err(), "{wrong}");
        }
        assert_eq!("halving".parse::<Traffic>().expect("traffic").of_all(2), Ok(vec![2.0 / 3.0, 1.0 / 3.0]));
        assert_eq!("3/1".parse::<Traffic>().expect("traffic").of_all(2), Ok(vec![0.75, 0.25]));
        assert!("0".parse::<Traffic>().expect("traffic").of_all(3).is_err());
        assert!("half".parse::<Traffic>().is_err());
    }

    #[test]
    fn families_have_their_traffic_and_their_absent_keys() {
        let mix = FamilyMix { traffic: vec![0.5, 0.25, 0.25], absent: vec![1.0, 0.0, 0.5] };
        let settings = StreamSettings::gets(0.99, 0.0, 1, seed::seed("families_have_their_traffic"));
        let keys = KeySpace::Synthetic { records: 1_000 };
        let mut stream = FamilyStream::new(settings, &mix, &keys).expect("valid settings");
        let (mut all, mut absent) = ([0u64; 3], [0u64; 3]);
        let operations = 100_000;
        for _ in 0..operations {
            let (family, operation) = stream.next_operation();
            all[family] += 1;
            absent[family] += u64::from(matches!(operation, Operation::ReadAbsent(_)));
        }
        for family in 0..3 {
            binomial::assert_rate(all[family], operations, mix.traffic[family], "traffic");
            binomial::assert_rate(absent[family], all[family], mix.absent[family], "absent keys");
        }
    }

    #[test]
    fn each_family_has_hot_keys_of_its_own() {
        let mix = FamilyMix { traffic: vec![0.5; 2], absent: vec![0.0; 2] };
        let settings = StreamSettings::gets(1.2, 0.0, 1, seed::seed("each_family_has_hot_keys_of_its_own"));
        let keys = KeySpace::Synthetic { records: 100_000 };
        let mut stream = FamilyStream::new(settings, &mix, &keys).expect("valid settings");
        let mut counts = [(); 2].map(|()| std::collections::HashMap::new());
        for _ in 0..10_000 {
            let (family, operation) = stream.next_operation();
            *counts[family].entry(format!("{operation:?}")).or_insert(0) += 1;
        }
        let hottest = counts.map(|of| of.into_iter().max_by_key(|&(_, count)| count).expect("operations").0);
        assert_ne!(hottest[0], hottest[1]);
    }
}
