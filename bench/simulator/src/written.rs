//! Stock filters: one for each table, whose bits are chosen when the table is written, and never after. No memory but the filters is
//! counted.

use springbloom_published_policies::StockFilter;
use springbloom_workload::Shares;
use springbloom_workload::hash::{mix, unit_interval};

use crate::{FamilyRun, Lookups, Rewriting, Tree};

/// A table that no lookup visited lately gets the bits of one with this many visits.
const LEAST_VISITS: f64 = 0.5;
const SEARCH_STEPS: u32 = 60;

/// What the bits of a table that is written follow from.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// Nothing: all have the same.
    Same,
    /// The column family: these bits per key, as a hand wrote them.
    Family(Shares),
    /// The size of its sorted run, as in Monkey (SIGMOD'17).
    RunSize,
    /// The lookups that visited its keys on this level and did not find theirs (arXiv 2606.18138).
    Visits {
        /// Lookups after which a visit counts half.
        half_life: f64,
    },
}

#[derive(Debug)]
struct Table {
    family: usize,
    keys: f64,
    /// Keys of its sorted run.
    run_keys: f64,
    /// Times that it was rewritten: each time other absent keys pass.
    generation: u64,
    bits: f64,
    visits: f64,
    /// Number of the lookup at which `visits` was right.
    at: u64,
}

impl Table {
    fn visits(&self, now: u64, half_life: f64) -> f64 {
        self.visits * (-((now - self.at) as f64) / half_life).exp2()
    }
}

/// A tree of tables with stock filters.
pub struct Written<'a> {
    tree: &'a Tree,
    stock: StockFilter,
    choice: Choice,
    rewriting: Option<Rewriting>,
    budget_bits: f64,
    tables: Vec<Table>,
    lookups: u64,
    /// Of the last run.
    pub families: Vec<FamilyRun>,
}

impl<'a> Written<'a> {
    /// A tree that was just loaded: nothing is known but the sizes of runs.
    pub fn new(
        tree: &'a Tree,
        bits_per_key: f64,
        (stock, choice): (StockFilter, Choice),
        rewriting: Option<Rewriting>,
    ) -> Self {
        let mut tables = Vec::new();
        for (level, &level_segments) in tree.levels.iter().enumerate() {
            let keys = |segments: u32| f64::from(segments) * tree.segment_keys as f64;
            tables.extend(tree.segments_by_table(level).map(|segments| Table {
                family: tree.family_of(level).0,
                keys: keys(segments),
                run_keys: keys(level_segments),
                generation: 0,
                bits: 0.0,
                visits: 0.0,
                at: 0,
            }));
        }
        let budget_bits = tree.keys() as f64 * bits_per_key;
        let families = Vec::new();
        let mut written = Self { tree, stock, choice, rewriting, budget_bits, tables, lookups: 0, families };
        let bits = match &written.choice {
            Choice::Same => vec![bits_per_key; written.tables.len()],
            Choice::Family(bits) => written.tables.iter().map(|table| bits.of(table.family)).collect(),
            Choice::RunSize | Choice::Visits { .. } => written.best_bits(|table| table.keys / table.run_keys),
        };
        written.tables.iter_mut().zip(bits).for_each(|(table, bits)| table.bits = bits);
        written
    }

    /// Does `count` lookups and returns the wasted reads per lookup.
    pub fn run(&mut self, lookups: &mut Lookups, count: usize) -> f64 {
        self.families = FamilyRun::none(self.tree.families);
        let rate_exponent = self.stock.rate_exponent();
        for lookup in lookups.take(count) {
            if let Some(rewriting) = self.rewriting {
                for (level, nth) in rewriting.before(self.tree, self.lookups) {
                    self.rewrite(level, nth);
                }
            }
            for visit in self.tree.visits(lookup).filter(|visit| !visit.is_there) {
                let number = self.tree.place(visit.level, visit.segment).0;
                let table = &mut self.tables[number as usize];
                if let Choice::Visits { half_life } = self.choice {
                    table.visits = table.visits(self.lookups, half_life) + 1.0;
                    table.at = self.lookups;
                }
                let salt = mix(u64::from(number) << 32 | table.generation);
                let passes = unit_interval(mix(lookup.key ^ salt)) < (-table.bits * rate_exponent).exp();
                self.families[lookup.family].wasted_reads += f64::from(u8::from(passes));
            }
            self.families[lookup.family].lookups += 1;
            self.lookups += 1;
        }
        for table in &self.tables {
            let bits = table.bits * table.keys / self.tree.family_keys() as f64;
            self.families[table.family].resident_bits_per_key += bits;
        }
        FamilyRun::wasted_per_lookup(&self.families)
    }

