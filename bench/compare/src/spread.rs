//! A figure over several hot-key mappings or rounds: median, minimum and maximum.

use serde::Serialize;
use springbloom_records::{Figure, Labels, Unit};

/// Median, least and greatest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Of `values`; `None` if there are none. An even number of values has the mean of the middle two as median.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median =
            if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
        Some(Spread { median, min, max })
    }

    /// Each figure in another unit; `convert` must keep their order.
    pub(crate) fn map(self, convert: impl Fn(f64) -> f64) -> Self {
        Spread { median: convert(self.median), min: convert(self.min), max: convert(self.max) }
    }

    /// As a figure of a record.
    pub(crate) fn figure(self, name: &str, of: Labels, unit: Unit) -> Figure {
        Figure::new(name, of, self.median, unit).between(self.min, self.max)
    }

    /// `12.3` or, if values differ at this precision, `12.3 (11.9-13.0)`.
    pub(crate) fn text(&self, decimals: usize) -> String {
        let [median, min, max] = [self.median, self.min, self.max].map(|value| format!("{value:.decimals$}"));
        if min == max { median } else { format!("{median} ({min}-{max})") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 3.0 }));
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0]).map(|spread| spread.median), Some(2.5));
    }

    #[test]
    fn texts() {
        assert_eq!(Spread { median: 2.0, min: 1.0, max: 3.0 }.text(1), "2.0 (1.0-3.0)");
        assert_eq!(Spread { median: 2.01, min: 2.0, max: 2.04 }.text(1), "2.0");
    }
}
