//! Tables that wait for their directory, the first thing that is read of a table.
//!
//! One that lacks room is tried when bytes have come free since its last try began: the room at another instant, before or after it was
//! refused, says nothing of what it lacked. One that cannot be read is tried after a pause, which doubles
//! with each round of tries that fails. The pause is that of its source: faults come by device or folder.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::in_flight::LATE;
use crate::unit_source::Place;
use crate::waiting_table::{WaitingTable, WaitsFor};

const PAUSE_MIN: Duration = Duration::from_millis(500);
/// Where tables are damaged for good, they are read again and again: rarely. A fault that passes leaves no trace a minute later.
const PAUSE_MAX: Duration = Duration::from_secs(16);
/// Tables of a source that are tried after a pause.
const TRIES: usize = 16;

enum State {
    /// Bytes had come free this often when its last try began.
    LacksRoom(u64),
    IsUnreadable,
    Reading {
        since: Instant,
        frees: u64,
    },
}

struct Waiter {
    table: Arc<dyn WaitingTable>,
    place: Place,
    state: State,
}

/// Tables of one source that cannot be read at present.
struct Source {
    place: Place,
    tables: VecDeque<u64>,
    pause: Duration,
    due: Instant,
    tries_left: usize,
}

impl Source {
    fn is_due(&self, now: Instant) -> bool {
        !self.tables.is_empty() && (self.tries_left > 0 || self.due <= now)
    }

    fn take(&mut self) -> Option<u64> {
        if self.tries_left == 0 {
            self.tries_left = TRIES.min(self.tables.len());
        }
        self.tries_left -= 1;
        self.tables.pop_front()
    }

    /// A try failed. Those of one round make the pause longer once.
    fn fail(&mut self, now: Instant) {
        if self.due <= now {
            self.pause = (2 * self.pause).clamp(PAUSE_MIN, PAUSE_MAX);
            self.due = now + self.pause;
        }
    }

    fn succeed(&mut self, now: Instant) {
        (self.pause, self.due, self.tries_left) = (Duration::ZERO, now, TRIES);
    }
}

/// All tables that wait, by number. None has the number of one before.
#[derive(Default)]
pub(crate) struct WaitingTables {
    tables: BTreeMap<u64, Waiter>,
    last_number: u64,
    /// In the order of their turns.
    lacking_room: VecDeque<u64>,
    sources: HashMap<u64, Source>,
    /// After a refusal, none is tried for want of room until then.
    room_pause: Option<Instant>,
}

impl WaitingTables {
    pub(crate) fn add(
        &mut self,
        table: Arc<dyn WaitingTable>,
        place: Place,
        why: WaitsFor,
        now: Instant,
    ) -> u64 {
        self.last_number += 1;
        let number = self.last_number;
        self.tables.insert(number, Waiter { table, place, state: State::IsUnreadable });
        self.wait(number, why, 0, now);
        number
    }

    fn wait(&mut self, number: u64, why: WaitsFor, frees: u64, now: Instant) {
        let Some(waiter) = self.tables.get_mut(&number) else { return };
        match why {
            WaitsFor::Room => {
                waiter.state = State::LacksRoom(frees);
                self.lacking_room.push_back(number);
            }
            WaitsFor::File => {
                waiter.state = State::IsUnreadable;
                let new = || Source {
                    place: waiter.place,
                    tables: VecDeque::new(),
                    pause: Duration::ZERO,
                    due: now,
                    tries_left: 0,
                };
                self.sources.entry(waiter.place.source).or_insert_with(new).tables.push_back(number);
            }
        }
    }

    /// The table waits no more. O(tables that wait for the same).
    pub(crate) fn remove(&mut self, number: u64) -> Option<Arc<dyn WaitingTable>> {
        let Waiter { table, place, state } = self.tables.remove(&number)?;
        match state {
            State::LacksRoom(_) => self.lacking_room.retain(|&other| other != number),
            State::IsUnreadable => {
                if let Some(source) = self.sources.get_mut(&place.source) {
                    source.tables.retain(|&other| other != number);
                    if source.tables.is_empty() {
                        self.sources.remove(&place.source);
                    }
                }
            }
            State::Reading { .. } => (),
        }
        Some(table)
    }

