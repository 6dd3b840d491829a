//! The bounds on both sides: an in-memory filter with all of its bits in memory, and a flat filter in a mapped file under
//! the same memory ceiling (`mapped_flat.py` next to this file measures that one; its lines are printed as they come).

use std::path::Path;
use std::process::Command;

use springbloom_flash_filter::{FlashFilter, Layout};

use crate::claims::{Claim, Wanted};
use crate::setup::{PROBES, Setup, median, rate};

const BATCH: u64 = 8192;

pub(crate) fn run(setup: &Setup) -> Vec<Claim> {
    let directory = setup.fresh("rivals");
    let mut filter = FlashFilter::create(&directory, &setup.settings(Layout::Hierarchical), setup.buffer())
        .expect("create");
    let keys = setup.capacity_keys() / 8;
    let insert_start = std::time::Instant::now();
    setup.fill(&mut filter, keys);
    let inserts = keys as f64 / insert_start.elapsed().as_secs_f64();
    let mut next = 0;
    let lookups = median(
        (0..setup.rounds)
            .map(|_| {
                rate(setup.time, || {
                    next += BATCH;
                    std::hint::black_box(filter.contains_many(&setup.keys(1, next..next + BATCH)));
                    BATCH
                })
            })
            .collect(),
    );
    drop(filter);
    println!(
        "ours: {inserts:.0} insertions/s, {lookups:.0} lookups/s in batches, memory {} KiB",
        setup.memory_bytes() >> 10
    );
    let (fastbloom_inserts, fastbloom_lookups) = in_memory(setup, keys);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/filter/mapped_flat.py");
    let mapped = Command::new("python3")
        .arg(script)
        .arg(setup.directory.join("mapped.bloom"))
        .args([setup.capacity_keys().to_string(), keys.to_string(), PROBES.to_string()])
        .args([setup.memory_bytes().to_string(), (setup.time * 2).as_secs_f64().to_string()])
        .stderr(std::process::Stdio::inherit())
        .output();
    let text =
        mapped.map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned());
    print!("{text}");
    // The script ends with a line for programs.
    let figures: Vec<f64> = text
        .lines()
        .last()
        .and_then(|line| line.strip_prefix("rates:"))
        .map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
        .unwrap_or_default();
    let mut claims = vec![
        Claim::new(
            "insertions, durable, times fastbloom's in memory",
            inserts / fastbloom_inserts,
            Wanted::Nothing,
        ),
        Claim::new("lookups, times fastbloom's in memory", lookups / fastbloom_lookups, Wanted::Nothing),
    ];
    match figures[..] {
        [mapped_inserts, mapped_lookups] => claims.extend([
            Claim::new(
                "insertions, durable, times the mapped filter's",
                inserts / mapped_inserts,
                Wanted::AtLeast(1.0),
            ),
            Claim::new("lookups, times the mapped filter's", lookups / mapped_lookups, Wanted::AtLeast(1.0)),
        ]),
        _ => println!("no mapped flat filter: needs python3 with pybloomfiltermmap3"),
    }
    claims
}

/// Insertions and lookups per second.
fn in_memory(setup: &Setup, keys: u64) -> (f64, f64) {
    let mut filter = fastbloom::BloomFilter::with_num_bits(setup.filter_bytes as usize * 8)
        .seed(&u128::from(setup.seed))
        .hashes(u32::from(PROBES));
    let start = std::time::Instant::now();
    for n in 0..keys {
        filter.insert(&setup.key(0, n));
    }
    let inserts = keys as f64 / start.elapsed().as_secs_f64();
    let mut next = 0;
    let lookups = rate(setup.time, || {
        next += BATCH;
        std::hint::black_box((next..next + BATCH).filter(|n| filter.contains(&setup.key(1, *n))).count());
        BATCH
    });
    println!(
        "fastbloom, all in memory: {inserts:.0} insertions/s, {lookups:.0} lookups/s, memory {} KiB",
        setup.filter_bytes >> 10
    );
    (inserts, lookups)
}
