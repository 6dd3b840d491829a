//! The comparison of BloomStore's slides: two workloads, each with this many keys and this much memory, under BloomStore with and without
//! pre-filter, SkimpyStash with filters of 8 bits per key at the same memory, and the index.

use springbloom_flash_index::{IndexMemory, IndexSettings};

use crate::bloomstore::{BloomStore, Sizes};
use crate::chains;
use crate::ours::Ours;
use crate::setup::Setup;
use crate::skimpy::Skimpy;
use crate::store::measure;

/// A workload of the slides.
struct Workload {
    name: &'static str,
    operations: u64,
    lookups_per_insertion: f64,
    base: Sizes,
    with_prefilter: Sizes,
}

const KIB: usize = 1024;

const WORKLOADS: [Workload; 2] = [
    Workload {
        name: "linux",
        operations: 12_427_697,
        lookups_per_insertion: 4.1,
        base: Sizes { write_buffers: 1648 * KIB, filter_buffers: 1302 * KIB, prefilters: 0, chain: 12 * KIB },
        with_prefilter: Sizes {
            write_buffers: 1648 * KIB,
            filter_buffers: 807 * KIB,
            prefilters: 495 * KIB,
            chain: 12 * KIB,
        },
    },
    Workload {
        name: "vx",
        operations: 14_628_873,
        lookups_per_insertion: 1.6,
        base: Sizes { write_buffers: 3840 * KIB, filter_buffers: 3066 * KIB, prefilters: 0, chain: 10 * KIB },
        with_prefilter: Sizes {
            write_buffers: 3840 * KIB,
            filter_buffers: 186 * KIB,
            prefilters: 2880 * KIB,
            chain: 10 * KIB,
        },
    },
];

pub(crate) fn run(setup: &Setup) {
    for Workload { name, operations, lookups_per_insertion, base, with_prefilter } in WORKLOADS {
        let keys = (operations as f64 / (1.0 + lookups_per_insertion)) as u64;
        let setup = &Setup { keys, ..setup.clone() };
        // Every key is looked up once before it is put; the other lookups find it.
        let present = (64.0 * (1.0 - 1.0 / lookups_per_insertion)).round() as usize;
        let called = |store: &str| format!("{store}, {name}");
        drop(measure(setup, &called("BloomStore without pre-filter"), || {
            BloomStore::make(setup, "bloomstore", base)
        }));
        let mut published =
            measure(setup, &called("BloomStore"), || BloomStore::make(setup, "bloomstore", with_prefilter));
        let mut skimpy = measure(setup, &called("SkimpyStash"), || {
            Skimpy::with_memory(setup, with_prefilter.memory_bytes() as u64, 8)
        });
        let mut ours = measure(setup, &called("springbloom"), || {
            Ours::make(setup, "slides", IndexSettings::new(0), IndexMemory::standard())
        });
        let mix = format!("keys as in {name}");
        let what = (&*mix, present);
        let rival = called("SkimpyStash");
        chains::ratio(setup, (&called("BloomStore"), &mut published), (&rival, &mut skimpy), what);
        chains::ratio(setup, (&called("springbloom"), &mut ours), (&rival, &mut skimpy), what);
        ours.index.close().expect("close");
    }
}
