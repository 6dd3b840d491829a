//! The stores of a process, and a clock. With each of its ticks every store that is at nothing begins something, calls break, or work
//! again, and the budget and the cache move. A tick ends when all that no broken call keeps has ended.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use rand::{RngExt, seq::IndexedRandom};
use rocksdb::SliceTransform;
use springbloom_rocksdb::ElasticFilters;
use springbloom_testkit::seed::{TestRng, rng_from};

use super::{
    store::{NUMBERS, Numbers, Operation, Store},
    worker::{Done, Work, Worker},
};
use crate::common::{
    AMPLE_BYTES, IDLE_TIMEOUT,
    budget_watch::BudgetWatch,
    faults::{
        Act, Broken, By, Call, SharedCache, open_tables, take_calls_for_closed, with_files_in_memory,
        with_simulated_files,
    },
    installed, lacking_units, number, small_segments, small_tree, wait_until,
};

/// What breaks, and how. Where a database's opening fails, an assertion of RocksDB may fail, with stock filters too: so this does not run
/// under the sanitizers, whose builds have assertions.
const BREAKS: [(Call, &[Act]); 11] = [
    (Call::Open, &[Act::Hangs, Act::Fails, Act::IsNotFound]),
    (Call::Read, &[Act::Hangs, Act::Fails, Act::IsSlow, Act::IsWrong, Act::IsShort]),
    (Call::ReadHead, &[Act::Hangs, Act::Fails, Act::IsWrong, Act::IsShort]),
    (Call::MultiRead, &[Act::Hangs, Act::Fails, Act::IsWrong, Act::IsShort]),
    (Call::Exists, &[Act::Hangs, Act::Fails, Act::IsNotFound, Act::IsFound]),
    (Call::Size, &[Act::Hangs, Act::Fails, Act::IsWrong]),
    (Call::Log, &[Act::Hangs]),
    (Call::Rename, &[Act::Hangs, Act::Fails]),
    (Call::Delete, &[Act::Hangs, Act::Fails]),
    (Call::Sync, &[Act::Hangs, Act::Fails]),
    (Call::Close, &[Act::Hangs]),
];

/// The first ones are healthy, calls of the others break.
const STORES: [&str; 4] = ["healthy0", "healthy1", "broken0", "broken1"];
const HEALTHY: usize = 2;
/// What a hang keeps may end within it all the same, as another thread does it.
const MOMENT: Duration = Duration::from_millis(5);
/// Each read of a slow store takes 20 ms, and a lookup of all keys makes thousands.
const SLOW_TIMEOUT: Duration = Duration::from_secs(240);
const CAPACITIES: std::ops::Range<usize> = 4 << 20..24 << 20;

/// What concerns all stores.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Budget(u64),
    Capacity(usize),
    /// Looks at all figures.
    Look,
}

struct Process {
    elastic: ElasticFilters,
    cache: SharedCache,
}

impl Work for Process {
    type Operation = Change;

    fn apply(&mut self, change: &Change) -> Done {
        match *change {
            Change::Budget(bytes) => _ = self.elastic.set_budget_bytes(bytes).expect("a budget"),
            Change::Capacity(bytes) => self.cache.set_capacity(bytes),
            Change::Look => _ = (self.elastic.metrics_text(), self.elastic.memory_curve()),
        }
        Ok(())
    }
}

struct Member {
    worker: Worker<Store>,
    is_open: bool,
    /// A call of it broke since it was opened.
    is_marred: bool,
    /// One broke since it began what it is at.
    is_marred_now: bool,
}

struct Fault {
    _broken: Broken,
    store: usize,
    act: Act,
    ends_at: u32,
}

/// What happened, which is of interest if something is wrong. Of a single simulation it is printed at once: a process may abort.
#[derive(Default)]
struct Log(Vec<String>);

impl Log {
    fn add(&mut self, line: String) {
        if number("SPRINGBLOOM_SIMULATIONS", 0) == 1 {
            println!("{line}");
        } else {
            self.0.push(line);
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.iter().for_each(|line| println!("{line}"));
        }
    }
}

pub(crate) struct World {
    random: TestRng,
    clock: u32,
    /// Before the stores, which could not close.
    faults: Vec<Fault>,
    stores: Vec<Member>,
    process: Worker<Process>,
    elastic: ElasticFilters,
    watch: BudgetWatch,
    recovers: bool,
    tables_before: usize,
    log: Log,
}

