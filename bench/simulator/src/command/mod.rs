//! `springbloom simulate`: the wasted reads to expect by memory, for policies and rivals, on trees of any size.

mod contender;
mod families;
mod report;
mod sample;
mod settings;
mod shape;

use anyhow::Result;
use clap::Args;
use springbloom_console::sizes::{self, Size};
use springbloom_console::{Step, bad_input, output};
use springbloom_filter::UnitSettings;
use springbloom_records::{Clock, distinct, repeated};
use springbloom_workload::{AbsentKeys, Distribution, Mix, Set, StreamSettings, WorkloadError};

use contender::{BITS_MAX, Contender, Load};
use report::{Cell, Header};
use sample::{SAMPLED_RANGES_MIN, Sample, Whole};
use settings::Settings;
use shape::Shape;

use crate::Rewriting;

/// Estimate the wasted reads of filters by memory, on trees of any size
///
/// Runs the manager of Springbloom over a modelled tree, without a store. For a large tree it simulates some thousand segments. Lookups are
/// hashed over the keys. Compaction rewrites the tables of the largest level once in each half of a run.
#[derive(Args, Debug)]
pub struct Simulate {
    /// Shape of the tree
    #[arg(long, value_enum, default_value = "leveled", help_heading = "Data")]
    tree: Shape,
    /// Sizes of the sorted runs, newest first, in place of a shape and a number of records: 64MiB,400MiB,4GiB
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = sizes::within(1..=1 << 52, 1),
        conflicts_with_all = ["tree", "records"], help_heading = "Data")]
    runs: Option<Vec<Size>>,
    /// Records, for example 1e9 or 100G [default: 1G]
    #[arg(long, value_parser = sizes::whole_within::<u64>(RECORDS_MIN..=RECORDS_MAX), help_heading = "Data")]
    records: Option<u64>,
    /// Bytes of a record, key and value
    #[arg(long, value_name = "SIZE", default_value = "1000", value_parser = sizes::within(16..=1 << 30, 1), help_heading = "Data")]
    record_bytes: Size,
    /// Size of a table
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = sizes::within(1 << 16..=1 << 40, 1), help_heading = "Data")]
    table_bytes: Size,
    /// Keys and values that a segment of filter units covers
    #[arg(long, value_name = "SIZE", default_value = "8MiB", value_parser = sizes::within(1 << 12..=1 << 40, 1), help_heading = "Data")]
    segment_size: Size,

    /// Memory, in bits per key
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,6,10", value_parser = sizes::number_within(0.01..=BITS_MAX),
        help_heading = "Filters")]
    bits: Vec<f64>,
    /// Policies of Springbloom (uniform, monkey, multi-queue, benefit); bloom and ribbon: stock filters; monkey-bloom and monkey-ribbon:
    /// stock filters with bits by level; ribbon:BITS/BITS/...: stock filters with bits by column family (0: no filter; the last
    /// value holds for the rest), and all other filters also with that memory; at-compaction: stock Ribbon with bits by use, chosen
    /// when a table is written; optimum: the best fixed allocation of units, which knows all lookups and pays for nothing else
    /// [default: all without BITS]
    #[arg(long, value_delimiter = ',', help_heading = "Filters")]
    filters: Option<Vec<Contender>>,
    /// Units of a segment, ribbon:N or bloom:NxBITS
    #[arg(long, default_value = "ribbon:16", help_heading = "Filters")]
    units: UnitSettings,

    /// Popularity: uniform, zipf:CONSTANT, or ranges:RECORDS:CONSTANT (ranges of this many neighbouring keys under Zipf)
    #[arg(long, default_value = "zipf:0.99", value_parser = distribution, help_heading = "Lookups")]
    distribution: Distribution,
    /// Share of lookups for absent keys
    #[arg(long, value_name = "SHARE", default_value = "0.5", value_parser = sizes::number_within(0.0..=1.0), help_heading = "Lookups")]
    absent_share: f64,
    /// Which absent keys are looked up
    #[arg(long, value_enum, value_name = "KEYS", default_value_t, help_heading = "Lookups")]
    absent: AbsentKeys,
    #[command(flatten, next_help_heading = "Lookups")]
    set: Set<Settings>,

    /// Segments to simulate; more take longer and vary less
    #[arg(long, default_value_t = 2000, value_parser = sizes::whole_within::<u32>(SEGMENTS_MIN..=200_000), help_heading = "Simulation")]
    segments: u32,
    /// Measured lookups, after as many to warm up [default: 300 for each simulated segment]
    #[arg(long, value_parser = sizes::whole_within::<u64>(1000..=1_000_000_000_000), help_heading = "Simulation")]
    lookups: Option<u64>,
    /// Write no tables while lookups run
    #[arg(long, help_heading = "Simulation")]
    no_compaction: bool,
    /// Random choices of the hot keys; the median is shown
    #[arg(long, default_value_t = 1, value_parser = sizes::whole_within::<u32>(1..=100), help_heading = "Simulation")]
    hot_key_seeds: u32,
    /// Seed of all random numbers. Policies learn in a thread of their own, so what they waste differs a little from run to run
    #[arg(long, default_value_t = 1, value_parser = sizes::whole_within::<u64>(0..=u64::MAX), help_heading = "Simulation")]
    seed: u64,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Some visits beyond the memory of the manager, which holds about 90 of each segment.
