//! The settings of several column families, which programs that measure have in common.

use clap::Args;

use crate::families::{FamilyMix, Shares, Traffic};

/// All of them are open at a time.
const FAMILIES_MAX: u32 = 256;

fn parse_families(text: &str) -> Result<u32, String> {
    let families = text.parse().ok().filter(|families| (1..=FAMILIES_MAX).contains(families));
    families.ok_or_else(|| format!("expected a whole number from 1 to {FAMILIES_MAX}"))
}

/// How many families there are, and what their lookups are.
#[derive(Args, Clone, Debug)]
pub struct FamilySettings {
    /// Column families of the same size, which share the memory [default: 1, unless a preset says otherwise]
    #[arg(long = "families", value_name = "FAMILIES", value_parser = parse_families)]
    pub families: Option<u32>,
    /// Traffic of column families: equal, halving (each has half as much as the one before), or proportions such as 8/1/1, of which the
    /// last holds for all that follow [default: equal]
    #[arg(id = "family_traffic", long = "family_traffic", value_name = "SHARES")]
    pub traffic: Option<Traffic>,
    /// Share of absent keys among the reads of each column family, such as 1/0: the first is asked only for absent keys, the others for
    /// present ones [default: that of --absent-share]
    #[arg(id = "family_absent", long = "family_absent", value_name = "SHARES")]
    pub absent: Option<Shares>,
}

impl FamilySettings {
    const THERE_IS_ONE: &str = "there is one column family: give --set families";

    /// Checks values by family against the number of families.
    pub fn require_fit(values: &Shares, families: u32) -> Result<(), String> {
        match families {
            1 => Err(Self::THERE_IS_ONE.to_owned()),
            _ => values.of_all(families).map(drop),
        }
    }

    /// The mix of this many families. `absent_share`: the share of absent keys of all reads, where none is given by family.
    pub fn mix(&self, families: u32, absent_share: f64) -> Result<FamilyMix, String> {
        if families == 1 && (self.traffic.is_some() || self.absent.is_some()) {
            return Err(format!("--set family_traffic and family_absent: {}", Self::THERE_IS_ONE));
        }
        let traffic = self.traffic.as_ref().unwrap_or(&Traffic::Equal).of_all(families);
        let traffic = traffic.map_err(|error| format!("--set family_traffic: {error}"))?;
        let absent = match &self.absent {
            Some(absent) if absent.greatest() > 1.0 => {
                let greatest = absent.greatest();
                return Err(format!("--set family_absent: expected shares of at most 1, got {greatest}"));
            }
            Some(absent) => {
                absent.of_all(families).map_err(|error| format!("--set family_absent: {error}"))?
            }
            None => vec![absent_share; families as usize],
        };
        Ok(FamilyMix { traffic, absent })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        settings: FamilySettings,
    }

    fn mix(line: &[&str]) -> Result<FamilyMix, String> {
        Program::parse_from([&["program"], line].concat()).settings.mix(2, 0.5)
    }

    #[test]
    fn what_is_not_given_is_equal_in_all_families() {
        assert_eq!(mix(&[]), Ok(FamilyMix { traffic: vec![0.5; 2], absent: vec![0.5; 2] }));
        let given = mix(&["--family_traffic", "3/1", "--family_absent", "1/0"]).expect("shares");
        assert_eq!(given, FamilyMix { traffic: vec![0.75, 0.25], absent: vec![1.0, 0.0] });
        assert_eq!(given.absent_share(), 0.75);
    }

    #[test]
    fn values_by_family_need_their_families() {
        let fit = |families| FamilySettings::require_fit(&"4/2/0".parse().expect("values"), families);
        assert_eq!((fit(3), fit(8)), (Ok(()), Ok(())));
        assert!(fit(2).is_err_and(|error| error == "3 values are given for 2 column families"));
        assert_eq!(fit(1), Err(FamilySettings::THERE_IS_ONE.to_owned()));
    }

    #[test]
    fn shares_that_no_family_can_have_are_refused() {
        assert!(mix(&["--family_absent", "2"]).is_err_and(|error| error.contains("at most 1, got 2")));
        assert!(mix(&["--family_traffic", "0"]).is_err_and(|error| error.contains("--set family_traffic")));
        for (bits, expected) in [
            ("0/0", "no family has a filter: expected more than 0"),
            ("4/101", "expected at most 100 bits per key in a family, got 101"),
            ("4/x", "bits per key by family: expected"),
        ] {
            let refused = Shares::bits_per_key(bits, 100.0).expect_err(bits);
            assert!(refused.starts_with(expected), "{bits}: {refused}");
        }
    }
}