impl World {
    /// Files are below `folder`, or in memory.
    pub(crate) fn of(seed: u64, folder: &Path) -> Self {
        let mut random = rng_from(seed);
        let mut options = small_tree();
        options.create_if_missing(false); // or a call that lies makes an empty store of one
        options.set_max_open_files(if random.random() { -1 } else { 14 });
        if random.random() {
            options.set_prefix_extractor(SliceTransform::create_fixed_prefix(8));
        }
        let is_on_disk = random.random_ratio(1, 4);
        if is_on_disk {
            with_simulated_files(&mut options)
        } else {
            with_files_in_memory(&mut options)
        }
        let memtables = if random.random() { 768 << 10 } else { 0 };
        let cache = SharedCache::strict(&mut options, CAPACITIES.end, random.random_range(0..2), memtables);
        let warm_start = random.random::<bool>().then_some(Duration::from_millis(50));
        let builder = small_segments(AMPLE_BYTES);
        let builder = builder.charge_to_block_cache(random.random()).warm_start_every(warm_start);
        // Chosen by measuring until it is moved. Then indexes are resident, too.
        let builder = if random.random() { builder.budget_auto() } else { builder };
        let elastic = builder.build().expect("the settings are sound");
        let is_stock = number("SPRINGBLOOM_STOCK", 0) == 1;
        let options = if is_stock { options } else { installed(&elastic, &options) };
        let tables_before = open_tables();
        let stores = STORES.map(|name| Member {
            worker: Worker::start(Store::create(&folder.join(name), &options)),
            is_open: true,
            is_marred: false,
            is_marred_now: false,
        });
        Self {
            recovers: random.random_ratio(1, 4),
            random,
            clock: 0,
            faults: Vec::new(),
            stores: stores.into(),
            process: Worker::start(Process { elastic: elastic.clone(), cache }),
            watch: BudgetWatch::begin(elastic.clone()),
            elastic,
            tables_before,
            log: Log::default(),
        }
    }

    /// Lets it live for some ticks, ends all faults, and checks what is left.
    pub(crate) fn live(mut self) {
        for _ in 0..self.random.random_range(20..80) {
            self.tick();
        }
        self.faults.clear();
        self.settle();
        for store in 0..STORES.len() {
            if self.stores[store].is_marred || !self.stores[store].is_open {
                self.begin(store, Operation::Open);
            }
        }
        self.settle();
        self.process.begin(Change::Capacity(CAPACITIES.end));
        self.settle();
        self.process.begin(Change::Budget(AMPLE_BYTES));
        self.settle();
        if self.recovers {
            self.recover();
        }
        (0..STORES.len()).for_each(|store| self.begin(store, Operation::GetAll));
        self.settle();
        let (elastic, before) = (self.elastic, self.tables_before);
        self.stores.into_iter().for_each(|store| store.worker.into_work().delete());
        self.watch.end();
        let stats = elastic.stats();
        let left = (stats.tables, stats.tables_without_room, stats.failing_tables, stats.thread_panics);
        assert_eq!(left, (0, 0, 0, 0), "{stats:?}");
        assert_eq!(open_tables(), before, "a table is open and its database is closed");
    }

    fn tick(&mut self) {
        self.clock += 1;
        self.faults.retain(|fault| fault.ends_at > self.clock);
        if self.faults.len() < 6 && self.random.random_ratio(1, 3) {
            self.break_a_call();
        }
        for store in 0..STORES.len() {
            if self.stores[store].worker.at().is_none()
                && let Some(operation) = self.operation(store)
            {
                self.begin(store, operation);
            }
        }
        if self.random.random() && self.process.at().is_none() {
            let change = self.change();
            self.log.add(format!("{}: {change:?}", self.clock));
            self.process.begin(change);
        }
        self.settle();
    }

