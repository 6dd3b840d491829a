//! Whether a database needs Springbloom, with the figures that say so.
//!
//! It pays where memory is short, by the model, or shared by families that are looked up unevenly. It does not where all filters fit and
//! waste little. How often keys are looked up is not in a database, so some of it must be measured.

use serde::Serialize;
use springbloom_console::sizes::Size;
use springbloom_console::{percent, proc};
use springbloom_simulator::map::bookkeeping_bytes;

use super::log::Log;
use super::modelled::Modelled;
use super::survey::Survey;

/// Memory is short where Springbloom saves this part of the reads of RocksDB with a small index, and as many per lookup.
const SAVED_PART: f64 = 0.1;
const SAVED_READS: f64 = 0.01;
/// Wasted reads per lookup, or per lookup of an absent key, that are many.
const MANY: f64 = 0.05;
/// Wasted reads per lookup that nobody notices.
const FEW: f64 = 0.01;
/// To begin with: four bits per entry.
const ENTRIES_PER_BYTE: u64 = 2;
/// A segment's part of the files.
const SEGMENT_FILE_BYTES: u64 = 8 << 20;
/// Bits of the stock filter that is recommended where there is memory, in bytes per entry.
const STOCK_BYTES_PER_ENTRY: f64 = 1.25;

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    Needed,
    NotNeeded,
    /// The database alone cannot tell.
    Unknown,
}

/// Memory for cache and filters, and how it is known.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Memory {
    pub(crate) bytes: u64,
    pub(crate) of: &'static str,
    /// Whether filters and indexes are outside the block cache, and so known to be in memory.
    #[serde(skip)]
    is_beside_cache: bool,
}

/// The verdict.
#[derive(Debug, Serialize)]
pub(crate) struct Verdict {
    pub(crate) answer: Answer,
    pub(crate) because: Vec<String>,
    pub(crate) to_measure: Vec<String>,
    /// For cache and filters; absent if it is not known.
    pub(crate) memory: Option<Memory>,
    /// To begin with.
    pub(crate) budget_bytes: u64,
    /// Of what the filters take now; 0 if they take less than the budget.
    pub(crate) saved_bytes: u64,
}

/// The memory for cache and filters: as given, or by the LOG.
pub(crate) fn memory(given: Option<u64>, survey: &Survey, log: Option<&Log>) -> Option<Memory> {
    if let Some(bytes) = given {
        return Some(Memory { bytes, of: "as given by --memory", is_beside_cache: false });
    }
    let bytes = log?.block_cache_bytes()?;
    if log?.are_filters_cached()? {
        let of = "the block cache, which holds filters and indexes";
        return Some(Memory { bytes, of, is_beside_cache: false });
    }
    let bytes = bytes + survey.filter_bytes + survey.index_bytes;
    Some(Memory { bytes, of: "the block cache, and filters and indexes outside it", is_beside_cache: true })
}

impl Verdict {
    pub(crate) fn of(
        survey: &Survey,
        log: Option<&Log>,
        memory: Option<Memory>,
        modelled: Option<&Modelled>,
    ) -> Self {
        let segments = survey.file_bytes.div_ceil(SEGMENT_FILE_BYTES);
        let bookkeeping = bookkeeping_bytes(survey.tables as f64, segments as f64);
        let wanted_bytes = survey.entries / ENTRIES_PER_BYTE + bookkeeping as u64;
        let budget_bytes = memory.map_or(wanted_bytes, |memory| wanted_bytes.min(memory.bytes / 2));
        // Units are not all resident.
        let resident_bytes = if survey.tables_with_units == 0 { survey.filter_bytes } else { 0 };
        let mut verdict = Self {
            answer: Answer::Unknown,
            because: Vec::new(),
            to_measure: Vec::new(),
            memory,
            budget_bytes,
            saved_bytes: resident_bytes.saturating_sub(budget_bytes),
        };
        verdict.decide(survey, log, modelled);
        verdict
    }

