//! What was done, and what failed.

use std::{
    collections::BTreeMap,
    fmt::{self, Display, Formatter},
    time::Duration,
};

use super::store::Done;
use crate::common::faults::Fault;

/// Of stock filters, and of elastic ones.
type Failures = [u64; 2];

#[derive(Default)]
struct Operations {
    count: u64,
    failed: Failures,
    took: [Duration; 2],
}

#[derive(Default)]
pub(crate) struct Tally {
    operations: BTreeMap<&'static str, Operations>,
    /// How often each kind began, and what failed during it.
    faults: BTreeMap<String, (u64, Failures)>,
    /// Stores that had to be opened again after a fault.
    broken: Failures,
    recoveries: u64,
    /// Of these times, those after which the secondary showed all of its store.
    secondaries: [u64; 2],
    longest_recovery: Duration,
}

impl Tally {
    pub(crate) fn operation(&mut self, name: &'static str, done: &[(Done, Duration); 2], fault: Fault) {
        let operations = self.operations.entry(name).or_default();
        operations.count += 1;
        let failed = done.each_ref().map(|(done, _)| done.is_err());
        add(&mut operations.failed, failed);
        if let Some((_, failures)) = self.faults.get_mut(&format!("{fault:?}")) {
            add(failures, failed);
        }
        operations.took.iter_mut().zip(done).for_each(|(sum, (_, took))| *sum += *took);
    }

    pub(crate) fn fault(&mut self, fault: Fault) {
        self.faults.entry(format!("{fault:?}")).or_default().0 += 1;
    }

    pub(crate) fn has_had(&self, fault: Fault) -> bool {
        self.faults.contains_key(&format!("{fault:?}"))
    }

    pub(crate) fn broken(&mut self, broken: [bool; 2]) {
        add(&mut self.broken, broken);
    }

    pub(crate) fn recovered(&mut self, after: Duration) {
        self.recoveries += 1;
        self.longest_recovery = self.longest_recovery.max(after);
    }

    pub(crate) fn secondaries(&mut self, are_like: [bool; 2]) {
        add(&mut self.secondaries, are_like);
    }

    pub(crate) fn print_progress(&self, elapsed: Duration) {
        let operations: u64 = self.operations.values().map(|operations| operations.count).sum();
        let failures = [0, 1]
            .map(|side| self.operations.values().map(|operations| operations.failed[side]).sum::<u64>());
        let faults: u64 = self.faults.values().map(|(count, _)| count).sum();
        println!(
            "{:.0} s: {operations} operations, failed with stock and elastic filters during {faults} faults: {failures:?}",
            elapsed.as_secs_f64()
        );
    }
}

fn add(failures: &mut Failures, failed: [bool; 2]) {
    failures.iter_mut().zip(failed).for_each(|(failures, failed)| *failures += u64::from(failed));
}

impl Display for Tally {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:26} {:>9} {:>17} {:>17}", "", "", "failed", "seconds")?;
        writeln!(
            f,
            "{:26} {:>9} {:>8} {:>8} {:>8} {:>8}",
            "operation", "count", "stock", "elastic", "stock", "elastic"
        )?;
        for (name, Operations { count, failed: [stock, elastic], took }) in &self.operations {
            let [stock_took, elastic_took] = took.map(|took| took.as_secs_f64());
            writeln!(
                f,
                "{name:26} {count:>9} {stock:>8} {elastic:>8} {stock_took:>8.1} {elastic_took:>8.1}"
            )?;
        }
        let [stock, elastic] = self.broken;
        writeln!(f, "{:26} {:>9} {stock:>8} {elastic:>8}", "stores with errors after", "")?;
        for (name, (count, [stock, elastic])) in &self.faults {
            writeln!(f, "{:26} {count:>9} {stock:>8} {elastic:>8}", format!("fault {name}"))?;
        }
        let [stock, elastic] = self.secondaries;
        writeln!(f, "{:26} {:>9} {stock:>8} {elastic:>8}", "secondaries like stores", self.recoveries)?;
        writeln!(f, "{} times as before after {:.1?} at most", self.recoveries, self.longest_recovery)
    }
}
