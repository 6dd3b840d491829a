//! What lookups, or scans of prefixes, cost with SlateDB's Bloom filters and with elastic ones in the same memory: GETs, money, time.
//!
//!     cargo run --release --locked --example gets -- [keys=1200000] [seed=1] [parts=memory,restart,writer,scans] [bits=1,2,4,8,12]
//!         [only=elastic] [segment=KEYS] [told=no] [at_once=16]
//!
//! `segment`: `segment_keys`, the default if it is not given. `told=no`: reads do not tell the filters what they found.
//! `at_once`: lookups at once next to a writer.

#[path = "../tests/support/mod.rs"]
mod support;

use std::{
    collections::BTreeMap,
    env,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};
use rand::{RngExt, SeedableRng, rngs::SmallRng, seq::SliceRandom};
use slatedb::{
    BloomFilterPolicy, Db, DbReader, DbReaderMode, FilterPolicy, WriteBatch,
    bytes::Bytes,
    config::{DbReaderOptions, Settings},
    db_cache::{
        CacheFetch, CacheLoader, CachedEntry, CachedKey, DbCache, SplitCache,
        foyer::{FoyerCache, FoyerCacheOptions},
    },
    object_store::{ObjectStore, ObjectStoreExt, local::LocalFileSystem, memory::InMemory},
};
use springbloom_slatedb::ElasticFilters;
use support::{Meter, Until, flush, settings, settle};
use xxhash_rust::xxh3::xxh3_64;

const VALUE_BYTES: usize = 64;
/// Of a key, in a table's blocks.
const RECORD_BYTES: f64 = 98.0;
const L0_BYTES: usize = 4 << 20;
/// Of the data.
const BLOCK_CACHE_SHARE: f64 = 0.05;
const DELAY: Duration = Duration::from_millis(15);
/// Lookups at once where requests take long.
const AT_ONCE: usize = 16;
/// S3 Standard, us-east-1.
const DOLLARS_PER_GET: f64 = 0.40e-6;
const WRITER_SECONDS: u64 = 15;
/// Lookups before others are measured, and as many that are.
const WARMING: usize = 12_000;
/// Where prefixes are scanned.
const KEYS_PER_PREFIX: u64 = 10;
const SEPARATOR: char = '/';

/// 0: elastic filters. Otherwise SlateDB's, with this many bits per key.
type Filters = u32;
const ELASTIC: Filters = 0;

fn name_of(filters: Filters) -> String {
    if filters == ELASTIC { "elastic".to_owned() } else { format!("Bloom {filters}") }
}

fn folder_of(filters: Filters) -> String {
    format!("filters{filters}")
}

/// Even numbers are present keys or prefixes, odd ones absent.
fn key(number: u64) -> String {
    format!("{:016x}", xxh3_64(&number.to_le_bytes()))
}

/// Keys that are looked up.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// No absent key twice.
    Fresh,
    /// Absent keys by Zipf .99 (its continuous form).
    Popular,
    /// Keys by Zipf .99, half of them absent.
    Mixed,
}

struct Workload {
    kind: Kind,
    /// Or prefixes.
    keys: u64,
    random: SmallRng,
    fresh: u64,
}

impl Workload {
    fn next(&mut self) -> u64 {
        self.fresh += 1;
        // Popularity has nothing to do with the order in which keys were written.
        let exponent = 1.0 - 0.99;
        let spread = (self.keys as f64).powf(exponent) - 1.0;
        let rank = (1.0 + self.random.random::<f64>() * spread).powf(1.0 / exponent) as u64;
        let popular = 2 * (xxh3_64(&rank.to_le_bytes()) % self.keys);
        match self.kind {
            Kind::Fresh => 2 * self.fresh + 1,
            Kind::Popular => popular + 1,
            Kind::Mixed => popular + u64::from(self.random.random_bool(0.5)),
        }
    }
}

/// What SlateDB's cache takes for an elastic filter in addition to its head.
const HEAD_BYTES: u64 = 160;
/// Heads and indexes of the tables that come stay in the cache. The budget falls as heads come.
const ROOM_NEXT_TO_WRITER: u64 = 1 << 30;

