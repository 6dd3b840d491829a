//! What was decided: how many units of every segment are to be resident, under a ceiling in bytes, with the measured use
//! that the decision rests upon. Pure bookkeeping: what is resident in fact follows later.
//!
//! Invariants:
//! - `planned_bytes` is the sum of [`group_bytes`] over all segments with their allocated units;
//! - [`admit`](Allocation::admit) never takes `planned_bytes` over the ceiling (a ceiling that was lowered can leave it
//!   there until units are evicted);
//! - every segment whose allocated units changed is in `changed` until somebody takes it out.

use std::collections::HashMap;

use springbloom_filter::GroupShape;

use crate::SegmentRef;
use crate::memory::group_bytes;
use crate::plan::PerSegment;
use crate::plan::Run;
use crate::plan::counts::Counts;
use crate::plan::hotness::{Decay, Hotness};
use crate::plan::runs::Runs;
use crate::visits::Visit;

/// The rate of one unit: `2^(-n/32)`, so half a percent off on average. Units of a group err independently, so it gives those of all
/// prefixes; ribbon units are exact.
#[derive(Clone, Copy, Debug)]
struct UnitRate(u8);

impl UnitRate {
    /// Costly for Bloom units, whose exact rate is a long sum.
    fn of(shape: GroupShape) -> Self {
        Self((-32.0 * shape.false_positive_rate(1).log2()).round() as u8) // saturates; a unit without keys never errs
    }

    fn of_units(self, units: u8) -> f32 {
        (-f32::from(u16::from(self.0) * u16::from(units)) / 32.0).exp2()
    }
}

/// A segment as the policies see it.
#[derive(Clone, Debug)]
pub struct SegmentState {
    /// What was built over it.
    pub shape: GroupShape,
    counts: Counts,
    rate: UnitRate,
    /// Units allocated.
    units: u8,
    /// Units that can be had, fewer than were built once one was found corrupt; above [`UNITS_BITS`], reads that failed.
    units_max_and_failures: u8,
    /// Units resident in fact; the registry's.
    pub(crate) resident: u8,
}

/// Visits of evidence that the analytic rates count for, against what was observed. Which keys a unit lets pass is fixed, so
/// that a few hot keys make a segment's true rate anything; with some evidence, what is seen is right and the rate is not.
const PRIOR_VISITS: f32 = 1.0;

/// Mean of a Gamma-Poisson posterior: what follows from the rates, corrected by what was observed. All weighted.
fn posterior_mean(expected: f32, observed: f32, weight: f32) -> f32 {
    let prior = PRIOR_VISITS * weight;
    expected * ((prior + observed) / (prior + expected))
}

const UNITS_BITS: u32 = 6;
const UNITS_MASK: u8 = (1 << UNITS_BITS) - 1;
const _: () = assert!(springbloom_filter::MAX_UNITS <= UNITS_MASK && size_of::<SegmentState>() == 28);

/// Most failed reads that a segment remembers.
pub(crate) const FAILED_READS_MAX: u8 = 3;
const _: () = assert!(FAILED_READS_MAX as u32 == u8::MAX as u32 >> UNITS_BITS);

impl SegmentState {
    fn new(shape: GroupShape, hotness: Hotness) -> Self {
        let rate = UnitRate::of(shape);
        let counts = Counts::new(hotness);
        Self { shape, counts, rate, units: 0, units_max_and_failures: shape.unit_count(), resident: 0 }
    }

