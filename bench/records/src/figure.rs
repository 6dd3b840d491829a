//! Figures with units.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a figure is of: `config` = `bloom:4`, `threads` = `1`.
pub type Labels = BTreeMap<String, String>;

/// Labels from pairs.
pub fn labels<const N: usize>(pairs: [(&str, String); N]) -> Labels {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// One measured figure: the median, where there are several measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The quantity: `wasted_reads_per_get`.
    pub name: String,
    /// What it is of.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub of: Labels,
    /// The value.
    pub value: f64,
    /// The unit of all three numbers.
    pub unit: Unit,
    /// The least of the measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// The greatest of the measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
}

impl Figure {
    /// A figure of a single measurement.
    pub fn new(name: &str, of: Labels, value: f64, unit: Unit) -> Self {
        Self { name: name.to_owned(), of, value, unit, least: None, most: None }
    }

    /// The median of several measurements with their extremes; `None` if there are none.
    pub fn over(name: &str, of: Labels, values: impl IntoIterator<Item = f64>, unit: Unit) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = (values[middle] + values[values.len() - 1 - middle]) / 2.0;
        let figure = Self::new(name, of, median, unit);
        Some(if values.len() > 1 { figure.between(least, most) } else { figure })
    }

    /// `0.045`, or `0.045 (0.044-0.048)` where measurements differ.
    pub fn text(&self, digits: usize) -> String {
        let value = format!("{:.digits$}", self.value);
        match (self.least, self.most) {
            (Some(least), Some(most)) if least < most => {
                format!("{value} ({least:.digits$}-{most:.digits$})")
            }
            _ => value,
        }
    }

    /// The same with the extremes of all measurements.
    #[must_use]
    pub fn between(self, least: f64, most: f64) -> Self {
        Self { least: Some(least), most: Some(most), ..self }
    }

    /// Whether it is of all of `labels`.
    pub fn is_of(&self, labels: &[(&str, &str)]) -> bool {
        labels.iter().all(|(name, value)| self.of.get(*name).is_some_and(|own| own == value))
    }
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// A number of things.
    #[serde(rename = "count")]
    Count,
    /// A number for each lookup.
    #[serde(rename = "per lookup")]
    PerLookup,
    /// A number for each thing inserted.
    #[serde(rename = "per insertion")]
    PerInsertion,
    /// A share or a ratio.
    #[serde(rename = "ratio")]
    Ratio,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// Bytes for each key.
    #[serde(rename = "bytes per key")]
    BytesPerKey,
    /// Bits for each key.
    #[serde(rename = "bits per key")]
    BitsPerKey,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// A number each second.
    #[serde(rename = "per second")]
    PerSecond,
    /// A ratio of times, or of numbers each second.
    #[serde(rename = "ratio of times")]
    TimeRatio,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_measurements_are_a_median_with_its_extremes() {
        let over = |values: &[f64]| Figure::over("reads", labels([]), values.iter().copied(), Unit::Count);
        assert_eq!(over(&[]), None);
        for (values, text) in [
            (&[3.0, 1.0, 2.0][..], "2.0 (1.0-3.0)"),
            (&[4.0, 1.0, 2.0, 3.0], "2.5 (1.0-4.0)"),
            (&[2.0], "2.0"),
            (&[2.0, 2.0], "2.0"),
        ] {
            assert_eq!(over(values).map(|figure| figure.text(1)).as_deref(), Some(text));
        }
    }
}
