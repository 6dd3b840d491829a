//! One thread that does operations, times them and verifies the answers.

use std::time::Instant;

use anyhow::{Result, bail, ensure};
use rocksdb::{Direction, IteratorMode, PrefixRange, ReadOptions, WriteOptions};
use springbloom_workload::{Operation, edges, value};

use crate::database::load::Records;
use crate::database::store::Family;
use crate::run::measure::{Call, Measured, ThreadMeter};
use crate::run::oracle::{Change, Expected, Oracle};

/// Column families and their expected contents, shared by threads.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) families: &'a [Family<'a>],
    pub(crate) records: &'a Records,
    pub(crate) oracle: &'a Oracle,
    pub(crate) write_options: &'a WriteOptions,
    /// Reads that are one `MultiGet`; 1 for `Get`.
    pub(crate) batch: usize,
}

/// Does the next `count` of `operations`, or all if there are fewer.
///
/// # Errors
/// A wrong answer is an error: it names the key, the answer and the expectation.
pub(crate) fn run(
    target: &Target<'_>,
    operations: &mut impl Iterator<Item = (usize, Operation)>,
    count: u64,
) -> Result<Measured> {
    let Some(&family) = target.families.first() else { bail!("there is no column family") };
    let mut worker = Worker {
        target,
        family,
        measured: Measured::default(),
        meter: ThreadMeter::start(),
        key: Vec::new(),
        value: Vec::new(),
        batch: Batch::default(),
    };
    for (family, operation) in operations.take(usize::try_from(count)?) {
        worker.family = target.families[family];
        worker.step(operation)?;
        worker.measured.operations += 1;
    }
    worker.read_batch()?;
    let Worker { mut measured, meter, .. } = worker;
    meter.finish(&mut measured);
    Ok(measured)
}

struct Worker<'a> {
    target: &'a Target<'a>,
    /// Which the operation is for.
    family: Family<'a>,
    measured: Measured,
    meter: ThreadMeter,
    key: Vec<u8>,
    value: Vec<u8>,
    batch: Batch,
}

/// Reads that wait for their `MultiGet`.
#[derive(Default)]
struct Batch {
    asked: Vec<Asked>,
    /// Of these, and room for keys of later ones.
    keys: Vec<Vec<u8>>,
}

/// A key of a batch.
struct Asked {
    record: u64,
    /// The oldest version that a correct answer may have, of a present key.
    oldest: Option<u32>,
    is_absent: bool,
}

