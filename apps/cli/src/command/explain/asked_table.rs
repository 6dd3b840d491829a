//! A table that a lookup asks, if it comes so far.

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::json;
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
#[derive(Debug)]
pub(crate) struct AskedTable {
    name: String,
    level: i32,
    /// Absent if it cannot be read.
    report: Option<KeyReport>,
    /// Of the key's segment; absent if it is not known.
    resident_units: Option<u8>,
    /// Why it, or a part of its units, cannot be used, if so.
    error: Option<String>,
}

impl AskedTable {
    pub(crate) fn of(listed: &ListedTable, report: KeyReport, used: Option<&TableUsage>) -> Self {
        let (mut resident_units, mut error) = (None, None);
        match &report.verdict {
            Verdict::NoUnits | Verdict::PrefixesOnly => (),
            Verdict::Damaged(damage) => error = Some(damage.to_string()),
            Verdict::Probed(Probe { segment, units, sound_units, .. }) => {
                let used = used.filter(|used| used.is_remembered);
                let used = used.and_then(|used| used.segments.get(*segment as usize));
                resident_units = used.map(|used| used.remembered.units.min(*sound_units));
                error = (sound_units < units)
                    .then(|| format!("unit {} of segment {} is damaged", sound_units + 1, segment + 1));
            }
        }
        Self { report: Some(report), resident_units, error, ..Self::unread(listed) }
    }

    /// A table that cannot be read.
    pub(crate) fn damaged(listed: &ListedTable, error: &Error) -> Self {
        Self { error: Some(error.to_string()), ..Self::unread(listed) }
    }

    fn unread(listed: &ListedTable) -> Self {
        let name = listed.file_name().display().to_string();
        Self { name, level: listed.level, report: None, resident_units: None, error: None }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The units of the key's segment.
    fn probe(&self) -> Option<&Probe> {
        match &self.report.as_ref()?.verdict {
            Verdict::Probed(probe) => Some(probe),
            _ => None,
        }
    }

    fn rejects(&self, units: Units) -> bool {
        let Some(probe) = self.probe() else { return false };
        let asked = match units {
            Units::None => 0,
            Units::Resident => self.resident_units.unwrap_or(0),
            Units::All => probe.sound_units,
        };
        probe.rejecting_unit.is_some_and(|unit| unit < asked)
    }

    /// Blocks that a lookup asks for here.
    pub(crate) fn blocks(&self, units: Units) -> u64 {
        let report = self.report.as_ref().filter(|_| !self.rejects(units));
        report.map_or(0, |report| report.index_blocks + report.data_blocks)
    }

    /// Whether a lookup asks no older table. It fails at one that cannot be read, and sees deletions of ranges without reading a block.
    pub(crate) fn ends_lookup(&self, units: Units) -> bool {
        self.report.as_ref().is_none_or(|report| {
            report.ends_lookup && (report.entry == Entry::RangeDeletion || !self.rejects(units))
        })
    }

    pub(crate) fn rejects_what_it_holds(&self) -> bool {
        self.report.as_ref().is_some_and(|report| holds_key(report.entry)) && self.rejects(Units::All)
    }

    pub(crate) fn is_residence_known(&self) -> bool {
        self.probe().is_none() || self.resident_units.is_some()
    }

    pub(crate) fn damage(&self) -> Option<String> {
        self.error.as_ref().map(|error| format!("{}: {error}", self.name))
    }

    /// Cells of its row; `is_asked` tells whether the lookup comes so far.
    pub(crate) fn row(&self, units: Units, is_asked: bool) -> [String; 7] {
        let cell = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let probe = self.probe();
        [
            self.name.clone(),
            self.level.to_string(),
            cell(self.report.as_ref().map(|report| Size { bytes: report.index_bytes }.to_string())),
            cell(probe.map(|probe| format!("{} of {}", probe.segment + 1, probe.segments))),
            cell(probe.map(|probe| probe.units.to_string())),
            cell(self.resident_units.map(|units| units.to_string())),
            if is_asked { self.told(units) } else { "not asked: the lookup has ended".to_owned() },
        ]
    }

    /// What a lookup does here.
    fn told(&self, units: Units) -> String {
        let Some(report) = &self.report else {
            return format!("fails: {}", self.error.as_deref().unwrap_or_default());
        };
        let KeyReport { index_blocks, data_blocks, entry, filter_policy, .. } = report;
        let why = match &report.verdict {
            Verdict::Probed(Probe { rejecting_unit: Some(unit), .. }) if self.rejects(units) => {
                let is_deleted = *entry == Entry::RangeDeletion;
                let end = if is_deleted { ", a range deletion ends the lookup" } else { "" };
                return format!("rejected by unit {}: not read{end}", unit + 1);
            }
            Verdict::Probed(Probe { rejecting_unit: Some(unit), .. }) => {
                format!("passes, unit {} would reject", unit + 1)
            }
            Verdict::Probed(_) => "passes all units".to_owned(),
            Verdict::Damaged(_) => "units are damaged".to_owned(),
            Verdict::PrefixesOnly => "units over prefixes only, not asked here".to_owned(),
            Verdict::NoUnits if filter_policy.is_empty() => "no filter".to_owned(),
            Verdict::NoUnits => format!("no units; {filter_policy} is not asked here"),
        };
        let index = if *index_blocks > 0 { format!("{index_blocks} index and ") } else { String::new() };
        format!("{why}: reads {index}{data_blocks} data: {}", text_of(*entry))
    }
}

impl Serialize for AskedTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("name", &self.name)?;
        fields.serialize_entry("level", &self.level)?;
        if let Some(report) = &self.report {
            let segment = self.probe().map(|probe| {
                json!({
                    "number": probe.segment + 1,
                    "of": probe.segments,
                    "units": probe.units,
                    "sound_units": probe.sound_units,
                    "resident_units": self.resident_units,
                    "rejecting_unit": probe.rejecting_unit.map(|unit| unit + 1),
                })
            });
            fields.serialize_entry("index_bytes", &report.index_bytes)?;
            fields.serialize_entry("filter_policy", &report.filter_policy)?;
            let has_prefix_units_only = report.verdict == Verdict::PrefixesOnly;
            fields.serialize_entry("has_prefix_units_only", &has_prefix_units_only)?;
            fields.serialize_entry("segment", &segment)?;
            fields.serialize_entry("entry", text_of(report.entry))?;
            fields.serialize_entry("holds_key", &holds_key(report.entry))?;
            fields.serialize_entry("ends_lookup", &report.ends_lookup)?;
            fields.serialize_entry("index_blocks", &report.index_blocks)?;
            fields.serialize_entry("data_blocks", &report.data_blocks)?;
        }
        fields.serialize_entry("error", &self.error)?;
        fields.end()
    }
}

fn text_of(entry: Entry) -> &'static str {
    match entry {
        Entry::Nothing => "not there",
        Entry::Value => "value",
        Entry::Deletion => "deletion",
        Entry::Operand => "merge operand",
        Entry::RangeDeletion => "range deletion",
    }
}

/// Be it a deletion.
fn holds_key(entry: Entry) -> bool {
    !matches!(entry, Entry::Nothing | Entry::RangeDeletion)
}
