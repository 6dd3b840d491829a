//! What is shown, as lines and rows: the same on the screen and in a table that is printed once.

use std::time::Duration;

use springbloom_console::sizes::Size;
use springbloom_console::{TextTable, is_unprintable};

use super::reading::{Counts, Reading};

/// Two moments: what is now, and what happened between them.
pub(super) struct Report<'a> {
    pub(super) now: &'a Reading,
    /// `None`: all since the start.
    pub(super) before: Option<(&'a Reading, Duration)>,
}

/// Rows below a header; the first columns are names.
pub(super) struct Rows {
    pub(super) header: Vec<&'static str>,
    pub(super) names: usize,
    pub(super) rows: Vec<Vec<String>>,
}

impl Report<'_> {
    /// How full the budget is, from 0 to 1.
    pub(super) fn fullness(&self) -> f64 {
        let (used, budget) = (self.now.used() as f64, self.now.budget_bytes as f64);
        if budget > 0.0 { (used / budget).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The budget and what it is used for.
    pub(super) fn budget(&self) -> String {
        let now = self.now;
        format!(
            "{} of {} in use, at most {} so far",
            bytes(now.used()),
            bytes(now.budget_bytes),
            bytes(now.peak_bytes)
        )
    }

    /// What the budget is used for.
    pub(super) fn uses(&self) -> String {
        let used = self.now.used_bytes.iter().filter(|(_, used)| **used > 0);
        let kinds: Vec<_> =
            used.map(|(kind, used)| format!("{} {}", shown(kind).replace('_', " "), bytes(*used))).collect();
        if kinds.is_empty() { "nothing is in use".to_owned() } else { kinds.join(", ") }
    }

    /// Visits and what they came to.
    pub(super) fn visits(&self) -> String {
        let counts = self.passed(self.now.counts, self.before.map(|(before, _)| before.counts));
        let wasted = counts.wasted_percent().map_or("-".to_owned(), |percent| format!("{percent:.2}%"));
        format!(
            "visits {}, wasted reads {} ({wasted} of visits, {:.2}% to expect), units loaded {}",
            self.rate(counts.visits),
            self.rate(counts.wasted_reads),
            100.0 * self.now.expected_wasted_reads_per_visit,
            self.rate(counts.units_loaded),
        )
    }

    /// Counts of what should not happen, if it did.
    pub(super) fn faults(&self) -> Option<String> {
        let faults = self.now.faults.iter().filter(|(_, count)| **count > 0);
        let named: Vec<_> = faults
            .map(|(name, count)| {
                let name = name.trim_start_matches("springbloom_").trim_end_matches("_total");
                format!("{} {count}", name.replace('_', " "))
            })
            .collect();
        (!named.is_empty()).then(|| named.join(", "))
    }

    /// Resident units by level.
    pub(super) fn levels(&self) -> Rows {
        let mut levels: Vec<_> = self.now.levels.iter().collect();
        levels.sort_by_key(|(name, _)| name.parse().unwrap_or(u8::MAX));
        let row = |(name, level): &(&String, &super::reading::Level)| {
            vec![shown(name), bytes(level.resident_bytes), level.resident_units.to_string()]
        };
        Rows { header: vec!["level", "resident", "units"], names: 1, rows: levels.iter().map(row).collect() }
    }

    /// Column families, those that waste the most reads first.
    pub(super) fn families(&self) -> Rows {
        let counts = |family| {
            let before = self.before.and_then(|(before, _)| before.counts_of(family));
            self.passed(family.counts, before)
        };
        let mut families: Vec<_> = self.now.families.iter().map(|family| (family, counts(family))).collect();
        families
            .sort_by_key(|(family, counts)| std::cmp::Reverse((counts.wasted_reads, family.resident_bytes)));
        let row = |(family, counts): &(&super::reading::Family, Counts)| {
            vec![
                shown(&family.database),
                if family.family.is_empty() { "?".to_owned() } else { shown(&family.family) },
                family.tables.to_string(),
                bytes(family.resident_bytes),
                self.rate(counts.visits),
                self.rate(counts.wasted_reads),
                counts.wasted_percent().map_or("-".to_owned(), |percent| format!("{percent:.2}%")),
                self.rate(counts.units_loaded),
            ]
        };
        Rows {
            header: vec![
                "database",
                "family",
                "tables",
                "resident",
                "visits",
                "wasted",
                "of visits",
                "loads",
            ],
            names: 2,
            rows: families.iter().map(row).collect(),
        }
    }

    /// All of it as text.
    pub(super) fn text(&self) -> String {
        let mut lines = vec![
            format!("budget   {}", self.budget()),
            format!("for      {}", self.uses()),
            format!("tables   {} with {} segments", self.now.tables, self.now.segments),
            format!("lookups  {}", self.visits()),
        ];
        lines.extend(self.faults().map(|faults| format!("faults   {faults}")));
        for table in [self.levels(), self.families()] {
            if table.rows.is_empty() {
                continue;
            }
            let mut text = TextTable::new(table.header).with_names(table.names);
            table.rows.into_iter().for_each(|row| text.add_row(row));
            lines.push(format!("\n{text}"));
        }
        lines.join("\n")
    }

    fn passed(&self, now: Counts, before: Option<Counts>) -> Counts {
        before.map_or(now, |before| now.since(before))
    }

    /// A count, or how many in a second.
    fn rate(&self, count: u64) -> String {
        match self.before {
            None => count.to_string(),
            Some((_, time)) => {
                let rate = count as f64 / time.as_secs_f64().max(1e-3);
                if rate > 0.0 && rate < 10.0 { format!("{rate:.1}/s") } else { format!("{rate:.0}/s") }
            }
        }
    }
}

/// A name from elsewhere, without what would command the terminal or deceive the reader.
fn shown(name: &str) -> String {
    name.chars().map(|of| if is_unprintable(of) { char::REPLACEMENT_CHARACTER } else { of }).collect()
}

fn bytes(bytes: u64) -> String {
    Size { bytes }.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_command_the_terminal() {
        let text = "springbloom_budget_bytes 1\nspringbloom_used_bytes{kind=\"\x1b]0;x\x07\"} 5\n\
            springbloom_resident_bytes{level=\"\x1b[2J\"} 5\n\
            springbloom_family_tables{database=\"\x1b[31m/d\",family=\"\\n\r\u{9b}\u{202e}x\"} 5\n";
        let now = Reading::of(text).expect("possible").expect("ours");
        let shown = Report { now: &now, before: None }.text();
        let is_harmless = |of: char| !is_unprintable(of) || of == '\n';
        assert!(
            shown.chars().all(is_harmless) && shown.contains("[31m/d") && shown.contains("[2J"),
            "{shown:?}"
        );
    }
}
