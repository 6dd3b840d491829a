//! Bytes written per insertion for each flush order, group size and buffer size (the paper's Figures 6 and 7).

use std::sync::Arc;
use std::time::Instant;

use springbloom_flash_filter::{BufferSettings, FlashFilter, FlushPolicy, Layout, MemorySize, WhenFull};
use springbloom_page_device::{Access, FileStorage, IoEngine};

use springbloom_records::Unit;

use crate::claims::Claim;
use crate::setup::Setup;

const POLICIES: [FlushPolicy; 2] = [FlushPolicy::DirtiestGroupFirst, FlushPolicy::Sequential];
/// Insertions after the buffer was filled, as a multiple of what it holds.
const FILLS: u64 = 2;
/// The filter's part of the run's size.
const SHRINK: u64 = 8;

pub(crate) fn run(setup: &Setup) -> Vec<Claim> {
    // Bytes per insertion depend on the ratio of memory to filter, which stays.
    let setup = &setup.scaled_down(SHRINK, 1);
    println!(
        "| order | group | buffer | insertions/s | page bytes/insertion | pages/write | log bytes/insertion |\n\
         |---|---|---|---|---|---|---|"
    );
    for policy in POLICIES {
        for group_pages in [1, 4, 16, 64] {
            let memory = MemorySize::Bytes(setup.memory_bytes());
            row(setup, BufferSettings { memory, policy, group_pages, cache_bytes: 0 }, "1.8 bits/key");
        }
        for factor in [1, 4, 16, 64] {
            let memory = MemorySize::CacheSizeFactor(factor);
            let name = format!("CacheSizeFactor {factor}");
            row(setup, BufferSettings { memory, policy, group_pages: 16, cache_bytes: 0 }, &name);
        }
    }
    Vec::new()
}

fn row(setup: &Setup, buffer: BufferSettings, name: &str) {
    let directory = setup.fresh("policies");
    let storage = Arc::new(FileStorage::open(&directory, Access::Create, IoEngine::Auto).expect("folder"));
    let filter =
        FlashFilter::create_in(storage, &setup.settings(Layout::Hierarchical), buffer).expect("create");
    filter.set_when_full(WhenFull::Exceed);
    let mut next = 0;
    let mut insert = |count: u64| {
        let end = next + count;
        while next < end {
            let batch = (end - next).min(8192);
            filter.insert_many(&setup.keys(0, next..next + batch)).expect("insert");
            next += batch;
        }
    };
    // The buffer fills until the first flush. After one more filling, its groups have their lasting, uneven distribution.
    let mut filled = 0;
    while filter.stats().group_flushes == 0 {
        insert(1024);
        filled += 1024;
    }
    insert(filled);
    let (before, start) = (filter.stats(), Instant::now());
    insert((filled * FILLS).clamp(1, 8_000_000));
    let (after, seconds) = (filter.stats(), start.elapsed().as_secs_f64());
    let inserted = (after.insertions - before.insertions) as f64;
    let page_bytes = (after.page_bytes_written - before.page_bytes_written) as f64 / inserted;
    let writes = (after.flush_writes - before.flush_writes).max(1) as f64;
    let pages_per_write = (after.flush_page_writes - before.flush_page_writes) as f64 / writes;
    let log_bytes = (after.log_bytes_written - before.log_bytes_written) as f64 / inserted;
    let (order, group) = (format!("{:?}", buffer.policy), buffer.group_pages.to_string());
    let of = [("order", &*order), ("group", &*group), ("buffer", name)];
    setup.figures.note("insertions_per_s", &of, inserted / seconds, Unit::PerSecond);
    setup.figures.note("page_bytes_per_insertion", &of, page_bytes, Unit::PerInsertion);
    setup.figures.note("pages_per_write", &of, pages_per_write, Unit::Ratio);
    setup.figures.note("log_bytes_per_insertion", &of, log_bytes, Unit::PerInsertion);
    println!(
        "| {order} | {group} | {name} | {:.0} | {page_bytes:.1} | {pages_per_write:.1} | {log_bytes:.1} |",
        inserted / seconds
    );
}