    fn next_lacking_room(
        &self,
        frees: u64,
        now: Instant,
        may_begin: impl Fn(Place) -> bool,
    ) -> Option<usize> {
        if self.room_pause.is_some_and(|until| now < until) {
            return None;
        }
        self.lacking_room.iter().position(|number| {
            self.tables.get(number).is_some_and(|waiter| match waiter.state {
                State::LacksRoom(then) => frees > then && may_begin(waiter.place),
                _ => false,
            })
        })
    }

    /// Whether one is to be tried now. `frees`: how often bytes have come free.
    pub(crate) fn has_due(&self, frees: u64, now: Instant, may_begin: impl Fn(Place) -> bool) -> bool {
        self.sources.values().any(|source| source.is_due(now) && may_begin(source.place))
            || self.next_lacking_room(frees, now, may_begin).is_some()
    }

    /// The next table to try, with its number. Its try begins.
    pub(crate) fn begin(
        &mut self,
        frees: u64,
        now: Instant,
        may_begin: impl Fn(Place) -> bool,
    ) -> Option<(u64, Arc<dyn WaitingTable>, Place)> {
        let mut sources = self.sources.values_mut();
        let due = sources.find(|source| source.is_due(now) && may_begin(source.place));
        let number = match due.and_then(Source::take) {
            Some(number) => number,
            None => {
                let at = self.next_lacking_room(frees, now, may_begin)?;
                self.lacking_room.remove(at)?
            }
        };
        let waiter = self.tables.get_mut(&number)?;
        waiter.state = State::Reading { since: now, frees };
        Some((number, waiter.table.clone(), waiter.place))
    }

    /// The try of a table ended so. It may have been removed meanwhile.
    pub(crate) fn end(&mut self, number: u64, place: Place, why: Option<WaitsFor>, now: Instant) {
        if why == Some(WaitsFor::Room) {
            self.room_pause = Some(now + PAUSE_MIN);
        }
        let frees = self.tables.get(&number).and_then(|waiter| match waiter.state {
            State::Reading { frees, .. } => Some(frees),
            _ => None,
        });
        if let Some(source) = self.sources.get_mut(&place.source) {
            if why == Some(WaitsFor::File) { source.fail(now) } else { source.succeed(now) }
        }
        match (why, frees) {
            (Some(why), Some(frees)) => {
                self.wait(number, why, frees, now);
                let of_one = self.sources.get_mut(&place.source).filter(|_| why == WaitsFor::File);
                // The only one of its source was in no list while it was tried.
                of_one.into_iter().for_each(|source| source.fail(now));
            }
            (None, _) => _ = self.tables.remove(&number),
            (Some(_), None) => (),
        }
        if self.sources.get(&place.source).is_some_and(|source| source.tables.is_empty()) {
            self.sources.remove(&place.source);
        }
    }