    /// Measured use.
    pub fn hotness(&self) -> Hotness {
        self.counts.hotness()
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Weighted reads that are wasted with the allocated units. `weight` is that of a visit made now.
    pub fn wasted(&self, weight: f32) -> f32 {
        posterior_mean(self.counts.negatives() * self.fpr(), self.counts.wasted_reads(), weight)
    }

    /// Weighted reads that would be wasted beside these without the last unit. `weight` is that of a visit made now.
    pub fn saved_by_last(&self, weight: f32) -> f32 {
        posterior_mean(self.counts.negatives() * self.fpr_loss(), self.counts.marginal_rejections(), weight)
    }

    /// Units allocated.
    pub fn units(&self) -> u8 {
        self.units
    }

    /// Units that can be had.
    pub fn units_max(&self) -> u8 {
        self.units_max_and_failures & UNITS_MASK
    }

    fn lower_units_max(&mut self, units_max: u8) {
        let lower = self.units_max().min(units_max);
        self.units_max_and_failures = self.units_max_and_failures & !UNITS_MASK | lower;
    }

    /// Reads of this segment's units that failed since one succeeded.
    pub(crate) fn failed_reads(&self) -> u8 {
        self.units_max_and_failures >> UNITS_BITS
    }

    /// At most [`FAILED_READS_MAX`].
    pub(crate) fn set_failed_reads(&mut self, failed_reads: u8) {
        let kept = failed_reads.min(FAILED_READS_MAX) << UNITS_BITS;
        self.units_max_and_failures = self.units_max() | kept;
    }

    pub(crate) fn fpr(&self) -> f32 {
        self.rate.of_units(self.units)
    }

    /// How much the next unit lowers the fpr; 0 if there is none.
    pub(crate) fn fpr_gain(&self) -> f32 {
        if self.units < self.units_max() { self.fpr() * self.next_share() } else { 0.0 }
    }

    /// Share of what passes the allocated units that the next one stops.
    pub(crate) fn next_share(&self) -> f32 {
        1.0 - self.rate.of_units(1)
    }

    /// How much giving up the last unit raises the fpr; 0 if there is none.
    pub(crate) fn fpr_loss(&self) -> f32 {
        self.units.checked_sub(1).map_or(0.0, |fewer| self.rate.of_units(fewer) * self.next_share())
    }

    /// Bytes that the next unit takes; `None` if there is none.
    pub(crate) fn next_unit_bytes(&self) -> Option<usize> {
        (self.units < self.units_max())
            .then(|| group_bytes(self.shape, self.units + 1) - group_bytes(self.shape, self.units))
    }

    /// Bytes that the last unit takes; `None` if there is none.
    pub fn last_unit_bytes(&self) -> Option<usize> {
        (self.units > 0)
            .then(|| group_bytes(self.shape, self.units) - group_bytes(self.shape, self.units - 1))
    }
}

/// The decision, with the measured use that it rests upon: what a [`Policy`](crate::Policy) reads and changes.
pub struct Allocation {
    segments: PerSegment<SegmentState>,
    runs: Runs,
    /// No unit of these tables is admitted before a tick: reads of them failed.
    backoffs: HashMap<u32, u64>,
    segment_count: usize,
    planned_bytes: usize,
    unit_budget_bytes: usize,
    /// Groups up to this can be copied when they grow.
    copies_bytes_max: usize,
    ticks: u64,
    decay: Decay,
    fixed_half_life: Option<u64>,
    changed: Vec<SegmentRef>,
}

/// Default half-life of measured use, in visits per known segment.
const HALF_LIFE_PER_SEGMENT: u64 = 64;
/// The least default half-life: a handful of segments must not forget within a few lookups.
const HALF_LIFE_MIN: u64 = 16_384;

impl Allocation {
    pub(crate) fn new(half_life: Option<u64>) -> Self {
        Self {
            segments: PerSegment::new(),
            runs: Runs::new(),
            backoffs: HashMap::new(),
            segment_count: 0,
            planned_bytes: 0,
            unit_budget_bytes: 0,
            copies_bytes_max: usize::MAX,
            ticks: 0,
            decay: Decay::new(half_life.unwrap_or(HALF_LIFE_MIN)),
            fixed_half_life: half_life,
            changed: Vec::new(),
        }
    }

    /// The segments of a table; none for an unknown one.
    pub fn table(&self, table: u32) -> &[SegmentState] {
        self.segments.table(table)
    }

    /// A segment, if it is known.
    pub fn segment(&self, segment: SegmentRef) -> Option<&SegmentState> {
        self.segments.get(segment)
    }

    /// Weight of a visit made now: measured use is in such weights.
    pub fn weight(&self) -> f32 {
        self.decay.weight() as f32
    }

    /// Bytes of a table with so many segments.
    pub(crate) fn table_bytes(segments: usize) -> usize {
        PerSegment::<SegmentState>::table_bytes(segments) + Runs::TABLE_BYTES
    }

