//! The metrics of one moment, and what happened between two.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use super::text::{Sample, samples};

/// What the names of all metrics begin with.
pub(super) const PREFIX: &str = "springbloom_";

/// The metrics of one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Reading {
    pub(super) budget_bytes: u64,
    pub(super) peak_bytes: u64,
    pub(super) used_bytes: BTreeMap<String, u64>,
    pub(super) levels: BTreeMap<String, Level>,
    pub(super) tables: u64,
    pub(super) segments: u64,
    pub(super) expected_wasted_reads_per_visit: f64,
    pub(super) counts: Counts,
    pub(super) units_evicted: u64,
    /// What should be 0, by name of the metric.
    pub(super) faults: BTreeMap<String, u64>,
    /// By database and name.
    pub(super) families: Vec<Family>,
}

/// Resident units of a level.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Level {
    pub(super) resident_bytes: u64,
    pub(super) resident_units: u64,
}

/// What was counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Counts {
    /// Visits of lookups to segments.
    pub(super) visits: u64,
    /// Those for keys that were not there.
    pub(super) negatives: u64,
    /// Those that wasted a read.
    pub(super) wasted_reads: u64,
    pub(super) units_loaded: u64,
}

/// A column family of a database.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Family {
    pub(super) database: String,
    pub(super) family: String,
    pub(super) tables: u64,
    pub(super) resident_bytes: u64,
    /// Visits are an estimate.
    pub(super) counts: Counts,
}

/// Metrics that tell of faults. Others that begin so are no faults.
const FAULTS: [&str; 6] = [
    "springbloom_units_corrupt_total",
    "springbloom_unit_reads_failed_total",
    "springbloom_tables_refused_total",
    "springbloom_tables_without_units_total",
    "springbloom_visits_dropped_total",
    "springbloom_thread_panics_total",
];

impl Reading {
    /// Of the text that a program serves; `None` if the metrics of Springbloom are not in it.
    ///
    /// # Errors
    /// A value that Springbloom does not give.
    pub(super) fn of(text: &str) -> Result<Option<Self>> {
        let (mut reading, mut is_ours) = (Self::default(), false);
        let mut families: BTreeMap<(String, String), Family> = BTreeMap::new();
        for sample in samples(text, PREFIX) {
            let (sample, value) = (&sample, || sample.count());
            match &*sample.name {
                "springbloom_budget_bytes" => {
                    is_ours = true;
                    add(&mut reading.budget_bytes, value()?);
                }
                "springbloom_peak_bytes" => add(&mut reading.peak_bytes, value()?),
                "springbloom_used_bytes" => {
                    add(reading.used_bytes.entry(sample.label("kind").to_owned()).or_default(), value()?);
                }
                "springbloom_resident_bytes" => add(&mut reading.level(sample).resident_bytes, value()?),
                "springbloom_resident_units" => add(&mut reading.level(sample).resident_units, value()?),
                "springbloom_tables" => add(&mut reading.tables, value()?),
                "springbloom_segments" => add(&mut reading.segments, value()?),
                "springbloom_expected_wasted_reads_per_visit" => {
                    reading.expected_wasted_reads_per_visit = sample.within_bounds()?;
                }
                "springbloom_visits_total" => reading.counts.add_visits(sample)?,
                "springbloom_units_loaded_total" => add(&mut reading.counts.units_loaded, value()?),
                "springbloom_units_evicted_total" => add(&mut reading.units_evicted, value()?),
                name if FAULTS.contains(&name) => {
                    add(reading.faults.entry(name.to_owned()).or_default(), value()?);
                }
                "springbloom_family_tables" => add(&mut family(&mut families, sample).tables, value()?),
                "springbloom_family_resident_bytes" => {
                    add(&mut family(&mut families, sample).resident_bytes, value()?);
                }
                "springbloom_family_visits_total" => {
                    family(&mut families, sample).counts.add_visits(sample)?;
                }
                "springbloom_family_units_loaded_total" => {
                    add(&mut family(&mut families, sample).counts.units_loaded, value()?);
                }
                _ => {}
            }
        }
        let named = |((database, family), counted)| Family { database, family, ..counted };
        reading.families = families.into_iter().map(named).collect();
        Ok(is_ours.then_some(reading))
    }

    fn level(&mut self, sample: &Sample) -> &mut Level {
        self.levels.entry(sample.label("level").to_owned()).or_default()
    }

