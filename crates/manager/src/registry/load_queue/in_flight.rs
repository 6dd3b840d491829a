//! Accesses to files that are under way.

use std::time::{Duration, Instant};

use crate::unit_source::Place;

/// Accesses at once, each by a thread.
pub(crate) const READS_MAX: usize = 16;
/// A read that takes longer may hang: nobody waits for its room.
const SOON: Duration = Duration::from_millis(20);
/// After this time a read seems to hang. Earlier, the plan would change with each read of a slow device.
pub(crate) const LATE: Duration = Duration::from_millis(250);

struct Read {
    number: u64,
    place: Place,
    /// `None` for a chore, and once the table was forgotten: another one may have its slot.
    table: Option<u32>,
    /// What it holds of the budget. A chore holds nothing.
    bytes: usize,
    begun: Instant,
    /// Whether the table has another read to make, but must wait.
    keeps_waiting: bool,
}

/// A source may have half of the threads at most: the next one that hangs, half of the rest. So may a table of those of its source. All
/// sources of a device may have three quarters: those of the next one that hangs, three quarters of the rest.
#[derive(Default)]
pub(crate) struct InFlight {
    reads: Vec<Read>,
    last_number: u64,
}

impl InFlight {
    fn of_source(&self, source: u64) -> usize {
        self.reads.iter().filter(|read| read.place.source == source).count()
    }

    /// Whether there is a thread to spare for the place.
    pub(crate) fn may_begin(&self, place: Place) -> bool {
        let all = self.reads.len();
        let of_device = self.reads.iter().filter(|read| read.place.device == place.device).count();
        let free_of_others = READS_MAX.saturating_sub(all - of_device);
        self.of_source(place.source) + all < READS_MAX && 4 * of_device < 3 * free_of_others
    }

    /// Whether the table must wait for its own reads. Then [`end`](Self::end) tells when it need not any more.
    pub(crate) fn must_wait(&mut self, place: Place, table: u32) -> bool {
        let of_source = self.of_source(place.source);
        let of_table = self.reads.iter().filter(|read| read.table == Some(table));
        let must_wait = of_table.count() + of_source >= READS_MAX / 2;
        let last = self.reads.iter_mut().rfind(|read| read.table == Some(table)).filter(|_| must_wait);
        last.map(|read| read.keeps_waiting = true).is_some()
    }

    /// Whether a read of units is under way that may end soon.
    pub(crate) fn has_recent(&self) -> bool {
        self.reads.iter().any(|read| read.bytes > 0 && read.begun.elapsed() < SOON)
    }

    /// Bytes of the budget that reads hold which seem to hang.
    pub(crate) fn late_bytes(&self) -> usize {
        let late = self.reads.iter().filter(|read| read.begun.elapsed() >= LATE);
        late.map(|read| read.bytes).sum()
    }

    /// A read or chore begins that holds this many bytes of the budget. Gives the number for [`end`](Self::end).
    pub(crate) fn begin(&mut self, place: Place, table: Option<u32>, bytes: usize) -> u64 {
        self.last_number += 1;
        let (number, begun) = (self.last_number, Instant::now());
        self.reads.push(Read { number, place, table, bytes, begun, keeps_waiting: false });
        number
    }

    /// `true` if the read's table has waited.
    pub(crate) fn end(&mut self, number: u64) -> bool {
        let Some(at) = self.reads.iter().position(|read| read.number == number) else { return false };
        let ended = self.reads.remove(at);
        let others = self.reads.iter_mut().filter(|read| read.table.is_some() && read.table == ended.table);
        others.fold(ended.keeps_waiting, |waits, read| std::mem::take(&mut read.keeps_waiting) || waits)
    }

