//! Whole indexes that are resident, where the block cache pays for the budget.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
    time::Duration,
};

use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, ChecksumType, DB, ErrorKind, IteratorMode, Options,
    ReadOptions, WriteOptions,
};
use springbloom_rocksdb::{ElasticFilters, FamilyStats, inspect};

use crate::common::{IDLE_TIMEOUT, folder, installed, tables::table_paths, wait_until};

const RECORDS: u32 = 20_000;
const BUDGET_BYTES: u64 = 1 << 20;
/// Of the footer, at least.
const BYTES_BEHIND_INDEX: usize = 100;

fn key(number: u32) -> String {
    format!("user{number:020}")
}

/// One table, whose index is in partitions or one block, which come and go in the block cache.
fn options(is_partitioned: bool) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&Cache::new_lru_cache(4 << 20));
    table.set_cache_index_and_filter_blocks(true);
    if is_partitioned {
        table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
        table.set_metadata_block_size(512);
    }
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_compression_type(rocksdb::DBCompressionType::None);
    options.set_block_based_table_factory(&table);
    options
}

/// Of a budget that pays for indexes, and stays as it is.
fn filters() -> ElasticFilters {
    let elastic = ElasticFilters::builder().budget_auto().build().expect("the settings are sound");
    elastic.set_budget_bytes(BUDGET_BYTES).expect("a budget");
    elastic
}

fn fill(db: &DB) {
    let mut write = WriteOptions::default();
    write.disable_wal(true);
    for number in 0..RECORDS {
        db.put_opt(key(2 * number), [7; 400], &write).expect("put");
    }
    db.flush().expect("flush");
}

/// Lookups one by one and in batches, and iterators in both directions, with bounds.
fn check(db: &DB) {
    for first in (0..2 * RECORDS).step_by(640) {
        let keys: Vec<_> = (first..first + 32).map(key).collect();
        let found = db.multi_get(&keys);
        for (number, found) in (first..).zip(found) {
            let is_there = found.expect("get").is_some();
            assert_eq!(is_there, number % 2 == 0, "{number}");
            assert_eq!(db.get_pinned(key(number)).expect("get").is_some(), is_there, "{number}");
        }
        let mut bounds = ReadOptions::default();
        bounds.set_iterate_lower_bound(key(first + 1));
        bounds.set_iterate_upper_bound(key(first + 401));
        let mut iterator = db.raw_iterator_opt(bounds);
        let all: Vec<_> =
            (first + 2..first + 401).step_by(2).filter(|number| *number < 2 * RECORDS).collect();
        iterator.seek_to_first();
        for &number in &all {
            assert_eq!(iterator.key(), Some(key(number).as_bytes()));
            iterator.next();
        }
        assert!(!iterator.valid());
        iterator.seek_to_last();
        for &number in all.iter().rev() {
            assert_eq!(iterator.key(), Some(key(number).as_bytes()));
            iterator.prev();
        }
        iterator.seek_for_prev(key(first + 7));
        assert_eq!(iterator.key(), Some(key(first + 6).as_bytes()));
        iterator.status().expect("nothing is damaged");
    }
}

fn wait_until_resident(elastic: &ElasticFilters, db: &DB) {
    wait_until("the index is resident", || {
        check(db);
        elastic.stats().resident_indexes == 1
    });
}

#[test]
fn an_index_that_lookups_reach_becomes_resident_and_answers_as_the_file() {
    for (is_partitioned, is_mapped) in [(false, false), (true, false), (true, true)] {
        let (elastic, folder) = (filters(), folder());
        let mut options = options(is_partitioned);
        options.set_allow_mmap_reads(is_mapped);
        let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
        fill(&db);
        wait_until_resident(&elastic, &db);
        check(&db);
        let index_bytes = inspect::summary(&table_paths(folder.path())[0]).expect("a table").index_bytes;
        let used = elastic.stats().used.indexes as u64;
        assert!(used > index_bytes / 10 && used < index_bytes * 2 / 3 + 200, "{used} of {index_bytes}");
        let of_families =
            |used: &FamilyStats| used.levels.iter().map(|level| level.index_bytes).sum::<usize>();
        assert_eq!(elastic.families().iter().map(of_families).sum::<usize>() as u64, used);
        // It leaves no read to the cache's index blocks: damage to them is not met.
        assert!(elastic.wait_idle(IDLE_TIMEOUT));
        let iterator = db.iterator(IteratorMode::Start);
        elastic.set_budget_bytes(0).expect("a budget");
        let stats = elastic.stats();
        assert_eq!(stats.resident_indexes, 0);
        assert_eq!(iterator.count(), RECORDS as usize, "an iterator keeps what it has");
        check(&db);
        wait_until("its bytes are given back", || elastic.stats().used.indexes == 0);
        elastic.set_budget_bytes(BUDGET_BYTES).expect("a budget");
        wait_until_resident(&elastic, &db);
        check(&db);
    }
}

