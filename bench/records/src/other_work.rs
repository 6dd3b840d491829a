//! Work of other programs during a measurement.

use std::fs;

/// Processor time since the machine started, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    /// Of all processors, busy or not.
    all: u64,
    /// Of all programs, and what a hypervisor gave to other machines.
    busy: u64,
    /// Of this process and of the children that it waited for.
    own: u64,
}

/// The processors at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processors(Option<Ticks>);

impl Processors {
    pub(crate) fn now() -> Self {
        let read = |path| fs::read_to_string(path).ok();
        let ticks = || {
            let (all, busy) = machine(&read("/proc/stat")?)?;
            Some(Ticks { all, busy, own: own(&read("/proc/self/stat")?)? })
        };
        Self(ticks())
    }

    /// Processors that other programs kept busy since, on average; `None` if that is not known.
    pub(crate) fn others_since(self, cores: usize) -> Option<f64> {
        others(self.0?, Self::now().0?, cores)
    }
}

fn others(before: Ticks, after: Ticks, cores: usize) -> Option<f64> {
    let all = after.all.checked_sub(before.all).filter(|all| *all > 0)?;
    let busy = after.busy.checked_sub(before.busy)?;
    // The two files are not read at the same moment.
    let others = busy.saturating_sub(after.own.checked_sub(before.own)?);
    Some(others as f64 / all as f64 * cores as f64)
}

/// All and busy ticks of the first line of `/proc/stat`. Interrupts are left out: those of a disk serve the measurement.
fn machine(stat: &str) -> Option<(u64, u64)> {
    let numbers = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().map(|word| word.parse().ok());
    let numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
    let [user, nice, system, idle, waiting, hard, soft, steal, ..] = numbers[..] else { return None };
    let busy = user + nice + system + steal;
    Some((busy + idle + waiting + hard + soft, busy))
}

/// Ticks in user and system mode of `/proc/self/stat`, whose second field is a name in brackets.
fn own(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let times = fields.split_whitespace().skip(11).take(4).map(|word| word.parse::<u64>().ok());
    times.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_work_is_not_that_of_others() {
        let ticks = |all, busy, own| Ticks { all, busy, own };
        // Two processors for ten seconds; this process took one of them, others a quarter.
        assert_eq!(others(ticks(0, 0, 0), ticks(2000, 1250, 1000), 2), Some(0.25));
        assert_eq!(others(ticks(0, 0, 0), ticks(2000, 990, 1000), 2), Some(0.0), "read at different moments");
        assert_eq!(others(ticks(5, 0, 0), ticks(5, 0, 0), 2), None, "no time passed");
        assert_eq!(others(ticks(9, 9, 9), ticks(5, 5, 5), 2), None, "the counters began again");
    }

    #[test]
    fn the_files_of_linux_are_read() {
        assert_eq!(machine("cpu  10 1 5 100 7 2 3 4 0 0\ncpu0 1\n"), Some((132, 20)));
        assert_eq!(own("7 (a (b) c) R 1 2 3 4 5 6 7 8 9 10 11 22 3 4 20 0"), Some(40));
        assert_eq!((machine("intr 1"), own("")), (None, None));
        assert!(Processors::now().0.is_some(), "Linux has both");
    }
}
