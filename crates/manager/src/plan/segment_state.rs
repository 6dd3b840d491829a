//! What the plan knows of a segment: the units that it allots to it, their rates and bytes, and its measured use.

use springbloom_filter::GroupShape;

use crate::memory::group_bytes;
use crate::plan::counts::Counts;
use crate::plan::hotness::Hotness;

/// A segment as the policies see it.
#[derive(Clone, Debug)]
pub struct SegmentState {
    /// Shape of the units that were built.
    pub shape: GroupShape,
    pub(crate) counts: Counts,
    /// False-positive rate of one unit, stored as `n` of `2^(-n/32)`: half a percent off on average, exact for ribbon units. Units of a
    /// group err independently, so the rate of `k` units is its `k`-th power.
    rate: u8,
    /// Units allocated.
    pub(super) units: u8,
    /// Units that can be loaded: fewer than were built while one is corrupt.
    pub(super) units_max: u8,
}

const _: () = assert!(size_of::<SegmentState>() == 28);

impl SegmentState {
    pub(super) fn new(shape: GroupShape, hotness: Hotness) -> Self {
        // Slow for Bloom units: their exact rate is a long sum. Saturates; a unit without keys never errs.
        let rate = (-32.0 * shape.false_positive_rate(1).log2()).round() as u8;
        let counts = Counts::new(hotness);
        Self { shape, counts, rate, units: 0, units_max: shape.unit_count() }
    }

    /// Measured use.
    pub fn hotness(&self) -> Hotness {
        self.counts.hotness
    }

    /// Units allocated.
    pub fn units(&self) -> u8 {
        self.units
    }

    /// Units that can be loaded.
    pub fn units_max(&self) -> u8 {
        self.units_max
    }

    pub(crate) fn fpr(&self) -> f32 {
        self.fpr_of(self.units)
    }

    /// With this many units.
    pub(super) fn fpr_of(&self, units: u8) -> f32 {
        (-f32::from(u16::from(self.rate) * u16::from(units)) / 32.0).exp2()
    }

    /// By how much the next unit lowers the false-positive rate; 0 if there is none.
    pub fn fpr_gain(&self) -> f32 {
        if self.units < self.units_max() { self.fpr() * self.next_share() } else { 0.0 }
    }

    /// Share of the keys that pass the allocated units which the next unit rejects.
    pub(crate) fn next_share(&self) -> f32 {
        1.0 - self.fpr_of(1)
    }

    /// By how much the false-positive rate rises without the last unit; 0 if there is none.
    pub fn fpr_loss(&self) -> f32 {
        self.units.checked_sub(1).map_or(0.0, |fewer| self.fpr_of(fewer) * self.next_share())
    }

    /// Bytes that the next unit takes; `None` if there is none.
    pub(crate) fn next_unit_bytes(&self) -> Option<usize> {
        (self.units < self.units_max())
            .then(|| group_bytes(self.shape, self.units + 1) - group_bytes(self.shape, self.units))
    }

    /// Bytes of all units that can be loaded and are not allocated.
    pub(crate) fn lacking_bytes(&self) -> usize {
        group_bytes(self.shape, self.units_max()) - group_bytes(self.shape, self.units)
    }

    /// Bytes that the last unit takes; `None` if there is none.
    pub fn last_unit_bytes(&self) -> Option<usize> {
        (self.units > 0)
            .then(|| group_bytes(self.shape, self.units) - group_bytes(self.shape, self.units - 1))
    }
}
