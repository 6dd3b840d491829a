//! Loads, compactions, reads from 8 threads, databases that come and go and a budget that changes, all at once, under every
//! policy: the budget holds at each instant that a checker looks at, and every answer is one that the database may give.
//!
//! `SPRINGBLOOM_SOAK_SECONDS` sets the time over all policies (default 20), `SPRINGBLOOM_SEED` the seed.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use rand::RngExt;
use rocksdb::{DB, Options};
use springbloom_published_policies::PolicyKind;
use springbloom_rocksdb::ElasticFilters;
use springbloom_testkit::seed::{TestRng, rng_from, seed};

use crate::common::{
    IDLE_TIMEOUT, ONE_AT_A_TIME,
    contents::{check_db, fill_db},
    folder, installed, number, small_tree, stock,
};

const KEYS: usize = 8_000;
const WRITERS: usize = 2;
const READERS: usize = 8;
const BUDGET_BYTES_MAX: u64 = 1 << 20;
const SOAK_SECONDS: u64 = 20;
/// Readings of the budget that a soak takes at least.
const INSTANTS_MIN: u64 = 100;
/// Each fifth version of a key is its deletion, and so is the time before the first.
const DELETED_EVERY: u32 = 5;

/// Versions of each key: the one whose writing began last, and the one whose writing ended last.
struct Versions {
    begun: Vec<AtomicU32>,
    ended: Vec<AtomicU32>,
}

impl Versions {
    fn new() -> Self {
        let zeros = || (0..KEYS).map(|_| AtomicU32::new(0)).collect();
        Self { begun: zeros(), ended: zeros() }
    }
}

struct Soak {
    elastic: ElasticFilters,
    options: Options,
    versions: Versions,
    stop: AtomicBool,
    lookups: AtomicU64,
    instants: AtomicU64,
    reopenings: AtomicU64,
}

/// Ends the soak when the thread that holds it panics.
struct StopOnPanic<'s>(&'s AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

fn key(index: usize) -> Vec<u8> {
    format!("key{index:06}").into_bytes()
}

fn value(index: usize, version: u32) -> Vec<u8> {
    let mut value = format!("{index}:{version}:").into_bytes();
    value.resize(value.len() + (index * 7 + version as usize) % 120, b'v');
    value
}

fn is_deletion(version: u32) -> bool {
    version.is_multiple_of(DELETED_EVERY)
}

impl Soak {
    fn new(policy: PolicyKind) -> Self {
        let elastic = ElasticFilters::builder()
            .budget_bytes(BUDGET_BYTES_MAX)
            .segment_size(16 << 10)
            .build_with(policy.policy(None))
            .expect("the settings are sound");
        let mut options = small_tree();
        options.set_max_open_files(64);
        Self {
            options: installed(&elastic, &options),
            elastic,
            versions: Versions::new(),
            stop: AtomicBool::new(false),
            lookups: AtomicU64::new(0),
            instants: AtomicU64::new(0),
            reopenings: AtomicU64::new(0),
        }
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Runs `step` again and again until the soak ends.
    fn repeat(&self, mut step: impl FnMut()) {
        let _stop = StopOnPanic(&self.stop);
        while self.goes_on() {
            step();
        }
    }

    fn write(&self, db: &DB, writer: usize, rng: &mut TestRng) {
        let index = rng.random_range(0..KEYS / WRITERS) * WRITERS + writer;
        let version = self.versions.begun[index].load(Ordering::Relaxed) + 1;
        self.versions.begun[index].store(version, Ordering::SeqCst);
        match is_deletion(version) {
            true => db.delete(key(index)).expect("delete"),
            false => db.put(key(index), value(index, version)).expect("put"),
        }
        self.versions.ended[index].store(version, Ordering::SeqCst);
        if rng.random_ratio(1, 40_000) {
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
        }
    }

    fn read(&self, db: &DB, rng: &mut TestRng) {
        let count = if rng.random_ratio(1, 4) { rng.random_range(2..40) } else { 1 };
        let asked: Vec<(usize, bool)> =
            (0..count).map(|_| (rng.random_range(0..KEYS), rng.random_ratio(1, 3))).collect();
        let keys: Vec<_> = asked
            .iter()
            .map(|&(index, absent)| if absent { [&key(index)[..], b"?"].concat() } else { key(index) })
            .collect();
        let ended: Vec<_> =
            asked.iter().map(|&(index, _)| self.versions.ended[index].load(Ordering::SeqCst)).collect();
        let got = match count {
            1 => vec![db.get(&keys[0])],
            _ => db.multi_get(&keys),
        };
        for ((&(index, absent), ended), got) in asked.iter().zip(ended).zip(got) {
            let begun = self.versions.begun[index].load(Ordering::SeqCst);
            let got = got.expect("get");
            let fits = match &got {
                _ if absent => got.is_none(),
                None => (ended..=begun).any(is_deletion),
                Some(got) => {
                    (ended..=begun).any(|version| !is_deletion(version) && value(index, version) == *got)
                }
            };
            assert!(
                fits,
                "key {index} (absent neighbour: {absent}), versions {ended} to {begun}: got {:?}",
                got.as_deref().map(String::from_utf8_lossy)
            );
        }
        self.lookups.fetch_add(count as u64, Ordering::Relaxed);
    }

    fn change_budget(&self, rng: &mut TestRng) {
        let budget_bytes = match rng.random_range(0..5) {
            0 => 0,
            1 => rng.random_range(0..64 << 10),
            2 => rng.random_range(0..256 << 10),
            _ => rng.random_range(0..=BUDGET_BYTES_MAX),
        };
        self.elastic.set_budget_bytes(budget_bytes).unwrap();
        std::thread::sleep(Duration::from_millis(rng.random_range(0..25)));
    }

    fn look(&self) {
        let stats = self.elastic.stats();
        assert!(stats.used_bytes <= stats.budget_bytes, "over budget: {stats:?}");
        assert!(stats.budget_bytes as u64 <= BUDGET_BYTES_MAX, "more than was ever asked for: {stats:?}");
        self.instants.fetch_add(1, Ordering::Relaxed);
        std::thread::yield_now();
    }

    /// A second database that is opened, checked, closed, and now and then made again.
    fn come_and_go(&self, path: &Path, rng: &mut TestRng) {
        {
            let db = DB::open(&self.options, path).expect("open");
            if db.get("filled").expect("get").is_none() {
                fill_db(&db, "beside");
                db.put("filled", "yes").expect("put");
            }
            check_db(&db, "beside");
        }
        if rng.random_ratio(1, 4) {
            DB::destroy(&self.options, path).expect("destroy");
        }
        self.reopenings.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(20));
    }

