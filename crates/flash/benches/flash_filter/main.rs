//! Measures the flash filter against what it must beat, and prints ratios taken within this one run.
//!
//! `cargo bench -p springbloom-flash -- [SECTION...]`, sections: memory, lookups, mixes, durable, policies, rivals. All of
//! them if none is named. Settings come from the environment, see [`setup::Setup`]. `fio` is used if it is installed.

mod durable;
mod fio;
mod lookups;
mod machine;
mod memory;
mod mixes;
mod policies;
mod rivals;
mod setup;
mod traces;

use setup::Setup;

type Section = fn(&Setup);

/// Memory comes first: what other sections free would hide what it takes.
const SECTIONS: [(&str, Section); 6] = [
    ("memory", memory::run),
    ("lookups", lookups::run),
    ("mixes", mixes::run),
    ("durable", durable::run),
    ("policies", policies::run),
    ("rivals", rivals::run),
];

fn main() {
    // Cargo adds `--bench`; names are what is left.
    let named: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let setup = Setup::from_environment();
    println!("{}", setup.header());
    for (name, section) in SECTIONS {
        if named.is_empty() || named.iter().any(|wanted| wanted == name) {
            println!("\n## {name}\n");
            section(&setup);
        }
    }
}