#[test]
fn a_damaged_partition_is_not_resident_and_is_told_as_stock_tells_it() {
    let folder = folder();
    {
        let db = DB::open(&installed(&filters(), &options(true)), folder.path()).expect("open");
        fill(&db);
        // Of a table of level 0, RocksDB reads all partitions as it opens it.
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
    }
    let answers = |db: &DB| -> Vec<_> {
        (0..2 * RECORDS)
            .step_by(100)
            .map(|number| {
                db.get_pinned(key(number)).map(|found| found.is_some()).map_err(|error| error.kind())
            })
            .collect()
    };
    // A partition lies where stock RocksDB then answers for some keys alone.
    let path = &table_paths(folder.path())[0];
    let sound = fs::read(path).expect("read");
    let file = OpenOptions::new().write(true).open(path).expect("open");
    let damaged = (BYTES_BEHIND_INDEX..sound.len().min(1 << 15)).step_by(300).find_map(|from_end| {
        let at = sound.len() - from_end;
        file.write_all_at(&sound[at - 300..], (at - 300) as u64).expect("write");
        file.write_all_at(&[sound[at] ^ 1], at as u64).expect("write");
        // With a block cache that has nothing of it.
        let seen = answers(&DB::open(&options(true), folder.path()).ok()?);
        (seen.iter().any(Result::is_err) && seen.iter().any(Result::is_ok)).then_some(seen)
    });
    let expected = damaged.expect("there is a partition");
    let elastic = filters();
    let db =
        DB::open(&installed(&elastic, &options(true)), folder.path()).expect("it opens as in stock RocksDB");
    for _ in 0..20 {
        assert_eq!(answers(&db), expected);
        std::thread::sleep(Duration::from_millis(20));
    }
    let stats = elastic.stats();
    assert_eq!((stats.resident_indexes, stats.used.indexes), (0, 0));
    assert!(stats.failed_reads > 0, "nobody tried to read it");
}

/// A table of small blocks, whose index has many partitions.
fn options_of_small_blocks(checksum: ChecksumType) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&Cache::new_lru_cache(4 << 20));
    table.set_cache_index_and_filter_blocks(true);
    table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    table.set_metadata_block_size(60);
    table.set_block_size(256);
    table.set_checksum_type(checksum);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_compression_type(rocksdb::DBCompressionType::None);
    options.set_block_based_table_factory(&table);
    options
}

const FEW: u32 = 400;

fn fill_with_few(path: &Path, options: &Options) {
    let db = DB::open(&installed(&filters(), options), path).expect("open");
    (0..FEW).for_each(|number| db.put(key(2 * number), [7; 40]).expect("put"));
    db.flush().expect("flush");
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
}

/// What lookups, and iterators in both directions from keys, tell of such a database.
fn told(db: &DB) -> Vec<Result<Option<Vec<u8>>, ErrorKind>> {
    let of_key = |number| {
        let found = db.get(key(number)).map_err(|error| error.kind());
        let sought = [false, true].map(|backwards| {
            let mut iterator = db.raw_iterator();
            if backwards {
                iterator.seek_for_prev(key(number))
            } else {
                iterator.seek(key(number))
            }
            let found = iterator.key().map(<[u8]>::to_vec);
            iterator.status().map(|()| found).map_err(|error| error.kind())
        });
        [found].into_iter().chain(sought)
    };
    (0..2 * FEW).step_by(6).flat_map(of_key).collect()
}

#[test]
fn damage_anywhere_is_told_as_stock_tells_it() {
    let folder = folder();
    let options = || options_of_small_blocks(ChecksumType::XXH3);
    fill_with_few(folder.path(), &options());
    let path = &table_paths(folder.path())[0];
    let sound = fs::read(path).expect("read");
    let file = OpenOptions::new().write(true).open(path).expect("open");
    // The index lies right before the properties, and what comes before are blocks of data.
    let properties = sound.windows(8).position(|bytes| bytes == b"rocksdb.").expect("they have names");
    let mut resident = 0;
    for at in (0..properties - 16).rev().take(3000).step_by(53) {
        file.write_all_at(&[sound[at] ^ (1 << (at % 8))], at as u64).expect("write");
        let elastic = filters();
        let open = |options: &Options| DB::open_for_read_only(options, folder.path(), false);
        let (ours, stock) = (open(&installed(&elastic, &options())), open(&options()));
        file.write_all_at(&sound[at..=at], at as u64).expect("write");
        let (Ok(ours), Ok(stock)) = (&ours, &stock) else {
            assert_eq!(ours.is_ok(), stock.is_ok(), "byte {at} of {}", sound.len());
            continue;
        };
        file.write_all_at(&[sound[at] ^ (1 << (at % 8))], at as u64).expect("write");
        let expected = told(stock);
        for _ in 0..4 {
            assert!(told(ours) == expected, "byte {at} of {}: {:?}", sound.len(), elastic.stats());
            std::thread::sleep(Duration::from_millis(15));
        }
        resident += elastic.stats().resident_indexes;
        file.write_all_at(&sound[at..=at], at as u64).expect("write");
    }
    assert!(resident > 0, "the index was resident where the damage was elsewhere");
}

#[test]
fn an_index_without_checksums_is_not_resident() {
    for (checksum, is_resident) in [(ChecksumType::CRC32c, true), (ChecksumType::NoChecksum, false)] {
        let (elastic, folder) = (filters(), folder());
        let options = options_of_small_blocks(checksum);
        fill_with_few(folder.path(), &options);
        let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
        for _ in 0..20 {
            told(&db);
            std::thread::sleep(Duration::from_millis(15));
        }
        assert_eq!(elastic.stats().resident_indexes == 1, is_resident);
    }
}
