//! What units over prefixes cost those who do not seek absent ones: in loads, lookups, scans and steps of iterators, against elastic
//! filters without them.
//!
//! `SPRINGBLOOM_ROUNDS` sets how often each is measured (default 3).

use std::path::Path;

use rand::{RngExt, seq::SliceRandom};
use rocksdb::{
    BlockBasedOptions, BottommostLevelCompaction, Cache, CompactOptions, DB, Options, ReadOptions,
    SliceTransform, WriteOptions,
};
use springbloom_rocksdb::ElasticFilters;
use springbloom_testkit::{
    cpu_time::cpu_time,
    seed::{TestRng, rng},
};

use crate::common::{IDLE_TIMEOUT, ONE_AT_A_TIME, folder, installed, median, number};

/// Each has this many edges: ten of a source, five of a source and a type.
const SOURCES: u64 = 10_000;
const EDGES: u64 = 10;
const PREFIX_BYTES: usize = 8;
/// Nothing takes this many times as long.
const TIMES_MAX: f64 = 1.5;

/// Length of the extractor's prefixes, if there is one.
const KINDS: [Option<usize>; 2] = [None, Some(PREFIX_BYTES)];

fn key(source: u64, edge: u64) -> Vec<u8> {
    [&source.to_be_bytes()[..], &[(edge % 2) as u8], &edge.to_be_bytes()].concat()
}

struct Store {
    elastic: ElasticFilters,
    options: Options,
}

impl Store {
    fn new(prefix_bytes: Option<usize>) -> Self {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_compression_type(rocksdb::DBCompressionType::None);
        options.set_write_buffer_size(8 << 20);
        options.set_target_file_size_base(8 << 20);
        if let Some(bytes) = prefix_bytes {
            options.set_prefix_extractor(SliceTransform::create_fixed_prefix(bytes));
        }
        let mut tables = BlockBasedOptions::default();
        tables.set_block_cache(&Cache::new_lru_cache(256 << 20));
        tables.set_bloom_filter(10.0, false);
        options.set_block_based_table_factory(&tables);
        let elastic =
            ElasticFilters::builder().budget_bytes(16 << 20).build().expect("the settings are sound");
        let options = installed(&elastic, &options);
        Self { elastic, options }
    }

    /// Puts all edges, whatever was there, in an order of chance, and leaves them in tables of one run.
    fn load(&self, folder: &Path, rng: &mut TestRng) -> DB {
        let mut edges: Vec<_> = (0..SOURCES * EDGES).collect();
        edges.shuffle(rng);
        let db = DB::open(&self.options, folder).expect("open");
        let mut write = WriteOptions::default();
        write.disable_wal(true);
        for edge in edges {
            db.put_opt(key(edge / EDGES, edge % EDGES), [7; 100], &write).expect("put");
        }
        db.flush().expect("flush");
        let mut compaction = CompactOptions::default();
        compaction.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &compaction);
        db
    }
}

/// What the process has used of the processors, in hundredths of a second.
fn process_ticks() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux tells it");
    // Behind the program's name, which may have spaces.
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<f64>().expect("ticks")).sum()
}

fn seconds(run: impl FnOnce()) -> f64 {
    let begun = cpu_time();
    run();
    (cpu_time() - begun).as_secs_f64()
}

/// Steps from one key to the next, wherever a prefix ends.
fn steps(db: &DB, rng: &mut TestRng) {
    for _ in 0..130 {
        let mut iterator = db.raw_iterator();
        iterator.seek(key(rng.random_range(0..SOURCES * 9 / 10), 0));
        for _ in 0..2000 {
            assert!(iterator.valid());
            iterator.next();
        }
    }
}

fn scan(db: &DB) {
    let mut read = ReadOptions::default();
    read.set_total_order_seek(true);
    let mut iterator = db.raw_iterator_opt(read);
    iterator.seek_to_first();
    let mut keys = 0;
    while iterator.valid() {
        keys += 1;
        iterator.next();
    }
    assert_eq!(keys, SOURCES * EDGES);
}

/// Every other key is absent.
fn lookups(db: &DB, rng: &mut TestRng) {
    for n in 0..100_000 {
        let key = key(rng.random_range(0..SOURCES), rng.random_range(0..EDGES) + n % 2 * EDGES);
        assert_eq!(db.get_pinned(&key).expect("get").is_some(), n % 2 == 0);
    }
}

#[test]
fn units_over_prefixes_cost_others_little() {
    let _one = ONE_AT_A_TIME.lock();
    let mut rng = rng("units_over_prefixes_cost_others_little");
    let rounds = number("SPRINGBLOOM_ROUNDS", 3);
    let stores = KINDS.map(Store::new);
    let folders = KINDS.map(|_| folder());
    let mut ratios = KINDS.map(|_| [const { Vec::new() }; 4]);
    let mut dbs = KINDS.map(|_| None);
    for _ in 0..rounds {
        let mut took = [[0.0; 4]; KINDS.len()];
        // Short runs by turns, in an order of chance: the machine is as fast for one as for the other, and its memory as fragmented.
        let mut order = [0, 1];
        for _ in 0..3 {
            order.shuffle(&mut rng);
            for kind in order {
                drop(dbs[kind].take());
                DB::destroy(&Options::default(), folders[kind].path()).expect("destroy");
                let before = process_ticks();
                let db = stores[kind].load(folders[kind].path(), &mut rng);
                took[kind][0] += process_ticks() - before;
                assert!(stores[kind].elastic.wait_idle(IDLE_TIMEOUT));
                scan(&db); // into the block cache
                dbs[kind] = Some(db);
            }
        }
        for _ in 0..5 {
            order.shuffle(&mut rng);
            for kind in order {
                let (db, took) = (dbs[kind].as_ref().expect("loaded"), &mut took[kind]);
                took[1] += seconds(|| lookups(db, &mut rng));
                took[2] += seconds(|| scan(db));
                took[3] += seconds(|| steps(db, &mut rng));
            }
        }
        for (ratios, of_kind) in ratios.iter_mut().zip(&took) {
            for (at, ratios) in ratios.iter_mut().enumerate() {
                ratios.push(of_kind[at] / took[0][at]);
            }
        }
    }
    for (prefix_bytes, ratios) in KINDS.into_iter().zip(ratios).skip(1) {
        for (what, ratios) in ["loads", "lookups", "scans", "steps"].into_iter().zip(ratios) {
            let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            let most = ratios.iter().copied().fold(0.0, f64::max);
            let median = median(ratios);
            println!("{prefix_bytes:?} bytes: {what} take {median:.3} times as long ({least:.3}-{most:.3})");
            assert!(median < TIMES_MAX, "{what}");
        }
    }
}
