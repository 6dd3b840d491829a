//! The budget in force: what the program asked for, or what was measured to be best, and no more than is charged to the block cache.
//!
//! Invariants: the manager's limit is never above what is charged to the block cache, but for the moment after the cache needed the room;
//! changes come one at a time; nobody who needs room in the cache waits for a change.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use parking_lot::Mutex;
use springbloom_manager::Manager;

use super::{
    auto_budget::{AutoBudget, MOST_EIGHTHS},
    charged_cache::{ChargedCache, HALF},
};
use crate::{
    engine::{Cache, CacheAlarm, Engine},
    settings::Budget,
};

/// Moves the manager's budget.
pub(crate) struct BudgetControl {
    manager: Arc<Manager>,
    /// Whether the budget is charged to a block cache. Outside of the mutex, which is held while a budget moves.
    is_charged: AtomicBool,
    /// Whether it is measured which budget reads least. Outside of the mutex as well.
    is_auto: AtomicBool,
    alarm: Arc<CacheAlarm>,
    /// Held while a budget moves, which may wait for a read of a unit.
    state: Mutex<State>,
    /// Never held so long. Locked after `state`.
    cache: Mutex<Option<ChargedCache>>,
}

struct State {
    /// What the program asked for, or what `auto` chose.
    asked_bytes: usize,
    /// Chooses the budget, if the program left it to be measured.
    auto: Option<AutoBudget>,
    /// Whether the log was told that the cache has no room for all of the budget.
    is_told: bool,
}

impl BudgetControl {
    pub(crate) fn new(manager: Arc<Manager>, budget: Budget) -> Self {
        let asked_bytes = manager.budget().budget_bytes();
        let auto = (budget == Budget::Auto).then(AutoBudget::new);
        let state = State { asked_bytes, auto, is_told: false };
        Self {
            manager,
            is_charged: AtomicBool::new(false),
            is_auto: AtomicBool::new(budget == Budget::Auto),
            alarm: Arc::default(),
            state: Mutex::new(state),
            cache: Mutex::default(),
        }
    }

    /// Asks for another budget, and gives the one that is in force then. A smaller one holds when this returns.
    pub(crate) fn ask(&self, budget: Budget) -> usize {
        let mut state = self.state.lock();
        self.is_auto.store(budget == Budget::Auto, Ordering::Relaxed);
        match budget {
            Budget::Bytes(budget_bytes) => {
                (state.asked_bytes, state.auto) = (budget_bytes as usize, None);
                self.allow(HALF);
                self.apply(&mut state);
            }
            // The next look at the cache chooses.
            Budget::Auto if state.auto.is_none() => {
                state.auto = Some(AutoBudget::new());
                self.allow(MOST_EIGHTHS);
            }
            Budget::Auto => {}
        }
        self.in_force()
    }

    /// Whether it is measured which budget reads least.
    pub(crate) fn is_auto(&self) -> bool {
        self.is_auto.load(Ordering::Relaxed)
    }

    /// Sets the most of the cache that the budget may have, in eighths.
    fn allow(&self, eighths: u32) {
        if let Some(cache) = &mut *self.cache.lock() {
            cache.allow(eighths);
        }
    }

    /// Charges the budget to `cache`, unless it is charged to one already.
    pub(crate) fn charge_to(&self, engine: &'static Engine, cache: &Cache<'_>) -> Result<(), String> {
        if self.is_charged.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut state = self.state.lock();
        if self.cache.lock().is_none() {
            let charged = ChargedCache::new(engine, cache, self.alarm.clone())?;
            *self.cache.lock() = Some(charged);
            if state.auto.is_some() {
                self.allow(MOST_EIGHTHS);
            }
            self.apply(&mut state);
            self.choose(&mut state);
            self.is_charged.store(true, Ordering::Release);
            // Its thread looks at the cache from now on.
            self.alarm.ring();
        }
        Ok(())
    }

    /// The calling thread is woken when the cache runs short of room, and looks at it then.
    pub(crate) fn wake_this_thread(&self) {
        self.alarm.wake_this_thread();
    }