const LOOKUPS_PER_SEGMENT: u64 = 300;
/// Of a family in a sample.
const SEGMENTS_MIN: u64 = 50;
const RECORDS: u64 = 1_000_000_000;
const RECORDS_MIN: u64 = 1000;
const RECORDS_MAX: u64 = 1_000_000_000_000_000;

fn distribution(text: &str) -> Result<Distribution, String> {
    match text.parse() {
        Ok(Distribution::Latest { .. }) => Err(
            "nothing is inserted in a simulation, so no record is the latest: expected another popularity"
                .to_owned(),
        ),
        other => other.map_err(|error: WorkloadError| error.to_string()),
    }
}

impl Simulate {
    /// Simulates and prints the report.
    pub fn run(&self) -> Result<()> {
        let clock = Clock::start();
        self.require_sense()?;
        let mix = self.family_mix()?;
        let runs = self.runs()?;
        let record_bytes = self.record_bytes.bytes;
        let whole = Whole {
            families: self.families(),
            records: (runs.iter().sum::<f64>() / record_bytes as f64).round() as u64,
            record_bytes,
            table_bytes: self.table_bytes.bytes,
            segment_size: self.segment_size.bytes,
        };
        let sample = Sample::of(whole, &runs, self.segments, self.units);
        if let Some(ranges) = sample.too_few_ranges(self.distribution) {
            return Err(bad_input(format!(
                "--distribution {}: {} records are simulated, which are {ranges} such ranges; expected at least {SAMPLED_RANGES_MIN}: \
                 choose shorter ranges, or more --segments",
                self.distribution,
                sample.tree.family_keys()
            )));
        }
        self.require_segments(&sample)?;
        let lookups =
            self.lookups.unwrap_or(LOOKUPS_PER_SEGMENT * u64::from(sample.tree.segments())) as usize;
        let rewriting = Rewriting { cycle_lookups: lookups as u64 };
        let stream = StreamSettings {
            mix: Mix::GET,
            distribution: self.distribution,
            movement: self.set.movement,
            absent_share: mix.absent_share(),
            absent: self.absent,
            hot_key_seed: self.seed,
            seed: self.seed,
            stream: 0,
            streams: 1,
        };
        let load = Load {
            stream,
            mix,
            warmup: lookups,
            measured: lookups,
            rewriting: (!self.no_compaction).then_some(rewriting),
            head: sample.head(whole, self.distribution),
        };
        let cells = self.cells(whole, &sample, &load);
        let header = self.header(whole, &runs, &sample, &load, clock);
        output::report(|out| {
            if self.json {
                report::write_json(out, &header, &cells)
            } else {
                report::write_text(out, &header, &cells)
            }
        })
    }

