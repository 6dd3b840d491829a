//! Shapes of trees: how many records of what size, and the compaction settings that arrange them.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A shape with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Preset {
    /// 5 million records of 1,000 B, 16 MiB files, 16 MiB base x10: four levels (Setting S1 of the documents)
    #[value(alias = "s1")]
    Leveled,
    /// RocksDB's defaults a sixteenth as large: 4 MiB write buffer and files, 16 MiB base x10, 4 L0 files left in place; levels span all
    /// keys, so that lookups ask about as many tables as in the papers' stores of 100 GB
    Paper,
    /// LevelDB 1.20: 4 MiB write buffer, 10 MiB base x10, 64 MiB files, 12 L0 files left in place: many sorted runs
    Leveldb,
    /// The same with LevelDB's default files of 2 MiB
    #[value(name = "leveldb-2mib")]
    #[serde(rename = "leveldb-2mib")]
    LeveldbSmallFiles,
    /// Universal compaction with up to ten sorted runs
    Tiered,
    /// 2 million records of 100 B, 1 MiB files, 1 MiB base x10: under a minute in total
    Small,
    /// 1 million records of 100 B in five sorted runs: for seeks
    Runs,
    /// 8 column families of 250,000 records of 400 B in three levels each, 2 MiB files, 8 MiB base x10, one budget for all
    Families,
}

/// How tables are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Style {
    /// One sorted run a level, each ten times the one above.
    Leveled,
    /// Runs of similar size, merged together (universal compaction).
    Universal,
}

/// The settings of a preset that have no flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TreeShape {
    pub(crate) style: Style,
    /// A flush happens after this many bytes of keys and values.
    pub(crate) write_buffer_bytes: u64,
    pub(crate) file_bytes: u64,
    /// Size of level 1; every further level is ten times as large.
    pub(crate) base_bytes: u64,
    /// L0 files (or, with universal compaction, sorted runs) that start a compaction.
    pub(crate) l0_trigger: u32,
    /// Flushes by which a load runs ahead of compaction. The more, the narrower are the key ranges of the upper levels after
    /// compaction has caught up.
    pub(crate) lag_flushes: u32,
    /// L0 files that the last flushes of a load leave in place.
    pub(crate) l0_files_left: u32,
}

/// Defaults of flags under a preset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Defaults {
    pub(crate) families: u32,
    /// Of each family.
    pub(crate) records: u64,
    pub(crate) value_bytes: usize,
    pub(crate) warmup_ops: u64,
    pub(crate) ops: u64,
    pub(crate) hot_key_seeds: u32,
    pub(crate) rounds: u32,
    /// Of measured loads.
    pub(crate) load_records: u64,
}

const MIB: u64 = 1 << 20;

impl Preset {
    pub(crate) fn shape(self) -> TreeShape {
        let leveled = TreeShape {
            style: Style::Leveled,
            write_buffer_bytes: 16 * MIB,
            file_bytes: 16 * MIB,
            base_bytes: 16 * MIB,
            l0_trigger: 4,
            // Where RocksDB stops writes (level0_stop_writes_trigger): a load at full speed.
            lag_flushes: 36,
            l0_files_left: 0,
        };
        match self {
            Preset::Leveled => leveled,
            Preset::Paper => TreeShape {
                write_buffer_bytes: 4 * MIB,
                file_bytes: 4 * MIB,
                // Compaction keeps up with the load.
                lag_flushes: 4,
                l0_files_left: 4,
                ..leveled
            },
            Preset::Leveldb => TreeShape {
                write_buffer_bytes: 4 * MIB,
                file_bytes: 64 * MIB,
                base_bytes: 10 * MIB,
                // kL0_SlowdownWritesTrigger.
                lag_flushes: 8,
                // LevelDB stops writes at 12 files (kL0_StopWritesTrigger), so a busy store has that many.
                l0_files_left: 12,
                ..leveled
            },
            Preset::LeveldbSmallFiles => TreeShape { file_bytes: 2 * MIB, ..Preset::Leveldb.shape() },
            Preset::Tiered => TreeShape {
                style: Style::Universal,
                file_bytes: 64 * MIB,
                l0_trigger: 10,
                lag_flushes: 1,
                ..leveled
            },
            Preset::Families => TreeShape {
                write_buffer_bytes: 2 * MIB,
                file_bytes: 2 * MIB,
                base_bytes: 8 * MIB,
                lag_flushes: 4,
                ..leveled
            },
            Preset::Runs => TreeShape {
                write_buffer_bytes: 27_000_000,
                file_bytes: 64 * MIB,
                l0_files_left: 5,
                ..leveled
            },
            Preset::Small => {
                TreeShape { write_buffer_bytes: MIB, file_bytes: MIB, base_bytes: MIB, ..leveled }
            }
        }
    }

    pub(crate) fn defaults(self) -> Defaults {
        let full = Defaults {
            families: 1,
            records: 5_000_000,
            value_bytes: 1000,
            warmup_ops: 300_000,
            ops: 1_000_000,
            hot_key_seeds: 4,
            rounds: 5,
            load_records: 1_000_000,
        };
        let small = Defaults {
            families: 1,
            records: 2_000_000,
            value_bytes: 100,
            warmup_ops: 15_000,
            ops: 30_000,
            hot_key_seeds: 1,
            rounds: 3,
            load_records: 2_000_000,
        };
        match self {
            Preset::Leveled
            | Preset::Paper
            | Preset::Leveldb
            | Preset::LeveldbSmallFiles
            | Preset::Tiered => full,
            Preset::Small => small,
            Preset::Runs => Defaults { records: 1_000_000, warmup_ops: 100_000, ops: 100_000, ..small },
            Preset::Families => Defaults {
                families: 8,
                records: 250_000,
                value_bytes: 400,
                warmup_ops: 400_000,
                ops: 300_000,
                rounds: 6,
                ..small
            },
        }
    }
}
