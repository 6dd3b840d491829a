//! The best fixed units for lookups that are known: no policy wastes fewer reads with units that stay.

use crate::{FamilyRun, Lookup, Tree};

/// What the families waste in `lookups` under the best fixed allocation of `bits` bits for each key, in whole units: from the true number
/// of lookups of absent keys in each segment, and analytic rates. Nothing else is paid for.
pub fn optimum(tree: &Tree, bits: f64, lookups: impl Iterator<Item = Lookup>) -> Vec<FamilyRun> {
    let shape = tree.group.shape;
    let rates: Vec<f64> = (0..=shape.unit_count()).map(|units| shape.false_positive_rate(units)).collect();
    let mut families = FamilyRun::none(tree.families);
    let mut negatives: Vec<Vec<u64>> =
        tree.levels.iter().map(|&segments| vec![0; segments as usize]).collect();
    for lookup in lookups {
        families[lookup.family].lookups += 1;
        for visit in tree.visits(lookup).filter(|visit| !visit.is_there) {
            negatives[visit.level][visit.segment as usize] += 1;
        }
    }
    // Greedy by the savings of each unit, which is optimal for units of one size.
    let mut savings = Vec::new();
    for (level, counts) in negatives.iter().enumerate() {
        let family = tree.family_of(level).0;
        for &count in counts {
            families[family].wasted_reads += count as f64;
            savings.extend(rates.windows(2).map(|rates| (count as f64 * (rates[0] - rates[1]), family)));
        }
    }
    savings.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let unit_bits = shape.unit_bytes() as f64 * 8.0;
    let units = (tree.keys() as f64 * bits / unit_bits) as usize;
    for (saved, family) in savings.into_iter().take(units) {
        families[family].wasted_reads -= saved;
        families[family].resident_bits_per_key += unit_bits / tree.family_keys() as f64;
    }
    families
}
