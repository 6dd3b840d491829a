//! Several column families under one budget.

use springbloom_filter::UnitSettings;
use springbloom_published_policies::{PolicyKind, StockFilter};
use springbloom_simulator::managed::{Managed, settings};
use springbloom_simulator::written::{Choice, Written};
use springbloom_simulator::{FamilyRun, Lookups, Tree, optimum};
use springbloom_workload::{FamilyMix, StreamSettings};

const BITS: f64 = 4.0;
const LOOKUPS: usize = 100_000;

#[test]
fn the_family_that_is_asked_for_absent_keys_gets_the_memory() {
    let tree = Tree::new(&[1, 2, 20], 4, 4096, UnitSettings::default()).of_families(4);
    let mix = FamilyMix { traffic: vec![0.25; 4], absent: vec![1.0, 0.0, 0.0, 0.0] };
    let stream = StreamSettings::gets(0.99, mix.absent_share(), 1, 1);
    let lookups = || Lookups::of(stream, &mix, tree.family_keys()).expect("sound settings");

    let mut managed = Managed::new(&tree, PolicyKind::Benefit.manager(settings(&tree, BITS))).expect("room");
    let mut of_manager = lookups();
    managed.run(&mut of_manager, LOOKUPS);
    let elastic = managed.run(&mut of_manager, LOOKUPS);
    let mut written = Written::new(&tree, BITS, (StockFilter::Ribbon, Choice::Same), None);
    let equal = written.run(&mut lookups(), LOOKUPS);
    let by_hand = Choice::Family("13/1".parse().expect("bits"));
    let mut by_hand = Written::new(&tree, BITS, (StockFilter::Ribbon, by_hand), None);
    let by_hand_wasted = by_hand.run(&mut lookups(), LOOKUPS);
    let best = optimum(&tree, BITS, lookups().take(LOOKUPS));
    let optimum = FamilyRun::wasted_per_lookup(&best);
    println!(
        "elastic {elastic:.4}, equal bits {equal:.4}, by hand {by_hand_wasted:.4}, optimum {optimum:.4}"
    );
    assert!(elastic < equal / 2.0 && optimum < equal / 2.0);
    // Lookups of present keys are let into the tables of the upper runs.
    assert!(by_hand_wasted > equal);

    let bits = |families: &[FamilyRun]| -> Vec<f64> {
        families.iter().map(|family| family.resident_bits_per_key).collect()
    };
    for families in [&managed.families, &best, &by_hand.families] {
        let bits = bits(families);
        assert!(bits[0] > BITS && bits[1..].iter().all(|of_other| *of_other < bits[0]), "{bits:?}");
        assert!(bits.iter().sum::<f64>() <= 4.0 * BITS * 1.001, "{bits:?}");
        assert!(families.iter().all(|family| family.lookups > LOOKUPS as u64 / 5), "{families:?}");
    }
    assert!(by_hand.families[0].wasted_reads < written.families[0].wasted_reads / 10.0);
    assert!(bits(&written.families).iter().all(|bits| (bits - BITS).abs() < 1e-6));
}
