//! What RocksDB's LOG file tells of filters and block caches: the options that were dumped when the database was opened last, and counters,
//! if `stats_dump_period_sec` and statistics are on.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde::Serialize;

/// Options are dumped at the begin, counters from time to time: this much is read of either end.
const HEAD_BYTES: u64 = 16 << 20;
const TAIL_BYTES: u64 = 8 << 20;

/// What a column family's options say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct FamilyOptions {
    /// `nullptr` for none.
    pub(crate) filter_policy: Option<String>,
    pub(crate) cache_index_and_filter_blocks: Option<bool>,
    pub(crate) pin_l0_filter_and_index_blocks_in_cache: Option<bool>,
    pub(crate) pin_top_level_index_and_filter: Option<bool>,
    pub(crate) has_partitioned_index: Option<bool>,
    pub(crate) partition_filters: Option<bool>,
    pub(crate) block_cache_bytes: Option<u64>,
    pub(crate) no_block_cache: Option<bool>,
    /// Equal for families that share one.
    pub(crate) block_cache: Option<String>,
}

/// Counters since the database was opened, in lookups and blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Tickers {
    pub(crate) keys_read: Option<u64>,
    pub(crate) filter_useful: Option<u64>,
    /// Of whole keys: passed the filter, and of these, those that were there.
    pub(crate) filter_positive: Option<u64>,
    pub(crate) filter_true_positive: Option<u64>,
    pub(crate) block_cache_hit: Option<u64>,
    pub(crate) block_cache_miss: Option<u64>,
    /// Blocks that were read, by kind: by lookups, iterators and openings.
    pub(crate) data_block_miss: Option<u64>,
    pub(crate) index_block_miss: Option<u64>,
    pub(crate) filter_block_miss: Option<u64>,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Log {
    pub(crate) families: BTreeMap<String, FamilyOptions>,
    /// Of the cache of records that all families share; 0 if there is none.
    pub(crate) row_cache_bytes: Option<u64>,
    pub(crate) tickers: Option<Tickers>,
}

impl Tickers {
    /// Reads of tables that did not hold the key, for which a filter was asked.
    pub(crate) fn wasted_reads(&self) -> Option<u64> {
        Some(self.filter_positive?.saturating_sub(self.filter_true_positive?))
    }

    /// The same per lookup.
    pub(crate) fn wasted_reads_per_lookup(&self) -> Option<f64> {
        let lookups = self.keys_read.filter(|&lookups| lookups > 0)?;
        Some(self.wasted_reads()? as f64 / lookups as f64)
    }

    /// Share of the blocks asked for that the cache had.
    pub(crate) fn hit_share(&self) -> Option<f64> {
        let (hits, misses) = (self.block_cache_hit?, self.block_cache_miss?);
        (hits + misses > 0).then(|| hits as f64 / (hits + misses) as f64)
    }

    /// Blocks of data, indexes and filters read for each lookup.
    pub(crate) fn reads_per_lookup(&self) -> Option<[f64; 3]> {
        let lookups = self.keys_read.filter(|&lookups| lookups > 0)? as f64;
        let misses = [self.data_block_miss?, self.index_block_miss?, self.filter_block_miss?];
        Some(misses.map(|misses| misses as f64 / lookups))
    }

    fn take(&mut self, name: &str, count: u64) {
        let place = match name {
            "rocksdb.number.keys.read" => &mut self.keys_read,
            "rocksdb.bloom.filter.useful" => &mut self.filter_useful,
            "rocksdb.bloom.filter.full.positive" => &mut self.filter_positive,
            "rocksdb.bloom.filter.full.true.positive" => &mut self.filter_true_positive,
            "rocksdb.block.cache.hit" => &mut self.block_cache_hit,
            "rocksdb.block.cache.miss" => &mut self.block_cache_miss,
            "rocksdb.block.cache.data.miss" => &mut self.data_block_miss,
            "rocksdb.block.cache.index.miss" => &mut self.index_block_miss,
            "rocksdb.block.cache.filter.miss" => &mut self.filter_block_miss,
            _ => return,
        };
        *place = Some(count); // the last dump counts
    }
}

