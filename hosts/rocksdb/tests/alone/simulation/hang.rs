//! One call of a store hangs, for `SPRINGBLOOM_HANG_SECONDS` at least. Two other stores live on meanwhile, with elastic filters and with
//! stock ones in turns.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rocksdb::Options;
use springbloom_rocksdb::ElasticFilters;

use super::{
    store::{NUMBERS, Numbers, Operation, Store},
    worker::{Done, Work, Worker},
};
use crate::common::{
    AMPLE_BYTES, IDLE_TIMEOUT,
    faults::{Act, Broken, By, Call, SharedCache, hanging_threads, with_files_in_memory},
    installed, median, number, small_segments, small_tree,
};

/// Enough for a median. More are lived while the machine is too busy to tell.
const ROUNDS: usize = 7;
const MOST_ROUNDS: usize = 70;
/// As long as with stock filters, at most.
const MOST_TIMES: f64 = 2.0;
const CAPACITY: usize = 16 << 20;
/// The others are looked up, and absent.
const EVEN: Numbers = Numbers { first: 0, step: 2, count: NUMBERS / 2 };
const FAMILY: usize = 0;

/// Makes every call.
const BUSY: [Operation; 9] = [
    Operation::Put { family: FAMILY, numbers: EVEN },
    Operation::Flush { family: FAMILY },
    Operation::MultiGet { family: FAMILY, numbers: EVEN },
    Operation::Put { family: FAMILY, numbers: EVEN },
    Operation::Flush { family: FAMILY },
    Operation::Compact { family: FAMILY },
    Operation::Get { family: FAMILY, numbers: EVEN },
    Operation::Open,
    Operation::Close,
];

const LIFE: [Operation; 9] = [
    Operation::Open,
    Operation::CreateFamily,
    Operation::Put { family: 1, numbers: EVEN },
    Operation::Flush { family: 1 },
    Operation::Put { family: 0, numbers: EVEN },
    Operation::Flush { family: 0 },
    Operation::GetAll,
    Operation::DropFamily { family: 1 },
    Operation::Close,
];

/// Two stores that live while their cache, and the budget, move.
struct Side {
    stores: [Store; 2],
    cache: SharedCache,
    elastic: Option<ElasticFilters>,
}

impl Side {
    fn new(folder: &Path, options: &Options, elastic: Option<&ElasticFilters>) -> Self {
        let mut options = options.clone();
        let cache = SharedCache::strict(&mut options, CAPACITY, 0, 0);
        let options = elastic.map_or_else(|| options.clone(), |elastic| installed(elastic, &options));
        let stores = ["0", "1"].map(|name| Store::create(&folder.join(name), &options));
        Self { stores, cache, elastic: elastic.cloned() }
    }
}

impl Work for Side {
    type Operation = ();

    fn apply(&mut self, (): &()) -> Done {
        thread::scope(|scope| {
            let live = |store: &mut Store| LIFE.iter().try_for_each(|operation| store.apply(operation));
            let lives = self.stores.each_mut().map(|store| scope.spawn(move || live(store)));
            for part in 1..=4 {
                self.cache.set_capacity(CAPACITY / part);
                if let Some(elastic) = &self.elastic {
                    elastic.set_budget_bytes(AMPLE_BYTES / part as u64).expect("a budget");
                }
                thread::yield_now();
            }
            lives.into_iter().try_for_each(|life| life.join().expect("right answers"))
        })
    }
}

/// How many times as long the stores live with elastic filters, of all rounds that were needed to tell. `for_seconds`: at least.
fn ratio(sides: &mut [Worker<Side>; 2], for_seconds: u64, what: &str) -> f64 {
    let mut times = [(); 2].map(|()| Vec::new());
    let first = Instant::now();
    for rounds in 1.. {
        for turn in 0..2 {
            let side = (rounds + turn) % 2;
            let begun = Instant::now();
            sides[side].begin(());
            let ((), done) = sides[side].end(IDLE_TIMEOUT).expect("no store waits for the one that hangs");
            done.expect("no store fails for the one that hangs");
            times[side].push(begun.elapsed().as_secs_f64());
        }
        let [stock, elastic] = times.clone().map(median);
        let ratio = elastic / stock;
        let is_known = rounds >= ROUNDS && ratio <= MOST_TIMES;
        if is_known && first.elapsed() >= Duration::from_secs(for_seconds) {
            return ratio;
        }
        assert!(rounds < MOST_ROUNDS || is_known, "{what}: {ratio:.2} times as long as with stock filters");
    }
    unreachable!("it is known, or there were enough rounds")
}

pub(crate) fn run(folder: &Path) {
    let hang_seconds = number("SPRINGBLOOM_HANG_SECONDS", 0);
    let mut options = small_tree();
    options.create_if_missing(false);
    with_files_in_memory(&mut options);
    let builder = small_segments(AMPLE_BYTES);
    let elastic = builder.charge_to_block_cache(true).build().expect("the settings are sound");
    let mut sides = [("stock", None), ("elastic", Some(&elastic))]
        .map(|(name, elastic)| Worker::start(Side::new(&folder.join(name), &options, elastic)));
    let mut text = format!("elastic / stock: without a fault {:.2}", ratio(&mut sides, 0, "without a fault"));
    let calls = [Call::Open, Call::Read, Call::ReadHead, Call::MultiRead, Call::Exists, Call::Size];
    for call in calls.into_iter().chain([Call::Log, Call::Rename, Call::Delete, Call::Sync, Call::Close]) {
        let store = Store::create(&folder.join("hanging"), &installed(&elastic, &options));
        let mut hanging = Worker::start(store);
        let broken = Broken::begin(call, Act::Hangs, By::Anybody, "/hanging/");
        for operation in BUSY {
            hanging.begin(operation);
            let begun = Instant::now();
            while hanging.end(Duration::from_millis(1)).is_none() && hanging_threads() == 0 {
                assert!(begun.elapsed() < IDLE_TIMEOUT, "{call:?}");
            }
            if hanging_threads() > 0 {
                break;
            }
        }
        assert!(hanging_threads() > 0, "nobody calls {call:?}");
        let before = elastic.stats().outcomes.rejected;
        text += &format!(", {call:?} {:.2}", ratio(&mut sides, hang_seconds, &format!("{call:?}")));
        let rejected = elastic.stats().outcomes.rejected - before;
        assert!(rejected >= u64::from(NUMBERS), "{call:?}: tables get no units, {rejected} were rejected");
        assert!(hanging_threads() > 0, "{call:?} hangs no more");
        drop(broken);
        while hanging.at().is_some() {
            let (_, done) = hanging.end(IDLE_TIMEOUT).expect("it goes on");
            done.expect("a call that took long has not failed");
        }
        hanging.into_work().delete();
    }
    println!("{text}");
    for side in sides {
        side.into_work().stores.into_iter().for_each(Store::delete);
    }
}
