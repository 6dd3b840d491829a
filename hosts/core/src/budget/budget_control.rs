//! The budget in force: what the program asked for, or what was measured to be best, and no more than is charged to the block caches.
//!
//! Invariants: the manager's limit is never above what is charged to the caches in use, but for the moment after one needed the room;
//! one thread at a time asks caches and charges them, and others wait a moment for it, so that a cache may hang or call back; a callback of
//! a cache sets a flag alone.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use springbloom_manager::Manager;

use super::{
    auto_budget::{AutoBudget, CacheLook, MOST_EIGHTHS},
    charged_caches::{self, ChargedCaches, LastLook, PayingCache},
    standing::Charging,
};
use crate::{
    engine::{Cache, CacheCharge, Engine},
    settings::{Budget, Settings},
};

/// The most of a cache that a budget may have which the program chose, in eighths.
const HALF: u32 = 4;
/// How long the program waits for another thread that asks caches. As long as the manager waits for the read of a unit.
const TURN_WAIT: Duration = Duration::from_millis(250);

/// Moves the manager's budget.
pub(crate) struct BudgetControl {
    manager: Arc<Manager>,
    /// Whether caches pay for the budget. Until one is in use, what is asked for holds.
    is_charged: bool,
    /// Whether there must be one.
    needs_cache: bool,
    /// That iterators opened, and asked no units.
    pub(crate) sought_tables: AtomicU64,
    pub(crate) caches: ChargedCaches,
    /// Held for a moment. Shared with the caches that pay.
    charging: Arc<Mutex<Charging>>,
    /// Held for a moment.
    state: Mutex<State>,
    /// Held by the thread that asks and charges the caches. Who does not get it in time rings, and the thread that is woken looks again.
    moving: Mutex<()>,
}

struct State {
    /// What the program asked for, or what `auto` chose.
    asked_bytes: usize,
    /// Chooses the budget, if the program left it to be measured.
    auto: Option<AutoBudget>,
    last_look: LastLook,
    /// Capacity of the caches in use, at the last look.
    cache_bytes: usize,
    /// Of the caches of records that lookups ask before tables, at the last look.
    row_cache_bytes: usize,
    /// Whether the log was told that the caches have no room for all of the budget.
    is_told: bool,
}

impl BudgetControl {
    pub(crate) fn new(manager: Arc<Manager>, settings: &Settings) -> Self {
        let state = State {
            asked_bytes: manager.budget().budget_bytes(),
            auto: (settings.budget == Budget::Auto).then(AutoBudget::default),
            last_look: LastLook::now(Duration::ZERO),
            cache_bytes: 0,
            row_cache_bytes: 0,
            is_told: false,
        };
        Self {
            manager,
            is_charged: settings.is_charged(),
            needs_cache: settings.charge_to_block_cache,
            sought_tables: AtomicU64::new(0),
            caches: ChargedCaches::default(),
            charging: Arc::default(),
            state: Mutex::new(state),
            moving: Mutex::new(()),
        }
    }

    /// Asks for another budget, and gives the one that is in force then. A smaller one holds when this returns, whatever a cache does.
    pub(crate) fn ask(&self, budget: Budget) -> usize {
        {
            let mut state = self.state.lock();
            match budget {
                Budget::Bytes(budget_bytes) => {
                    (state.asked_bytes, state.auto) = (budget_bytes as usize, None)
                }
                Budget::Auto => _ = state.auto.get_or_insert_with(AutoBudget::default),
            }
        }
        self.charging.lock().standing.ask();
        self.manager.lower_budget_bytes(self.asked_bytes());
        self.follow(TURN_WAIT);
        self.in_force()
    }

    /// Whether it is measured which budget reads least.
    pub(crate) fn is_auto(&self) -> bool {
        self.state.lock().auto.is_some()
    }

    /// Charges the budget to `cache`, too, while what this gives lives: `None` if it is not to be charged to this one.
    pub(crate) fn use_cache(&self, engine: &Engine, cache: &Cache) -> Result<Option<PayingCache>, String> {
        if !self.is_charged {
            return Ok(None);
        }
        let Some((in_use, is_first)) = self.caches.share(engine, cache) else {
            const NONE: &str = "the budget is to be charged to a block cache, and these options have none";
            let must_pay = self.needs_cache && self.caches.is_empty();
            return if must_pay { Err(NONE.to_owned()) } else { Ok(None) };
        };
        if is_first {
            // Tables that are opened next find the budget.
            self.charging.lock().standing.ask();
            self.follow(TURN_WAIT);
        }
        if in_use.charge.bytes() == 0 {
            self.caches.alarm.ring();
        }
        Ok(Some(PayingCache::new(in_use, &self.charging, &self.caches.alarm)))
    }