    /// Takes in a table whose segments have these shapes and this use, without units.
    pub(crate) fn add_table(
        &mut self,
        table: u32,
        run: Run,
        segments: impl ExactSizeIterator<Item = (GroupShape, Hotness)>,
    ) {
        self.segment_count += segments.len();
        let states = segments.map(|(shape, hotness)| SegmentState::new(shape, hotness));
        self.segments.insert_table(table, states);
        self.runs.insert_table(table, run, self.table_keys(table));
        self.segment_count_changed();
    }

    fn table_keys(&self, table: u32) -> u64 {
        self.segments.table(table).iter().map(|state| u64::from(state.shape.key_count())).sum()
    }

    /// Forgets a table and plans nothing for it any more.
    pub(crate) fn remove_table(&mut self, table: u32) {
        for state in self.segments.table(table) {
            self.planned_bytes -= group_bytes(state.shape, state.units);
        }
        self.segment_count -= self.segments.table(table).len();
        self.changed.retain(|segment| segment.table != table);
        self.runs.remove_table(table, self.table_keys(table));
        self.segments.remove_table(table);
        self.backoffs.remove(&table);
        self.segment_count_changed();
    }

    fn segment_count_changed(&mut self) {
        let half_life = (self.segment_count as u64 * HALF_LIFE_PER_SEGMENT).max(HALF_LIFE_MIN);
        self.decay.set_half_life(self.fixed_half_life.unwrap_or(half_life));
    }

    /// Takes in use that nobody measured: `lookups` of absent keys in each sorted run, spread evenly over its keys. A lookup visits every
    /// run once, so a segment of a small run is visited more often (Monkey, SIGMOD'17, section 4.1). O(segments of the table).
    pub(crate) fn assume_lookups(&mut self, table: u32, lookups: f32) {
        let is_run = self.runs.of(table).is_none_or(Run::is_of_single_tables);
        let run_keys = if is_run { self.table_keys(table) } else { self.runs.keys(table) };
        let weight = self.decay.weight() as f32 * lookups / run_keys.max(1) as f32;
        for segment in 0..self.segments.table(table).len() as u32 {
            let state = &mut self.segments[SegmentRef { table, segment }];
            let negatives = weight * state.shape.key_count() as f32;
            let (wasted, marginal) = (negatives * state.fpr(), negatives * state.fpr_loss());
            state.counts.assume(negatives, wasted, marginal);
            self.decay.assume(f64::from(negatives));
        }
    }

    /// Takes in a visit. Gives the factor that all use was scaled by, if that was due; O(1) except then.
    pub(crate) fn record(&mut self, visit: Visit) -> Option<f32> {
        self.ticks += 1;
        let weight = self.decay.tick(visit.sample_weight);
        self.segments[visit.segment].counts.record(visit.outcome, weight);
        let factor = self.decay.rescale()?;
        self.segments.iter_mut().for_each(|state| state.counts.scale(factor));
        Some(factor)
    }

    /// Allocates the segment's next unit; `false`, and nothing changes, if there is none or no room for it.
    pub fn admit(&mut self, segment: SegmentRef) -> bool {
        let Some(bytes) = self.admissible_bytes(segment) else { return false };
        if bytes > self.free_bytes() {
            return false;
        }
        self.planned_bytes += bytes;
        let weight = self.decay.weight() as f32;
        let state = &mut self.segments[segment];
        // What passed so far: the new unit will stop its share of it, until it is seen what it really stops.
        let (wasted, stopped) = (state.wasted(weight), state.next_share());
        state.counts.set_wasted_reads(wasted * (1.0 - stopped));
        state.counts.set_marginal_rejections(wasted * stopped);
        state.units += 1;
        self.note_change(segment);
        true
    }

    /// Gives up the segment's last unit; `false` if it has none.
    pub fn evict(&mut self, segment: SegmentRef) -> bool {
        let weight = self.decay.weight() as f32;
        let state = &mut self.segments[segment];
        let Some(bytes) = state.last_unit_bytes() else { return false };
        let wasted = state.wasted(weight) + state.saved_by_last(weight);
        state.units -= 1;
        // By the analytic rates; nobody has counted for the unit that is the last now.
        let stopped = state.next_share();
        let marginal_rejections = if state.units == 0 { 0.0 } else { wasted * stopped / (1.0 - stopped) };
        state.counts.set_wasted_reads(wasted);
        state.counts.set_marginal_rejections(marginal_rejections);
        self.planned_bytes -= bytes;
        self.note_change(segment);
        true
    }