/// Bytes of a tree: of its data, its indexes, its filter blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Tree {
    tables: u64,
    data: u64,
    indexes: u64,
    filters: u64,
}

struct Bench {
    folder: String,
    /// Of the databases in the folder.
    copy: Arc<InMemory>,
    keys: u64,
    seed: u64,
    /// What filters are asked for: prefixes, or keys.
    scans: bool,
    /// Those that the filters of all tables hold together.
    entries: u64,
    segment_keys: Option<u32>,
    is_told: bool,
    only_elastic: bool,
    at_once_next_to_writer: usize,
}

struct Opened {
    db: DbReader,
    scans: bool,
    meter: Arc<Meter>,
    elastic: Option<ElasticFilters>,
    is_told: bool,
    /// In SlateDB's cache.
    largest_filter: Arc<AtomicU64>,
}

/// Room for filters alone, so that memory for filters is what is compared. SlateDB's own caches share it with indexes.
struct Caches {
    filters: Arc<dyn DbCache>,
    others: Arc<dyn DbCache>,
    largest_filter: Arc<AtomicU64>,
}

/// Without shards: a filter that is larger than one would never be cached.
fn cache(max_capacity: u64) -> Arc<dyn DbCache> {
    Arc::new(FoyerCache::new_with_opts(FoyerCacheOptions { max_capacity, shards: 1 }))
}

fn caches(block_bytes: u64, index_bytes: u64, filter_bytes: u64) -> Caches {
    let others = SplitCache::new()
        .with_block_cache(Some(cache(block_bytes)))
        .with_meta_cache(Some(cache(index_bytes)));
    Caches { filters: cache(filter_bytes), others: Arc::new(others.build()), largest_filter: Arc::default() }
}

type Got = Result<Option<CachedEntry>, slatedb::Error>;

#[async_trait::async_trait]
impl DbCache for Caches {
    async fn get_block(&self, key: &CachedKey) -> Got {
        self.others.get_block(key).await
    }

    async fn get_index(&self, key: &CachedKey) -> Got {
        self.others.get_index(key).await
    }

    async fn get_stats(&self, key: &CachedKey) -> Got {
        self.others.get_stats(key).await
    }

    async fn get_filter(&self, key: &CachedKey) -> Got {
        self.filters.get_filter(key).await
    }

    async fn fetch_filter(&self, key: CachedKey, loader: CacheLoader) -> Result<CacheFetch, slatedb::Error> {
        let fetched = self.filters.fetch_filter(key, loader).await?;
        self.largest_filter.fetch_max(fetched.entry.size() as u64, Relaxed);
        Ok(fetched)
    }

    /// Readers come here with blocks and indexes only.
    async fn insert(&self, key: CachedKey, value: CachedEntry) {
        self.others.insert(key, value).await;
    }

    async fn remove(&self, key: &CachedKey) {
        self.others.remove(key).await;
    }

    fn entry_count(&self) -> u64 {
        self.others.entry_count() + self.filters.entry_count()
    }
}

impl Bench {
    fn folder(&self) -> Arc<dyn ObjectStore> {
        Arc::new(LocalFileSystem::new_with_prefix(&self.folder).expect("the folder exists"))
    }

    fn policy(
        &self,
        folder: &str,
        filters: Filters,
        meter: &Arc<Meter>,
        budget: u64,
    ) -> (Arc<dyn FilterPolicy>, Option<ElasticFilters>) {
        let extractor = Arc::new(Until(SEPARATOR as u8));
        if filters != ELASTIC {
            let policy = BloomFilterPolicy::new(filters);
            return match self.scans {
                true => {
                    (Arc::new(policy.with_prefix_extractor(extractor).with_whole_key_filtering(false)), None)
                }
                false => (Arc::new(policy), None),
            };
        }
        let builder = ElasticFilters::builder().budget_bytes(budget as usize);
        let elastic = match self.segment_keys {
            Some(keys) => builder.segment_keys(keys).start(),
            None => builder.start(),
        };
        let policy = match self.scans {
            true => elastic.prefix_policy(folder, meter.clone(), extractor),
            false => elastic.policy(folder, meter.clone()),
        };
        (policy, Some(elastic))
    }

