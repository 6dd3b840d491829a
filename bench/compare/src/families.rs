//! Several column families or databases in one comparison, with one budget and one block cache.

use anyhow::Result;
use springbloom_console::bad_input;
use springbloom_workload::{FamilyMix, FamilySettings, Mix, Movement};

use crate::arguments::Compare;
use crate::database::config::{Config, Filters};
use crate::database::options::CommonSettings;

impl Compare {
    /// How many families there are.
    pub(crate) fn families(&self) -> u32 {
        self.set.family.families.unwrap_or(self.preset.defaults().families)
    }

    /// How traffic and absent keys are shared among families. `absent_share`: the share of absent keys of all reads, where none is
    /// given by family.
    pub(crate) fn family_mix(&self, absent_share: f64) -> Result<FamilyMix> {
        self.set.family.mix(self.families(), absent_share).map_err(bad_input)
    }

    /// Refuses what several families cannot have.
    pub(crate) fn require_sense_of_families(
        &self,
        configs: &[Config],
        common: &CommonSettings,
    ) -> Result<()> {
        let families = self.families();
        for config in configs {
            let Filters::RibbonByFamily { bits } = &config.filters else { continue };
            FamilySettings::require_fit(bits, families)
                .map_err(|error| bad_input(format!("{config}: {error}")))?;
        }
        if families == 1 {
            return Ok(());
        }
        let set = &self.set;
        if self.workload != Mix::GET
            || self.trace.is_some()
            || self.load_only.is_some()
            || set.multi_get > 1
            || set.movement != Movement::Still
        {
            return Err(bad_input(
                "several column families are compared by lookups of one key: expected no other --workload, --trace, --load-only, \
                 --set multi_get or --set movement",
            ));
        }
        match configs.iter().find(|config| config.is_cached() && !common.one_cache()) {
            Some(config) => Err(bad_input(format!(
                "{config}: several column families cannot share its cache for filters: give --memory-per-key, or \
                 another configuration"
            ))),
            None => Ok(()),
        }
    }
}