    /// When [`look_at_caches`](Self::look_at_caches) wants to be called; `None`: not before the alarm rings.
    pub(crate) fn next_look(&self) -> Option<Instant> {
        let is_ringing = self.caches.alarm.is_ringing();
        (is_ringing || !self.caches.is_empty()).then(|| self.state.lock().last_look.next(is_ringing))
    }

    /// Follows the room that others leave in the caches in use.
    pub(crate) fn look_at_caches(&self, row_cache_bytes: usize) {
        {
            let mut state = self.state.lock();
            state.last_look = LastLook::now(Duration::ZERO);
            state.row_cache_bytes = row_cache_bytes;
        }
        self.caches.alarm.answer(|| self.follow(Duration::ZERO));
    }

    /// Capacity of the caches that pay for the budget; 0: none is in use.
    pub(crate) fn cache_bytes(&self) -> usize {
        self.state.lock().cache_bytes
    }

    pub(crate) fn in_force(&self) -> usize {
        self.manager.budget().budget_bytes()
    }

    /// Moves the budget to what was asked for or is best, or to what the caches in use have room for. Leaves that to the thread that is
    /// woken if another one is at it for longer than `wait`.
    fn follow(&self, wait: Duration) {
        let caches = self.caches.in_use();
        if caches.is_empty() {
            return self.follow_none();
        }
        let Some(_moving) = self.moving.try_lock_for(wait) else {
            return self.caches.alarm.ring();
        };
        let begun = Instant::now();
        let capacity = caches.iter().map(|cache| cache.capacity()).sum();
        let eighths = if self.is_auto() { MOST_EIGHTHS } else { HALF };
        let rooms: Vec<usize> = caches.iter().map(|cache| cache.room(eighths)).collect();
        let (budget, news) = self.decide(begun, capacity, rooms.iter().sum());
        news.into_iter().for_each(|news| self.manager.notices().tell(news));
        self.move_to(budget, &caches, &rooms);
        self.tell();
    }

    /// No cache pays for the budget.
    fn follow_none(&self) {
        let asked = {
            let mut state = self.state.lock();
            state.cache_bytes = 0;
            // Nothing that was measured holds for the next cache.
            if let Some(auto) = &mut state.auto {
                (*auto, state.asked_bytes) = (AutoBudget::default(), Budget::UNCHARGED_BYTES as usize);
            }
            state.asked_bytes
        };
        self.set(asked);
    }

    /// The budget to have now, where caches that were asked since `begun` have this room, and what the log should be told of a choice.
    fn decide(&self, begun: Instant, capacity: usize, room: usize) -> (usize, Option<String>) {
        let budget = self.manager.budget().asked_bytes();
        let now = Instant::now();
        let mut state = self.state.lock();
        (state.last_look, state.cache_bytes) = (LastLook::now(now - begun), capacity);
        let room = self.charging.lock().standing.limit(now, budget, room);
        let (row_cache, sought_tables) = (state.row_cache_bytes, self.sought_tables.load(Ordering::Relaxed));
        let mut news = None;
        if let Some(auto) = &mut state.auto {
            let look = CacheLook { capacity, row_cache, room, in_force: self.in_force(), sought_tables };
            let chosen = auto.next(&self.manager, look);
            news = auto.news(capacity);
            if chosen != state.asked_bytes {
                state.asked_bytes = chosen;
                self.charging.lock().standing.ask();
            }
        }
        let asked = state.asked_bytes;
        (self.charging.lock().standing.next(now, budget, room.min(asked), asked), news)
    }

    /// It falls before the charge does, and rises after it.
    fn move_to(&self, budget: usize, caches: &[Arc<CacheCharge>], rooms: &[usize]) {
        if budget < self.manager.budget().asked_bytes() {
            self.set(budget);
        }
        let permit = self.charging.lock().permit();
        let granted = permit.map_or(budget, |permit| {
            // More may stay in use, for tables that are open.
            charged_caches::charge(budget.max(self.in_force()), caches, rooms, permit)
        });
        if granted < budget {
            self.charging.lock().standing.fall(Instant::now());
        }
        self.set(budget.min(granted));
    }