    fn break_a_call(&mut self) {
        let (call, acts) = BREAKS.choose(&mut self.random).expect("there are some");
        let act = *acts.choose(&mut self.random).expect("there are some");
        let by = match self.random.random() {
            // RocksDB cuts a log to the size that it is told, with stock filters too.
            true if !matches!((call, act), (Call::Size, Act::IsWrong)) => By::Anybody,
            _ => By::Filters,
        };
        let store = self.random.random_range(HEALTHY..STORES.len());
        let ends_at = self.clock + self.random.random_range(1..12);
        // In the midst of an operation.
        let first = self.random.random_range(0..8u16);
        let first = self.random.random_range(0..1 << first);
        let what = format!("{call:?} {act:?} {by:?} {} after {first} until {ends_at}", STORES[store]);
        self.log.add(format!("{}: {what}", self.clock));
        let broken = Broken::begin_after(first, *call, act, by, &format!("/{}/", STORES[store]));
        self.faults.push(Fault { _broken: broken, store, act, ends_at });
        let member = &mut self.stores[store];
        (member.is_marred, member.is_marred_now) = (true, true);
    }

    fn begin(&mut self, store: usize, operation: Operation) {
        self.log.add(format!("{}: {} {operation:?}", self.clock, STORES[store]));
        self.stores[store].is_marred_now = self.faults.iter().any(|fault| fault.store == store);
        self.stores[store].worker.begin(operation);
    }

    fn operation(&mut self, store: usize) -> Option<Operation> {
        let random = &mut self.random;
        let family = random.random_range(0..100);
        if !self.stores[store].is_open {
            return random.random::<bool>().then_some(Operation::Open);
        }
        let first = random.random_range(0..NUMBERS);
        let numbers = Numbers { first, step: random.random_range(1..20), count: random.random_range(1..200) };
        Some(match random.random_range(0..100) {
            0..30 => Operation::Put { family, numbers },
            30..34 => Operation::Delete { family, numbers },
            34..46 => Operation::Get { family, numbers },
            46..52 => Operation::MultiGet { family, numbers },
            52..58 => Operation::Seek { family, number: first },
            58..74 => Operation::Flush { family },
            74..80 => Operation::Compact { family },
            80..85 => Operation::CreateFamily,
            85..89 => Operation::DropFamily { family },
            89..94 => Operation::Close,
            94..99 => Operation::Open,
            _ => Operation::GetAll,
        })
    }

    fn change(&mut self) -> Change {
        match self.random.random_range(0..8) {
            0 => Change::Budget(0),
            1 | 2 => Change::Budget(self.random.random_range(0..400 << 10)),
            3 | 4 => Change::Budget(AMPLE_BYTES),
            5 | 6 => Change::Capacity(self.random.random_range(CAPACITIES)),
            _ => Change::Look,
        }
    }

    /// Waits for all that no broken call keeps.
    fn settle(&mut self) {
        if self.process.at().is_some() {
            let (change, done) = self.process.end(IDLE_TIMEOUT).unwrap_or_else(|| {
                panic!("{:?} waits for a store", self.process.at());
            });
            done.unwrap_or_else(|error| panic!("{change:?}: {error}"));
        }
        let begun = Instant::now();
        for (store, member) in self.stores.iter_mut().enumerate() {
            if member.worker.at().is_none() {
                continue;
            }
            let has = |act| self.faults.iter().any(|fault| fault.store == store && fault.act == act);
            let may_hang = has(Act::Hangs);
            let timeout = match may_hang {
                true => MOMENT.saturating_sub(begun.elapsed()),
                false if has(Act::IsSlow) => SLOW_TIMEOUT,
                false => IDLE_TIMEOUT,
            };
            let Some((operation, done)) = member.worker.end(timeout) else {
                assert!(may_hang, "{}: {:?} waits for another store", STORES[store], member.worker.at());
                continue;
            };
            let place = STORES[store];
            assert!(done.is_ok() || member.is_marred, "{place}: {operation:?} failed: {done:?}");
            match operation {
                Operation::Close => {
                    let calls = take_calls_for_closed();
                    assert_eq!(calls, 0, "{place}: it is closed, and a thread of the filters calls");
                    member.is_open = false;
                }
                Operation::Open => {
                    member.is_open = done.is_ok();
                    member.is_marred &= done.is_err() || member.is_marred_now;
                }
                _ => (),
            }
        }
    }

    /// A fault that has passed leaves no trace: all tables get all units that lookups want.
    fn recover(&mut self) {
        wait_until("all units are resident", || {
            (0..STORES.len()).for_each(|store| self.begin(store, Operation::GetAll));
            self.settle();
            let stats = self.elastic.stats();
            // A table that no reader has open may lack some.
            let have_units = lacking_units(&stats) == 0 || stats.closed_tables > 0;
            have_units && stats.failing_tables == 0 && stats.tables_without_room == 0
        });
    }
}
