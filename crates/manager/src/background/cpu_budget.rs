//! CPU time that learning may take: a share of one core that grows with wasted reads.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Learning may take at most one part in this many of a core.
const CPU_PARTS: u32 = 50;
/// 0.1% of a core is always allowed, plus 5 us for each wasted read. Where few reads are wasted there is little to gain, and a working
/// thread slows lookups down.
const CPU_PARTS_WITHOUT_WASTE: u32 = 1000;
const CPU_PER_WASTED_READ: Duration = Duration::from_micros(5);
/// The shortest rest. Waking up costs about as much as learning from all batches that a small budget has.
pub(super) const REST_MIN: Duration = Duration::from_millis(4);
/// The most time that an idle thread saves up.
const CREDIT_MAX: Duration = Duration::from_millis(10);

/// A budget of time for learning. It fills as time passes and as reads are wasted. Reading units is not limited: the policy admits only
/// units whose reads pay.
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

    /// How long to rest until the work done is within the budget. `wasted_reads` counts those of all time.
    pub(super) fn rest(&mut self, wasted_reads: u64) -> Duration {
        let now = Instant::now();
        let had = self.credit + earned(now - self.seen, wasted_reads.saturating_sub(self.seen_wasted_reads));
        (self.seen, self.seen_wasted_reads) = (now, wasted_reads);
        self.credit = had.saturating_sub(self.debt).min(CREDIT_MAX);
        self.debt = self.debt.saturating_sub(had);
        self.debt * CPU_PARTS
    }

    /// Does work that the budget pays for.
    pub(super) fn spend<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let begun = cpu_time_of_thread();
        let done = work();
        self.debt += cpu_time_of_thread().saturating_sub(begun);
        done
    }
}

/// CPU time earned for learning.
fn earned(time: Duration, wasted_reads: u64) -> Duration {
    let for_reads = CPU_PER_WASTED_READ * wasted_reads.try_into().unwrap_or(u32::MAX);
    (time / CPU_PARTS_WITHOUT_WASTE + for_reads).min(time / CPU_PARTS)
}

/// CPU time that the calling thread has taken. The clock would also count the time that others had its core: on a busy machine nothing
/// would be learned.
fn cpu_time_of_thread() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
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

    #[test]
    fn time_without_the_core_is_not_work() {
        let (begun, clock) = (cpu_time_of_thread(), Instant::now());
        std::thread::sleep(Duration::from_millis(50));
        let slept = cpu_time_of_thread() - begun;
        assert!(slept < clock.elapsed() / 5, "{slept:?}");
        let until = cpu_time_of_thread() + Duration::from_millis(5);
        while cpu_time_of_thread() < until {} // it goes on where there is work
    }
}