    /// Refuses flags that contradict each other.
    fn require_sense(&self) -> Result<()> {
        if let Some(bits) = repeated(&self.bits) {
            return Err(bad_input(format!("--bits: {bits} is given twice")));
        }
        if let Some(filter) = self.filters.as_ref().and_then(|filters| repeated(filters)) {
            return Err(bad_input(format!("--filters: {filter} is given twice")));
        }
        if self.record_bytes.bytes > self.table_bytes.bytes {
            return Err(bad_input(format!(
                "--record-bytes {}: expected at most the size of a table (--table-bytes {})",
                self.record_bytes, self.table_bytes
            )));
        }
        Ok(())
    }

    fn contenders(&self) -> Vec<Contender> {
        self.filters.clone().unwrap_or_else(Contender::all)
    }

    /// Bytes of the sorted runs, newest first.
    fn runs(&self) -> Result<Vec<f64>> {
        let Some(sizes) = &self.runs else {
            let records = self.records.unwrap_or(RECORDS);
            return Ok(self.tree.runs(records as f64 * self.record_bytes.bytes as f64));
        };
        let records =
            sizes.iter().map(|size| size.bytes as f64).sum::<f64>() / self.record_bytes.bytes as f64;
        if sizes.len() > 100 || !(RECORDS_MIN as f64..=RECORDS_MAX as f64).contains(&records) {
            return Err(bad_input(format!(
                "--runs: got {records:.0} records of {} in {} sorted runs, expected {RECORDS_MIN} to {RECORDS_MAX} in at most 100",
                self.record_bytes,
                sizes.len()
            )));
        }
        Ok(sizes.iter().map(|size| size.bytes as f64).collect())
    }

    fn cells(&self, whole: Whole, sample: &Sample, load: &Load) -> Vec<Cell> {
        let contenders = self.contenders();
        let own_bits = contenders.iter().filter_map(|contender| contender.own_bits(whole.families));
        let memories = distinct(self.bits.iter().copied().chain(own_bits));
        let fits =
            |contender: &Contender, bits| contender.own_bits(whole.families).is_none_or(|own| own == bits);
        let of_memory = |bits| contenders.iter().filter(move |contender| fits(contender, bits));
        let runs =
            memories.iter().map(|&bits| of_memory(bits).count()).sum::<usize>() * self.hot_key_seeds as usize;
        let step = Step::start("simulating", runs as u64);
        let mut cells = Vec::new();
        for bits_per_key in memories {
            for contender in of_memory(bits_per_key) {
                let runs: Vec<_> = (0..u64::from(self.hot_key_seeds))
                    .filter_map(|choice| {
                        let hot_key_seed = load.stream.hot_key_seed + choice;
                        let seed = load.stream.seed + choice;
                        let stream = StreamSettings { hot_key_seed, seed, ..load.stream };
                        let run = contender.run(sample, bits_per_key, &Load { stream, ..load.clone() });
                        step.advance(1);
                        run
                    })
                    .collect();
                cells.push(Cell {
                    filter: contender.to_string(),
                    bits_per_key,
                    memory_bytes: (whole.all_records() as f64 * bits_per_key / 8.0) as u64,
                    runs,
                });
            }
        }
        cells
    }

    fn header(&self, whole: Whole, runs: &[f64], sample: &Sample, load: &Load, clock: Clock) -> Header {
        let families = (whole.families > 1).then(|| load.mix.clone());
        Header {
            tree: self
                .runs
                .as_ref()
                .map_or_else(|| format!("{:?}", self.tree).to_lowercase(), |_| "given".to_owned()),
            records: whole.all_records(),
            record_bytes: whole.record_bytes,
            table_bytes: whole.table_bytes,
            segment_size: whole.segment_size,
            families: whole.families,
            run_bytes: runs.iter().map(|&run| run as u64).collect(),
            units: self.units.to_string(),
            distribution: load.stream.distribution.to_string(),
            absent_share: load.stream.absent_share,
            family_traffic: families.as_ref().map(|mix| mix.traffic.clone()),
            family_absent: families.map(|mix| mix.absent),
            absent: load.stream.absent.to_string(),
            movement: load.stream.movement.to_string(),
            simulated_segments: sample.tree.segments(),
            simulated_share: sample.share,
            warmup_lookups: load.warmup,
            measured_lookups: load.measured,
            compaction: load.rewriting.is_some(),
            hot_key_seeds: self.hot_key_seeds,
            seed: self.seed,
            clock,
        }
    }
}