impl Worker<'_> {
    fn step(&mut self, operation: Operation) -> Result<()> {
        let is_of_batch = self.target.batch > 1;
        match operation {
            Operation::Read(record) if is_of_batch => return self.add_to_batch(record, false),
            Operation::ReadAbsent(record) if is_of_batch => return self.add_to_batch(record, true),
            _ => self.read_batch()?,
        }
        match operation {
            Operation::Read(record) => self.read(record),
            Operation::ReadAbsent(record) => self.read_absent(record),
            Operation::Update(record) | Operation::Insert(record) => self.change(record, Change::Write),
            Operation::ReadModifyWrite(record) => {
                self.read(record)?;
                self.change(record, Change::Write)
            }
            Operation::Scan { first, records } => self.scanning(|worker| worker.scan(first, records)),
            Operation::Delete(record) => self.change(record, Change::Delete),
            Operation::Seek(record) => self.scanning(|worker| worker.seek(record)),
            Operation::SeekPrefix { number, is_absent: true } => {
                self.target.records.keys.absent(number, &mut self.key);
                self.seek_prefix(edges::SOURCE_BYTES, None)
            }
            Operation::SeekPrefix { number, is_absent: false } => {
                self.target.records.keys.present(number, &mut self.key);
                self.seek_prefix(edges::SOURCE_BYTES, Some(number))
            }
            Operation::SeekType { record, is_absent } => {
                self.target.records.keys.present(record, &mut self.key);
                if is_absent {
                    self.key[edges::SOURCE_BYTES] = edges::ABSENT_TYPE;
                }
                self.seek_prefix(edges::TYPE_END, (!is_absent).then_some(record))
            }
        }
    }

    fn read(&mut self, record: u64) -> Result<()> {
        let (Target { records, oracle, .. }, Family { db, handle, .. }) = (*self.target, self.family);
        records.keys.present(record, &mut self.key);
        let oldest = oracle.begin_read(record);
        let reads_before = self.meter.data_reads();
        let start = Instant::now();
        let answer = db.get_pinned_cf(handle, &self.key)?;
        self.measured.record_call(Call::Get, start.elapsed());
        self.measured.gets += 1;
        let expected = oracle.end_read(record, oldest);
        if answer.is_some() && self.meter.data_reads() > reads_before {
            self.measured.found_by_read += 1;
        }
        let version = match answer {
            None => None,
            Some(bytes) => Some(intact_version(&bytes, record, records.value_bytes, &self.key)?),
        };
        require_allowed(expected, version, &self.key)
    }

    fn read_absent(&mut self, record: u64) -> Result<()> {
        let (Target { records, .. }, Family { db, handle, .. }) = (*self.target, self.family);
        records.keys.absent(record, &mut self.key);
        let start = Instant::now();
        let answer = db.get_pinned_cf(handle, &self.key)?;
        self.measured.record_call(Call::Get, start.elapsed());
        self.measured.gets += 1;
        require_absent(answer.as_deref(), &self.key)
    }

    fn add_to_batch(&mut self, record: u64, is_absent: bool) -> Result<()> {
        let Target { records, oracle, batch, .. } = *self.target;
        let place = self.batch.asked.len();
        if place == self.batch.keys.len() {
            self.batch.keys.push(Vec::new());
        }
        let key = &mut self.batch.keys[place];
        let oldest = if is_absent {
            records.keys.absent(record, key);
            None
        } else {
            records.keys.present(record, key);
            oracle.begin_read(record)
        };
        self.batch.asked.push(Asked { record, oldest, is_absent });
        if self.batch.asked.len() == batch { self.read_batch() } else { Ok(()) }
    }

    /// Reads what waits.
    fn read_batch(&mut self) -> Result<()> {
        let (Target { records, oracle, .. }, Family { db, .. }) = (*self.target, self.family);
        let Batch { asked, keys } = &mut self.batch;
        if asked.is_empty() {
            return Ok(());
        }
        let keys = &keys[..asked.len()];
        let start = Instant::now();
        let answers = db.multi_get(keys);
        self.measured.record_call(Call::MultiGet, start.elapsed());
        self.measured.gets += asked.len() as u64;
        for ((Asked { record, oldest, is_absent }, key), answer) in asked.drain(..).zip(keys).zip(answers) {
            let answer = answer?;
            if is_absent {
                require_absent(answer.as_deref(), key)?;
                continue;
            }
            self.measured.found_in_batches += u64::from(answer.is_some());
            let version =
                answer.map(|bytes| intact_version(&bytes, record, records.value_bytes, key)).transpose()?;
            require_allowed(oracle.end_read(record, oldest), version, key)?;
        }
        Ok(())
    }

    fn change(&mut self, record: u64, change: Change) -> Result<()> {
        let (Target { records, oracle, write_options, .. }, Family { db, handle, .. }) =
            (*self.target, self.family);
        records.keys.present(record, &mut self.key);
        let measured = &mut self.measured;
        oracle.change(record, change, |version| {
            if change == Change::Write {
                value::write(record, version, records.value_bytes, &mut self.value);
            }
            let start = Instant::now();
            let call = match change {
                Change::Write => {
                    db.put_cf_opt(handle, &self.key, &self.value, write_options)?;
                    Call::Put
                }
                Change::Delete => {
                    db.delete_cf_opt(handle, &self.key, write_options)?;
                    Call::Delete
                }
            };
            measured.record_call(call, start.elapsed());
            Ok(())
        })
    }

    /// Counts the data blocks that `scan` reads apart: no filter can save them.
    fn scanning(&mut self, scan: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let before = self.meter.data_reads();
        scan(self)?;
        self.measured.scan_data_reads += self.meter.data_reads() - before;
        Ok(())
    }

    fn seek(&mut self, sought: u64) -> Result<()> {
        let (Target { records, oracle, .. }, Family { db, handle, .. }) = (*self.target, self.family);
        records.keys.present(sought, &mut self.key);
        let oldest = oracle.begin_read(sought);
        let start = Instant::now();
        let found =
            db.iterator_cf(handle, IteratorMode::From(&self.key, Direction::Forward)).next().transpose()?;
        self.measured.record_call(Call::Scan, start.elapsed());
        let expected = oracle.end_read(sought, oldest);
        let mut version = None;
        if let Some((key, bytes)) = found {
            ensure!(*key >= *self.key, "WRONG ANSWER: a seek goes back to {}", key.escape_ascii());
            if *key == *self.key {
                version = Some(intact_version(&bytes, sought, records.value_bytes, &key)?);
            } else {
                require_own(records, &key, &bytes)?;
            }
        }
        require_allowed(expected, version, &self.key)
    }

    /// Reads all entries that begin with the first `bytes` of the key: the loaded ones that `record` shares them with, and what was
    /// inserted since. Counts as a lookup; what a present prefix reads is not wasted.
    fn seek_prefix(&mut self, bytes: usize, record: Option<u64>) -> Result<()> {
        let (Target { records, .. }, Family { db, handle, .. }) = (*self.target, self.family);
        self.key.truncate(bytes);
        let mut options = ReadOptions::default();
        options.set_prefix_same_as_start(true);
        options.set_iterate_range(PrefixRange(self.key.as_slice()));
        let reads_before = self.meter.data_reads();
        let start = Instant::now();
        let entries: Vec<_> =
            db.iterator_cf_opt(handle, options, IteratorMode::Start).collect::<Result<_, _>>()?;
        self.measured.record_call(Call::Scan, start.elapsed());
        self.measured.gets += 1;
        for (key, bytes) in &entries {
            ensure!(key.starts_with(&self.key), "WRONG ANSWER for a prefix: {}", key.escape_ascii());
            require_own(records, key, bytes)?;
        }
        let (mut expected, mut its_key) = (0, Vec::new());
        if let Some(record) = record {
            for sibling in edges::of_same_source(record).filter(|&sibling| sibling < records.keys.records()) {
                records.keys.present(sibling, &mut its_key);
                expected += usize::from(its_key.starts_with(&self.key));
            }
            self.measured.found_by_read += self.meter.data_reads() - reads_before;
        }
        ensure!(
            entries.len() >= expected && (expected > 0 || entries.is_empty()),
            "WRONG ANSWER for a seek of {}: {} entries, expected {expected}",
            self.key.escape_ascii(),
            entries.len()
        );
        Ok(())
    }

    fn scan(&mut self, first: u64, length: u32) -> Result<()> {
        let (Target { records, .. }, Family { db, handle, .. }) = (*self.target, self.family);
        records.keys.present(first, &mut self.key);
        let start = Instant::now();
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        let entries: Vec<_> = db
            .iterator_cf_opt(handle, options, IteratorMode::From(&self.key, Direction::Forward))
            .take(length as usize)
            .collect::<Result<_, _>>()?;
        self.measured.record_call(Call::Scan, start.elapsed());
        ensure!(
            entries.first().is_some_and(|(key, _)| **key == *self.key)
                && entries.is_sorted_by(|a, b| a.0 < b.0),
            "WRONG ANSWER: a scan from the present key {} begins elsewhere or is out of order",
            self.key.escape_ascii()
        );
        entries.iter().try_for_each(|(key, bytes)| require_own(records, key, bytes))
    }
}

