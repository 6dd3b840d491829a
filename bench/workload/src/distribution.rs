//! Popularity of records: distributions over ranks. Rank 0 is the most popular.

use std::str::FromStr;

use rand::{Rng, RngExt};
use rand_distr::Zipf;

use crate::error::WorkloadError;

/// Exponents this close to 1 are sampled as 1: the sampler divides by `1 - exponent`.
const NEAR_ONE: f64 = 1e-6;

/// More than a database has.
const RANGE_RECORDS_MAX: u64 = 1_000_000_000_000;

/// A family of distributions over the records of a key space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// All records are equally popular.
    Uniform,
    /// The probability of rank r is proportional to `(r + 1)^-exponent`. Ranks are scattered over the key space. The exponent is at least
    /// 0.
    Zipf {
        /// Exponent of the distribution.
        exponent: f64,
    },
    /// Zipf over age: the record inserted last is the most popular (YCSB workload D).
    Latest {
        /// Exponent of the distribution.
        exponent: f64,
    },
    /// Zipf over ranges of neighbouring keys, which are scattered over the key space. The keys of a range are equally popular. RocksDB's
    /// users have such ranges (Cao et al., FAST'20, section 6).
    Ranges {
        /// Records of a range, of which the last one may have fewer.
        range_records: u64,
        /// Exponent of the distribution.
        exponent: f64,
    },
}

impl FromStr for Distribution {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let unknown = || {
            WorkloadError(format!(
                "unknown distribution {text:?}: expected uniform, zipf:EXPONENT, latest:EXPONENT or ranges:RECORDS:EXPONENT"
            ))
        };
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let numbers = parts.map(f64::from_str).collect::<Result<Vec<_>, _>>().map_err(|_| unknown())?;
        let distribution = match (name, numbers.as_slice()) {
            ("uniform", []) => Distribution::Uniform,
            ("zipf", &[exponent]) => Distribution::Zipf { exponent },
            ("latest", &[exponent]) => Distribution::Latest { exponent },
            ("ranges", &[range_records, exponent]) if range_records.fract() == 0.0 => {
                Distribution::Ranges { range_records: range_records as u64, exponent }
            }
            _ => return Err(unknown()),
        };
        distribution.check()?;
        Ok(distribution)
    }
}

impl std::fmt::Display for Distribution {
    /// The form that [`FromStr`] reads.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Distribution::Uniform => write!(f, "uniform"),
            Distribution::Zipf { exponent } => write!(f, "zipf:{exponent}"),
            Distribution::Latest { exponent } => write!(f, "latest:{exponent}"),
            Distribution::Ranges { range_records, exponent } => {
                write!(f, "ranges:{range_records}:{exponent}")
            }
        }
    }
}

impl Distribution {
    fn check(&self) -> Result<(), WorkloadError> {
        let constant = |got: f64| match got {
            got if (0.0..=100.0).contains(&got) => Ok(()),
            got => Err(WorkloadError::out_of_range("Zipf constant", got, "0 to 100")),
        };
        match *self {
            Distribution::Uniform => Ok(()),
            Distribution::Zipf { exponent } | Distribution::Latest { exponent } => constant(exponent),
            Distribution::Ranges { range_records, exponent } => {
                if (1..=RANGE_RECORDS_MAX).contains(&range_records) {
                    constant(exponent)
                } else {
                    Err(WorkloadError::out_of_range("records of a range", range_records, "1 to 1e12"))
                }
            }
        }
    }

    /// Number of ranks over `records`: one for each record or range.
    pub fn ranks(&self, records: u64) -> u64 {
        match *self {
            Distribution::Ranges { range_records, .. } => records.div_ceil(range_records),
            _ => records,
        }
    }

    /// Whether the keys must lie in the order of their records.
    pub fn needs_key_order(&self) -> bool {
        matches!(self, Distribution::Ranges { .. })
    }

    /// The sampler of ranks `0..ranks(records)`.
    pub fn sampler(&self, records: u64) -> Result<Sampler, WorkloadError> {
        self.check()?;
        if records == 0 {
            return Err(WorkloadError::out_of_range("records", 0, "at least 1"));
        }
        Ok(match *self {
            Distribution::Uniform => Sampler::Uniform { records },
            Distribution::Zipf { exponent }
            | Distribution::Latest { exponent }
            | Distribution::Ranges { exponent, .. } => {
                let records = self.ranks(records);
                let exponent = if (exponent - 1.0).abs() < NEAR_ONE { 1.0 } else { exponent };
                let zipf = Zipf::new(records as f64, exponent)
                    .map_err(|_| WorkloadError::out_of_range("Zipf constant", exponent, "0 to 100"))?;
                Sampler::Zipf { records, zipf }
            }
        })
    }
}