    fn note_change(&mut self, segment: SegmentRef) {
        if self.changed.last() != Some(&segment) {
            self.changed.push(segment);
        }
    }

    /// No more than `units_max` units of the segment can be had from now on.
    pub(crate) fn cap_units(&mut self, segment: SegmentRef, units_max: u8) {
        while self.segments[segment].units > units_max {
            self.evict(segment);
        }
        self.segments[segment].lower_units_max(units_max);
    }

    /// Bytes that the segment's next unit takes, if it may be admitted (there may be no room for it).
    pub fn admissible_bytes(&self, segment: SegmentRef) -> Option<usize> {
        let may_read = self.backoffs.is_empty()
            || self.backoffs.get(&segment.table).is_none_or(|&until| self.ticks >= until);
        self.segments[segment].next_unit_bytes().filter(|_| may_read)
    }

    pub(crate) fn set_backoff(&mut self, table: u32, ticks: u64) {
        self.backoffs.retain(|_, until| *until > self.ticks);
        self.backoffs.insert(table, self.ticks + ticks);
    }

    pub(crate) fn set_level(&mut self, table: u32, level: Option<u8>) {
        if let Some(run) = self.runs.of(table) {
            let keys = self.table_keys(table);
            self.runs.remove_table(table, keys);
            self.runs.insert_table(table, Run { level, ..run }, keys);
        }
    }

    pub(crate) fn set_unit_budget_bytes(&mut self, unit_budget_bytes: usize) {
        self.unit_budget_bytes = unit_budget_bytes;
    }

    /// Bytes that all units may take.
    pub fn unit_budget_bytes(&self) -> usize {
        self.unit_budget_bytes
    }

    pub(crate) fn set_copies_bytes_max(&mut self, copies_bytes_max: usize) {
        self.copies_bytes_max = copies_bytes_max;
    }

    /// Reads that make the segment's next unit resident: of that one, or, where there is no room for a copy of its group, of all.
    pub(crate) fn reads_to_grow(&self, segment: SegmentRef) -> u8 {
        let state = &self.segments[segment];
        let can_copy = group_bytes(state.shape, state.units) <= self.copies_bytes_max.max(self.free_bytes());
        if can_copy { 1 } else { state.units + 1 }
    }

    pub(crate) fn planned_bytes(&self) -> usize {
        self.planned_bytes
    }

    /// Bytes under the ceiling that no unit is planned for.
    pub fn free_bytes(&self) -> usize {
        self.unit_budget_bytes.saturating_sub(self.planned_bytes)
    }

    /// Whether units must be evicted.
    pub(crate) fn is_over(&self) -> bool {
        self.planned_bytes > self.unit_budget_bytes
    }

    /// Visits taken in, whatever they stand for: the papers' `currentTime`.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    pub(crate) fn decay(&self) -> &Decay {
        &self.decay
    }

    /// Segments of all known tables.
    pub fn segment_count(&self) -> usize {
        self.segment_count
    }

    pub(crate) fn segments(&self) -> &PerSegment<SegmentState> {
        &self.segments
    }

    pub(crate) fn state_mut(&mut self, segment: SegmentRef) -> &mut SegmentState {
        &mut self.segments[segment]
    }

    /// Sets what is known of reads that a segment's units would have stopped: it differs from what was recorded where the segment had
    /// other units then.
    pub(crate) fn set_wasted_reads(&mut self, segment: SegmentRef, wasted_reads: f32) {
        self.segments[segment].counts.set_wasted_reads(wasted_reads);
    }

    pub(crate) fn runs(&self) -> &Runs {
        &self.runs
    }

    /// One of the segments whose allocated units changed.
    pub(crate) fn take_changed(&mut self) -> Option<SegmentRef> {
        self.changed.pop()
    }

    /// Segments whose allocated units changed in this call.
    pub(crate) fn changed_count(&self) -> usize {
        self.changed.len()
    }

    /// Wasted reads to expect per visit by measured use and analytic rates. O(segments).
    pub(crate) fn expected_wasted_reads_per_visit(&self) -> f64 {
        let wasted: f64 = self
            .segments
            .iter()
            .map(|(_, state)| f64::from(state.counts.negatives()) * f64::from(state.fpr()))
            .sum();
        if self.decay.total() > 0.0 { wasted / self.decay.total() } else { 0.0 }
    }
}
