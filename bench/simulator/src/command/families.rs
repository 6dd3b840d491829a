//! Several column families in one simulation, with one budget.

use anyhow::Result;
use springbloom_console::bad_input;
use springbloom_workload::{FamilyMix, FamilySettings, Movement};

use crate::command::contender::Contender;
use crate::command::sample::Sample;
use crate::command::{SEGMENTS_MIN, Simulate};

impl Simulate {
    pub(super) fn families(&self) -> u32 {
        self.set.family.families.unwrap_or(1)
    }

    /// How they share traffic and absent keys.
    pub(super) fn family_mix(&self) -> Result<FamilyMix> {
        for contender in self.contenders() {
            let Contender::RibbonByFamily(bits) = &contender else { continue };
            FamilySettings::require_fit(bits, self.families())
                .map_err(|error| bad_input(format!("{contender}: {error}")))?;
        }
        let mix = self.set.family.mix(self.families(), self.absent_share).map_err(bad_input)?;
        if self.families() > 1 && self.set.movement != Movement::Still {
            return Err(bad_input("--set movement: expected one column family"));
        }
        Ok(mix)
    }

    /// Refuses a sample that has too little of each family.
    pub(super) fn require_segments(&self, sample: &Sample) -> Result<()> {
        let (families, segments) = (self.families(), self.segments);
        let needed = SEGMENTS_MIN * u64::from(families);
        if sample.share == 1.0 || u64::from(segments) >= needed {
            return Ok(());
        }
        Err(bad_input(format!(
            "--segments {segments}: expected at least {needed}, which are {SEGMENTS_MIN} for each of {families} column families"
        )))
    }
}
