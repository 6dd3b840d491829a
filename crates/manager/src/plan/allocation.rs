//! The allocation: how many units of each segment shall be resident within the budget for units, and the measured use behind that. Only
//! the plan is kept here. The loader brings units in and out later.
//!
//! Invariants:
//! - `planned_bytes` is the sum of [`group_bytes`] over all segments with their allocated units;
//! - [`admit`](Allocation::admit) never raises `planned_bytes` above the budget for units. A budget that is lowered can be below it until
//!   units are evicted;
//! - every segment whose allocated units changed is in `changed` until the registry takes it out.

use std::collections::HashMap;

use springbloom_filter::GroupShape;

use crate::memory::{group_bytes, list_places};
use crate::names::SegmentRef;
use crate::plan::forecast::{Belief, Forecast, Forecasts};
use crate::plan::hotness::{Decay, Hotness};
use crate::plan::runs::{RunShare, Runs};
use crate::plan::segment_state::SegmentState;
use crate::plan::{PerSegment, Run};
use crate::visits::Visit;

/// Allocated units and measured use of all segments: what a [`Policy`](crate::Policy) reads and changes.
pub struct Allocation {
    segments: PerSegment<SegmentState>,
    pub(crate) runs: Runs,
    forecast: Forecast,
    /// Tables whose reads found no room, and the number of visits before which no unit of them is admitted.
    backoffs: HashMap<u32, u64>,
    segment_count: usize,
    /// Of the first [`FEW_UNITS`] units of every segment.
    few_units_bytes: usize,
    planned_bytes: usize,
    unit_budget_bytes: usize,
    ticks: u64,
    /// Visits that the recorded ones stand for.
    visits: u64,
    pub(crate) decay: Decay,
    fixed_half_life: Option<u64>,
    changed: Vec<SegmentRef>,
    admitted_units: u64,
}

/// With this many units, one absent key in sixteen passes a segment.
const FEW_UNITS: u8 = 4;

/// Bytes of the first few units of segments with these shapes.
pub(crate) fn few_units_bytes(shapes: impl Iterator<Item = GroupShape>) -> usize {
    shapes.map(|shape| group_bytes(shape, FEW_UNITS)).sum()
}

/// Default half-life of measured use, in visits per known segment.
const HALF_LIFE_PER_SEGMENT: u64 = 64;
/// The least default half-life. Without it, a few segments would forget within a few lookups.
const HALF_LIFE_MIN: u64 = 16_384;

impl Allocation {
    pub(crate) fn new(half_life: Option<u64>) -> Self {
        Self {
            segments: PerSegment::default(),
            runs: Runs::default(),
            forecast: Forecast::new(),
            backoffs: HashMap::new(),
            segment_count: 0,
            few_units_bytes: 0,
            planned_bytes: 0,
            unit_budget_bytes: 0,
            ticks: 0,
            visits: 0,
            decay: Decay::new(half_life.unwrap_or(HALF_LIFE_MIN)),
            fixed_half_life: half_life,
            changed: Vec::new(),
            admitted_units: 0,
        }
    }

    /// The segments of a table; none for an unknown one.
    pub fn table(&self, table: u32) -> &[SegmentState] {
        self.segments.table(table)
    }

    /// Weight of a visit made now. Measured use is a sum of such weights.
    pub fn weight(&self) -> f32 {
        self.decay.weight as f32
    }

    /// Weighted lookups that the table's units let pass, of keys that it holds or not: those that reach its index.
    pub(crate) fn passing(&self, table: u32) -> f32 {
        let passing = |state: &SegmentState| {
            let Hotness { access_count, negatives, wasted_reads } = state.hotness();
            (access_count - negatives).max(0.0) + wasted_reads
        };
        self.table(table).iter().map(passing).sum()
    }

    /// Bytes of bookkeeping of a table with that many segments.
    pub(crate) fn table_bytes(segments: usize) -> usize {
        PerSegment::<SegmentState>::table_bytes(segments) + Runs::TABLE_BYTES
    }

    /// Adds a table, with the shape and the inherited use of each segment. No unit is allocated yet.
    pub(crate) fn add_table(
        &mut self,
        table: u32,
        run: Run,
        segments: impl ExactSizeIterator<Item = (GroupShape, Hotness)>,
    ) {
        self.segment_count += segments.len();
        let states = segments.map(|(shape, hotness)| SegmentState::new(shape, hotness));
        self.segments.insert_table(table, states);
        self.few_units_bytes += self.few_units_bytes_of(table);
        self.runs.insert_table(table, run, self.share_of_run(table, run));
        self.segment_count_changed();
    }

