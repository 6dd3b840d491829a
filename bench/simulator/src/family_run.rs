//! What a run gives for each column family.

/// Lookups of a family in a run, and its memory at the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct FamilyRun {
    /// Lookups.
    pub lookups: u64,
    /// Wasted reads of all of them.
    pub wasted_reads: f64,
    /// Bits of its filters, for each of its keys.
    pub resident_bits_per_key: f64,
}

impl FamilyRun {
    /// Those of this many families before the first lookup.
    pub(crate) fn none(families: u32) -> Vec<Self> {
        vec![Self::default(); families as usize]
    }

    /// Wasted reads per lookup of these families together; none without a lookup.
    pub fn wasted_per_lookup(families: &[Self]) -> f64 {
        let lookups: u64 = families.iter().map(|family| family.lookups).sum();
        families.iter().map(|family| family.wasted_reads).sum::<f64>() / lookups.max(1) as f64
    }
}
