//! A thread that looks at the budget all the time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use springbloom_rocksdb::ElasticFilters;

pub(crate) struct BudgetWatch {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl BudgetWatch {
    pub(crate) fn begin(elastic: ElasticFilters) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let until = is_over.clone();
        let thread = thread::spawn(move || {
            let mut looked = 0;
            while !until.load(Ordering::Relaxed) {
                let stats = elastic.stats();
                assert!(stats.used_bytes <= stats.budget_bytes, "over budget: {stats:?}");
                looked += 1;
                thread::sleep(Duration::from_millis(1));
            }
            looked
        });
        Self { is_over, thread }
    }

    /// # Panics
    /// If the budget was exceeded.
    pub(crate) fn check(&self) {
        assert!(!self.thread.is_finished(), "the budget was exceeded");
    }

    /// How often it looked.
    pub(crate) fn end(self) -> u64 {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().expect("the budget holds")
    }
}
