use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use shuttle::{
    rand::{Rng, thread_rng},
    thread,
};
use springbloom_manager::{MemoryBudget, Place, WaitingTable, WaitsFor};

use self::{gate::Gate, in_flight::InFlight, table_life::TableLife, waiting::WaitingTables};

/// The objects that an engine lends. It may delete them once the end of the database returned.
#[derive(Default)]
struct Engine {
    shares: AtomicI64,
    is_gone: AtomicBool,
}

/// A share in them.
struct Share(Arc<Engine>);

impl Share {
    fn of(engine: &Arc<Engine>) -> Self {
        engine.shares.fetch_add(1, SeqCst);
        Self(engine.clone())
    }

    /// An access to a file, which takes a while.
    fn access(&self) {
        for _ in 0..2 {
            thread::yield_now();
            assert!(!self.0.is_gone.load(SeqCst), "a closed database is accessed");
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        assert!(!self.0.is_gone.load(SeqCst), "a share in a closed database was kept");
        self.0.shares.fetch_sub(1, SeqCst);
    }
}

type Database = Gate<Share>;

/// What a try to open a table may meet.
struct Faults {
    budget: MemoryBudget,
    failures_left: AtomicI64,
}

struct Opening {
    file: Share,
    database: Arc<Database>,
    faults: Arc<Faults>,
    /// In the queue.
    number: AtomicU64,
}

/// The share that the readers of units find.
type Units = crate::sync::Mutex<Option<Share>>;
type Table = TableLife<Opening, Units>;

/// More than two tables take that fail twice and lack room once.
const TRIES: usize = 12;
const PLACE: Place = Place { device: 1, source: 1 };
/// Longer than every pause of the queue.
const PAUSE: Duration = Duration::from_secs(60);

impl WaitingTable for Table {
    /// As the host opens one.
    fn open(&self) -> Option<WaitsFor> {
        let (database, faults) =
            self.while_waiting(|opening| (opening.database.clone(), opening.faults.clone()))?;
        let read = |opening: &Opening| {
            opening.file.access();
            if faults.failures_left.fetch_sub(1, SeqCst) > 0 { Err(Some(WaitsFor::File)) } else { Ok(()) }
        };
        let register = |(), opening: &Opening| match faults.budget.budget_bytes() {
            0 => Err(Some(WaitsFor::Room)),
            _ => Ok(Units::new(Some(Share::of(&opening.file.0)))),
        };
        database.enter(|_| self.try_to_open(read, register)).flatten()
    }
}

/// The manager's lists, behind one lock as there.
#[derive(Default)]
struct Lists {
    waiting: WaitingTables,
    in_flight: InFlight,
}

/// What the threads share.
struct Queue {
    lists: crate::sync::Mutex<Lists>,
    chores: crate::sync::Mutex<Vec<Weak<Database>>>,
    faults: Arc<Faults>,
    begun: Instant,
    pauses: AtomicU32,
}

impl Queue {
    fn new(failures: i64) -> Self {
        let faults = Faults { budget: MemoryBudget::new(1), failures_left: AtomicI64::new(failures) };
        Self {
            lists: crate::sync::Mutex::default(),
            chores: crate::sync::Mutex::default(),
            faults: Arc::new(faults),
            begun: Instant::now(),
            pauses: AtomicU32::new(0),
        }
    }

    fn now(&self) -> Instant {
        self.begun + self.pauses.load(SeqCst) * PAUSE
    }

    fn move_budget(&self, bytes: usize) {
        self.faults.budget.ask(bytes);
        self.faults.budget.follow();
    }

    /// As a table is opened that cannot be read.
    fn wait_to_open(&self, table: &Arc<Table>) {
        let number =
            self.lists.lock().waiting.add(table.clone(), PLACE, WaitsFor::File, self.now());
        table.while_waiting(|opening| opening.number.store(number, SeqCst));
    }

