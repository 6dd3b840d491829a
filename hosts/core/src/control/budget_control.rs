//! The budget in force: what the program asked for, less what memory pressure takes, and no more than is charged to the block cache.
//!
//! Invariants: the manager's limit is never above what is charged to the block cache; changes come one at a time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use springbloom_manager::Manager;

use crate::{control::memory_pressure::MemoryPressure, ffi::CacheCharge, tables::handover::Handover};

/// Polls without pressure before memory is taken back.
const CALM_POLLS: u32 = 10;
/// Share that a poll with pressure takes of what is in use.
const YIELD_SHARE: f64 = 1.0 / 8.0;
/// Share of what was asked for that a calm poll gives back. Slower than it is taken, so that pressure does not come back at once.
const RETURN_SHARE: f64 = 1.0 / 32.0;

/// Moves the manager's budget.
pub(crate) struct BudgetControl {
    manager: Arc<Manager>,
    handover: Arc<Handover>,
    pressure: Option<MemoryPressure>,
    /// Whether the budget is charged to a block cache. Outside of the mutex, which is held while a budget moves.
    is_charged: AtomicBool,
    state: Mutex<State>,
}

struct State {
    asked_bytes: usize,
    /// Share of what was asked for that is in use, 0..=1.
    share: f64,
    calm_polls: u32,
    charge: Option<CacheCharge>,
}

impl BudgetControl {
    pub(crate) fn new(
        manager: Arc<Manager>,
        handover: Arc<Handover>,
        pressure: Option<MemoryPressure>,
    ) -> Self {
        let asked_bytes = manager.budget().budget_bytes();
        let state = State { asked_bytes, share: 1.0, calm_polls: 0, charge: None };
        Self { manager, handover, pressure, is_charged: AtomicBool::new(false), state: Mutex::new(state) }
    }

    /// Asks for another budget, and gives the one that is in force then. A smaller one holds when this returns.
    pub(crate) fn ask(&self, budget_bytes: usize) -> usize {
        let mut state = self.state.lock();
        state.asked_bytes = budget_bytes;
        self.apply(&state);
        self.manager.budget().budget_bytes()
    }

    /// Charges the budget to `charge`'s block cache, unless it is charged to one already.
    pub(crate) fn charge_to(
        &self,
        charge: impl FnOnce() -> Result<CacheCharge, String>,
    ) -> Result<(), String> {
        if self.is_charged.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut state = self.state.lock();
        if state.charge.is_none() {
            state.charge = Some(charge()?);
            self.apply(&state);
            self.is_charged.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// How often [`poll_pressure`](Self::poll_pressure) wants to be called; `None`: never.
    pub(crate) fn poll_interval(&self) -> Option<Duration> {
        self.pressure.as_ref().map(MemoryPressure::interval)
    }

    /// Under memory pressure, yields a step of the budget. When pressure has been gone for a while, takes a smaller step back.
    pub(crate) fn poll_pressure(&self) {
        let Some(pressure) = &self.pressure else { return };
        let mut state = self.state.lock();
        let before = state.share;
        if pressure.is_high() {
            state.calm_polls = 0;
            state.share *= 1.0 - YIELD_SHARE;
            // Below the floor nothing is yielded, and nothing need be taken back later.
            let floor = pressure.floor() as f64 / state.asked_bytes.max(1) as f64;
            state.share = state.share.max(floor.min(1.0));
        } else {
            state.calm_polls = state.calm_polls.saturating_add(1);
            if state.calm_polls > CALM_POLLS {
                state.share = (state.share + RETURN_SHARE).min(1.0);
            }
        }
        if state.share != before {
            self.apply(&state);
        }
    }

    /// Lowers the charge after the ceiling fell by itself.
    pub(crate) fn follow_ceiling(&self) {
        if let Some(charge) = &self.state.lock().charge {
            charge.update(self.manager.budget().budget_bytes());
        }
    }

    fn apply(&self, state: &State) {
        let wanted = (state.asked_bytes as f64 * state.share) as usize;
        let wanted = if state.share == 1.0 { state.asked_bytes } else { wanted };
        let Some(charge) = &state.charge else { return self.limit(wanted) };
        // Charge first when the budget grows, and last when it shrinks: the budget is never above the charge.
        if wanted < self.manager.budget().budget_bytes() {
            self.limit(wanted);
        }
        let charged = charge.update(wanted.max(self.manager.budget().budget_bytes()));
        if charged < wanted {
            log::warn!(
                "a filter budget of {wanted} bytes is lowered to {charged}, for which the block cache that pays for it has room"
            );
        }
        self.limit(wanted.min(charged));
        charge.update(self.manager.budget().budget_bytes());
    }

    fn limit(&self, budget_bytes: usize) {
        self.handover.without_any(|| self.manager.set_budget_bytes(budget_bytes));
    }
}