    /// The key of a record.
    fn key_of(&self, record: u64) -> String {
        match self.scans {
            true => {
                format!("{}{SEPARATOR}{}", key(2 * (record / KEYS_PER_PREFIX)), record % KEYS_PER_PREFIX)
            }
            false => key(2 * record),
        }
    }

    /// Its tables have all these filters; a reader uses its own.
    async fn writer(&self, folder: &str, filters: &[Filters]) -> (Db, Option<ElasticFilters>) {
        let meter = Meter::new(self.folder());
        let policies = filters.iter().map(|&filters| self.policy(folder, filters, &meter, 1 << 20));
        let (policies, elastic): (Vec<_>, Vec<_>) = policies.unzip();
        let settings = Settings {
            max_unflushed_bytes: 64 << 20,
            l0_max_ssts: 100,
            l0_max_ssts_per_key: 100,
            ..settings(2 * L0_BYTES)
        };
        let db = Db::builder(folder, meter).with_settings(settings);
        let db = db.with_db_cache(cache(64 << 20), 0).with_filter_policies(policies);
        (db.build().await.expect("it opens"), elastic.into_iter().flatten().next())
    }

    /// Writes all keys in random order. Waits for compactions after each table, so that all trees are the same.
    async fn load(&self, folder: &str, filters: &[Filters]) -> Tree {
        let (db, elastic) = self.writer(folder, filters).await;
        let mut order: Vec<u64> = (0..self.keys).collect();
        order.shuffle(&mut SmallRng::seed_from_u64(self.seed));
        let begin = Instant::now();
        for chunk in order.chunks(L0_BYTES / (16 + VALUE_BYTES)) {
            for some in chunk.chunks(1000) {
                let mut batch = WriteBatch::new();
                some.iter().for_each(|&number| batch.put(self.key_of(number), [number as u8; VALUE_BYTES]));
                db.write(batch).await.expect("the store works");
            }
            flush(&db).await;
            settle(&db).await;
        }
        let manifest = db.manifest();
        let mut tree = Tree::default();
        for view in manifest.all_sst_views() {
            let info = &view.sst.info;
            tree.tables += 1;
            tree.data += info.filter_offset;
            tree.indexes += info.index_len;
            tree.filters += info.filter_len;
        }
        let (l0, runs) = (manifest.l0().len(), manifest.compacted().len());
        db.close().await.expect("the store works");
        println!("# {folder}: {l0} tables in level 0, {runs} runs, {tree:?}, {:.0?}", begin.elapsed());
        if let Some(elastic) = elastic {
            elastic.wait_written().await;
            println!("# {:?}", elastic.requested());
        }
        let mut objects = self.folder().list(Some(&folder.into()));
        while let Some(object) = objects.next().await {
            let path = object.expect("the store works").location;
            let bytes = self.folder().get(&path).await.expect("listed").bytes().await.expect("listed");
            self.copy.put(&path, bytes.into()).await.expect("there is room");
        }
        tree
    }

    /// Filters take this many bits per key or prefix, heads and bookkeeping included. Indexes have room of their own.
    async fn open(
        &self,
        store: Arc<dyn ObjectStore>,
        folder: &str,
        filters: Filters,
        tree: Tree,
        bits: f64,
    ) -> Opened {
        let meter = Meter::new(store);
        let filter_bytes = (bits * self.entries as f64 / 8.0) as u64;
        let in_cache =
            if filters == ELASTIC { tree.filters + tree.tables * HEAD_BYTES } else { filter_bytes };
        let (policy, elastic) = self.policy(folder, filters, &meter, filter_bytes.saturating_sub(in_cache));
        // A cache counts some bytes more for each entry.
        let in_cache = match filters {
            ELASTIC if tree.indexes == ROOM_NEXT_TO_WRITER => ROOM_NEXT_TO_WRITER,
            _ => in_cache + in_cache / 8,
        };
        let caches = caches((tree.data as f64 * BLOCK_CACHE_SHARE) as u64, 2 * tree.indexes, in_cache);
        let largest_filter = caches.largest_filter.clone();
        let options = DbReaderOptions {
            manifest_poll_interval: Duration::from_secs(2),
            skip_wal_replay: true,
            ..DbReaderOptions::default()
        };
        let db = DbReader::builder(folder, meter.clone())
            .with_reader_mode(DbReaderMode::ManagedCheckpoint)
            .with_options(options)
            .with_db_cache(Arc::new(caches), 0)
            .with_filter_policies(vec![policy]);
        let db = db.build().await.expect("it opens");
        Opened { db, scans: self.scans, meter, elastic, is_told: self.is_told, largest_filter }
    }