    /// When [`look_at_cache`](Self::look_at_cache) wants to be called; `None`: never.
    pub(crate) fn next_look(&self) -> Option<Instant> {
        if !self.is_charged.load(Ordering::Acquire) {
            return None;
        }
        self.cache.lock().as_ref().map(ChargedCache::next_look)
    }

    /// Follows the room that others leave in the cache.
    pub(crate) fn look_at_cache(&self) {
        let mut state = self.state.lock();
        let (asked, in_force) = (state.asked_bytes, self.in_force());
        let budget_bytes = self.cache.lock().as_mut().and_then(|cache| cache.look(in_force, asked));
        if let Some(budget_bytes) = budget_bytes {
            self.move_to(&mut state, budget_bytes);
        }
        self.choose(&mut state);
    }

    /// Moves the budget to what reads least, if that is to be found out.
    fn choose(&self, state: &mut State) {
        let Some(auto) = &mut state.auto else { return };
        let look = self.cache.lock().as_ref().map(|cache| cache.last_look(self.in_force()));
        let Some(look) = look else { return };
        let chosen = auto.next(&self.manager, look);
        if let Some(news) = auto.news(look.capacity) {
            self.manager.notices().tell(news);
        }
        if chosen != state.asked_bytes {
            state.asked_bytes = chosen;
            self.apply(state);
        }
    }

    /// The cache will have to hold `bytes` more. The charge falls where it has to; the budget follows when the thread that was woken
    /// moves it.
    pub(crate) fn make_room(&self, bytes: usize) {
        self.with_cache(|cache| {
            if let Some(budget_bytes) = cache.leave(bytes) {
                cache.charge(budget_bytes);
                self.alarm.ring();
            }
        });
    }

    /// The cache refused an entry. Ends the charge for a while: `false` if there is none.
    pub(crate) fn yield_to_cache(&self) -> bool {
        self.with_cache(ChargedCache::give_way).unwrap_or(false)
    }

    /// The entry found room then: the budget falls.
    pub(crate) fn has_yielded_to_cache(&self) {
        self.with_cache(|cache| {
            if let Some(budget_bytes) = cache.has_given_way() {
                cache.charge(budget_bytes);
                self.alarm.ring();
            }
        });
    }

    /// Not before the cache is charged: then there is nothing to give way with.
    fn with_cache<T>(&self, with: impl FnOnce(&mut ChargedCache) -> T) -> Option<T> {
        if !self.is_charged.load(Ordering::Acquire) {
            return None;
        }
        self.cache.lock().as_mut().map(with)
    }

    fn in_force(&self) -> usize {
        self.manager.budget().budget_bytes()
    }

    /// Moves the budget to what was asked for, or to what the cache has room for.
    fn apply(&self, state: &mut State) {
        let asked = state.asked_bytes;
        let budget_bytes = self.cache.lock().as_mut().map_or(asked, |cache| cache.fit(asked));
        self.move_to(state, budget_bytes);
    }

    fn move_to(&self, state: &mut State, budget_bytes: usize) {
        // Charge first when the budget grows, and last when it shrinks: the budget is never above the charge.
        if budget_bytes < self.in_force() {
            self.manager.set_budget_bytes(budget_bytes);
        }
        let charge = |bytes| self.cache.lock().as_mut().map(|cache| cache.charge(bytes));
        let Some(charged) = charge(budget_bytes) else {
            self.manager.set_budget_bytes(budget_bytes);
            return;
        };
        self.manager.set_budget_bytes(budget_bytes.min(charged));
        // More may stay in use, for tables that are open.
        charge(self.in_force());
        let is_short = self.in_force() < state.asked_bytes;
        if is_short && !state.is_told {
            self.manager.notices().warn(format!(
                "a filter budget of {} bytes is lowered to {}, for which the block cache that pays for it has room; it follows \
                 the room there from now on",
                state.asked_bytes,
                self.in_force()
            ));
        }
        state.is_told = is_short;
    }
}
