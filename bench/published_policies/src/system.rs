//! Published systems as settings of Springbloom.

/// A system whose parts Springbloom has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// Springbloom itself.
    Springbloom,
    /// ElasticBF as in ATC'19: six Bloom units of 4 bits for every 4 MiB of data, Multi-Queue.
    ElasticBf,
    /// ElasticBF as in HotStorage'18: the same for every table.
    ElasticBfFile,
}

impl System {
    /// All of them.
    pub const ALL: [System; 3] = [System::Springbloom, System::ElasticBf, System::ElasticBfFile];

    /// The name that [`of`](Self::of) takes.
    pub fn name(self) -> &'static str {
        match self {
            System::Springbloom => "elastic",
            System::ElasticBf => "elasticbf",
            System::ElasticBfFile => "elasticbf-file",
        }
    }

    /// The system of this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|system| system.name() == name)
    }

    /// Where it differs from Springbloom: its settings, and `policy`. Multi-Queue knows neither a prior nor a use for free bytes.
    pub fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            System::Springbloom => &[],
            System::ElasticBf => &[("units", "bloom:6x4"), ("policy", "multi-queue"), ("segment_size", "4M")],
            System::ElasticBfFile => &[
                ("units", "bloom:6x4"),
                ("policy", "multi-queue"),
                ("segment_size", "1T"),
                // ATC'19 names inheritance among what it adds (section 5).
                ("inherit_hotness", "false"),
            ],
        }
    }

    /// Gets in which a segment expires that none of them asked, for each segment: 10,000 with about 30,000 segments in ATC'19 (section
    /// 4.1), 20,000 with about 50,000 tables in HotStorage'18 (section 4).
    pub fn lifetime_gets_per_segment(self) -> Option<f64> {
        match self {
            System::Springbloom => None,
            System::ElasticBf => Some(1.0 / 3.0),
            System::ElasticBfFile => Some(2.0 / 5.0),
        }
    }
}
