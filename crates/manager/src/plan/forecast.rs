//! How many reads a segment will waste: three forecasts, each with the share of belief that it earned (beyond the papers).
//!
//! - *By its run*: every key of a sorted run is asked for as often as any other, so the segment gets its share of the run's visits. Right
//!   where hot keys are scattered over the key space: a hot key, however often it comes, is rejected each time.
//! - *By its visits*: the visits that the segment had. Right where ranges of keys are hot.
//! - *By its outcomes*: the reads that were wasted, and the rejections by the last unit. Right where hot keys waste reads again and again:
//!   which keys a unit lets pass is fixed. Few events, so it is noise elsewhere.
//!
//! Run and visits exclude each other: what a segment's units let pass so far says which of them is right for it. Outcomes add their share.
//! How often each is right is learnt from the wasted reads: the shares are those of a mixture that makes the reads that were wasted most
//! likely (expectation maximisation, one step a read). Measured in decision 0011.

/// Weighted reads that a segment will waste, by each forecast.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forecasts {
    pub by_run: f32,
    pub by_visits: f32,
    pub by_outcomes: f32,
}

/// Shares of belief in the forecasts for one segment; they add up to one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Belief([f32; 3]);

impl Belief {
    /// Weighted wasted reads by all forecasts together.
    pub(crate) fn mean(self, forecasts: Forecasts) -> f32 {
        self.parts(forecasts).iter().sum()
    }

    /// The mean of what run and visits forecast.
    pub(crate) fn mean_without_outcomes(self, by_run: f32, by_visits: f32) -> f32 {
        let Self([run, visits, _]) = self;
        (run * by_run + visits * by_visits) / (run + visits)
    }

    fn parts(self, Forecasts { by_run, by_visits, by_outcomes }: Forecasts) -> [f32; 3] {
        let Self([run, visits, outcomes]) = self;
        [run * by_run, visits * by_visits, outcomes * by_outcomes]
    }
}

/// What was learnt of the forecasts.
#[derive(Clone, Debug)]
pub(crate) struct Forecast {
    /// Shares of belief, which add up to about one.
    shares: [f32; 3],
    /// Weighted reads that were wasted, and those that were expected from runs and from visits by the analytic rates.
    wasted: f64,
    by_run: f64,
    by_visits: f64,
    /// Factor that makes the forecasts by run expect as many wasted reads in total as those by visits.
    pub(super) run_factor: f32,
    /// Wasted reads divided by those that the analytic rates expect.
    pub(super) wasted_share: f32,
}

/// Shares before anything was learnt.
const SHARES_AT_FIRST: [f32; 3] = [0.4, 0.4, 0.2];
/// Lower bound, so that a forecast that was wrong so far can recover.
const SHARE_MIN: f32 = 0.01;
/// Wasted reads that the shares remember.
const MEMORY: f32 = 300.0;
/// Lower bound of expected reads, so that no odds are infinite.
const EXPECTED_MIN: f32 = 1e-3;
/// Certain enough, and within the range of `f32`.
const LOG_ODDS_MAX: f32 = 60.0;
/// Prior for `wasted_share` and `run_factor`: the analytic rates count as this many wasted reads.
const PRIOR_READS: f64 = 64.0;

impl Forecast {
    pub(crate) const fn new() -> Self {
        Self {
            shares: SHARES_AT_FIRST,
            wasted: 0.0,
            by_run: 0.0,
            by_visits: 0.0,
            run_factor: 1.0,
            wasted_share: 1.0,
        }
    }

    /// Records a visit for an absent key. `chance` is the false-positive rate of its segment, `spread_chance` the mean rate of its run if
    /// visits are spread evenly over the run's keys.
    pub(crate) fn expect(&mut self, weight: f32, chance: f32, spread_chance: f64) {
        self.by_visits += f64::from(weight * chance);
        self.by_run += f64::from(weight) * spread_chance;
    }

    /// Records a wasted read with the forecasts for its segment. `weight` is that of all visits that this one stands for, `visit_weight`
    /// that of a single visit made now.
    pub(crate) fn learn(&mut self, weight: f32, visit_weight: f64, forecasts: Forecasts, belief: Belief) {
        self.wasted += f64::from(weight);
        let prior = PRIOR_READS * visit_weight;
        self.run_factor = ((prior + self.by_visits) / (prior + self.by_run)) as f32;
        self.wasted_share = ((prior + self.wasted) / (prior + self.by_visits)) as f32;
        let parts = belief.parts(forecasts);
        let sum: f32 = parts.iter().sum();
        if sum > 0.0 {
            for (share, part) in self.shares.iter_mut().zip(parts) {
                *share = (*share + (part / sum - *share) / MEMORY).max(SHARE_MIN);
            }
        }
    }