    /// Weight of a segment if the visits of its run are spread evenly: its keys, or an equal part of the table where each table is a run.
    fn spread(&self, segment: SegmentRef, run: Run) -> f64 {
        if run.is_of_single_tables() {
            1.0 / self.segments.table(segment.table).len() as f64
        } else {
            f64::from(self.segments[segment].shape.key_count())
        }
    }

    fn share_of_run(&self, table: u32, run: Run) -> RunShare {
        let mut share = RunShare::default();
        for (segment, state) in (0..).zip(self.segments.table(table)) {
            let spread = self.spread(SegmentRef { table, segment }, run);
            share.spread += spread;
            share.passing += spread * f64::from(state.fpr());
            share.negatives += f64::from(state.counts.hotness.negatives);
        }
        share
    }

    /// Removes a table.
    pub(crate) fn remove_table(&mut self, table: u32) {
        for state in self.segments.table(table) {
            self.planned_bytes -= group_bytes(state.shape, state.units);
        }
        self.segment_count -= self.segments.table(table).len();
        self.few_units_bytes -= self.few_units_bytes_of(table);
        self.changed.retain(|segment| segment.table != table);
        self.changed.shrink_to(list_places(self.segment_count));
        if let Some(run) = self.runs.of(table) {
            self.runs.remove_table(table, self.share_of_run(table, run));
        }
        self.segments.remove_table(table);
        self.backoffs.remove(&table);
        self.segment_count_changed();
    }

    fn few_units_bytes_of(&self, table: u32) -> usize {
        few_units_bytes(self.segments.table(table).iter().map(|state| state.shape))
    }

    fn segment_count_changed(&mut self) {
        let half_life = (self.segment_count as u64 * HALF_LIFE_PER_SEGMENT).max(HALF_LIFE_MIN);
        self.decay.set_half_life(self.fixed_half_life.unwrap_or(half_life));
    }

    /// Adds assumed use: `lookups` of absent keys in each sorted run, spread evenly over its keys. A lookup visits every run once, so a
    /// segment of a small run is visited more often (Monkey, SIGMOD'17, section 4.1). O(segments of the table).
    pub(crate) fn assume_lookups(&mut self, table: u32, lookups: f32) {
        let Some(run) = self.runs.of(table) else { return };
        let run_spread = if run.is_of_single_tables() { 1.0 } else { self.runs.sums(table).spread.max(1.0) };
        let visits = self.decay.weight * f64::from(lookups) / run_spread;
        for segment in 0..self.segments.table(table).len() as u32 {
            let segment = SegmentRef { table, segment };
            let negatives = (visits * self.spread(segment, run)) as f32;
            let state = &mut self.segments[segment];
            let (wasted, marginal) = (negatives * state.fpr(), negatives * state.fpr_loss());
            state.counts.assume(negatives, wasted, marginal);
            self.runs.add_negatives(table, negatives);
            self.decay.total += f64::from(negatives);
        }
    }

    /// The segment's visits if those of its run were spread evenly over the run.
    fn spread_negatives(&self, segment: SegmentRef) -> f32 {
        let Some(run) = self.runs.of(segment.table) else { return 0.0 };
        let RunShare { spread, negatives, .. } = self.runs.sums(segment.table);
        let share = if spread > 0.0 { self.spread(segment, run) / spread } else { 0.0 };
        (negatives * share) as f32 * self.forecast.run_factor
    }

    /// How much to believe each forecast for a segment. Judged by the keys that pass all of its units but the last, because there are more
    /// of them than of keys that pass all.
    fn belief(&self, state: &SegmentState, by_run: f32) -> Belief {
        let (weight, wasted_share) = (self.decay.weight as f32, self.forecast.wasted_share);
        let passed = state.counts.hotness.wasted_reads + state.counts.marginal_rejections * wasted_share;
        let chance = (state.fpr() + state.fpr_loss()) * wasted_share / weight;
        self.forecast.belief(passed / weight, by_run * chance, state.counts.hotness.negatives * chance)
    }

    fn forecasts(&self, state: &SegmentState, by_run: f32) -> Forecasts {
        let fpr = state.fpr();
        Forecasts {
            by_run: by_run * fpr,
            by_visits: state.counts.hotness.negatives * fpr,
            by_outcomes: state.counts.hotness.wasted_reads / self.forecast.wasted_share,
        }
    }

    /// Weighted reads that a known segment wastes with its allocated units.
    pub fn wasted(&self, segment: SegmentRef) -> f32 {
        let (state, by_run) = (&self.segments[segment], self.spread_negatives(segment));
        self.belief(state, by_run).mean(self.forecasts(state, by_run))
    }

