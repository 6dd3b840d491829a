//! The cells of the map: shapes, records, popularities, memories.

/// What is stored, and what is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    OneFamily,
    Halving,
    OneAbsent,
    Stores,
    Fresh,
    Prefixes,
}

impl Shape {
    pub(super) const ALL: [Self; 6] =
        [Self::OneFamily, Self::Halving, Self::OneAbsent, Self::Stores, Self::Fresh, Self::Prefixes];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::OneFamily => "one family",
            Self::Halving => "eight families, traffic halving",
            Self::OneAbsent => "eight families, one asked for absent keys",
            Self::Stores => "many stores of 20,000 keys",
            Self::Fresh => "absent keys never twice",
            Self::Prefixes => "prefixes",
        }
    }

    /// How many, and the keys of each.
    pub(super) fn families(self) -> (usize, usize) {
        match self {
            Self::OneFamily | Self::Fresh | Self::Prefixes => (1, 1_000_000),
            Self::Halving | Self::OneAbsent => (8, 250_000),
            // Alike: a tenth of 300 stands for all.
            Self::Stores => (30, 20_000),
        }
    }

    /// Shares of the lookups, and of absent keys among them.
    pub(super) fn lookups(self) -> (Vec<f64>, Vec<f64>) {
        let (families, _) = self.families();
        let halves = (0..families).map(|family| 0.5f64.powi(family as i32));
        let sum: f64 = halves.clone().sum();
        let equal = vec![1.0 / families as f64; families];
        match self {
            Self::Halving => (halves.map(|half| half / sum).collect(), vec![0.5; families]),
            Self::OneAbsent => {
                (equal, (0..families).map(|family| f64::from(u8::from(family == 0))).collect())
            }
            _ => (equal, vec![0.5; families]),
        }
    }
}

/// Of keys that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Popularity {
    Zipf99,
    Zipf70,
    Uniform,
}

impl Popularity {
    pub(super) const ALL: [Self; 3] = [Self::Zipf99, Self::Zipf70, Self::Uniform];

    pub(super) fn exponent(self) -> f64 {
        match self {
            Self::Zipf99 => 0.99,
            Self::Zipf70 => 0.7,
            Self::Uniform => 0.0,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Zipf99 => "Zipf .99",
            Self::Zipf70 => "Zipf .7",
            Self::Uniform => "uniform",
        }
    }
}

/// Bytes of key and value.
pub(super) const RECORD_BYTES: [u32; 3] = [100, 400, 1000];
/// All memory, in bytes for each key.
pub(super) const MEMORY: [f64; 7] = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