impl Log {
    /// Of a database's folder; `None` if it has no LOG (`db_log_dir` may have put it elsewhere).
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn of_folder(folder: &Path) -> io::Result<Option<Self>> {
        match ends_of(&folder.join("LOG")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => Ok(Some(Self::parse(&read?))),
        }
    }

    fn parse(text: &str) -> Self {
        let mut log = Self::default();
        let mut family: Option<String> = None;
        for line in text.lines() {
            if let Some(rest) = line.split("Options for column family [").nth(1) {
                let name = rest.split(']').next().unwrap_or_default().to_owned();
                // Of the families that are dumped twice the last dump counts.
                log.families.insert(name.clone(), FamilyOptions::default());
                family = Some(name);
            } else if let Some((_, bytes)) = line.split_once(" Options.row_cache: ") {
                log.row_cache_bytes = if bytes == "None" { Some(0) } else { bytes.parse().ok() };
            } else if let Some((name, count)) = line.trim().split_once(" COUNT : ") {
                if let Ok(count) = count.trim().parse() {
                    log.tickers.get_or_insert_default().take(name, count);
                }
            } else if let Some(options) = family.as_ref().and_then(|name| log.families.get_mut(name)) {
                options.take(line);
            }
        }
        log
    }

    /// Bytes of all block caches, each once; `None` if the LOG does not say it of any.
    pub(crate) fn block_cache_bytes(&self) -> Option<u64> {
        let caches: BTreeMap<_, _> = (self.families.values())
            .filter(|options| options.no_block_cache != Some(true))
            .filter_map(|options| Some((options.block_cache.clone()?, options.block_cache_bytes?)))
            .collect();
        (!caches.is_empty()).then(|| caches.values().sum())
    }

    /// Whether the LOG says that no family has one.
    pub(crate) fn has_no_block_cache(&self) -> bool {
        !self.families.is_empty()
            && self.families.values().all(|options| options.no_block_cache == Some(true))
    }

    /// Whether filters and indexes are in the block cache; `None` if it is not known, or not the same for all families.
    pub(crate) fn are_filters_cached(&self) -> Option<bool> {
        let mut answers = self.families.values().filter_map(|options| options.cache_index_and_filter_blocks);
        let first = answers.next()?;
        answers.all(|other| other == first).then_some(first)
    }
}

impl FamilyOptions {
    /// How many of the index blocks that a lookup asks for an open table of this level holds: that of an index, or the top and the part of
    /// a partitioned one.
    pub(crate) fn held_index_blocks(&self, level: i32, asked: u64) -> u64 {
        let is_partitioned = asked > 1 || self.has_partitioned_index == Some(true);
        let pins_parts = level == 0 && self.pin_l0_filter_and_index_blocks_in_cache == Some(true);
        let pins_top =
            if is_partitioned { self.pin_top_level_index_and_filter == Some(true) } else { pins_parts };
        let holds_top = pins_top || self.cache_index_and_filter_blocks == Some(false);
        u64::from(holds_top) + u64::from(asked > 1 && pins_parts)
    }

    /// Takes a line of the table factory's options: `  filter_policy: bloomfilter`, `    capacity : 33554432`.
    fn take(&mut self, line: &str) {
        let Some((name, value)) = line.split_once(':') else { return };
        let (name, value) = (name.trim(), value.trim());
        match name {
            "filter_policy" => self.filter_policy = Some(value.to_owned()),
            "cache_index_and_filter_blocks" => self.cache_index_and_filter_blocks = Some(value == "1"),
            "pin_l0_filter_and_index_blocks_in_cache" => {
                self.pin_l0_filter_and_index_blocks_in_cache = Some(value == "1");
            }
            "pin_top_level_index_and_filter" => self.pin_top_level_index_and_filter = Some(value == "1"),
            "index_type" => self.has_partitioned_index = Some(value == "2"), // kTwoLevelIndexSearch
            "partition_filters" => self.partition_filters = Some(value == "1"),
            "no_block_cache" => self.no_block_cache = Some(value == "1"),
            "block_cache" => self.block_cache = Some(value.to_owned()),
            // Of the block cache, which comes first.
            "capacity" if self.block_cache_bytes.is_none() => self.block_cache_bytes = value.parse().ok(),
            _ => (),
        }
    }
}

