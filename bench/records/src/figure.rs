//! Figures with units.

use std::collections::BTreeMap;
use std::fmt;

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

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Count | Self::Ratio | Self::TimeRatio => "",
            Self::PerLookup => "per lookup",
            Self::PerInsertion => "per insertion",
            Self::Bytes => "bytes",
            Self::BytesPerKey => "bytes per key",
            Self::BitsPerKey => "bits per key",
            Self::Seconds => "s",
            Self::Microseconds => "us",
            Self::PerSecond => "per second",
        })
    }
}
