//! Measures the flash filter and its competitors, and prints ratios taken within one run.
//!
//! Usage: `cargo bench -p springbloom-flash-bench --bench filter -- [SECTION...]`. Sections: memory, rates, lookups, mixes, durable,
//! policies, rivals. All of them if none is named, in some eight minutes on two cores. Settings come from the environment, see
//! [`setup::Setup`]. Uses `fio` if it is installed. The file
//! that `SPRINGBLOOM_RECORD` names gets a record of the run.

mod claims;
mod durable;
mod flat;
mod lookups;
mod measured;
mod memory;
mod mixes;
mod policies;
mod rates;
mod rivals;
mod setup;
mod traces;

use std::time::Instant;

use claims::Claim;
use setup::{SETTINGS, Setup};
use springbloom_records::{Bench, Clock};

type Section = fn(&Setup) -> Vec<Claim>;

/// Memory comes first, because memory freed by other sections would hide its growth.
const SECTIONS: [(&str, Section); 7] = [
    ("memory", memory::run),
    ("rates", rates::run),
    ("lookups", lookups::run),
    ("mixes", mixes::run),
    ("durable", durable::run),
    ("policies", policies::run),
    ("rivals", rivals::run),
];

fn main() {
    // Cargo adds `--bench`.
    let named: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let setup = Setup::from_environment();
    println!("{}.", setup.header());
    let (start, clock) = (Instant::now(), Clock::start());
    let mut claims = Vec::new();
    for (name, section) in SECTIONS {
        if named.is_empty() || named.iter().any(|wanted| wanted == name) {
            println!("\n## {name}\n");
            let begun = Instant::now();
            claims.extend(section(&setup));
            println!("\n({:.0} s, load {})", begun.elapsed().as_secs_f64(), load());
        }
    }
    println!("\n## claims ({:.0} s in all)\n", start.elapsed().as_secs_f64());
    claims::print(&claims);
    let bench = Bench { folder: "flash/bench", bench: "filter", environment: &SETTINGS, sections: &named };
    let figures = setup.figures.take();
    bench.record(&clock, setup.seed, figures).expect("the record of the run");
    setup.clean();
}

/// Load of the machine over the last minute, because other work distorts the figures.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}
