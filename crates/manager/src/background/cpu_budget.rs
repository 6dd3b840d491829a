//! CPU time that learning may take: a share of one core that grows with wasted reads.

use std::time::{Duration, Instant};

/// Share of one core that learning from visits may take at most: one part in this.
const CPU_PARTS: u32 = 50;
/// Share that it may take even if no lookup wastes a read, and what it may take for each read that one wastes: where there is little to
/// gain there is little to learn, and lookups are slower beside a thread that works.
const CPU_PARTS_WITHOUT_WASTE: u32 = 1000;
const CPU_PER_WASTED_READ: Duration = Duration::from_micros(5);
/// The least rest from learning: a wake-up costs about what it takes to learn from all batches there are under a small budget.
pub(super) const REST_MIN: Duration = Duration::from_millis(4);
/// What the thread may work at once after it had nothing to do for long.
const CREDIT_MAX: Duration = Duration::from_millis(10);

/// Keeps the time that is spent on visits at a share of all time: a budget of time that fills as time passes and reads are
/// wasted. Reading units is not held back: the policy sees to it that reads repay themselves.
pub(super) struct CpuBudget {
    credit: Duration,
    debt: Duration,
    seen: Instant,
    seen_wasted_reads: u64,
}

impl CpuBudget {
    pub(super) fn new() -> Self {
        Self { credit: CREDIT_MAX, debt: Duration::ZERO, seen: Instant::now(), seen_wasted_reads: 0 }
    }

    /// How long nothing must be worked, as far as can be foreseen, until what was worked is at most its share; `wasted_reads` is how many
    /// there ever were.
    pub(super) fn rest(&mut self, wasted_reads: u64) -> Duration {
        let now = Instant::now();
        let had = self.credit + earned(now - self.seen, wasted_reads.saturating_sub(self.seen_wasted_reads));
        (self.seen, self.seen_wasted_reads) = (now, wasted_reads);
        self.credit = had.saturating_sub(self.debt).min(CREDIT_MAX);
        self.debt = self.debt.saturating_sub(had);
        self.debt * CPU_PARTS
    }

    pub(super) fn worked(&mut self, time: Duration) {
        self.debt += time;
    }
}

/// CPU time earned for learning.
fn earned(time: Duration, wasted_reads: u64) -> Duration {
    let for_reads = CPU_PER_WASTED_READ * wasted_reads.try_into().unwrap_or(u32::MAX);
    (time / CPU_PARTS_WITHOUT_WASTE + for_reads).min(time / CPU_PARTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learning_takes_more_time_where_more_reads_are_wasted_up_to_its_share() {
        let second = Duration::from_secs(1);
        assert_eq!(earned(second, 0), second / 1000);
        assert_eq!(earned(second, 200), second / 500);
        assert_eq!(earned(second, 1_000_000), second / 50);
        assert_eq!(earned(second, u64::MAX), second / 50);
    }
}
