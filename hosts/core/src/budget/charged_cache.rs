//! The block cache that the budget is charged to: how much of the budget it has room for.
//!
//! The whole budget is charged while nobody else needs the room, so that loading a unit never waits for the cache. Blocks of data can be
//! evicted; what others have pinned cannot, and goes first: memtables, index blocks, blocks under iterators.
//!
//! A cache refuses an entry where the entry's shard is full. Only a try with nothing charged tells whether the charge is why. If it is not,
//! units stay: without them more would be read and refused.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::auto_budget::CacheLook;
use crate::engine::{Cache, CacheAlarm, CacheCharge, Engine};

/// How often the cache is looked at, at least. A flush or a look at a table's file looks at once.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The same where the alarm rings, which it does at each look while the cache is full of what others have pinned.
const LOOK_EVERY_RING: Duration = Duration::from_millis(2);
/// Looking takes one part in so many of a core: some caches walk over all their entries for it.
const LOOK_PARTS: u32 = 200;
/// The longest time between looks. A look that took long may have waited for a core or a lock, and says nothing of the next one.
const LOOK_EVERY_MAX: Duration = Duration::from_secs(1);
/// After room was taken away, so long passes before the budget takes more: memtables that were flushed fill again.
const RAISE_AFTER: Duration = Duration::from_secs(1);
const RAISE_EVERY: Duration = Duration::from_millis(250);
/// The part of what was asked for that the budget takes back at a time.
const RAISE_PART: usize = 8;
/// A refused entry makes the budget this many times smaller.
const YIELD_FACTOR: usize = 4;
/// The most of the cache that a budget may have which the program chose, in eighths.
pub(crate) const HALF: u32 = 4;
/// A smaller budget yields as a whole.
const YIELD_MIN: usize = 64 << 10;
/// So long nothing is charged after the cache refused an entry, unless the entry finds room then.
const UNCHARGED: Duration = Duration::from_millis(250);

pub(crate) struct ChargedCache {
    charge: CacheCharge,
    /// The most of the cache that the budget may have, in eighths.
    eighths: u32,
    alarm: Arc<CacheAlarm>,
    last_look: Instant,
    next_look: Instant,
    /// When the budget may be raised.
    raise_at: Instant,
    /// Until then nobody gets more, not even a program that asks for it, because the cache refused an entry.
    hold_until: Instant,
    /// Until then nothing is charged, because the cache refuses entries.
    uncharged_until: Option<Instant>,
    /// The budget that was decided last.
    budget_bytes: usize,
    /// Room that there was for it.
    room_bytes: usize,
    /// Charged now, if the alarm did not ring since.
    charged_bytes: usize,
}

impl ChargedCache {
    pub(crate) fn new(
        engine: &'static Engine,
        cache: &Cache<'_>,
        alarm: Arc<CacheAlarm>,
    ) -> Result<Self, String> {
        let charge = CacheCharge::of(engine, cache, alarm.clone())?;
        let now = Instant::now();
        Ok(Self {
            charge,
            eighths: HALF,
            alarm,
            last_look: now,
            next_look: now,
            raise_at: now,
            hold_until: now,
            uncharged_until: None,
            budget_bytes: 0,
            room_bytes: 0,
            charged_bytes: 0,
        })
    }

    pub(crate) fn next_look(&self) -> Instant {
        if self.alarm.is_ringing() { self.last_look + LOOK_EVERY_RING } else { self.next_look }
    }

    /// Sets the most of the cache that the budget may have, in eighths.
    pub(crate) fn allow(&mut self, eighths: u32) {
        self.eighths = eighths;
    }

    /// What the cache has, and the room in it when it was looked at last.
    pub(crate) fn last_look(&self, in_force: usize) -> CacheLook {
        CacheLook { capacity: self.charge.capacity(), room: self.room_bytes, in_force }
    }

