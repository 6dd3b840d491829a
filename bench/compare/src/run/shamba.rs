//! SHaMBa's experiment (VLDB'23 PhD workshop, section 3, figure 4): latency of lookups when memory is short. Budgets from a
//! tenth of the filters' full size to one and a half of it, shares of lookups for existing keys from none to all,
//! uniform and Zipf popularity.
//!
//! Filters without a cap are measured once for each kind of lookup, as the case of all filters in memory. The others are
//! measured at every budget, each time from a cold start.

use anyhow::Result;
use serde::Serialize;
use springbloom_console::percent;
use springbloom_workload::{Distribution, StreamSettings};

use crate::database::options::CommonSettings;
use crate::run::schedule::{Entrant, Plan, Row, run as run_plan};
use crate::run::workload::Workload;

/// Budgets as shares of the filters' full size.
const BUDGET_SHARES: [f64; 5] = [0.1, 0.4, 0.7, 1.0, 1.5];
/// Shares of lookups for existing keys.
const EXISTING_SHARES: [f64; 3] = [0.0, 0.5, 1.0];
/// Size of full filters: RocksDB's usual choice.
const FULL_BITS_PER_KEY: f64 = 10.0;
/// The constant of YCSB.
const ZIPF_EXPONENT: f64 = 0.99;

/// All measurements.
#[derive(Debug, Serialize)]
pub(crate) struct Experiment {
    pub(crate) full_filter_bytes: u64,
    pub(crate) warmup_ops: u64,
    pub(crate) ops: u64,
    pub(crate) rounds: u32,
    pub(crate) cells: Vec<Cell>,
}

/// One configuration under one kind of lookup, at one budget.
#[derive(Debug, Serialize)]
pub(crate) struct Cell {
    pub(crate) distribution: String,
    pub(crate) existing_share: f64,
    /// Share of the filters' full size; `None` without a cap.
    pub(crate) budget_share: Option<f64>,
    pub(crate) budget_bytes: Option<u64>,
    #[serde(flatten)]
    pub(crate) row: Row,
}

impl Cell {
    /// Mean time of a lookup.
    pub(crate) fn lookup_us(&self) -> f64 {
        f64::from(self.row.threads) * 1e6 / self.row.ops_per_s
    }

    /// Reads per lookup beside those of found keys: data blocks without the key, filter blocks, filter units.
    pub(crate) fn extra_reads_per_get(&self) -> f64 {
        let Row { wasted_reads_per_get, filter_reads_per_get, unit_reads, operations, .. } = &self.row;
        wasted_reads_per_get.unwrap_or(0.0)
            + filter_reads_per_get.unwrap_or(0.0)
            + *unit_reads as f64 / *operations as f64
    }
}

/// Runs the experiment on the databases and with the numbers of operations of `plan`; other settings are those of `stream`.
pub(crate) fn run(plan: &Plan<'_>, stream: StreamSettings) -> Result<Experiment> {
    let full_filter_bytes = (plan.shape.entries() as f64 * FULL_BITS_PER_KEY / 8.0) as u64;
    let (capped, uncapped): (Vec<Entrant>, Vec<Entrant>) =
        plan.entrants.iter().cloned().partition(|entrant| entrant.config.is_capped());
    let distributions = [Distribution::Uniform, Distribution::Zipf { exponent: ZIPF_EXPONENT }];
    let budgets = || {
        let shares = BUDGET_SHARES.map(|share| (Some(share), &capped));
        [(None, &uncapped)].into_iter().chain(shares).filter(|(_, entrants)| !entrants.is_empty())
    };
    let total = distributions.len() * EXISTING_SHARES.len() * budgets().count();
    let mut cells = Vec::new();
    let mut number = 0;
    for distribution in distributions {
        for existing_share in EXISTING_SHARES {
            for (budget_share, entrants) in budgets() {
                number += 1;
                let budget_bytes = budget_share.map(|share| (full_filter_bytes as f64 * share) as u64);
                let common = CommonSettings { budget_bytes, ..plan.common.clone() };
                let memory = budget_share.map_or("all filters".to_owned(), percent);
                let existing = percent(existing_share);
                let label = format!("[{number}/{total}] {distribution}, {existing} existing, {memory}: ");
                let zero_result_ratio = 1.0 - existing_share;
                let workload =
                    Workload::Generated(StreamSettings { distribution, zero_result_ratio, ..stream });
                let threads = plan.threads.clone();
                let plan = Plan { common: &common, workload, entrants, label, threads, ..*plan };
                for row in run_plan(&plan)? {
                    let distribution = distribution.to_string();
                    cells.push(Cell { distribution, existing_share, budget_share, budget_bytes, row });
                }
            }
        }
    }
    Ok(Experiment {
        full_filter_bytes,
        warmup_ops: plan.warmup_ops,
        ops: plan.ops,
        rounds: plan.rounds,
        cells,
    })
}