    /// Weighted reads that the segment's last unit saves.
    pub fn saved_by_last(&self, segment: SegmentRef) -> f32 {
        let (state, by_run) = (&self.segments[segment], self.spread_negatives(segment));
        let fpr_loss = state.fpr_loss();
        self.belief(state, by_run).mean(Forecasts {
            by_run: by_run * fpr_loss,
            by_visits: state.counts.hotness.negatives * fpr_loss,
            by_outcomes: state.counts.marginal_rejections,
        })
    }

    /// Adds a visit. Returns the factor by which all measured use was scaled, if that was due. O(1) except then.
    pub(crate) fn record(&mut self, visit: Visit) -> Option<f32> {
        self.ticks += 1;
        self.visits += u64::from(visit.sample_weight);
        let weight = self.decay.tick(visit.sample_weight);
        if visit.outcome.is_negative() {
            self.forecast_visit(visit, weight);
        }
        self.segments[visit.segment].counts.record(visit.outcome, weight);
        let factor = self.decay.rescale()?;
        self.segments.iter_mut().for_each(|state| state.counts.scale(factor));
        self.runs.scale(factor);
        self.forecast.scale(factor);
        Some(factor)
    }

    /// Compares the forecasts with a visit for an absent key.
    fn forecast_visit(&mut self, visit: Visit, weight: f32) {
        let (state, table) = (&self.segments[visit.segment], visit.segment.table);
        let RunShare { spread, passing, .. } = self.runs.sums(table);
        let spread_chance = if spread > 0.0 { passing / spread } else { 0.0 };
        self.forecast.expect(weight, state.fpr(), spread_chance);
        if visit.outcome.asks_for_units() {
            let by_run = self.spread_negatives(visit.segment);
            let (forecasts, belief) = (self.forecasts(state, by_run), self.belief(state, by_run));
            self.forecast.learn(weight, self.decay.weight, forecasts, belief);
        }
        self.runs.add_negatives(table, weight);
    }

    /// Gives the segment a unit or takes one away.
    fn set_units(&mut self, segment: SegmentRef, units: u8) {
        let before = self.segments[segment].fpr();
        self.segments[segment].units = units;
        let more = f64::from(self.segments[segment].fpr() - before);
        if let Some(run) = self.runs.of(segment.table) {
            self.runs.add_passing(segment.table, more * self.spread(segment, run));
        }
        self.note_change(segment);
    }

    /// Allocates the segment's next unit. Returns `false`, and changes nothing, if there is none or no room for it.
    pub fn admit(&mut self, segment: SegmentRef) -> bool {
        let Some(bytes) = self.admissible_bytes(segment) else { return false };
        self.admit_units(segment, 1, bytes)
    }

    /// Allocates all units that the segment lacks. Returns `false`, and changes nothing, if there is none or no room for all of them.
    pub(crate) fn admit_all(&mut self, segment: SegmentRef) -> bool {
        if self.admissible_bytes(segment).is_none() {
            return false;
        }
        let state = &self.segments[segment];
        self.admit_units(segment, state.units_max() - state.units(), state.lacking_bytes())
    }

    fn admit_units(&mut self, segment: SegmentRef, count: u8, bytes: usize) -> bool {
        if bytes > self.free_bytes() {
            return false;
        }
        self.planned_bytes += bytes;
        self.admitted_units += u64::from(count);
        let wasted_share = self.forecast.wasted_share;
        let state = &mut self.segments[segment];
        // Until they are measured, the new units are assumed to reject their analytic share of what passed so far.
        let passed = state.counts.hotness.wasted_reads * state.fpr_of(count - 1);
        let stopped = state.next_share();
        state.counts.set_wasted_reads(passed * (1.0 - stopped));
        state.counts.marginal_rejections = passed * stopped / wasted_share;
        let units = state.units + count;
        self.set_units(segment, units);
        true
    }

    /// Removes the segment's last unit. Returns `false` if it has none.
    pub fn evict(&mut self, segment: SegmentRef) -> bool {
        let wasted_share = self.forecast.wasted_share;
        let state = &mut self.segments[segment];
        let Some(bytes) = state.last_unit_bytes() else { return false };
        let units = state.units - 1;
        let wasted = state.counts.hotness.wasted_reads + state.counts.marginal_rejections * wasted_share;
        state.counts.set_wasted_reads(wasted);
        state.counts.marginal_rejections = 0.0;
        self.planned_bytes -= bytes;
        self.set_units(segment, units);
        // Rejections of the unit that is now the last were not counted. What passed the units after it does not tell how many there were:
        // a single visit that passed sixteen units would stand for ten thousand that pass three.
        self.segments[segment].counts.marginal_rejections = self.forecast_rejections(segment);
        true
    }