    /// Bytes in use, all kinds together.
    pub(super) fn used(&self) -> u64 {
        self.used_bytes.values().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// The counts of a column family; none if it has no open table.
    pub(super) fn counts_of(&self, family: &Family) -> Option<Counts> {
        let place = self.families.binary_search_by(|other| {
            (&other.database, &other.family).cmp(&(&family.database, &family.family))
        });
        place.ok().map(|at| self.families[at].counts)
    }
}

fn family<'a>(families: &'a mut BTreeMap<(String, String), Family>, sample: &Sample) -> &'a mut Family {
    families.entry((sample.label("database").to_owned(), sample.label("family").to_owned())).or_default()
}

/// A server may say any number.
fn add(sum: &mut u64, value: u64) {
    *sum = sum.saturating_add(value);
}

impl Counts {
    fn add_visits(&mut self, sample: &Sample) -> Result<()> {
        let visits = sample.count()?;
        add(&mut self.visits, visits);
        match sample.label("outcome") {
            "wasted_read" => {
                add(&mut self.wasted_reads, visits);
                add(&mut self.negatives, visits);
            }
            "rejected" | "known_absent" => add(&mut self.negatives, visits),
            _ => {}
        }
        Ok(())
    }

    /// What was counted since `earlier`; all of it if the program was started anew in between.
    pub(super) fn since(self, earlier: Self) -> Self {
        if self.visits < earlier.visits || self.units_loaded < earlier.units_loaded {
            return self;
        }
        Self {
            visits: self.visits - earlier.visits,
            negatives: self.negatives.saturating_sub(earlier.negatives),
            wasted_reads: self.wasted_reads.saturating_sub(earlier.wasted_reads),
            units_loaded: self.units_loaded - earlier.units_loaded,
        }
    }

    /// Wasted reads in a hundred visits; `None` without visits.
    pub(super) fn wasted_percent(self) -> Option<f64> {
        (self.visits > 0).then(|| 100.0 * self.wasted_reads as f64 / self.visits as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_started_anew_counts_from_its_start() {
        let counts = |visits| Counts { visits, negatives: visits / 2, wasted_reads: 1, units_loaded: 4 };
        assert_eq!(
            counts(100).since(counts(40)),
            Counts { visits: 60, negatives: 30, wasted_reads: 0, units_loaded: 0 }
        );
        assert_eq!(counts(10).since(counts(40)), counts(10));
        assert_eq!(counts(50).wasted_percent(), Some(2.0));
        assert_eq!(Counts::default().wasted_percent(), None);
    }

    #[test]
    fn metrics_of_others_are_told() {
        let read = |text| Reading::of(text).expect("possible");
        assert_eq!(read("process_cpu_seconds_total 7\n# EOF\n"), None);
        assert_eq!(read("<html>springbloom_budget_bytes</html>"), None);
        let reading = read("springbloom_budget_bytes 1024\nprocess_cpu_seconds_total -7\n").expect("ours");
        assert_eq!(reading, Reading { budget_bytes: 1024, ..Reading::default() });
    }

    #[test]
    fn sums_have_a_bound() {
        let text = "springbloom_budget_bytes 18446744073709551615\nspringbloom_budget_bytes 18446744073709551615\n\
            springbloom_used_bytes{kind=\"a\"} 1.8e19\nspringbloom_used_bytes{kind=\"b\"} 1.8e19\n\
            springbloom_visits_total{outcome=\"wasted_read\"} 1.8e19\nspringbloom_visits_total{outcome=\"wasted_read\"} 1.8e19\n";
        let reading = Reading::of(text).expect("possible").expect("ours");
        assert_eq!((reading.budget_bytes, reading.used()), (u64::MAX, u64::MAX));
        assert_eq!((reading.counts.visits, reading.counts.wasted_reads), (u64::MAX, u64::MAX));
    }

    #[test]
    fn values_that_springbloom_does_not_give_are_refused() {
        for name in [
            "springbloom_budget_bytes",
            "springbloom_used_bytes{kind=\"units\"}",
            "springbloom_expected_wasted_reads_per_visit",
            "springbloom_visits_total{outcome=\"rejected\"}",
            "springbloom_family_visits_total{database=\"/\",family=\"\",outcome=\"passed\"}",
            "springbloom_units_corrupt_total",
        ] {
            for (value, said) in
                [("-1e300", "-1e300"), ("NaN", "NaN"), ("+Inf", "inf"), ("1e308", "1e308"), ("-5", "-5.0")]
            {
                let text = format!("springbloom_budget_bytes 1\n{name} {value}\n");
                let error = Reading::of(&text).expect_err(&text).to_string();
                let metric = name.split('{').next().expect("a name");
                assert_eq!(error, format!("{metric} is {said}, expected a number from 0 to 2^64"));
            }
        }
    }
}