    /// Moves to this budget, or to what the program asked for if that is less, also meanwhile. May wait for a read of a unit.
    fn set(&self, budget_bytes: usize) {
        if budget_bytes != self.manager.budget().asked_bytes() {
            self.manager.set_budget_bytes(budget_bytes);
        }
        self.manager.lower_budget_bytes(self.asked_bytes());
    }

    fn asked_bytes(&self) -> usize {
        self.state.lock().asked_bytes
    }

    fn tell(&self) {
        let in_force = self.in_force();
        let mut state = self.state.lock();
        let asked = state.asked_bytes;
        let was_told = std::mem::replace(&mut state.is_told, in_force < asked);
        // The program's logger runs without it.
        drop(state);
        if in_force < asked && !was_told {
            self.manager.notices().warn(format!(
                "a filter budget of {asked} bytes is lowered to {in_force}, for which the block caches that pay for it have room; it \
                 follows the room there from now on"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use springbloom_manager::ManagerSettings;

    use super::*;
    use crate::engine::test_engine::{ENGINE_WITH_CACHES, LentCache, lent_cache};

    fn control() -> BudgetControl {
        let settings =
            Settings { charge_to_block_cache: true, budget: Budget::Bytes(1 << 16), ..Settings::default() };
        let manager = ManagerSettings { budget_bytes: 1 << 16, ..ManagerSettings::default() };
        BudgetControl::new(Manager::new(manager), &settings)
    }

    fn use_cache(control: &BudgetControl, cache: &Arc<LentCache>) -> PayingCache {
        let used = control.use_cache(&ENGINE_WITH_CACHES, &lent_cache(cache));
        used.expect("it can pay").expect("it is to pay")
    }

    #[test]
    fn a_cache_goes_with_its_last_user_while_another_one_is_looked_at() {
        let control = control();
        let [slow, gone] = [(); 2].map(|()| Arc::<LentCache>::default());
        let (_slow_use, gone_use) = (use_cache(&control, &slow), use_cache(&control, &gone));
        slow.set_hangs(true);
        thread::scope(|scope| {
            scope.spawn(|| control.look_at_caches(0));
            slow.wait_until_a_call_hangs();
            drop(gone_use);
            let users = Arc::strong_count(&gone);
            slow.set_hangs(false);
            assert_eq!(users, 1, "the look has the other cache");
        });
        assert_eq!(slow.charged(), 1 << 16);
    }

    #[test]
    fn a_smaller_budget_holds_while_a_cache_hangs_and_a_larger_one_is_not_waited_for() {
        let control = control();
        let cache = Arc::<LentCache>::default();
        let _in_use = use_cache(&control, &cache);
        cache.set_hangs(true);
        thread::scope(|scope| {
            scope.spawn(|| control.look_at_caches(0));
            cache.wait_until_a_call_hangs();
            assert_eq!(control.ask(Budget::Bytes(1 << 12)), 1 << 12);
            assert_eq!(control.ask(Budget::Bytes(1 << 15)), 1 << 12);
            assert_eq!(control.ask(Budget::Bytes(1 << 13)), 1 << 12);
            cache.set_hangs(false);
        });
        assert!(control.caches.alarm.is_ringing());
        control.look_at_caches(0);
        assert_eq!((control.in_force(), cache.charged()), (1 << 13, 1 << 13));
    }

    #[test]
    fn what_is_being_charged_while_a_cache_refuses_an_entry_ends() {
        let control = control();
        let cache = Arc::<LentCache>::default();
        let in_use = use_cache(&control, &cache);
        assert_eq!(cache.charged(), 1 << 16);
        cache.set_hangs(true);
        thread::scope(|scope| {
            scope.spawn(|| control.look_at_caches(0));
            cache.wait_until_a_call_hangs();
            assert!(in_use.yield_room());
            cache.set_hangs(false);
        });
        assert_eq!(cache.charged(), 0, "nothing is charged for a while");
        assert!(!in_use.yield_room(), "nothing is charged that could end");
    }
}
