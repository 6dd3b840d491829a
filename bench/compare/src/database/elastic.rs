//! Springbloom as a configuration: its settings, and published systems as settings of it.

use std::fmt;

use springbloom_console::sizes::Size;
use springbloom_published_policies::{PolicyKind, System};
use springbloom_rocksdb::{ElasticFilters, ElasticFiltersBuilder, Error};

/// Settings of a configuration that the filters do not have: the policy, and the lifetime of Multi-Queue as the papers count it.
const POLICY: &str = "policy";
const LIFETIME_GETS: &str = "segment_lifetime_gets";
const BUDGET: &str = "budget";
/// In place of bits per key.
pub(crate) const AUTO: &str = "auto";

/// A system with its bits per key and settings of its own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Elastic {
    system: System,
    /// Budget in bits per key. `None`: the part of the block cache that it finds to read least.
    pub(crate) bits: Option<f64>,
    /// Names and values, as they were given.
    own: Vec<(String, String)>,
}

impl Elastic {
    /// With settings in the form `NAME=VALUE`.
    pub(crate) fn new(system: System, bits: Option<f64>, own: &[&str]) -> Result<Self, String> {
        let own = own.iter().map(|setting| {
            let named = setting.split_once('=').filter(|(name, _)| !name.is_empty());
            let (name, value) = named.ok_or_else(|| {
                format!("expected a setting as NAME=VALUE after @, such as @policy=monkey; got {setting:?}")
            })?;
            Ok((name.to_owned(), value.to_owned()))
        });
        let own: Vec<(String, String)> = own.collect::<Result<_, String>>()?;
        let again = own
            .iter()
            .enumerate()
            .find(|(at, (name, _))| own[..*at].iter().any(|(before, _)| before == name));
        if let Some((_, (name, _))) = again {
            return Err(format!("expected each setting once, got {name} again"));
        }
        let elastic = Self { system, bits, own };
        if elastic.own(BUDGET).is_some() {
            return Err("expected the budget as bits per key or as --budget, got it as a setting".to_owned());
        }
        if elastic.own(LIFETIME_GETS).is_some_and(|gets| !gets.parse::<u64>().is_ok_and(|gets| gets > 0)) {
            return Err(format!("{LIFETIME_GETS}: expected a number of gets of at least 1"));
        }
        // Tried here so that a bad setting is reported before minutes of loading.
        elastic.filters()?.build().map_err(|error| error.to_string())?;
        Ok(elastic)
    }

    /// Whether the block cache pays for its budget in any run.
    pub(crate) fn is_charged(&self) -> bool {
        self.bits.is_none()
            || self.filters().is_ok_and(|filters| filters.builder.settings().charge_to_block_cache)
    }

    fn own(&self, name: &str) -> Option<&str> {
        self.own.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Whether it has settings that are not the defaults.
    pub(crate) fn differs(&self) -> bool {
        !self.system.settings().is_empty() || !self.own.is_empty()
    }

    /// The settings of the system, under its own. The lifetime in gets is not among them.
    pub(crate) fn filters(&self) -> Result<ElasticSettings, String> {
        let own = self.own.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let all = self.system.settings().iter().copied().chain(own);
        let mut filters = ElasticSettings::default();
        if self.bits.is_none() {
            filters.builder = filters.builder.budget_auto();
        }
        all.into_iter().try_fold(filters, |settings, (name, value)| settings.with(name, value))
    }

    /// The lifetime in gets, where it is given in these, in a store with `segments`.
    pub(crate) fn lifetime_gets(&self, segments: u64) -> Option<u64> {
        if let Some(gets) = self.own(LIFETIME_GETS) {
            return gets.parse().ok();
        }
        let share = self.system.lifetime_gets_per_segment()?;
        Some(((segments as f64 * share) as u64).max(1))
    }
}

impl fmt::Display for Elastic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.system.name())?;
        match self.bits {
            Some(bits) => write!(f, "{bits}")?,
            None => f.write_str(AUTO)?,
        }
        self.own.iter().try_for_each(|(name, value)| write!(f, "@{name}={value}"))
    }
}

/// Springbloom's settings, and the policy in place of its own.
#[derive(Clone, Default)]
pub(crate) struct ElasticSettings {
    pub(crate) builder: ElasticFiltersBuilder,
    policy: PolicyKind,
    pub(crate) lifetime_visits: Option<u64>,
}

impl ElasticSettings {
    fn with(mut self, name: &str, value: &str) -> Result<Self, String> {
        match name {
            POLICY => self.policy = value.parse().map_err(|error| format!("{name}: {error}"))?,
            LIFETIME_GETS => (),
            _ => self.builder = self.builder.set(name, value).map_err(|error| error.to_string())?,
        }
        Ok(self)
    }

    /// Starts the manager.
    pub(crate) fn build(self) -> Result<ElasticFilters, Error> {
        self.builder.build_with(self.policy.policy(self.lifetime_visits))
    }

    /// The settings that decide how well filters do, for reports.
    pub(crate) fn described(&self) -> String {
        let settings = self.builder.settings();
        format!(
            "units {}, segments of {}, policy {}{}",
            settings.units,
            Size { bytes: settings.segment_size },
            self.policy,
            if settings.inherit_hotness { "" } else { ", no inheritance" }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elastic(system: System, own: &[&str]) -> Elastic {
        Elastic::new(system, Some(4.0), own).expect("settings")
    }

    #[test]
    fn own_settings_win_over_those_of_the_system() {
        let built = |elastic: &Elastic| elastic.filters().expect("settings").described();
        assert_eq!(
            built(&elastic(System::Springbloom, &["segment_size=1M"])),
            "units ribbon:16, segments of 1 MiB, policy benefit"
        );
        assert_eq!(
            built(&elastic(System::ElasticBf, &[])),
            "units bloom:6x4, segments of 4 MiB, policy multi-queue"
        );
        assert_eq!(
            built(&elastic(System::ElasticBf, &["units=bloom:12x2"])),
            "units bloom:12x2, segments of 4 MiB, policy multi-queue"
        );
    }

    #[test]
    fn a_setting_that_a_system_turns_off_is_told() {
        let told = |system, own: &[&str]| elastic(system, own).filters().expect("settings").described();
        for system in System::ALL {
            assert!(told(system, &["inherit_hotness=false"]).ends_with(", no inheritance"), "{system:?}");
            assert!(!told(system, &["inherit_hotness=true"]).contains("inheritance"), "{system:?}");
        }
        assert!(
            told(System::ElasticBfFile, &[]).ends_with(", no inheritance"),
            "HotStorage'18 does not inherit"
        );
        assert!(!told(System::ElasticBf, &[]).contains("inheritance"), "ATC'19 does");
    }

    #[test]
    fn lifetimes_are_those_of_the_papers() {
        assert_eq!(elastic(System::Springbloom, &[]).lifetime_gets(30_000), None);
        assert_eq!(elastic(System::ElasticBf, &[]).lifetime_gets(30_000), Some(10_000));
        assert_eq!(elastic(System::ElasticBfFile, &[]).lifetime_gets(50_000), Some(20_000));
        assert_eq!(elastic(System::ElasticBf, &[]).lifetime_gets(1), Some(1));
        assert_eq!(elastic(System::ElasticBf, &["segment_lifetime_gets=7"]).lifetime_gets(1), Some(7));
    }

    #[test]
    fn the_budget_is_no_setting() {
        let error = Elastic::new(System::Springbloom, Some(4.0), &["budget=1M"]).expect_err("budget");
        assert!(error.contains("--budget"), "{error}");
    }
}
