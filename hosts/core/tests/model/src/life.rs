use std::sync::{
    Arc, Weak,
    atomic::{AtomicBool, AtomicI64, Ordering::SeqCst},
};

use shuttle::{
    rand::{Rng, thread_rng},
    thread,
};

use self::{gate::Gate, table_life::TableLife};

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

struct Opening {
    file: Share,
    database: Arc<Database>,
}

/// The share that the readers of units find.
type Units = crate::sync::Mutex<Option<Share>>;
type Table = TableLife<Opening, Units>;

/// Why a table waits.
#[derive(PartialEq)]
enum Why {
    Room,
    File,
}

/// What the threads share.
#[derive(Default)]
struct Queue {
    waiting: crate::sync::Mutex<Vec<Arc<Table>>>,
    chores: crate::sync::Mutex<Vec<Weak<Database>>>,
    lacks_room: AtomicBool,
    failures_left: AtomicI64,
}

impl Queue {
    /// As the load queue tries a table.
    fn try_one(&self) {
        let Some(table) = self.waiting.lock().pop() else { return };
        let Some(database) = table.while_waiting(|opening| opening.database.clone()) else { return };
        let read = |opening: &Opening| {
            opening.file.access();
            if self.failures_left.fetch_sub(1, SeqCst) > 0 { Err(Some(Why::File)) } else { Ok(()) }
        };
        let register = |(), opening: &Opening| match self.lacks_room.load(SeqCst) {
            true => Err(Some(Why::Room)),
            false => Ok(Units::new(Some(Share::of(&opening.file.0)))),
        };
        let why = database.enter(|_| table.try_to_open(read, register)).flatten();
        if why.is_some() {
            thread::yield_now();
            self.waiting.lock().push(table);
        }
    }

    /// As `Database::run` has chores done.
    fn do_chore(&self) {
        let chore = self.chores.lock().pop();
        if let Some(database) = chore.and_then(|chore| chore.upgrade()) {
            database.enter(Share::access);
        }
    }

    /// As a reader of the engine's closes a table. Gives whether it was open.
    fn close(&self, table: &Arc<Table>) -> bool {
        if table.stop_waiting().is_some() {
            self.waiting.lock().retain(|other| !Arc::ptr_eq(other, table));
        }
        let Some(units) = table.units() else { return false };
        let share = units.lock().take();
        assert!(share.is_some(), "it is open once");
        true
    }
}

/// One life of a database with two tables.
pub(crate) fn live() {
    let mut random = thread_rng();
    let (engine, queue) = (Arc::<Engine>::default(), Arc::<Queue>::default());
    queue.failures_left.store(random.gen_range(0..3), SeqCst);
    let database = Arc::new(Database::new(Share::of(&engine)));
    let begin = |is_open| match is_open {
        true => Arc::new(Table::open(Units::new(Some(Share::of(&engine))))),
        false => {
            Arc::new(Table::waiting(Opening { file: Share::of(&engine), database: database.clone() }))
        }
    };
    let tables = [random.gen_range(0..4) == 0, false].map(begin);
    let waiting = tables.iter().filter(|table| table.units().is_none()).cloned();
    queue.waiting.lock().extend(waiting);
    let of_pool = queue.clone();
    let pool = thread::spawn(move || {
        for _ in 0..4 {
            of_pool.try_one();
            of_pool.do_chore();
        }
    });
    let (of_policy, of_chore) = (queue.clone(), Arc::downgrade(&database));
    let policy = thread::spawn(move || {
        of_policy.lacks_room.store(true, SeqCst);
        of_policy.chores.lock().push(of_chore);
        thread::yield_now();
        of_policy.lacks_room.store(false, SeqCst);
    });
    if random.gen_range(0..4) == 0 {
        // It lives on until the fault and the want of room have passed.
        policy.join().expect("it ends");
        pool.join().expect("it ends");
        while !queue.waiting.lock().is_empty() {
            queue.try_one();
        }
        let are_open = || tables.iter().all(|table| table.units().is_some());
        assert!(are_open(), "a table waits for nothing");
        assert_eq!(engine.shares.load(SeqCst), 3, "those of the database, and one of each open table");
        tables.iter().for_each(|table| _ = queue.close(table));
        database.close();
        assert_eq!(engine.shares.load(SeqCst), 0);
        return;
    }
    if random.gen_bool(0.5) {
        // Its file is going away.
        _ = tables[0].stop_waiting();
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
    let are_open = tables.each_ref().map(|table| table.units().is_some());
    assert_eq!(were_open, are_open, "a closed table was opened");
}
