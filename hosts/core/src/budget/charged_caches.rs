//! The block caches in use, which pay for the budget together: by the room that each has for it.
//!
//! The whole budget is charged while nobody else needs the room, so that loading a unit never waits for a cache. Blocks of data can be
//! evicted; what others have pinned cannot, and goes first: memtables, index blocks, blocks under iterators.

use std::{
    iter::zip,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::standing::Charging;
use crate::engine::{Cache, CacheAlarm, CacheCharge, CacheUse, Engine};

/// How often caches are looked at, at least.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Looking takes one part in this many of a core: some caches walk over all their entries for it.
const LOOK_PARTS: u32 = 200;
/// The same where the alarm rings, which it does at each look while a cache is full of what others have pinned.
const LOOK_EVERY_RING: Duration = Duration::from_millis(2);
const LOOK_PARTS_RING: u32 = 50;
/// The longest time between looks. A look that took long may have waited for a core or a lock, and says nothing of the next one.
const LOOK_EVERY_MAX: Duration = Duration::from_secs(1);

/// When caches were looked at last.
pub(crate) struct LastLook {
    at: Instant,
    took: Duration,
}

impl LastLook {
    /// Now; asking the caches took this long.
    pub(crate) fn now(took: Duration) -> Self {
        Self { at: Instant::now(), took }
    }

    /// When to look again.
    pub(crate) fn next(&self, is_ringing: bool) -> Instant {
        let (least, parts) =
            if is_ringing { (LOOK_EVERY_RING, LOOK_PARTS_RING) } else { (LOOK_EVERY, LOOK_PARTS) };
        self.at + (self.took * parts).clamp(least, LOOK_EVERY_MAX)
    }
}

/// A share in the use of a cache, for those who may find that it refuses them an entry.
pub(crate) struct PayingCache {
    in_use: Arc<CacheUse>,
    /// Of the budget.
    charging: Arc<Mutex<Charging>>,
    alarm: Arc<CacheAlarm>,
}

impl PayingCache {
    pub(crate) fn new(
        in_use: Arc<CacheUse>,
        charging: &Arc<Mutex<Charging>>,
        alarm: &Arc<CacheAlarm>,
    ) -> Self {
        Self { in_use, charging: charging.clone(), alarm: alarm.clone() }
    }

    /// The cache refused an entry. Ends the charge to it for a while: `false` if there is none.
    pub(crate) fn yield_room(&self) -> bool {
        if self.in_use.charge.bytes() == 0 {
            return false;
        }
        let permit = {
            let mut charging = self.charging.lock();
            charging.standing.suspend();
            charging.withdraw()
        };
        self.in_use.charge.end(permit)
    }

    /// The entry found room then: the budget falls, which nobody waits for.
    pub(crate) fn has_yielded(&self) {
        self.charging.lock().standing.refuse();
        self.alarm.ring();
    }
}

/// The charge to a cache, which ends with its last user.
struct Known {
    /// No other cache has it while this one is in use.
    identity: usize,
    users: Weak<CacheUse>,
    charge: Arc<CacheCharge>,
}

impl Known {
    fn is_in_use(&self) -> bool {
        self.users.strong_count() > 0
    }
}

/// Knows the caches in use, and keeps none.
#[derive(Default)]
pub(crate) struct ChargedCaches {
    /// Held for a moment: nothing of the engine is called, and no charge ends, while it is.
    known: Mutex<Vec<Known>>,
    /// Wakes the thread that looks at them when one runs short of room.
    pub(crate) alarm: Arc<CacheAlarm>,
}

impl ChargedCaches {
    pub(crate) fn is_empty(&self) -> bool {
        !self.known.lock().iter().any(Known::is_in_use)
    }

    /// The charges to the caches in use. They end with the caches, even while this list is held.
    pub(crate) fn in_use(&self) -> Vec<Arc<CacheCharge>> {
        let mut known = self.known.lock();
        known.retain(Known::is_in_use);
        known.iter().map(|known| known.charge.clone()).collect()
    }

    /// A share in the use of a cache, and whether there was none of any before; `None` if there is no cache.
    pub(crate) fn share(&self, engine: &Engine, cache: &Cache) -> Option<(Arc<CacheUse>, bool)> {
        let identity = cache.identity as usize;
        let shared = |known: &[Known]| {
            known.iter().filter(|known| known.identity == identity).find_map(|known| known.users.upgrade())
        };
        if let Some(shared) = shared(&self.known.lock()) {
            return Some((shared, false));
        }
        // Without the lock. It is dropped after it, if another thread was faster.
        let made = Arc::new(CacheUse::of(engine, cache, &self.alarm)?);
        let mut known = self.known.lock();
        if let Some(shared) = shared(&known) {
            return Some((shared, false));
        }
        known.retain(Known::is_in_use);
        known.push(Known { identity, users: Arc::downgrade(&made), charge: made.charge.clone() });
        Some((made, known.len() == 1))
    }
}

/// Charges as much of `bytes` as there is room for in each cache, by this permit. Gives what is granted.
pub(crate) fn charge(bytes: usize, caches: &[Arc<CacheCharge>], rooms: &[usize], permit: u64) -> usize {
    let charged: Vec<usize> = caches.iter().map(|cache| cache.bytes()).collect();
    zip(caches, spread(bytes, rooms, &charged)).map(|(cache, bytes)| cache.update(bytes, permit)).sum()
}

/// How much each cache is to pay. Charges stay where they are, since moving one costs blocks; but a cache that pays nothing yet gets its
/// part.
fn spread(bytes: usize, rooms: &[usize], charged: &[usize]) -> Vec<usize> {
    let all_room: usize = rooms.iter().sum();
    let bytes = bytes.min(all_room);
    let is_new = zip(rooms, charged).any(|(&room, &charged)| charged == 0 && room > 0);
    let kept = zip(rooms, charged).map(|(&room, &charged)| if is_new { 0 } else { charged.min(room) });
    let kept: Vec<usize> = kept.collect();
    let all_kept: usize = kept.iter().sum();
    let part = |bytes: usize, part: usize, all: usize| {
        (bytes as u128 * part as u128).div_ceil(all.max(1) as u128) as usize
    };
    zip(rooms, kept)
        .map(|(&room, kept)| match bytes.checked_sub(all_kept) {
            Some(more) => kept + part(more, room - kept, all_room - all_kept),
            None => part(bytes, kept, all_kept),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_had_to_wait_does_not_put_off_the_next_one_for_long() {
        let after = |ms, is_ringing| {
            let look = LastLook { at: Instant::now(), took: Duration::from_millis(ms) };
            (look.next(is_ringing) - look.at).as_millis()
        };
        assert_eq!([0, 1, 2, 300, 60_000].map(|ms| after(ms, false)), [20, 200, 400, 1000, 1000]);
        assert_eq!([0, 1, 2, 300, 60_000].map(|ms| after(ms, true)), [2, 50, 100, 1000, 1000]);
    }

    #[test]
    fn caches_pay_by_the_room_that_they_have() {
        for (bytes, rooms, charged, expected) in [
            (60, vec![100], vec![0], vec![60]),
            (60, vec![50], vec![60], vec![50]),
            (60, vec![100, 200], vec![0, 0], vec![20, 40]),
            // A new one takes its part, and what is charged stays otherwise.
            (60, vec![100, 200], vec![60, 0], vec![20, 40]),
            (60, vec![100, 200], vec![40, 20], vec![40, 20]),
            (90, vec![100, 200], vec![40, 20], vec![49, 65]),
            (30, vec![100, 200], vec![40, 20], vec![20, 10]),
            // What one has no room for any more, the other takes.
            (60, vec![10, 200], vec![40, 20], vec![10, 50]),
            (60, vec![0, 200], vec![40, 0], vec![0, 60]),
            (60, vec![0, 0], vec![40, 20], vec![0, 0]),
            (60, vec![], vec![], vec![]),
        ] {
            let found = spread(bytes, &rooms, &charged);
            assert!(zip(&found, &rooms).all(|(found, room)| found <= room), "{found:?}");
            let all: usize = found.iter().sum();
            let least = bytes.min(rooms.iter().sum());
            assert!((least..=least + found.len()).contains(&all), "{found:?}");
            let is_near = zip(&found, &expected).all(|(found, expected)| found.abs_diff(*expected) <= 1);
            assert!(is_near || bytes == 90, "{found:?}, expected {expected:?}");
        }
    }
}