    /// Weighted rejections by the segment's last unit, as its run and its visits forecast them.
    fn forecast_rejections(&self, segment: SegmentRef) -> f32 {
        let (state, by_run) = (&self.segments[segment], self.spread_negatives(segment));
        self.belief(state, by_run).mean_without_outcomes(by_run, state.counts.hotness.negatives)
            * state.fpr_loss()
    }

    fn note_change(&mut self, segment: SegmentRef) {
        if !self.changed.contains(&segment) {
            self.changed.push(segment);
        }
    }

    /// From now on, at most `units_max` units of the segment can be loaded.
    pub(crate) fn cap_units(&mut self, segment: SegmentRef, units_max: u8) {
        while self.segments[segment].units > units_max {
            self.evict(segment);
        }
        let state = &mut self.segments[segment];
        state.units_max = state.units_max.min(units_max);
    }

    /// All units of the segment can be loaded again. `false` if they could be before.
    pub(crate) fn uncap_units(&mut self, segment: SegmentRef) -> bool {
        let state = &mut self.segments[segment];
        let units_max = std::mem::replace(&mut state.units_max, state.shape.unit_count());
        units_max < state.units_max
    }

    /// Bytes that the segment's next unit takes, if it may be admitted. Does not check that there is room.
    pub fn admissible_bytes(&self, segment: SegmentRef) -> Option<usize> {
        let may_read = self.backoffs.is_empty()
            || self.backoffs.get(&segment.table).is_none_or(|&until| self.visits >= until);
        self.segments[segment].next_unit_bytes().filter(|_| may_read)
    }

    /// No unit of the table is admitted for this many visits, of which a sample may be recorded.
    pub(crate) fn set_backoff(&mut self, table: u32, visits: u64) {
        self.backoffs.retain(|_, until| *until > self.visits);
        self.backoffs.insert(table, self.visits + visits);
    }

    /// Units of all tables may be admitted again.
    pub(crate) fn end_backoffs(&mut self) {
        self.backoffs.clear();
    }

    pub(crate) fn set_level(&mut self, table: u32, level: Option<u8>) {
        if let Some(run) = self.runs.of(table) {
            self.runs.remove_table(table, self.share_of_run(table, run));
            let moved = Run { level, ..run };
            self.runs.insert_table(table, moved, self.share_of_run(table, moved));
        }
    }

    pub(crate) fn set_unit_budget_bytes(&mut self, unit_budget_bytes: usize) {
        self.unit_budget_bytes = unit_budget_bytes;
    }

    /// Bytes that all units may take.
    pub fn unit_budget_bytes(&self) -> usize {
        self.unit_budget_bytes
    }

    /// Bytes of all allocated units.
    pub fn planned_bytes(&self) -> usize {
        self.planned_bytes
    }

    /// Bytes of the budget for units that no unit is planned for.
    pub fn free_bytes(&self) -> usize {
        self.unit_budget_bytes.saturating_sub(self.planned_bytes)
    }

    /// Visits recorded, however many each stands for: the papers' `currentTime`.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Bytes of the first few units of every segment.
    pub(crate) fn few_units_bytes(&self) -> usize {
        self.few_units_bytes
    }

    /// Segments of all known tables.
    pub fn segment_count(&self) -> usize {
        self.segment_count
    }

    /// The state of every segment.
    pub fn segments(&self) -> &PerSegment<SegmentState> {
        &self.segments
    }

    /// Corrects a segment's measured use for the units that it has now, where it had others when the use was recorded.
    pub(crate) fn set_wasted_reads(&mut self, segment: SegmentRef, wasted_reads: f32) {
        self.segments[segment].counts.set_wasted_reads(wasted_reads);
    }

    /// The run of a table; `None` for an unknown one.
    pub fn run(&self, table: u32) -> Option<Run> {
        self.runs.of(table)
    }

    /// One of the segments whose allocated units changed.
    pub(crate) fn take_changed(&mut self) -> Option<SegmentRef> {
        self.changed.pop()
    }

    /// Units that were ever allocated: the loads that a store would make, if it evicted none before it loaded it.
    pub fn admitted_units(&self) -> u64 {
        self.admitted_units
    }

    /// Segments whose allocated units changed in this call.
    pub fn changed(&self) -> &[SegmentRef] {
        &self.changed
    }

    /// Expected wasted reads per visit, by measured use and analytic rates. O(segments).
    pub fn expected_wasted_reads_per_visit(&self) -> f64 {
        let wasted: f64 = self
            .segments
            .iter()
            .map(|(_, state)| f64::from(state.counts.hotness.negatives) * f64::from(state.fpr()))
            .sum();
        // The sum of nothing is -0.0. After a warm start nothing was visited yet.
        if wasted > 0.0 && self.decay.total > 0.0 { wasted / self.decay.total } else { 0.0 }
    }
}