    /// As a thread of the pool tries a table, after a pause.
    fn try_one(&self) {
        self.pauses.fetch_add(1, SeqCst);
        let (frees, now) = (self.faults.budget.frees(), self.now());
        let begun = {
            let Lists { waiting, in_flight } = &mut *self.lists.lock();
            waiting
                .begin(frees, now, |place| in_flight.may_begin(place))
                .map(|begun| (begun, in_flight.begin(PLACE, None, 0)))
        };
        let Some(((number, table, place), read)) = begun else { return };
        let why = table.open();
        let mut lists = self.lists.lock();
        lists.in_flight.end(read);
        lists.waiting.end(number, place, why, self.now());
        // The table goes without the lock.
        drop(lists);
    }

    /// Tables that wait.
    fn length(&self) -> usize {
        let (lack_room, unreadable) = self.lists.lock().waiting.counts(self.now());
        lack_room + unreadable
    }

    /// As `Database::run` has chores done.
    fn do_chore(&self) {
        let chore = self.chores.lock().pop();
        if let Some(database) = chore.and_then(|chore| chore.upgrade()) {
            database.enter(Share::access);
        }
    }

    /// As a table gets no units any more.
    fn give_up(&self, table: &Table) {
        if let Some(opening) = table.stop_waiting() {
            let waited = self.lists.lock().waiting.remove(opening.number.load(SeqCst));
            drop(waited);
        }
    }

    /// As a reader of the engine's closes a table. Gives whether it was open.
    fn close(&self, table: &Arc<Table>) -> bool {
        self.give_up(table);
        let Some(units) = table.units() else { return false };
        let share = units.lock().take();
        assert!(share.is_some(), "it is open once");
        true
    }
}

/// One life of a database with two tables.
pub(crate) fn live() {
    let mut random = thread_rng();
    let (engine, queue) = (Arc::<Engine>::default(), Arc::new(Queue::new(random.gen_range(0..3))));
    let database = Arc::new(Database::new(Share::of(&engine)));
    let of_pool = queue.clone();
    // A later try heals some faults, so there are lives with few.
    let tries = random.gen_range(1..=4);
    let pool = thread::spawn(move || {
        for _ in 0..tries {
            of_pool.try_one();
            of_pool.do_chore();
        }
    });
    let (of_policy, of_chore) = (queue.clone(), Arc::downgrade(&database));
    let policy = thread::spawn(move || {
        of_policy.move_budget(0);
        of_policy.chores.lock().push(of_chore);
        thread::yield_now();
        of_policy.move_budget(1);
    });
    let begin = || {
        let file = Share::of(&engine);
        let (database, faults) = (database.clone(), queue.faults.clone());
        let table = Arc::new(Table::waiting(Opening { file, database, faults, number: AtomicU64::new(0) }));
        queue.wait_to_open(&table);
        table
    };
    let tables = [begin(), begin()];
    if random.gen_range(0..4) == 0 {
        // It lives on until the fault and the want of room have passed.
        policy.join().expect("it ends");
        pool.join().expect("it ends");
        (0..TRIES).for_each(|_| queue.try_one());
        let are_open = || tables.iter().all(|table| table.units().is_some());
        assert!(are_open(), "a table waits for nothing");
        assert_eq!(engine.shares.load(SeqCst), 3, "those of the database, and one of each open table");
        assert_eq!(queue.length(), 0, "an open table waits");
        tables.iter().for_each(|table| _ = queue.close(table));
        database.close();
        assert_eq!(engine.shares.load(SeqCst), 0);
        return;
    }
    if random.gen_bool(0.5) {
        // Its file is going away.
        queue.give_up(&tables[0]);
    }
    let were_open = tables.each_ref().map(|table| queue.close(table));
    if random.gen_range(0..4) == 0 {
        // A thread of the engine removed the last table, and waits for nothing.
        database.shut();
        assert!(!database.is_open() && database.enter(|_| ()).is_none());
    } else {
        database.close();
        assert_eq!(engine.shares.load(SeqCst), 0, "shares are kept after the end of the database");
        engine.is_gone.store(true, SeqCst);
    }
    policy.join().expect("it ends");
    pool.join().expect("it ends");
    assert_eq!(engine.shares.load(SeqCst), 0, "shares are kept");
    assert_eq!(queue.length(), 0, "a closed table waits");
    let are_open = tables.each_ref().map(|table| table.units().is_some());
    assert_eq!(were_open, are_open, "a closed table was opened");
}