    fn run(&self, seed: u64, seconds: f64) {
        let (main, beside) = (folder(), folder());
        let db = DB::open(&self.options, main.path()).expect("open");
        std::thread::scope(|scope| {
            let mut thread_seed = seed;
            let mut rng = || {
                thread_seed = thread_seed.wrapping_add(1);
                rng_from(thread_seed)
            };
            for writer in 0..WRITERS {
                let (mut rng, db) = (rng(), &db);
                scope.spawn(move || self.repeat(|| self.write(db, writer, &mut rng)));
            }
            for _ in 0..READERS {
                let (mut rng, db) = (rng(), &db);
                scope.spawn(move || self.repeat(|| self.read(db, &mut rng)));
            }
            let (mut budget_rng, mut beside_rng) = (rng(), rng());
            scope.spawn(move || self.repeat(|| self.change_budget(&mut budget_rng)));
            let beside = beside.path();
            scope.spawn(move || self.repeat(|| self.come_and_go(beside, &mut beside_rng)));
            scope.spawn(|| self.repeat(|| self.look()));
            let (begun, planned) = (Instant::now(), Duration::from_secs_f64(seconds));
            // Longer where the machine is busy or a sanitizer slows it, until the checker has looked often enough.
            let is_over = || {
                let has_looked = self.instants.load(Ordering::Relaxed) > INSTANTS_MIN;
                begun.elapsed() >= if has_looked { planned } else { planned * 10 }
            };
            while self.goes_on() && !is_over() {
                std::thread::sleep(Duration::from_millis(10));
            }
            self.stop.store(true, Ordering::Relaxed);
        });
        self.elastic.set_budget_bytes(BUDGET_BYTES_MAX).unwrap();
        assert!(
            self.elastic.wait_idle(IDLE_TIMEOUT),
            "the loader never came to rest: {:?}",
            self.elastic.stats()
        );
        self.compare_all(&db);
        stock::verify_checksums(&db).expect("checksums");
    }

    /// Nobody writes any more: each key is at its last version.
    fn compare_all(&self, db: &DB) {
        for (index, version) in self.versions.ended.iter().enumerate() {
            let version = version.load(Ordering::SeqCst);
            let expected = (!is_deletion(version)).then(|| value(index, version));
            assert_eq!(db.get(key(index)).expect("get"), expected, "key {index} at version {version}");
        }
    }
}

fn soak(policy: PolicyKind) {
    let seconds = number("SPRINGBLOOM_SOAK_SECONDS", SOAK_SECONDS);
    let soak = Soak::new(policy);
    soak.run(seed(policy.name()), seconds as f64 / PolicyKind::ALL.len() as f64);
    let stats = soak.elastic.stats();
    println!(
        "{policy}: {} lookups, {} instants, {} openings, {stats:?}",
        soak.lookups.load(Ordering::Relaxed),
        soak.instants.load(Ordering::Relaxed),
        soak.reopenings.load(Ordering::Relaxed)
    );
    assert!(stats.peak_bytes as u64 <= BUDGET_BYTES_MAX, "{stats:?}");
    assert_eq!((stats.corrupt_units, stats.thread_panics), (0, 0), "{stats:?}");
    assert!(stats.outcomes.rejected > 0 && stats.evictions > 0, "nothing happened: {stats:?}");
    assert!(stats.loads > 0, "nothing was loaded: {stats:?}");
    assert!(soak.instants.load(Ordering::Relaxed) > INSTANTS_MIN, "the checker hardly looked");
}

#[test]
fn the_budget_holds_and_answers_are_right_under_every_policy() {
    let _one = ONE_AT_A_TIME.lock();
    PolicyKind::ALL.into_iter().for_each(soak);
}
