//! A table that a lookup asks, if it comes so far.

use serde::Serialize;
use springbloom_console::sizes::Size;
use springbloom_rocksdb::Error;
use springbloom_rocksdb::inspect::{Entry, KeyReport, Probe, Verdict};
use springbloom_rocksdb::listed_tables::ListedTable;
use springbloom_rocksdb::usage::TableUsage;

/// Which units a lookup asks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Units {
    None,
    Resident,
    All,
}

/// What a table does with a lookup.
#[derive(Debug, Serialize)]
pub(crate) struct AskedTable {
    name: String,
    level: i32,
    /// Absent if it cannot be read.
    #[serde(flatten)]
    found: Option<Found>,
    /// Why it, or a part of its units, cannot be used, if so.
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Found {
    index_bytes: u64,
    /// RocksDB's name; empty without a filter.
    filter_policy: String,
    has_prefix_units_only: bool,
    /// Of the key's segment; absent without units over keys.
    segment: Option<Segment>,
    entry: &'static str,
    /// Whether it holds the key, be it a deletion.
    holds_key: bool,
    /// Whether older tables are not asked.
    ends_lookup: bool,
    /// That are read unless a unit rejects the key.
    index_blocks: u64,
    data_blocks: u64,
    #[serde(skip)]
    is_range_deleted: bool,
}

#[derive(Debug, Serialize)]
struct Segment {
    number: u32,
    of: u32,
    units: u8,
    /// Those before the first damaged one.
    sound_units: u8,
    /// Absent if it is not known.
    resident_units: Option<u8>,
    /// From 1; absent if all sound units let the key pass.
    rejecting_unit: Option<u8>,
}

impl Segment {
    fn of(probe: &Probe, used: Option<&TableUsage>) -> Self {
        let used = used.filter(|used| used.is_remembered);
        let used = used.and_then(|used| used.segments.get(probe.segment as usize));
        Self {
            number: probe.segment + 1,
            of: probe.segments,
            units: probe.units,
            sound_units: probe.sound_units,
            resident_units: used.map(|used| used.remembered.units.min(probe.sound_units)),
            rejecting_unit: probe.rejecting_unit.map(|unit| unit + 1),
        }
    }

    fn rejects(&self, units: Units) -> bool {
        let asked = match units {
            Units::None => 0,
            Units::Resident => self.resident_units.unwrap_or(0),
            Units::All => self.sound_units,
        };
        self.rejecting_unit.is_some_and(|unit| unit <= asked)
    }
}

impl AskedTable {
    pub(crate) fn of(listed: &ListedTable, report: KeyReport, used: Option<&TableUsage>) -> Self {
        let (segment, error) = match &report.verdict {
            Verdict::NoUnits | Verdict::PrefixesOnly => (None, None),
            Verdict::Damaged(error) => (None, Some(error.to_string())),
            Verdict::Probed(probe) => {
                let is_damaged = probe.sound_units < probe.units;
                let damage =
                    format!("unit {} of segment {} is damaged", probe.sound_units + 1, probe.segment + 1);
                (Some(Segment::of(probe, used)), is_damaged.then_some(damage))
            }
        };
        let found = Found {
            index_bytes: report.index_bytes,
            filter_policy: report.filter_policy,
            has_prefix_units_only: report.verdict == Verdict::PrefixesOnly,
            segment,
            entry: match report.entry {
                Entry::Nothing => "not there",
                Entry::Value => "value",
                Entry::Deletion => "deletion",
                Entry::Operand => "merge operand",
                Entry::RangeDeletion => "range deletion",
            },
            holds_key: !matches!(report.entry, Entry::Nothing | Entry::RangeDeletion),
            ends_lookup: report.ends_lookup,
            index_blocks: report.index_blocks,
            data_blocks: report.data_blocks,
            is_range_deleted: report.entry == Entry::RangeDeletion,
        };
        Self { found: Some(found), error, ..Self::unread(listed) }
    }