    /// Shares of belief for a segment whose units let `passed` visits pass, where run and visits expected that many: the odds of the two
    /// Poisson distributions.
    pub(crate) fn belief(&self, passed: f32, by_run: f32, by_visits: f32) -> Belief {
        let [run, visits, outcomes] = self.shares;
        let (by_run, by_visits) = (by_run.max(EXPECTED_MIN), by_visits.max(EXPECTED_MIN));
        let odds = (passed * (by_visits / by_run).ln() + by_run - by_visits)
            .clamp(-LOG_ODDS_MAX, LOG_ODDS_MAX)
            .exp();
        let others = 1.0 - outcomes;
        let run = others * run / (run + visits * odds);
        Belief([run, (others - run).max(0.0), outcomes])
    }

    /// Scales all sums, as all measured use was scaled.
    pub(crate) fn scale(&mut self, factor: f32) {
        [&mut self.wasted, &mut self.by_run, &mut self.by_visits]
            .into_iter()
            .for_each(|sum| *sum *= f64::from(factor));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EQUAL: Belief = Belief([1.0 / 3.0; 3]);

    fn forecasts([by_run, by_visits, by_outcomes]: [f32; 3]) -> Forecasts {
        Forecasts { by_run, by_visits, by_outcomes }
    }

    fn shares_after(reads: usize, expected: impl Fn(usize) -> [f32; 3]) -> [f32; 3] {
        let mut forecast = Forecast::new();
        for read in 0..reads {
            let shares = Belief(forecast.shares);
            forecast.learn(1.0, 1.0, forecasts(expected(read)), shares);
        }
        forecast.shares
    }

    #[test]
    fn the_forecast_that_expected_the_wasted_reads_is_believed() {
        for right in 0..3 {
            let shares =
                shares_after(10_000, |_| std::array::from_fn(|at| if at == right { 2.0 } else { 1.0 }));
            assert!(shares[right] > 0.9, "{shares:?}");
            assert!(shares.iter().all(|&share| share >= SHARE_MIN), "{shares:?}");
        }
        // Half of the reads are expected by one, half by another.
        let shares =
            shares_after(10_000, |read| if read % 2 == 0 { [9.0, 1.0, 0.1] } else { [1.0, 9.0, 0.1] });
        assert!((shares[0] - 0.5).abs() < 0.05 && (shares[1] - 0.5).abs() < 0.05, "{shares:?}");
    }

    #[test]
    fn a_segment_is_believed_to_be_as_hot_as_what_passed_its_units_says() {
        let forecast = Forecast { shares: [0.8, 0.1, 0.1], ..Forecast::new() };
        let mean = |passed, by_run, by_visits| {
            let belief = forecast.belief(passed, by_run, by_visits);
            assert!((belief.0.iter().sum::<f32>() - 1.0).abs() < 1e-6, "{belief:?}");
            belief.mean(forecasts([by_run, by_visits, passed]))
        };
        assert!(mean(20.0, 2.0, 20.0) > 19.0, "a hot range");
        assert!(mean(1.0, 10.0, 1.0) < 1.2, "a cold range");
        assert!(mean(5.0, 5.0, 500.0) < 5.1, "hot keys that are rejected");
        for extreme in [0.0, 1e-30, 1e30] {
            for other in [0.0, 1.0, 1e30] {
                assert!(
                    forecast
                        .belief(extreme, other, extreme)
                        .0
                        .iter()
                        .all(|share| (0.0..=1.0).contains(share))
                );
                assert!(
                    forecast.belief(other, extreme, 1.0).0.iter().all(|share| (0.0..=1.0).contains(share))
                );
            }
        }
    }

    #[test]
    fn reads_that_no_forecast_expected_change_nothing() {
        assert_eq!(shares_after(100, |_| [0.0; 3]), SHARES_AT_FIRST);
    }

    #[test]
    fn factors_follow_what_happened() {
        let mut forecast = Forecast::new();
        assert_eq!((forecast.run_factor, forecast.wasted_share), (1.0, 1.0));
        for visit in 0..100_000 {
            forecast.expect(1.0, 0.1, 0.4);
            if visit % 20 == 0 {
                forecast.learn(1.0, 1.0, forecasts([1.0; 3]), EQUAL);
            }
        }
        let (run, wasted) = (forecast.run_factor, forecast.wasted_share);
        assert!((run - 0.25).abs() < 0.01 && (wasted - 0.5).abs() < 0.01, "{run} {wasted}");
        forecast.scale(0.5);
        forecast.learn(0.5, 0.5, forecasts([1.0; 3]), EQUAL);
        assert!((forecast.run_factor - run).abs() < 0.001 && (forecast.wasted_share - wasted).abs() < 0.001);
    }
}