    fn rewrite(&mut self, level: usize, nth: u32) {
        let number = self.tree.table(level, nth) as usize;
        self.tables[number].generation += 1;
        if let Choice::Visits { half_life } = self.choice {
            let best = self.best_bits(|table| table.visits(self.lookups, half_life) + LEAST_VISITS)[number];
            // Filters of other tables stay as they are, so what they leave is all that there is.
            let others: f64 = self.tables.iter().map(|table| table.keys * table.bits).sum::<f64>()
                - self.tables[number].keys * self.tables[number].bits;
            let table = &mut self.tables[number];
            table.bits = best.min((self.budget_bits - others) / table.keys).max(0.0);
        }
    }

    /// Bits per key of each table by which all tables together would waste the fewest reads: affine in the logarithm of visits per key.
    fn best_bits(&self, visits: impl Fn(&Table) -> f64) -> Vec<f64> {
        let densities: Vec<f64> =
            self.tables.iter().map(|table| (visits(table) / table.keys).log2()).collect();
        let bits_per_halving = std::f64::consts::LN_2 / self.stock.rate_exponent();
        let bits = |density: f64, price: f64| (bits_per_halving * (density - price)).max(0.0);
        let spent = |price: f64| -> f64 {
            self.tables
                .iter()
                .zip(&densities)
                .map(|(table, &density)| table.keys * bits(density, price))
                .sum()
        };
        let (mut low, mut high) = (-200.0, 100.0);
        for _ in 0..SEARCH_STEPS {
            let middle = (low + high) / 2.0;
            if spent(middle) > self.budget_bits { low = middle } else { high = middle }
        }
        densities.into_iter().map(|density| bits(density, high)).collect()
    }
}

#[cfg(test)]
mod tests {
    use springbloom_filter::UnitSettings;
    use springbloom_workload::{Distribution, FamilyMix, StreamSettings};

    use super::*;

    const CYCLE: u64 = 20_000;

    fn tree() -> Tree {
        Tree::new(&[2, 20, 200], 2, 100, UnitSettings::default())
    }

    fn lookups(tree: &Tree, distribution: Distribution) -> Lookups {
        let stream = StreamSettings { distribution, ..StreamSettings::gets(0.0, 0.5, 1, 1) };
        let mix = FamilyMix { traffic: vec![1.0], absent: vec![stream.absent_share] };
        Lookups::of(stream, &mix, tree.keys()).expect("sound settings")
    }

    fn run(tree: &Tree, choice: Choice, distribution: Distribution) -> Written<'_> {
        let rewriting = Some(Rewriting { cycle_lookups: CYCLE });
        let mut written = Written::new(tree, 4.0, (StockFilter::Ribbon, choice), rewriting);
        written.run(&mut lookups(tree, distribution), 2 * CYCLE as usize);
        written
    }

    #[test]
    fn every_table_is_rewritten_in_a_cycle_and_the_budget_holds() {
        let tree = tree();
        let visits = Choice::Visits { half_life: 1e4 };
        for choice in [Choice::RunSize, visits] {
            let written = run(&tree, choice.clone(), Distribution::Uniform);
            let deepest = &written.tables[written.tables.len() - 100..];
            assert!(deepest.iter().all(|table| (1..=3).contains(&table.generation)), "{deepest:?}");
            let spent: f64 = written.tables.iter().map(|table| table.keys * table.bits).sum();
            assert!(spent <= written.budget_bits * 1.000_001, "{choice:?}: {spent}");
            assert!(spent >= written.budget_bits * 0.95, "{choice:?}: {spent}");
        }
    }

    #[test]
    fn bloom_filters_of_the_same_size_pass_what_they_should() {
        let tree = Tree::new(&[200], 2, 100, UnitSettings::default());
        let mut written = Written::new(&tree, 4.0, (StockFilter::Bloom, Choice::Same), None);
        let wasted = written.run(&mut lookups(&tree, Distribution::Uniform), 100_000);
        // Half of the lookups are for absent keys, of which a Bloom filter of 4 bits passes 14.6%.
        assert!((wasted / 0.073 - 1.0).abs() < 0.05, "{wasted}");
    }

    #[test]
    fn visits_find_a_range_that_is_hot_and_sizes_do_not() {
        let tree = tree();
        // Of ten ranges one has nine tenths of the lookups.
        let range_records = tree.keys().div_ceil(10);
        let ranges = Distribution::Ranges { range_records, exponent: 3.8 };
        let wasted = |choice| run(&tree, choice, ranges).run(&mut lookups(&tree, ranges), CYCLE as usize);
        let (by_size, by_visits) = (wasted(Choice::RunSize), wasted(Choice::Visits { half_life: 1e4 }));
        assert!(by_visits < by_size * 0.4, "{by_visits} {by_size}");
    }
}
