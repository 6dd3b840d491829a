//! What lookups would read with other settings and other memory, by the model of `springbloom map`.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use springbloom_console::TextTable;
use springbloom_console::sizes::Size;
use springbloom_simulator::map::{Described, Estimate, IndexEntry};

use super::indexes::Indexes;
use super::survey::Survey;

/// Bytes per key that are modelled where the memory is not known.
const MEMORIES: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
/// A packed index, of one with restart interval 16.
const PACKED_SHARE: f64 = 0.5;

/// Lookups, as the user describes them.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Lookups {
    /// Exponent of Zipf's law.
    pub(crate) zipf: f64,
    /// Share of the lookups that find nothing.
    pub(crate) absent_share: f64,
}

/// The answers.
#[derive(Debug, Serialize)]
pub(crate) struct Modelled {
    #[serde(flatten)]
    lookups: Lookups,
    entries: u64,
    /// Which of the estimates is with the memory that there is.
    #[serde(skip)]
    with_memory: Option<usize>,
    estimates: Vec<Estimate>,
}

impl Modelled {
    /// Of a database and its indexes, with half of the memory, with it, and with twice as much. `None` of an empty one.
    pub(crate) fn of(
        survey: &Survey,
        indexes: Option<Indexes>,
        memory: Option<u64>,
        lookups: Lookups,
    ) -> Option<Self> {
        if survey.entries == 0 || survey.data_blocks == 0 {
            return None;
        }
        let entries = survey.entries as f64;
        let of_block = |bytes: u64| bytes as f64 / survey.data_blocks as f64;
        let restart_16 = of_block(indexes.map_or(survey.index_bytes, |indexes| indexes.restart_16_bytes));
        let described = Described {
            keys: entries,
            families: survey.column_families(),
            record_bytes: survey.raw_bytes as f64 / entries,
            runs: runs(survey),
            index: IndexEntry {
                plain: of_block(survey.index_bytes),
                restart_16,
                packed: restart_16 * PACKED_SHARE,
            },
            zipf: lookups.zipf,
            absent: lookups.absent_share,
        };
        let memories = match memory {
            // The one that there is stands in the middle: `with_memory`.
            Some(bytes) => [0.5, 1.0, 2.0].map(|times| times * bytes as f64 / entries).to_vec(),
            None => MEMORIES.to_vec(),
        };
        let estimates = described.estimates(&memories);
        Some(Self { lookups, entries: survey.entries, with_memory: memory.map(|_| 1), estimates })
    }

    /// What is read with the memory that there is; `None` if that is not known.
    pub(crate) fn with_memory(&self) -> Option<&Estimate> {
        self.estimates.get(self.with_memory?)
    }

    /// The answers in words.
    pub(crate) fn write_text(&self, out: &mut impl Write) -> Result<()> {
        let Lookups { zipf, absent_share } = self.lookups;
        writeln!(
            out,
            "Blocks read per lookup by a model, if keys are looked up by Zipf {zipf} (--zipf), {absent_share} of them absent \
             (--absent-share), and all column families alike; where they are not, Springbloom reads less:"
        )?;
        let titles =
            ["total memory", "bytes per entry", "RocksDB as recommended", "with restart interval 16"];
        let titles = titles.into_iter().chain(["Springbloom", "best RocksDB", "which is"]);
        let mut table = TextTable::new(titles).with_names(0);
        for estimate in &self.estimates {
            let of = estimate.memory_bytes_per_key;
            let cell = |reads: Option<f64>| reads.map_or("-".to_owned(), |reads| format!("{reads:.3}"));
            let [recommended, small, ours, best] =
                [estimate.recommended, estimate.with_small_index, estimate.springbloom, estimate.best_stock]
                    .map(cell);
            let memory = Size { bytes: (of * self.entries as f64) as u64 }.to_string();
            let best_is = estimate.best_stock_is.clone();
            table.add_row([memory, format!("{of:.2}"), recommended, small, ours, best, best_is]);
        }
        Ok(writeln!(out, "{table}\n")?)
    }
}

/// Sorted runs from the newest on, with those of all column families taken together: tables of level 0 one by one, then levels.
fn runs(survey: &Survey) -> Vec<(f64, f64)> {
    let mut levels: BTreeMap<i32, (u64, u64)> = BTreeMap::new();
    for level in survey.levels.values() {
        let sums = levels.entry(level.level).or_default();
        *sums = (sums.0 + level.entries, sums.1 + level.tables);
    }
    let families = survey.column_families().max(1) as f64;
    let mut runs = Vec::new();
    for (level, (entries, tables)) in levels {
        let (share, tables) = (entries as f64 / survey.entries as f64, tables as f64);
        // Each family has a table of its own in such a run.
        let parts = if level == 0 { (tables / families).round().max(1.0) } else { 1.0 };
        runs.extend((0..parts as usize).map(|_| (share / parts, tables / parts)));
    }
    runs
}

#[cfg(test)]
mod tests {
    use springbloom_rocksdb::inspect::TableSummary;
    use springbloom_rocksdb::listed_tables::ListedTable;

    use super::*;

    fn survey(tables: &[(&str, i32, u64)]) -> Survey {
        let mut survey = Survey::default();
        for (number, &(family, level, entries)) in tables.iter().enumerate() {
            let listed = ListedTable {
                column_family: family.into(),
                level,
                number: number as u64,
                ..Default::default()
            };
            let summary = TableSummary {
                entries,
                raw_bytes: 424 * entries,
                data_blocks: entries / 9,
                index_bytes: entries / 9 * 24,
                ..TableSummary::default()
            };
            survey.add(&listed, &summary);
        }
        survey
    }

    #[test]
    fn runs_are_those_that_a_lookup_asks() {
        let tables =
            [("a", 0, 100), ("a", 0, 100), ("b", 0, 100), ("b", 0, 100), ("a", 1, 600), ("b", 2, 1000)];
        assert_eq!(runs(&survey(&tables)), [(0.1, 2.0), (0.1, 2.0), (0.3, 1.0), (0.5, 1.0)]);
    }

    #[test]
    fn more_memory_reads_less_and_a_large_store_is_modelled_by_a_part() {
        let lookups = Lookups { zipf: 0.99, absent_share: 0.5 };
        let of = |entries: u64| {
            let survey = survey(&[("default", 5, entries / 10), ("default", 6, entries)]);
            Modelled::of(&survey, None, Some(2 * survey.entries), lookups).expect("it has entries").estimates
        };
        let (small, large) = (of(250_000), of(250_000_000));
        for estimates in [&small, &large] {
            let reads =
                |of: fn(&Estimate) -> Option<f64>| estimates.iter().filter_map(of).collect::<Vec<_>>();
            assert!(reads(|of| of.recommended).is_sorted_by(|a, b| a > b), "{estimates:?}");
            assert!(reads(|of| of.springbloom).is_sorted_by(|a, b| a > b), "{estimates:?}");
            assert!(estimates.iter().all(|of| of.best_stock <= of.recommended), "{estimates:?}");
        }
        // The more keys, the more lookups are for a given share of them.
        assert!(large[1].springbloom < small[1].springbloom, "{small:?} {large:?}");
        assert!(Modelled::of(&Survey::default(), None, None, lookups).is_none());
    }
}