    fn room(&mut self) -> usize {
        let begun = Instant::now();
        let most = if begun < self.hold_until { self.budget_bytes } else { usize::MAX };
        self.room_bytes = self.charge.room(self.eighths).min(most);
        self.last_look = begun;
        self.next_look = begun + next_look_after(begun.elapsed());
        self.room_bytes
    }

    /// The budget to have of the `asked` bytes.
    pub(crate) fn fit(&mut self, asked: usize) -> usize {
        self.budget_bytes = self.room().min(asked);
        self.budget_bytes
    }

    /// The budget to have now, if something changed. `in_force`: the one so far, which falls by itself as tables close; `asked`: the one
    /// that is asked for.
    pub(crate) fn look(&mut self, in_force: usize, asked: usize) -> Option<usize> {
        let fits = self.room().min(asked);
        self.charge.watch();
        let now = Instant::now();
        let is_due = self.uncharged_until.take_if(|until| now >= *until).is_some();
        let lost_charge = self.alarm.silence() || is_due;
        if fits < self.budget_bytes {
            self.raise_at = now + RAISE_AFTER;
            self.budget_bytes = fits;
        } else if fits > self.budget_bytes && now >= self.raise_at && self.uncharged_until.is_none() {
            self.raise_at = now + RAISE_EVERY;
            self.budget_bytes = fits.min(self.budget_bytes + asked.div_ceil(RAISE_PART));
        } else if !lost_charge && self.charged_bytes <= in_force.max(self.budget_bytes) {
            return None;
        }
        Some(self.budget_bytes)
    }

    /// The smaller budget, if one has to make room for `bytes` more in the cache.
    pub(crate) fn leave(&mut self, bytes: usize) -> Option<usize> {
        let fits = self.charge.room(self.eighths).saturating_sub(bytes);
        if fits >= self.budget_bytes {
            return None;
        }
        self.room_bytes = fits;
        self.raise_at = Instant::now() + RAISE_AFTER;
        self.budget_bytes = fits;
        Some(fits)
    }

    /// Ends the charge for a while, because the cache refused an entry that will be tried again. `false` if nothing was charged.
    pub(crate) fn give_way(&mut self) -> bool {
        if self.charged_bytes == 0 {
            return false;
        }
        self.uncharged_until = Some(Instant::now() + UNCHARGED);
        self.charge.update(0);
        self.charged_bytes = 0;
        true
    }

    /// The smaller budget after an entry found the room that was charged; `None` if it fell for another entry since.
    pub(crate) fn has_given_way(&mut self) -> Option<usize> {
        self.uncharged_until.take()?;
        self.hold_until = Instant::now() + RAISE_AFTER;
        self.raise_at = self.hold_until;
        self.budget_bytes = if self.budget_bytes < YIELD_MIN { 0 } else { self.budget_bytes / YIELD_FACTOR };
        self.room_bytes = self.budget_bytes;
        Some(self.budget_bytes)
    }

    /// Charges `bytes`, as far as there was room for them. Gives what may be used of them.
    pub(crate) fn charge(&mut self, bytes: usize) -> usize {
        let bytes = bytes.min(self.room_bytes);
        if self.uncharged_until.is_some() {
            return bytes;
        }
        // First, because the capacity may fall before the cache is looked at again.
        self.charge.watch();
        self.charged_bytes = self.charge.update(bytes).min(bytes);
        if self.charged_bytes < bytes && self.charged_bytes < self.budget_bytes {
            // Asked for again as after a fall: which entries find room is chance.
            self.budget_bytes = self.charged_bytes;
            self.raise_at = Instant::now() + RAISE_AFTER;
        }
        self.charged_bytes
    }
}

/// When to look again after a look that took so long.
fn next_look_after(look: Duration) -> Duration {
    (look * LOOK_PARTS).clamp(LOOK_EVERY, LOOK_EVERY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_had_to_wait_does_not_put_off_the_next_one_for_long() {
        let after = |ms| next_look_after(Duration::from_millis(ms)).as_millis();
        assert_eq!([0, 1, 2, 300, 60_000].map(after), [20, 200, 400, 1000, 1000]);
    }
}