    /// The table was forgotten. Its reads go on, and those of a table that gets its slot do not wait for them.
    pub(crate) fn forget_table(&mut self, table: u32) {
        self.reads.iter_mut().filter(|read| read.table == Some(table)).for_each(|read| {
            (read.table, read.keeps_waiting) = (None, false);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(device: u64, source: u64) -> Place {
        Place { device, source }
    }

    #[test]
    fn nobody_waits_for_a_read_that_hangs() {
        let mut in_flight = InFlight::default();
        assert!(!in_flight.has_recent());
        in_flight.begin(at(0, 0), Some(0), 100);
        in_flight.reads[0].begun += SOON;
        assert!(in_flight.has_recent() && in_flight.late_bytes() == 0);
        in_flight.reads[0].begun -= 2 * SOON;
        assert!(!in_flight.has_recent() && in_flight.late_bytes() == 0);
        in_flight.reads[0].begun -= LATE;
        assert_eq!(in_flight.late_bytes(), 100);
    }

    /// Has as many accesses hang at these places, one after the other, as may begin.
    fn hang<const N: usize>(in_flight: &mut InFlight, places: [Place; N]) -> [Vec<u64>; N] {
        places.map(|place| {
            let mut numbers = Vec::new();
            while in_flight.may_begin(place) {
                numbers.push(in_flight.begin(place, Some(in_flight.last_number as u32), 1));
            }
            numbers
        })
    }

    #[test]
    fn sources_that_hang_leave_reads_to_others() {
        let mut in_flight = InFlight::default();
        let numbers = hang(&mut in_flight, [0, 1, 2, 3, 4, 5].map(|source| at(source, source)));
        assert_eq!(numbers.each_ref().map(Vec::len), [8, 4, 2, 1, 1, 0]);
        in_flight.end(numbers[0][0]);
        assert!(in_flight.may_begin(at(5, 5)) && !in_flight.may_begin(at(0, 0)));
        for &number in &numbers[0][1..8] {
            assert!(!in_flight.end(number));
        }
        assert!(in_flight.may_begin(at(0, 0)));
    }

    #[test]
    fn sources_of_one_device_that_hang_leave_reads_to_other_devices() {
        let mut in_flight = InFlight::default();
        let of_device = |device: u64| [0, 1, 2, 3, 4, 5, 6, 7].map(|source| at(device, 8 * device + source));
        let hang = |in_flight: &mut InFlight, device| {
            hang(in_flight, of_device(device)).iter().map(Vec::len).sum::<usize>()
        };
        assert_eq!(hang(&mut in_flight, 0), 12);
        assert_eq!(hang(&mut in_flight, 1), 3);
        assert_eq!(hang(&mut in_flight, 2), 1);
    }

    #[test]
    fn tables_that_hang_leave_reads_to_others_of_their_source() {
        let mut in_flight = InFlight::default();
        let mut numbers = Vec::new();
        let mut hang = |table| {
            let before = numbers.len();
            while in_flight.may_begin(at(0, 0)) && !in_flight.must_wait(at(0, 0), table) {
                numbers.push(in_flight.begin(at(0, 0), Some(table), 1));
            }
            numbers.len() - before
        };
        assert_eq!([0, 1, 2, 3, 4].map(&mut hang), [4, 2, 1, 1, 0]);
        assert!(in_flight.end(numbers[0]), "whichever of its reads ends");
        assert!(!in_flight.end(numbers[1]), "it was told");
        assert!(in_flight.must_wait(at(0, 0), 0), "two reads of six");
        assert!(in_flight.end(numbers[2]) && !in_flight.must_wait(at(0, 0), 0));
    }

    #[test]
    fn a_table_does_not_wait_for_reads_of_the_one_that_had_its_slot() {
        let mut in_flight = InFlight::default();
        let numbers: Vec<_> = (0..4).map(|_| in_flight.begin(at(0, 0), Some(7), 1)).collect();
        assert!(in_flight.must_wait(at(0, 0), 7));
        in_flight.forget_table(7);
        assert!(!in_flight.must_wait(at(0, 0), 7) && in_flight.may_begin(at(0, 0)));
        let of_other = in_flight.begin(at(0, 0), Some(7), 1);
        assert!(numbers.into_iter().all(|number| !in_flight.end(number)), "nobody waited for them");
        assert!(!in_flight.end(of_other));
    }
}