/// Refuses an answer for an absent key.
fn require_absent(answer: Option<&[u8]>, key: &[u8]) -> Result<()> {
    ensure!(answer.is_none(), "WRONG ANSWER for {}: found, expected nothing", key.escape_ascii());
    Ok(())
}

/// Refuses an answer that is not as expected.
fn require_allowed(expected: Expected, version: Option<u32>, key: &[u8]) -> Result<()> {
    ensure!(
        expected.allows(version),
        "WRONG ANSWER for {}: got version {version:?}, expected {expected:?}",
        key.escape_ascii()
    );
    Ok(())
}

/// Refuses a value that is not right in every byte, or not of this key.
fn require_own(records: &Records, key: &[u8], bytes: &[u8]) -> Result<()> {
    let record = value::origin(bytes).map(|(record, _)| record);
    let record = record.filter(|&record| records.keys.has_key(record));
    let mut its_key = Vec::new();
    if let Some(record) = record {
        records.keys.present(record, &mut its_key);
    }
    ensure!(
        record.is_some() && key == its_key && value::is_intact(bytes, records.value_bytes),
        "WRONG ANSWER: {} does not belong to its value, which is of record {record:?}",
        key.escape_ascii()
    );
    Ok(())
}

/// The version of a value of `record` that is right in every byte.
fn intact_version(bytes: &[u8], record: u64, value_bytes: usize, key: &[u8]) -> Result<u32> {
    match value::origin(bytes) {
        Some((origin, version)) if origin == record && value::is_intact(bytes, value_bytes) => Ok(version),
        origin => bail!(
            "WRONG ANSWER for {}: {} bytes that say (record, version) {origin:?}, expected record {record} of \
             {value_bytes} bytes",
            key.escape_ascii(),
            bytes.len()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::store::Store;
    use crate::run::workload::Operations;
    use rocksdb::{DB, Options};
    use springbloom_workload::{FamilyMix, FamilyStream, KeySpace, Mix, StreamSettings};

    const VALUE_BYTES: usize = 40;

    fn records(mix: Mix) -> Records {
        let keys =
            if mix.seeks() { KeySpace::Edges { records: 50 } } else { KeySpace::Synthetic { records: 50 } };
        Records { keys, value_bytes: VALUE_BYTES, seed: 1 }
    }

    fn loaded(records: &Records, path: &std::path::Path) -> Store {
        let mut options = Options::default();
        options.create_if_missing(true);
        let store = Store::open(path, false, &[options]).expect("database");
        let db = &store.databases[0];
        let (mut key, mut bytes) = (Vec::new(), Vec::new());
        for record in 0..records.keys.records() {
            records.keys.present(record, &mut key);
            value::write(record, 0, VALUE_BYTES, &mut bytes);
            db.put(&key, &bytes).expect("put");
        }
        store
    }

    /// What 2,000 operations of `mix` end with, after `damage` was done to the database.
    fn outcome(mix: Mix, damage: impl FnOnce(&DB, &Records)) -> Result<Measured> {
        outcome_in_batches(mix, 1, damage)
    }

    fn outcome_in_batches(mix: Mix, batch: usize, damage: impl FnOnce(&DB, &Records)) -> Result<Measured> {
        let folder = tempfile::tempdir()?;
        let records = records(mix);
        let store = loaded(&records, folder.path());
        damage(&store.databases[0], &records);
        let oracle = Oracle::new(50, 3_000);
        let settings = StreamSettings { mix, ..StreamSettings::gets(0.5, 0.3, 1, 1) };
        let families = FamilyMix { traffic: vec![1.0], absent: vec![settings.absent_share] };
        let stream = FamilyStream::new(settings, &families, &records.keys)?;
        let write_options = WriteOptions::default();
        let families = store.families()?;
        let target = Target {
            families: &families,
            records: &records,
            oracle: &oracle,
            write_options: &write_options,
            batch,
        };
        run(&target, &mut Operations::Generated(Box::new(stream)), 2_000)
    }

    fn assert_wrong(result: Result<Measured>) {
        let message = result.expect_err("a wrong answer must end the run").to_string();
        assert!(message.contains("WRONG ANSWER"), "{message}");
    }

    fn present(records: &Records, record: u64) -> Vec<u8> {
        let mut key = Vec::new();
        records.keys.present(record, &mut key);
        key
    }

    #[test]
    fn right_answers_are_counted() {
        for mix in Mix::ALL {
            let measured = outcome(mix, |_, _| ()).expect("right answers");
            assert_eq!(measured.operations, 2_000);
            let calls = |call| measured.calls(call).count() > 0;
            assert_eq!((calls(Call::Get), calls(Call::Put)), (mix != Mix::E, mix.writes()), "{mix}");
            assert_eq!(calls(Call::Scan), mix == Mix::E);
            assert_eq!(measured.found_by_read, 0, "everything is in the memtable");
        }
    }

    fn seeks() -> Mix {
        Mix::of_shares("seek=.5,seek-type=.5").expect("shares")
    }

    #[test]
    fn wrong_answers_of_seeks_are_noticed() {
        let measured = outcome(seeks(), |_, _| ()).expect("right answers");
        assert_eq!((measured.operations, measured.gets), (2_000, 2_000));
        assert_wrong(outcome(seeks(), |db, records| db.delete(present(records, 7)).expect("delete")));
        assert_wrong(outcome(seeks(), |db, records| {
            let mut key = present(records, 7);
            key[edges::SOURCE_BYTES] = edges::ABSENT_TYPE;
            db.put(key, b"invented").expect("put");
        }));
    }

    #[test]
    fn a_lost_record_is_noticed() {
        for batch in [1, 32] {
            let lose = |db: &DB, records: &Records| db.delete(present(records, 7)).expect("delete");
            assert_wrong(outcome_in_batches(Mix::GET, batch, lose));
        }
    }

    /// A write ends the batch before it, and so do the last operation and a full batch.
    #[test]
    fn reads_in_batches_are_all_made() {
        for mix in Mix::ALL {
            let alone = outcome(mix, |_, _| ()).expect("right answers");
            let measured = outcome_in_batches(mix, 7, |_, _| ()).expect("right answers");
            assert_eq!((measured.operations, measured.gets), (2_000, alone.gets), "{mix}");
            let calls = |call| u64::from(measured.calls(call).count());
            assert!(calls(Call::MultiGet) * 7 + calls(Call::Get) >= measured.gets, "{mix}");
            if mix == Mix::GET {
                assert_eq!((calls(Call::MultiGet), calls(Call::Get)), (2_000u64.div_ceil(7), 0));
            }
        }
    }

    #[test]
    fn a_flipped_bit_in_a_value_is_noticed() {
        for mix in [Mix::GET, Mix::E] {
            assert_wrong(outcome(mix, |db, records| {
                let mut bytes = Vec::new();
                value::write(7, 0, VALUE_BYTES, &mut bytes);
                bytes[VALUE_BYTES - 1] ^= 1;
                db.put(present(records, 7), bytes).expect("put");
            }));
        }
    }

    #[test]
    fn a_stale_or_foreign_value_is_noticed() {
        for (record, version) in [(8, 0), (7, 1)] {
            assert_wrong(outcome(Mix::GET, |db, records| {
                let mut bytes = Vec::new();
                value::write(record, version, VALUE_BYTES, &mut bytes);
                db.put(present(records, 7), bytes).expect("put");
            }));
        }
    }

    #[test]
    fn an_invented_record_is_noticed() {
        for batch in [1, 32] {
            assert_wrong(outcome_in_batches(Mix::GET, batch, |db, records| {
                let mut key = Vec::new();
                records.keys.absent(7, &mut key);
                db.put(key, b"invented").expect("put");
            }));
        }
    }
}