    /// Tables that lack room, and those that cannot be read at present, among which a read seems to hang.
    pub(crate) fn counts(&self, now: Instant) -> (usize, usize) {
        let is_late = |waiter: &&Waiter| match waiter.state {
            State::IsUnreadable => true,
            State::LacksRoom(_) => false,
            State::Reading { since, .. } => now.duration_since(since) >= LATE,
        };
        let unreadable = self.tables.values().filter(is_late).count();
        (self.tables.len() - unreadable, unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Table;

    impl WaitingTable for Table {
        fn open(&self) -> Option<WaitsFor> {
            None
        }
    }

    fn at(source: u64) -> Place {
        Place { device: source, source }
    }

    /// The number of the table that is tried, if one is.
    fn tried(waiting: &mut WaitingTables, frees: u64, now: Instant) -> Option<u64> {
        waiting.begin(frees, now, |_| true).map(|(number, ..)| number)
    }

    #[test]
    fn a_refused_table_is_tried_again_when_bytes_came_free_and_keeps_no_other_waiting() {
        let (mut waiting, now) = (WaitingTables::default(), Instant::now());
        let add = |waiting: &mut WaitingTables| waiting.add(Arc::new(Table), at(1), WaitsFor::Room, now);
        let [large, small] = [(); 2].map(|()| add(&mut waiting));
        assert_eq!(tried(&mut waiting, 0, now), None, "nothing came free");
        assert_eq!(tried(&mut waiting, 6, now), Some(large));
        waiting.end(large, at(1), Some(WaitsFor::Room), now);
        assert_eq!(tried(&mut waiting, 7, now), None, "a pause follows a refusal");
        let now = now + PAUSE_MIN;
        assert_eq!(tried(&mut waiting, 6, now), Some(small));
        waiting.end(small, at(1), None, now);
        assert_eq!((tried(&mut waiting, 6, now), waiting.counts(now)), (None, (1, 0)));
        assert_eq!(
            tried(&mut waiting, 7, now),
            Some(large),
            "something came free during or after its last try"
        );
        waiting.remove(large);
        waiting.end(large, at(1), Some(WaitsFor::Room), now);
        assert_eq!((tried(&mut waiting, 99, now + PAUSE_MIN), waiting.counts(now)), (None, (0, 0)));
    }

    #[test]
    fn damage_that_stays_is_read_again_at_a_bounded_rate() {
        let (mut waiting, begun) = (WaitingTables::default(), Instant::now());
        let number = waiting.add(Arc::new(Table), at(1), WaitsFor::File, begun);
        let mut at_half_seconds = Vec::new();
        for half_seconds in 0..400 {
            let now = begun + half_seconds * PAUSE_MIN;
            while let Some(tried) = tried(&mut waiting, 1, now) {
                assert_eq!(tried, number);
                waiting.end(number, at(1), Some(WaitsFor::File), now);
                at_half_seconds.push(half_seconds);
            }
        }
        assert_eq!(at_half_seconds[..7], [0, 1, 3, 7, 15, 31, 63]);
        assert!(at_half_seconds.windows(2).skip(6).all(|pair| (pair[1] - pair[0]) * PAUSE_MIN == PAUSE_MAX));
        assert_eq!(waiting.counts(begun), (0, 1));
    }

    #[test]
    fn a_round_tries_some_tables_of_a_source_and_success_ends_the_pause() {
        let (mut waiting, now) = (WaitingTables::default(), Instant::now());
        for _ in 0..3 * TRIES {
            waiting.add(Arc::new(Table), at(1), WaitsFor::File, now);
        }
        let other = waiting.add(Arc::new(Table), at(2), WaitsFor::File, now);
        let mut round = |now| {
            let mut tries = 0;
            while let Some(number) = tried(&mut waiting, 1, now) {
                waiting.end(number, at(if number == other { 2 } else { 1 }), Some(WaitsFor::File), now);
                tries += 1;
            }
            tries
        };
        assert_eq!(round(now), TRIES + 1);
        assert_eq!(round(now), 0);
        assert_eq!(round(now + PAUSE_MIN), TRIES + 1);
        assert_eq!(round(now + 2 * PAUSE_MIN), 0, "the pause is longer now");
        let now = now + 10 * PAUSE_MIN;
        while let Some(number) = tried(&mut waiting, 1, now) {
            waiting.end(number, at(if number == other { 2 } else { 1 }), None, now);
        }
        assert_eq!(
            (waiting.counts(now), waiting.sources.len()),
            ((0, 0), 0),
            "one that is read brings all others"
        );
    }

    #[test]
    fn a_read_that_hangs_counts_as_failing_and_is_forgotten_with_its_table() {
        let (mut waiting, now) = (WaitingTables::default(), Instant::now());
        let number = waiting.add(Arc::new(Table), at(1), WaitsFor::Room, now);
        assert_eq!(tried(&mut waiting, 2, now), Some(number));
        assert_eq!((waiting.counts(now), waiting.counts(now + LATE)), ((1, 0), (0, 1)));
        assert!(waiting.remove(number).is_some());
        waiting.end(number, at(1), Some(WaitsFor::File), now);
        assert_eq!((waiting.counts(now + LATE), waiting.sources.len()), ((0, 0), 0));
    }

    #[test]
    fn a_try_that_ends_late_is_of_no_table_that_came_after_its_own() {
        let (mut waiting, now) = (WaitingTables::default(), Instant::now());
        let add = |waiting: &mut WaitingTables| waiting.add(Arc::new(Table), at(1), WaitsFor::File, now);
        let first = add(&mut waiting);
        assert_eq!(tried(&mut waiting, 1, now), Some(first));
        waiting.remove(first);
        let second = add(&mut waiting);
        waiting.end(first, at(1), None, now);
        assert_eq!((tried(&mut waiting, 1, now), waiting.counts(now)), (Some(second), (1, 0)));
    }
}
