//! What measured use says of more and less filter memory.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use springbloom_console::sizes::Size;
use springbloom_rocksdb::MemoryCurve;

/// What is asked of a curve.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Question {
    pub(crate) budget_bytes: u64,
    /// Wasted reads per lookup.
    pub(crate) target: Option<f64>,
    pub(crate) visits_per_lookup: f64,
    pub(crate) tables: usize,
    /// Of them, those whose use is known.
    pub(crate) remembered_tables: usize,
    /// Wasted reads that the figures rest on, of late.
    pub(crate) wasted_reads_seen: u64,
}

/// Budgets below and above the current one, each half or twice the one before.
const STEPS: u32 = 4;
/// With fewer wasted reads, figures are those of the filters' rates.
const WASTED_READS_MIN: u64 = 64;

/// A budget and what it would waste.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Point {
    pub(crate) budget_bytes: u64,
    pub(crate) wasted_reads: f64,
}

/// The answers.
#[derive(Debug, Serialize)]
pub(crate) struct Advice {
    #[serde(flatten)]
    pub(crate) question: Question,
    pub(crate) now: Point,
    /// Budgets from a sixteenth to sixteen times the current one.
    pub(crate) steps: Vec<Point>,
    /// The least budget that reaches the target; absent if none does, or none was asked for.
    target_budget_bytes: Option<u64>,
    /// With every unit of every table.
    pub(crate) all: Point,
}

impl Advice {
    /// Reads the answers off the curve.
    pub(crate) fn new(curve: &MemoryCurve, question: Question) -> Self {
        let factor = question.visits_per_lookup;
        let at = |budget_bytes: u64| Point {
            budget_bytes,
            wasted_reads: curve.wasted_reads_per_visit(budget_bytes) * factor,
        };
        let end = curve.points().last().map_or(0, |point| point.budget_bytes);
        let now = question.budget_bytes;
        Self {
            now: at(now),
            steps: steps(if now > 0 { now } else { end }).map(at).collect(),
            target_budget_bytes: question.target.and_then(|target| curve.budget_bytes_for(target / factor)),
            all: at(end),
            question,
        }
    }

    /// The answers in words.
    pub(crate) fn write_text(&self, out: &mut impl Write) -> Result<()> {
        let Question { target, tables, remembered_tables, wasted_reads_seen, .. } = self.question;
        writeln!(out, "use is known of {remembered_tables} of {tables} tables with filter units")?;
        if wasted_reads_seen < WASTED_READS_MIN {
            writeln!(
                out,
                "few wasted reads were seen ({wasted_reads_seen}): figures are by the filters' rates"
            )?;
        }
        writeln!(out)?;
        let mut rows: Vec<_> = self.steps.iter().map(|&point| ("", point)).collect();
        rows.retain(|(_, point)| point.budget_bytes != self.now.budget_bytes);
        rows.extend([("now", self.now), ("all units", self.all)]);
        rows.sort_by_key(|(_, point)| point.budget_bytes);
        for (what, point) in rows {
            let budget = Size { bytes: point.budget_bytes }.to_string();
            let change = 100.0 * (point.wasted_reads / self.now.wasted_reads - 1.0);
            let change =
                if change.is_finite() && change != 0.0 { format!("  {change:+.0}%") } else { String::new() };
            let wasted_reads = point.wasted_reads;
            writeln!(out, "{what:>14}  {budget:>12}  {wasted_reads:.5} wasted reads per lookup{change}")?;
        }
        match (target, self.target_budget_bytes) {
            (Some(target), Some(bytes)) => {
                let budget = Size { bytes }.to_string();
                writeln!(out, "{:>14}  {budget:>12}  {target:.5} wasted reads per lookup", "target")?;
            }
            (Some(target), None) => writeln!(out, "no budget reaches {target} wasted reads per lookup")?,
            (None, _) => (),
        }
        Ok(())
    }
}

/// Budgets around one.
fn steps(budget_bytes: u64) -> impl Iterator<Item = u64> {
    let below = (0..=STEPS).rev().map(move |step| budget_bytes >> step);
    below.chain((1..=STEPS).map(move |step| budget_bytes.saturating_mul(1 << step)))
}

#[cfg(test)]
mod tests {
    use springbloom_rocksdb::MeasuredUse;

    use super::*;

    #[test]
    fn steps_halve_and_double() {
        let steps: Vec<_> = steps(1 << 20).collect();
        assert_eq!((steps.len(), steps[0], steps[4], steps[8]), (9, 64 << 10, 1 << 20, 16 << 20));
    }

    #[test]
    fn a_curve_without_units_is_told_without_a_fault() {
        let curve = MemoryCurve::of([], &MeasuredUse::default());
        let question = Question {
            budget_bytes: 1 << 20,
            target: Some(0.1),
            visits_per_lookup: 1.0,
            tables: 0,
            remembered_tables: 0,
            wasted_reads_seen: 0,
        };
        let advice = Advice::new(&curve, question);
        let mut text = Vec::new();
        advice.write_text(&mut text).unwrap();
        serde_json::to_writer(&mut text, &advice).unwrap();
    }
}
