//! Accesses of tables and of their segments, as a store without filters has them: how uneven they are (ElasticBF, ATC'19, section 2.2).

use std::io::Write;

use anyhow::Result;
use springbloom_console::TextTable;
use springbloom_records::{Figure, Unit, labels};

use crate::{Lookups, Tree};

/// Share of the tables above that are its coldest.
const COLDEST: f64 = 0.11;
/// Segments of a table differ much if the most and the least accessed one differ by so many times the mean.
const UNEVEN: f64 = 10.0;

/// The accesses of a tree.
#[derive(Debug)]
pub(super) struct Accesses {
    /// Of each segment of each table, by level.
    levels: Vec<Vec<Vec<u64>>>,
}

impl Accesses {
    /// Counts those of `count` lookups.
    pub(super) fn of(tree: &Tree, lookups: &mut Lookups, count: usize) -> Self {
        let tables =
            |level| tree.segments_by_table(level).map(|segments| vec![0; segments as usize]).collect();
        let mut levels: Vec<Vec<Vec<u64>>> = (0..tree.levels.len()).map(tables).collect();
        for lookup in lookups.take(count) {
            for visit in tree.visits(lookup) {
                let (table, segment) =
                    (visit.segment / tree.table_segments, visit.segment % tree.table_segments);
                levels[visit.level][table as usize][segment as usize] += 1;
            }
        }
        Self { levels }
    }

    fn tables(&self, level: usize) -> Vec<u64> {
        let mut tables: Vec<u64> = self.levels[level].iter().map(|segments| segments.iter().sum()).collect();
        tables.sort_unstable();
        tables
    }

    /// Share of the deepest level's tables with more accesses than the coldest of the level above.
    fn hotter_than_coldest_above(&self) -> Option<f64> {
        let (deepest, above) =
            (self.tables(self.levels.len() - 1), self.tables(self.levels.len().checked_sub(2)?));
        let coldest = above[((above.len() as f64 * COLDEST) as usize).min(above.len() - 1)];
        Some(deepest.iter().filter(|accesses| **accesses > coldest).count() as f64 / deepest.len() as f64)
    }

    /// Share of tables whose segments differ much.
    fn uneven_tables(&self) -> f64 {
        let tables =
            || self.levels.iter().flatten().filter(|segments| segments.iter().any(|accesses| *accesses > 0));
        let is_uneven = |segments: &&Vec<u64>| {
            let (most, least) = (segments.iter().max().unwrap_or(&0), segments.iter().min().unwrap_or(&0));
            let mean = segments.iter().sum::<u64>() as f64 / segments.len() as f64;
            (most - least) as f64 > UNEVEN * mean
        };
        tables().filter(is_uneven).count() as f64 / tables().count().max(1) as f64
    }

    pub(super) fn figures(&self) -> Vec<Figure> {
        let deepest = self.levels.len() - 1;
        let levels = (0..=deepest).map(|level| {
            let name = match deepest - level {
                0 => "deepest".to_owned(),
                1 => "above".to_owned(),
                more => format!("{more} above"),
            };
            let tables = self.tables(level);
            let mean = tables.iter().sum::<u64>() as f64 / tables.len() as f64;
            Figure::new("accesses_per_table", labels([("level", name)]), mean, Unit::Count)
                .between(tables[0] as f64, tables[tables.len() - 1] as f64)
        });
        let shares = [
            ("hotter_than_coldest_above", self.hotter_than_coldest_above()),
            ("uneven_tables", Some(self.uneven_tables())),
        ];
        let shares = shares
            .into_iter()
            .filter_map(|(name, share)| Some(Figure::new(name, labels([]), share?, Unit::Ratio)));
        levels.chain(shares).collect()
    }

    /// A line for each level, then how uneven accesses are.
    pub(super) fn write_text(&self, out: &mut impl Write) -> Result<()> {
        let mut table = TextTable::new(["sorted run", "tables", "mean", "least", "most"]);
        for level in 0..self.levels.len() {
            let tables = self.tables(level);
            let mean = tables.iter().sum::<u64>() as f64 / tables.len() as f64;
            let cells = [tables.len() as u64, mean.round() as u64, tables[0], tables[tables.len() - 1]];
            table.add_row([(level + 1).to_string()].into_iter().chain(cells.map(|cell| cell.to_string())));
        }
        writeln!(out, "accesses of a table, without filters\n{table}")?;
        if let Some(share) = self.hotter_than_coldest_above() {
            let (coldest, share) = (COLDEST * 100.0, share * 100.0);
            writeln!(
                out,
                "{share:.1}% of the tables of the last run have more than the coldest {coldest:.0}% of the run before."
            )?;
        }
        let uneven = self.uneven_tables() * 100.0;
        Ok(writeln!(
            out,
            "In {uneven:.1}% of all tables, segments differ by more than {UNEVEN:.0} times their mean."
        )?)
    }
}

#[cfg(test)]
mod tests {
    use springbloom_filter::UnitSettings;
    use springbloom_workload::Distribution;

    use super::*;
    use crate::Popularity;

    fn accesses(distribution: Distribution) -> Accesses {
        let tree = Tree::new(&[64, 640], 32, 100, UnitSettings::default());
        Accesses::of(&tree, &mut Lookups::new(Popularity::still(distribution), tree.keys(), 1), 100_000)
    }

    #[test]
    fn a_table_above_has_the_accesses_of_ten_below() {
        let figures = accesses(Distribution::Uniform).figures();
        let mean = |level: &str| {
            figures.iter().find(|figure| figure.is_of(&[("level", level)])).map_or(0.0, |figure| figure.value)
        };
        // Every lookup comes to the upper run, and all but the eleventh part of those that find their key to the deepest.
        assert!((mean("above") / mean("deepest") / 10.5 - 1.0).abs() < 0.05, "{figures:?}");
    }

    #[test]
    fn segments_are_uneven_where_keys_are_hot() {
        let [uniform, hot] = [Distribution::Uniform, Distribution::Zipf { exponent: 1.4 }]
            .map(|law| accesses(law).uneven_tables());
        assert!(uniform < 0.01 && hot > 0.01, "{uniform} {hot}");
    }
}