    fn decide(&mut self, survey: &Survey, log: Option<&Log>, modelled: Option<&Modelled>) {
        if survey.entries == 0 {
            self.because.push("the database has no entries in tables yet".to_owned());
            self.to_measure.push("run this again when data is loaded".to_owned());
            return;
        }
        let tickers = log.and_then(|log| log.tickers);
        let wasted = tickers.and_then(|tickers| tickers.wasted_reads_per_lookup());
        let pinned_bytes = survey.filter_bytes + survey.index_bytes;
        let is_too_large = self.explain_size(survey, pinned_bytes);
        let is_short = self.explain_memory(survey, modelled);
        if let Some(wasted) = wasted {
            let much = if wasted >= MANY { "" } else { "only " };
            self.because
                .push(format!("RocksDB's counters tell of {much}{wasted:.4} wasted reads per lookup"));
        } else {
            self.to_measure.push(
                "wasted reads per lookup: with statistics and stats_dump_period_sec on, the LOG has bloom.filter.full.positive less \
                 full.true.positive, over number.keys.read"
                    .to_owned(),
            );
        }
        let is_wasteful = wasted.is_some_and(|wasted| wasted >= MANY);
        let is_frugal = wasted.is_some_and(|wasted| wasted < FEW);
        self.answer = match is_short {
            _ if is_too_large => Answer::Needed,
            Some(true) if !is_frugal => Answer::Needed,
            None if !is_frugal => Answer::Unknown,
            _ => Answer::NotNeeded,
        };
        let stock_bytes = (STOCK_BYTES_PER_ENTRY * survey.entries as f64) as u64;
        let has_few_bits = survey.tables_with_units == 0 && survey.filter_bytes < stock_bytes / 2;
        if self.answer == Answer::NotNeeded && (is_wasteful || has_few_bits) {
            let stock = Size { bytes: stock_bytes };
            self.because.push(format!(
                "what is wasted, RocksDB's Bloom filters of 10 bits would save: they take {stock}"
            ));
        }
        let families = survey.column_families();
        if families > 1 && self.answer != Answer::NotNeeded {
            self.to_measure.push(format!(
                "lookups of each of the {families} column families: if they share memory and few have most lookups, one budget for all \
                 gives them most units"
            ));
        }
        if self.memory.is_none() {
            self.to_measure.push(
                "memory for block cache and filters together: the LOG does not tell, so give it with --memory".to_owned(),
            );
        }
        if self.answer != Answer::NotNeeded {
            self.to_measure.push(
                "the share of lookups for absent keys, the only ones that a filter can help, and whether keys are hot: \
                 `springbloom compare --trace` replays a query trace"
                    .to_owned(),
            );
        }
    }

    /// Whether filters and indexes take more than there is, or most of it.
    fn explain_size(&mut self, survey: &Survey, pinned_bytes: u64) -> bool {
        if survey.tables_with_units > 0 || survey.filter_bytes == 0 {
            return false;
        }
        let machine = Memory {
            bytes: proc::memory_bytes().unwrap_or(u64::MAX),
            of: "this machine's memory",
            is_beside_cache: false,
        };
        let (memory, is_too_large) = match self.memory {
            // Outside the cache they are pinned, whatever they take.
            Some(memory) if !memory.is_beside_cache => (memory, pinned_bytes > memory.bytes / 2),
            _ => (machine, pinned_bytes > machine.bytes),
        };
        if is_too_large {
            let share = percent(pinned_bytes as f64 / memory.bytes.max(1) as f64);
            let [pinned, all] = [pinned_bytes, memory.bytes].map(|bytes| Size { bytes });
            let of = memory.of;
            self.because.push(format!("filters and indexes ({pinned}) are {share} of {all}: {of}"));
        }
        is_too_large
    }

