//! Durable insertions: one sync per insertion against group commit, by one thread in batches and by many threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use springbloom_flash_filter::{FlashFilter, Layout, WhenFull};

use crate::claims::{Claim, Wanted};
use crate::setup::{Setup, rate};

/// Keys inserted between two commits of the batched writer.
const BATCH: u64 = 16_384;
const THREADS: u64 = 16;

pub(crate) fn run(setup: &Setup) -> Vec<Claim> {
    let directory = setup.fresh("durable");
    let mut filter = FlashFilter::create(&directory, &setup.settings(Layout::Hierarchical), setup.buffer())
        .expect("create");
    filter.set_when_full(WhenFull::Exceed);
    // The buffer is filled first, so that its flushes are part of every rate.
    setup.fill(&mut filter, setup.memory_bytes() / 8 * 2);
    let mut next = 0;
    let single = rate(setup.time, || {
        next += 1;
        filter.insert(setup.key(1, next)).and_then(|()| filter.commit()).expect("insert");
        1
    });
    let before = filter.stats();
    let batched = rate(setup.time * 4, || {
        next += BATCH;
        filter
            .insert_many(&setup.keys(1, next..next + BATCH))
            .and_then(|()| filter.commit())
            .expect("insert");
        BATCH
    });
    let after = filter.stats();
    let threads = many_threads(setup, &filter);
    println!("| durable insertions | /s | ratio |\n|---|---|---|");
    println!("| one thread, one sync each | {single:.0} | 1 |");
    println!("| one thread, a commit every {BATCH} | {batched:.0} | {:.0} |", batched / single);
    println!("| {THREADS} threads, each commits every insertion | {threads:.0} | {:.1} |", threads / single);
    let inserted = (after.insertions - before.insertions) as f64;
    println!(
        "\nbatched: {:.1} bytes of pages and {:.1} of log written per insertion, {:.0} insertions per page write",
        (after.page_bytes_written - before.page_bytes_written) as f64 / inserted,
        (after.log_bytes_written - before.log_bytes_written) as f64 / inserted,
        inserted / (after.flush_page_writes - before.flush_page_writes) as f64
    );
    vec![
        Claim::new(
            "durable insertions with group commit, times one sync each",
            batched / single,
            Wanted::AtLeast(300.0),
        ),
        Claim::new("the same by 16 threads that commit each", threads / single, Wanted::Nothing),
    ]
}

fn many_threads(setup: &Setup, filter: &FlashFilter) -> f64 {
    let start = Instant::now();
    let done = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let done = &done;
            scope.spawn(move || {
                let mut n = 0;
                while start.elapsed() < setup.time {
                    n += 1;
                    filter.insert(setup.key(2 + thread, n)).and_then(|()| filter.commit()).expect("insert");
                }
                done.fetch_add(n, Ordering::Relaxed);
            });
        }
    });
    done.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64()
}