    async fn load_all(&self) -> [Tree; 11] {
        let mut trees = [Tree::default(); 11];
        for filters in [2, 4, 8, 10, ELASTIC] {
            if self.only_elastic && filters != ELASTIC {
                continue;
            }
            trees[filters as usize] = self.load(&folder_of(filters), &[filters]).await;
        }
        trees
    }

    /// Elastic ones, and the Bloom filters that one would take for this much memory: the largest that fit, and ten bits, the default.
    fn candidates(&self, bits: f64) -> Vec<Filters> {
        let fitting = [8, 4].into_iter().find(|&rival| f64::from(rival) <= bits).unwrap_or(2);
        match bits {
            _ if self.only_elastic => vec![ELASTIC],
            10.0.. => vec![10, ELASTIC],
            _ => vec![fitting, 10, ELASTIC],
        }
    }

    /// Each first without delay, one at a time; then with a delay, some at once.
    async fn measure_memory(&self, trees: &[Tree; 11], bits: &[f64]) {
        for &bits in bits {
            for kind in [Kind::Fresh, Kind::Popular, Kind::Mixed] {
                for filters in self.candidates(bits) {
                    let opened = self
                        .open(self.copy.clone(), &folder_of(filters), filters, trees[filters as usize], bits)
                        .await;
                    let mut workload = self.workload(kind, self.seed + 1);
                    opened.look_up(&mut workload, WARMING, 1).await;
                    let what = format!("{bits} | {} | {kind:?}", name_of(filters));
                    report(&what, opened.measure(&mut workload, WARMING, 1).await);
                    opened.slow();
                    let slow = opened.measure(&mut workload, WARMING / 20, AT_ONCE).await;
                    report(&format!("{what}, {DELAY:?}, {AT_ONCE} at once"), slow);
                }
            }
        }
    }

    fn workload(&self, kind: Kind, seed: u64) -> Workload {
        Workload {
            kind,
            keys: if self.scans { self.keys / KEYS_PER_PREFIX } else { self.keys },
            random: SmallRng::seed_from_u64(seed),
            fresh: self.keys + (seed << 40),
        }
    }

    /// Overwrites keys for a while. Compactions go on.
    async fn write(&self, folder: &str, filters: &[Filters], begin: Instant) {
        let (db, elastic) = self.writer(folder, filters).await;
        let mut random = SmallRng::seed_from_u64(self.seed);
        while begin.elapsed().as_secs() < WRITER_SECONDS {
            let mut batch = WriteBatch::new();
            (0..1000).for_each(|_| batch.put(key(2 * random.random_range(0..self.keys)), [1; VALUE_BYTES]));
            db.write(batch).await.expect("the store works");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        db.close().await.expect("the store works");
        if let Some(elastic) = elastic {
            elastic.wait_written().await;
        }
    }

    /// Looks up fresh absent keys meanwhile. Each piece counts for the memory that each key of the tables has then.
    async fn read(&self, folder: &str, filters: Filters, tree: Tree, bits: f64, begin: Instant) {
        let opened = self.open(self.folder(), folder, filters, tree, bits).await;
        let mut workload = self.workload(Kind::Fresh, self.seed + 10);
        opened.slow();
        let (memory, mut pieces, mut tables) = (bits * self.entries as f64, BTreeMap::<_, Cost>::new(), 0);
        while begin.elapsed().as_secs() < WRITER_SECONDS {
            let infos: Vec<_> =
                opened.db.manifest().all_sst_views().map(|view| view.sst.info.filter_offset).collect();
            if let Some(elastic) = opened.elastic.as_ref().filter(|_| infos.len() != tables) {
                tables = infos.len();
                let heads = tables as u64 * (HEAD_BYTES + opened.largest_filter.load(Relaxed));
                let budget = (memory / 8.0) as usize - heads as usize;
                tokio::task::block_in_place(|| elastic.set_budget_bytes(budget));
            }
            let keys = infos.iter().sum::<u64>() as f64 / RECORD_BYTES;
            let cost = opened.measure(&mut workload, 256, self.at_once_next_to_writer).await;
            pieces.entry((memory / keys).log2().floor() as i32).or_default().add(cost);
        }
        for (bits_of_key, cost) in pieces.into_iter().rev() {
            let from = f64::from(bits_of_key).exp2();
            let what = format!(
                "{bits} | {} | {from} to {} bits for a key of tables, {}",
                name_of(filters),
                2.0 * from,
                cost.times.len()
            );
            report(&what, cost);
        }
        if let Some(elastic) = &opened.elastic {
            let (stats, requested) = (elastic.stats(), elastic.requested());
            println!("# {:?} of {}, {requested:?}", stats.used, stats.budget_bytes);
        }
    }
}

/// Of lookups that took these times in microseconds.
#[derive(Default)]
struct Cost {
    gets: u64,
    bytes: u64,
    times: Vec<f64>,
}

impl Cost {
    fn add(&mut self, other: Self) {
        self.gets += other.gets;
        self.bytes += other.bytes;
        self.times.extend(other.times);
    }
}

impl Opened {
    fn slow(&self) {
        self.meter.delay_micros.store(DELAY.as_micros() as u64, Relaxed);
    }