    /// Whether memory is short; `None` if it is not known.
    fn explain_memory(&mut self, survey: &Survey, modelled: Option<&Modelled>) -> Option<bool> {
        let (memory, estimate) = (self.memory?, modelled?.with_memory()?);
        // With a small index, which costs nothing.
        let stock = estimate.with_small_index.unwrap_or(f64::INFINITY);
        let ours = estimate.springbloom?;
        let is_short = stock - ours >= SAVED_READS.max(SAVED_PART * ours);
        let [recommended, small, best] =
            [estimate.recommended, estimate.with_small_index, estimate.best_stock].map(reads);
        self.because.push(format!(
            "with {} for cache, filters and indexes ({}), {:.1} bytes per entry, lookups as above would read {ours:.3} blocks with \
             Springbloom, {recommended} with RocksDB as recommended, {small} if it has restart interval 16 as well, and {best} with its \
             best setting ({})",
            Size { bytes: memory.bytes },
            memory.of,
            memory.bytes as f64 / survey.entries as f64,
            estimate.best_stock_is,
        ));
        Some(is_short)
    }
}

fn reads(reads: Option<f64>) -> String {
    reads.map_or_else(|| "more than fit".to_owned(), |reads| format!("{reads:.3}"))
}

#[cfg(test)]
mod tests {
    use springbloom_rocksdb::inspect::TableSummary;
    use springbloom_rocksdb::listed_tables::ListedTable;

    use super::super::log::Tickers;
    use super::super::modelled::Lookups;
    use super::*;

    fn survey(families: usize, bits: u64) -> Survey {
        let mut survey = Survey::default();
        for number in 0..families {
            let listed = ListedTable {
                column_family: format!("{number}").into(),
                number: number as u64,
                ..Default::default()
            };
            let table = TableSummary {
                file_bytes: 100 << 20,
                entries: 1_000_000,
                filter_bytes: 1_000_000 * bits / 8,
                index_bytes: 200_000,
                raw_bytes: 100 << 20,
                data_blocks: 25_600,
                filter_policy: "rocksdb.BuiltinBloomFilter".to_owned(),
                has_units: false,
            };
            survey.add(&listed, &table);
        }
        survey
    }

    fn verdict(survey: &Survey, memory_bytes: Option<u64>, wasted: Option<u64>) -> Verdict {
        let tickers = wasted.map(|wasted| Tickers {
            keys_read: Some(1000),
            filter_positive: Some(500 + wasted),
            filter_true_positive: Some(500),
            ..Tickers::default()
        });
        let log = Log { tickers, ..Log::default() };
        let memory = memory(memory_bytes, survey, Some(&log));
        let lookups = Lookups { zipf: 0.99, absent_share: 0.5 };
        let modelled = Modelled::of(survey, None, memory.map(|memory| memory.bytes), lookups);
        Verdict::of(survey, Some(&log), memory, modelled.as_ref())
    }

    #[test]
    fn it_is_needed_where_memory_is_short() {
        for (families, bits, memory, wasted, expected) in [
            (1, 10, Some(32 << 20), None, Answer::NotNeeded),
            (1, 10, Some(3 << 20), None, Answer::Needed),
            (1, 4, Some(3 << 20), Some(2), Answer::NotNeeded),
            (8, 10, Some(12 << 20), Some(2), Answer::Needed), // filters and indexes alone take 11 MiB
            (1, 10, None, None, Answer::Unknown),
            (1, 10, None, Some(2), Answer::NotNeeded),
            (1, 4, None, Some(200), Answer::Unknown),
        ] {
            let verdict = verdict(&survey(families, bits), memory, wasted);
            assert_eq!(verdict.answer, expected, "{families} {bits} {memory:?} {wasted:?}: {verdict:?}");
            assert!(verdict.answer == Answer::Unknown || !verdict.because.is_empty(), "{verdict:?}");
            assert!(verdict.answer != Answer::Unknown || !verdict.to_measure.is_empty(), "{verdict:?}");
            assert!(memory.is_none_or(|memory| verdict.budget_bytes <= memory / 2), "{verdict:?}");
        }
    }

    #[test]
    fn an_empty_database_is_told_without_a_fault() {
        let verdict = verdict(&Survey::default(), Some(1 << 20), None);
        assert_eq!((verdict.answer, verdict.budget_bytes), (Answer::Unknown, 0));
    }

    #[test]
    fn what_it_saves() {
        let verdict = verdict(&survey(1, 10), None, None);
        assert!((500_000..502_000).contains(&verdict.budget_bytes));
        assert!((748_000..750_000).contains(&verdict.saved_bytes));
    }
}