/// The begin and the end of a file, which grows meanwhile.
fn ends_of(path: &Path) -> io::Result<String> {
    // Anything else may keep a reader waiting.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.by_ref().take(HEAD_BYTES).read_to_end(&mut bytes)?;
    if length > HEAD_BYTES {
        bytes.push(b'\n');
        file.seek(SeekFrom::Start(HEAD_BYTES.max(length.saturating_sub(TAIL_BYTES))))?;
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
2026/11/26-10:48:36.253540 11322                               Options.row_cache: None
2026/11/26-10:48:36.253663 11322 [db/column_family.cc:711] --------------- Options for column family [default]:
2026/11/26-10:48:36.253690 11322            table_factory options:   flush_block_policy_factory: X (0x7f)
  cache_index_and_filter_blocks: 1
  block_cache: 0x7ff6b404c530
  block_cache_name: LRUCache
  block_cache_options:
    capacity : 9866566
  filter_policy: bloomfilter
  partition_filters: 0
2026/11/26-10:48:36.253663 11322 [db/column_family.cc:711] --------------- Options for column family [a[b]:
  block_cache: 0x7ff6b404c530
    capacity : 9866566
  filter_policy: nullptr
rocksdb.bloom.filter.useful COUNT : 5
rocksdb.bloom.filter.full.positive COUNT : 12
rocksdb.bloom.filter.useful COUNT : 90
rocksdb.bloom.filter.full.true.positive COUNT : 2
rocksdb.number.keys.read COUNT : 100
rocksdb.block.cache.hit COUNT : 30
rocksdb.block.cache.miss COUNT : 10
rocksdb.block.cache.data.miss COUNT : 6
rocksdb.block.cache.index.miss COUNT : 3
rocksdb.block.cache.filter.miss COUNT : 1
rocksdb.db.get.micros P50 : 2.0 P95 : 3.0 COUNT : 7 SUM : 8
";

    #[test]
    fn options_and_the_last_counters_are_found() {
        let log = Log::parse(TEXT);
        assert_eq!(log.families["default"].filter_policy.as_deref(), Some("bloomfilter"));
        assert_eq!(log.families.len(), 2);
        assert_eq!(log.block_cache_bytes(), Some(9_866_566), "one cache for both");
        let without = TEXT.replace("  block_cache:", "  no_block_cache: 1\n  block_cache:");
        assert_eq!(Log::parse(&without).block_cache_bytes(), None);
        assert_eq!((log.are_filters_cached(), log.row_cache_bytes), (Some(true), Some(0)));
        assert_eq!(Log::parse(&TEXT.replace("None", "2600000")).row_cache_bytes, Some(2_600_000));
        let tickers = log.tickers.expect("counters");
        assert_eq!((tickers.filter_useful, tickers.wasted_reads()), (Some(90), Some(10)));
        assert_eq!((tickers.wasted_reads_per_lookup(), tickers.hit_share()), (Some(0.1), Some(0.75)));
        assert_eq!(tickers.reads_per_lookup(), Some([0.06, 0.03, 0.01]));
    }

    #[test]
    fn a_log_that_cannot_be_read_is_told_from_none() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(Log::of_folder(folder.path()).expect("there is none"), None);
        std::fs::create_dir(folder.path().join("LOG")).expect("a folder of that name");
        Log::of_folder(folder.path()).expect_err("no file");
        std::fs::remove_dir(folder.path().join("LOG")).expect("it is empty");
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("LOG")).expect("a link");
        Log::of_folder(folder.path()).expect_err("no end");
        std::fs::remove_file(folder.path().join("LOG")).expect("it is there");
        std::fs::write(folder.path().join("LOG"), TEXT).expect("a LOG");
        assert_eq!(Log::of_folder(folder.path()).expect("a LOG"), Some(Log::parse(TEXT)));
    }

    #[test]
    fn any_text_is_read() {
        for text in ["", "Options for column family [", "x COUNT : y\n COUNT : 3", "capacity : 1\n:::"] {
            let log = Log::parse(text);
            assert!(log.tickers.is_none_or(|tickers| tickers == Tickers::default()), "{log:?}");
            assert_eq!((log.block_cache_bytes(), log.are_filters_cached()), (None, None), "{log:?}");
            assert_eq!(log.row_cache_bytes, None, "{log:?}");
        }
    }
}