    /// Times of lookups in microseconds.
    async fn look_up(&self, workload: &mut Workload, lookups: usize, at_once: usize) -> Vec<f64> {
        let keys: Vec<u64> = (0..lookups).map(|_| workload.next()).collect();
        let lookup = async |number| {
            let begin = Instant::now();
            let is_found = match self.scans {
                true => {
                    let prefix = format!("{}{SEPARATOR}", key(number));
                    let mut found = self.db.scan_prefix(prefix, ..).await.expect("the store works");
                    found.next().await.expect("the store works").is_some()
                }
                false => self.get(key(number)).await.is_some(),
            };
            assert_eq!(is_found, number % 2 == 0, "{number}");
            begin.elapsed().as_secs_f64() * 1e6
        };
        stream::iter(keys).map(lookup).buffer_unordered(at_once).collect().await
    }

    async fn get(&self, key: String) -> Option<Bytes> {
        let found = match &self.elastic {
            Some(elastic) if self.is_told => elastic.get(&self.db, key).await,
            _ => self.db.get(key).await,
        };
        found.expect("the store works")
    }

    async fn measure(&self, workload: &mut Workload, lookups: usize, at_once: usize) -> Cost {
        let (gets, bytes) = self.meter.reads();
        let times = self.look_up(workload, lookups, at_once).await;
        let (gets_after, bytes_after) = self.meter.reads();
        Cost { gets: gets_after - gets, bytes: bytes_after - bytes, times }
    }
}

fn heading(title: &str) {
    println!("\n## {title}\n");
    println!(
        "| bits per key | filters | lookups | GETs | bytes | $ per million | mean | p50 | p99 |\n|---|---|---|---|---|---|---|---|---|"
    );
}

fn report(what: &str, Cost { gets, bytes, mut times }: Cost) {
    times.sort_by(f64::total_cmp);
    let [gets, bytes] = [gets, bytes].map(|count| count as f64 / times.len() as f64);
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let [p50, p99] = [0.5, 0.99].map(|share| times[((times.len() - 1) as f64 * share) as usize]);
    let dollars = gets * DOLLARS_PER_GET * 1e6;
    println!("| {what} | {gets:.4} | {bytes:.0} | {dollars:.4} | {mean:.0} | {p50:.0} | {p99:.0} |");
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let setting =
        |name: &str| arguments.iter().find_map(|argument| argument.strip_prefix(name)?.strip_prefix('='));
    let number =
        |name: &str, default: u64| setting(name).map_or(default, |text| text.parse().expect("a number"));
    let temporary = tempfile::tempdir().expect("there is room");
    let folder = temporary.path().display().to_string();
    let (keys, seed) = (number("keys", 1_200_000), number("seed", 1));
    let segment_keys = setting("segment").map(|text| text.parse().expect("a number"));
    let is_told = setting("told") != Some("no");
    let only_elastic = setting("only") == Some("elastic");
    let at_once_next_to_writer = number("at_once", AT_ONCE as u64) as usize;
    let bits: Vec<f64> = setting("bits").unwrap_or("1,2,4,8,12").split(',').flat_map(str::parse).collect();
    let bench_in = |folder: String, scans: bool, entries: u64| {
        let copy = Arc::default();
        Bench {
            folder,
            copy,
            keys,
            seed,
            scans,
            entries,
            segment_keys,
            is_told,
            only_elastic,
            at_once_next_to_writer,
        }
    };
    let bench = bench_in(folder, false, keys);
    let said = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output();
        output
            .map(|output| String::from_utf8_lossy(&output.stdout).trim().replace('\n', ", "))
            .unwrap_or_default()
    };
    println!(
        "# commit {}; {}",
        said("git", &["describe", "--always", "--dirty", "--abbrev=8"]),
        arguments.join(" ")
    );
    println!("# {}", said("sh", &["-c", "grep -m1 'model name' /proc/cpuinfo; nproc; uname -r"]));
    println!(
        "# {keys} keys of 16 bytes, values of {VALUE_BYTES}, seed {seed}, memory tables of {L0_BYTES} bytes; \
         {BLOCK_CACHE_SHARE} of the data in the block cache, all indexes cached; ${DOLLARS_PER_GET} a GET; \
         the store is in memory, and a folder where there is a writer; times in microseconds"
    );
    let parts = setting("parts").unwrap_or("memory,restart,writer");
    let little_and_much = [4.0, 12.0]
        .into_iter()
        .flat_map(|bits| bench.candidates(bits).into_iter().map(move |filters| (bits, filters)));
    if parts.contains("scans") {
        let folder = temporary.path().join("scans");
        std::fs::create_dir(&folder).expect("there is room");
        let folder = folder.display().to_string();
        let mut bench = bench_in(folder, true, 0);
        let trees = bench.load_all().await;
        bench.entries = trees[10].filters * 8 / 10;
        heading(&format!(
            "Scans of prefixes that {KEYS_PER_PREFIX} keys have, bits for each of {} prefixes of tables",
            bench.entries
        ));
        bench.measure_memory(&trees, &bits).await;
    }
    if !["memory", "restart", "writer"].iter().any(|part| parts.contains(part)) {
        return;
    }
    let trees = if parts == "writer" { [Tree::default(); 11] } else { bench.load_all().await };
    if parts.contains("memory") {
        heading("Memory");
        bench.measure_memory(&trees, &bits).await;
    }
    if parts.contains("restart") {
        heading("The first lookups after a start, of fresh absent keys: 15 ms a request, 16 lookups at once");
        for (bits, filters) in little_and_much.clone() {
            let opened = bench
                .open(bench.copy.clone(), &folder_of(filters), filters, trees[filters as usize], bits)
                .await;
            opened.slow();
            let (mut workload, mut until) = (bench.workload(Kind::Fresh, bench.seed + 2), 0);
            for lookups in [100, 400, 1500, 4000] {
                let cost = opened.measure(&mut workload, lookups, AT_ONCE).await;
                report(&format!("{bits} | {} | {until} to {}", name_of(filters), until + lookups), cost);
                until += lookups;
            }
        }
    }
    if parts.contains("writer") {
        heading(&format!(
            "Readers with two filters of the same tables next to a writer, fresh absent keys: 15 ms a request, \
             {at_once_next_to_writer} lookups at once"
        ));
        for (bits, rival) in little_and_much.filter(|&(_, filters)| filters != ELASTIC) {
            let pair = [rival, ELASTIC];
            let folder = &format!("{bits}-{rival}");
            let mut tree = bench.load(folder, &pair).await;
            tree.indexes = ROOM_NEXT_TO_WRITER;
            let begin = Instant::now();
            let read = |filters| bench.read(folder, filters, tree, bits, begin);
            tokio::join!(bench.write(folder, &pair, begin), read(rival), read(ELASTIC));
        }
    }
}
