//! The versions of a record that a correct answer may have while threads write.
//!
//! A write announces its version before it starts and confirms it when it is done; a read that began after version `v`
//! was confirmed and ended before `w + 1` was announced must return a version in `v..=w`. Writes of one record take
//! turns.

use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

/// Marks a record that was never written.
const NEVER: u32 = 0;
/// Locks over which records are spread.
const STRIPES: usize = 1024;

/// Versions of all records of one database.
pub(crate) struct Oracle {
    /// Empty when nothing is ever written: then all records stay at version 0.
    records: Vec<Versions>,
    stripes: Vec<Mutex<()>>,
}

/// All are one more than the version, so that 0 is "never".
struct Versions {
    announced: AtomicU32,
    confirmed: AtomicU32,
    /// The last one that is a deletion.
    deleted: AtomicU32,
}

/// What happens to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Write,
    Delete,
}

/// The versions that a correct answer may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    /// The oldest; `None` if the record may not have been written.
    pub(crate) from: Option<u32>,
    /// The newest; `None` if only "not found" is correct.
    pub(crate) to: Option<u32>,
    /// Whether "not found" is correct, too.
    pub(crate) may_be_absent: bool,
}

impl Oracle {
    /// For workloads without writes.
    pub(crate) fn read_only() -> Self {
        Oracle { records: Vec::new(), stripes: Vec::new() }
    }

    /// For `loaded` records at version 0, and as many as `room` records in all. 12 bytes a record.
    pub(crate) fn new(loaded: u64, room: u64) -> Self {
        let versions = |there| Versions {
            announced: AtomicU32::new(there),
            confirmed: AtomicU32::new(there),
            deleted: AtomicU32::new(NEVER),
        };
        Oracle {
            records: (0..room.max(loaded)).map(|record| versions(u32::from(record < loaded))).collect(),
            stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
        }
    }

    /// Oldest version that a read which starts now may return; to be completed by [`end_read`](Self::end_read).
    pub(crate) fn begin_read(&self, record: u64) -> Option<u32> {
        match self.records.get(record as usize) {
            None => Some(0),
            Some(versions) => from_stored(versions.confirmed.load(Ordering::Acquire)),
        }
    }

    /// What a read that began with `from` may have returned.
    pub(crate) fn end_read(&self, record: u64, from: Option<u32>) -> Expected {
        let Some(versions) = self.records.get(record as usize) else {
            return Expected { from, to: Some(0), may_be_absent: from.is_none() };
        };
        let to = from_stored(versions.announced.load(Ordering::Acquire));
        let deleted = from_stored(versions.deleted.load(Ordering::Acquire));
        Expected { from, to, may_be_absent: from.is_none_or(|from| deleted.is_some_and(|at| at >= from)) }
    }

    /// Makes the next version of `record` with `make`, which gets its number. A deletion is a version, too.
    pub(crate) fn change<E>(
        &self,
        record: u64,
        change: Change,
        make: impl FnOnce(u32) -> Result<(), E>,
    ) -> Result<(), E> {
        let stripe = &self.stripes[record as usize % STRIPES];
        let _turn = stripe.lock();
        let versions = &self.records[record as usize];
        let stored = versions.announced.load(Ordering::Relaxed) + 1;
        if change == Change::Delete {
            versions.deleted.store(stored, Ordering::Release);
        }
        versions.announced.store(stored, Ordering::Release);
        make(stored - 1)?;
        versions.confirmed.store(stored, Ordering::Release);
        Ok(())
    }
}

impl Expected {
    /// Whether `version` (`None`: not found) is correct.
    pub(crate) fn allows(&self, version: Option<u32>) -> bool {
        match (version, self.to) {
            (None, _) => self.may_be_absent,
            (Some(_), None) => false,
            (Some(version), Some(to)) => version <= to && self.from.is_none_or(|from| from <= version),
        }
    }
}

fn from_stored(stored: u32) -> Option<u32> {
    (stored != NEVER).then(|| stored - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(oracle: &Oracle, record: u64) -> Expected {
        oracle.end_read(record, oracle.begin_read(record))
    }

    #[test]
    fn loaded_records_are_at_version_zero_and_others_are_not_there() {
        let oracle = Oracle::new(2, 3);
        assert_eq!(expected(&oracle, 1), Expected { from: Some(0), to: Some(0), may_be_absent: false });
        assert_eq!(expected(&oracle, 2), Expected { from: None, to: None, may_be_absent: true });
        assert!(expected(&oracle, 2).allows(None) && !expected(&oracle, 2).allows(Some(0)));
        assert!(!expected(&oracle, 1).allows(None));
        assert_eq!(
            expected(&Oracle::read_only(), 77),
            Expected { from: Some(0), to: Some(0), may_be_absent: false }
        );
    }

    #[test]
    fn a_racing_read_may_see_either_version_and_a_later_one_only_the_new() {
        let oracle = Oracle::new(1, 1);
        let from = oracle.begin_read(0);
        let written = oracle.change(0, Change::Write, |version| {
            assert_eq!(version, 1);
            let racing = oracle.end_read(0, from);
            assert!(
                racing.allows(Some(0))
                    && racing.allows(Some(1))
                    && !racing.allows(Some(2))
                    && !racing.allows(None)
            );
            Ok::<(), ()>(())
        });
        assert_eq!(written, Ok(()));
        assert_eq!(expected(&oracle, 0), Expected { from: Some(1), to: Some(1), may_be_absent: false });
    }

    #[test]
    fn a_failed_write_may_or_may_not_have_happened() {
        let oracle = Oracle::new(1, 1);
        assert_eq!(oracle.change(0, Change::Write, |_| Err("disk full")), Err("disk full"));
        let after = expected(&oracle, 0);
        assert!(after.allows(Some(0)) && after.allows(Some(1)));
    }

    #[test]
    fn a_deleted_record_is_gone_until_it_is_written_again() {
        let oracle = Oracle::new(1, 1);
        let from = oracle.begin_read(0);
        let deleted = oracle.change(0, Change::Delete, |version| {
            assert_eq!(version, 1);
            let racing = oracle.end_read(0, from);
            assert!(racing.allows(Some(0)) && racing.allows(None));
            Ok::<(), ()>(())
        });
        assert_eq!(deleted, Ok(()));
        assert!(expected(&oracle, 0).allows(None) && !expected(&oracle, 0).allows(Some(0)));
        let while_deleted = oracle.begin_read(0);
        assert_eq!(oracle.change(0, Change::Write, |_| Ok::<(), ()>(())), Ok(()));
        assert!(!expected(&oracle, 0).allows(None) && expected(&oracle, 0).allows(Some(2)));
        let racing = oracle.end_read(0, while_deleted);
        assert!(racing.allows(None) && racing.allows(Some(2)) && !racing.allows(Some(0)));
    }
}