    /// A table that cannot be read.
    pub(crate) fn damaged(listed: &ListedTable, error: &Error) -> Self {
        Self { error: Some(error.to_string()), ..Self::unread(listed) }
    }

    fn unread(listed: &ListedTable) -> Self {
        let name = listed.file_name().display().to_string();
        Self { name, level: listed.level, found: None, error: None }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its index, or the upper part of a partitioned one, is in memory as long as it is open.
    pub(crate) fn hold_index(&mut self) {
        self.found.iter_mut().for_each(|found| found.index_blocks -= 1);
    }

    fn segment(&self) -> Option<&Segment> {
        self.found.as_ref()?.segment.as_ref()
    }

    fn rejects(&self, units: Units) -> bool {
        self.segment().is_some_and(|segment| segment.rejects(units))
    }

    /// Blocks that a lookup asks for here.
    pub(crate) fn blocks(&self, units: Units) -> u64 {
        let found = self.found.as_ref().filter(|_| !self.rejects(units));
        found.map_or(0, |found| found.index_blocks + found.data_blocks)
    }

    /// Whether a lookup asks no older table. It fails at one that cannot be read, and sees deletions of ranges without reading a block.
    pub(crate) fn ends_lookup(&self, units: Units) -> bool {
        let ends = |found: &Found| found.ends_lookup && (found.is_range_deleted || !self.rejects(units));
        self.found.as_ref().is_none_or(ends)
    }

    pub(crate) fn rejects_what_it_holds(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.holds_key) && self.rejects(Units::All)
    }

    pub(crate) fn is_residence_known(&self) -> bool {
        self.segment().is_none_or(|segment| segment.resident_units.is_some())
    }

    pub(crate) fn damage(&self) -> Option<String> {
        self.error.as_ref().map(|error| format!("{}: {error}", self.name))
    }

    /// Cells of its row; `is_asked` tells whether the lookup comes so far.
    pub(crate) fn row(&self, units: Units, is_asked: bool) -> [String; 7] {
        let segment = self.segment();
        let cell =
            |of: fn(&Segment) -> Option<String>| segment.and_then(of).unwrap_or_else(|| "-".to_owned());
        let index = self.found.as_ref().map(|found| Size { bytes: found.index_bytes }.to_string());
        [
            self.name.clone(),
            self.level.to_string(),
            index.unwrap_or_else(|| "-".to_owned()),
            cell(|segment| Some(format!("{} of {}", segment.number, segment.of))),
            cell(|segment| Some(segment.units.to_string())),
            cell(|segment| segment.resident_units.map(|units| units.to_string())),
            if is_asked { self.told(units) } else { "not asked: the lookup has ended".to_owned() },
        ]
    }

    /// What a lookup does here.
    fn told(&self, units: Units) -> String {
        let Some(found) = &self.found else {
            return format!("fails: {}", self.error.as_deref().unwrap_or_default());
        };
        let rejecting = found.segment.as_ref().and_then(|segment| segment.rejecting_unit);
        let why = match rejecting {
            Some(unit) if self.rejects(units) => {
                let end = if found.is_range_deleted { ", a range deletion ends the lookup" } else { "" };
                return format!("rejected by unit {unit}: not read{end}");
            }
            Some(unit) => format!("passes, unit {unit} would reject"),
            None if found.segment.is_some() => "passes all units".to_owned(),
            None if self.error.is_some() => "units are damaged".to_owned(),
            None if found.has_prefix_units_only => "units over prefixes only, not asked here".to_owned(),
            None if found.filter_policy.is_empty() => "no filter".to_owned(),
            None => format!("no units; {} is not asked here", found.filter_policy),
        };
        let Found { index_blocks, data_blocks, entry, .. } = found;
        let index = if *index_blocks > 0 { format!("{index_blocks} index and ") } else { String::new() };
        format!("{why}: reads {index}{data_blocks} data: {entry}")
    }
}