/// Draws ranks; rank 0 is the most popular.
#[derive(Clone, Copy, Debug)]
pub enum Sampler {
    /// See [`Distribution::Uniform`].
    Uniform {
        /// Number of ranks.
        records: u64,
    },
    /// See [`Distribution::Zipf`].
    Zipf {
        /// Number of ranks.
        records: u64,
        /// The distribution, over `1..=records`.
        zipf: Zipf<f64>,
    },
}

impl Sampler {
    /// A rank in `0..records`. No allocation.
    #[inline]
    pub fn rank<R: Rng + ?Sized>(&self, rng: &mut R) -> u64 {
        match *self {
            Sampler::Uniform { records } => rng.random_range(0..records),
            Sampler::Zipf { records, zipf } => {
                let rank: f64 = rng.sample(zipf);
                // Rounding at the far end of the distribution may give records + 1.
                (rank as u64 - 1).min(records - 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use springbloom_testkit::{binomial, chi_square, seed};

    fn zipf_pmf(records: u64, exponent: f64) -> Vec<f64> {
        let weights: Vec<f64> = (1..=records).map(|rank| (rank as f64).powf(-exponent)).collect();
        let total: f64 = weights.iter().rev().sum();
        weights.iter().map(|weight| weight / total).collect()
    }

    fn counts(distribution: Distribution, records: u64, draws: u64, rng: &mut seed::TestRng) -> Vec<u64> {
        let sampler = distribution.sampler(records).expect("valid settings");
        let mut counts = vec![0; records as usize];
        for _ in 0..draws {
            counts[sampler.rank(rng) as usize] += 1;
        }
        counts
    }

    #[test]
    fn zipf_fits_its_law_for_every_constant() {
        let mut rng = seed::rng("zipf_fits_its_law_for_every_constant");
        for exponent in [0.0, 0.6, 0.8, 0.99, 0.999_999_5, 1.0, 1.000_002, 1.1, 1.4, 3.0] {
            for records in [1_000, 100_000] {
                let counts = counts(Distribution::Zipf { exponent }, records, 400_000, &mut rng);
                chi_square::assert_fits(
                    &counts,
                    &zipf_pmf(records, exponent),
                    &format!("zipf {exponent} of {records}"),
                );
            }
        }
    }

    #[test]
    fn zipf_head_has_the_analytic_share_at_full_size() {
        // H(5e6, 0.99) = 17.08: the hottest record of Setting S1 gets 1/17 of all accesses.
        let mut rng = seed::rng("zipf_head_has_the_analytic_share_at_full_size");
        let (records, draws) = (5_000_000, 500_000);
        let head = zipf_pmf(records, 0.99)[0];
        assert!((head - 0.0585).abs() < 0.001, "{head}");
        let sampler = Distribution::Zipf { exponent: 0.99 }.sampler(records).expect("valid settings");
        let hits = (0..draws).filter(|_| sampler.rank(&mut rng) == 0).count() as u64;
        binomial::assert_rate(hits, draws, head, "hottest record");
    }

    #[test]
    fn uniform_fits() {
        let mut rng = seed::rng("uniform_fits");
        let uniform = counts(Distribution::Uniform, 500, 200_000, &mut rng);
        chi_square::assert_fits(&uniform, &[1.0 / 500.0; 500], "uniform");
    }

    #[test]
    fn one_record_is_a_distribution_too() {
        let mut rng = seed::rng("one_record_is_a_distribution_too");
        for text in ["uniform", "zipf:0.99", "zipf:1", "zipf:1.4", "ranges:9:0.99"] {
            let sampler = text.parse::<Distribution>().and_then(|d| d.sampler(1)).expect(text);
            assert!((0..100).all(|_| sampler.rank(&mut rng) == 0), "{text}");
        }
    }

    #[test]
    fn text_forms() {
        for text in ["uniform", "zipf:0.99", "latest:1.1", "ranges:1000:0.99"] {
            assert_eq!(text.parse::<Distribution>().expect(text).to_string(), text);
        }
        for text in [
            "",
            "zipf",
            "zipf:x",
            "zipf:-1",
            "zipf:NaN",
            "ranges:1000",
            "ranges:0:0.99",
            "ranges:1e13:0.99",
            "ranges:-5:0.99",
            "ranges:1.5:0.99",
            "ranges:1000:-1",
            "pareto:1",
            "uniform:1",
        ] {
            assert!(text.parse::<Distribution>().is_err(), "{text}");
        }
        assert!(Distribution::Uniform.sampler(0).is_err());
    }
}
