//! The sequence of operations of a workload.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::absent::AbsentKeys;
use crate::distribution::{Distribution, Sampler};
use crate::error::WorkloadError;
use crate::keys::{ABSENT_IN_GAP, ABSENT_NUMBERS, KeySpace, ORDERED_RECORDS_MAX};
use crate::mix::Mix;
use crate::movement::Movement;
use crate::permutation::{Permutation, mix64};

/// Longest scan, in records (YCSB's `maxscanlength`).
const MAX_SCAN_RECORDS: u32 = 100;

/// One request, by record number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read a present key.
    Read(u64),
    /// Read the absent key of this number. The right answer is "not found".
    ReadAbsent(u64),
    /// Write the next version.
    Update(u64),
    /// Write a new record.
    Insert(u64),
    /// Read records in key order, starting with this one.
    Scan {
        /// First record.
        first: u64,
        /// Number of records.
        records: u32,
    },
    /// Read, then write the next version.
    ReadModifyWrite(u64),
    /// Delete, only in recorded workloads.
    Delete(u64),
    /// Read the first record in key order that is not before this one, which may be absent. Only in recorded workloads.
    Seek(u64),
    /// Read all edges of the source of this record. Of an absent one there are none.
    SeekPrefix {
        /// The record, or the number of an absent key.
        number: u64,
        /// Whether the source has no edge.
        is_absent: bool,
    },
    /// Read the edges of the source and type of this record. Of an absent type the source, which is present, has none.
    SeekType {
        /// The record.
        record: u64,
        /// Whether the type is absent.
        is_absent: bool,
    },
}

/// Settings of a stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamSettings {
    /// Shares of operations.
    pub mix: Mix,
    /// Popularity of records.
    pub distribution: Distribution,
    /// Changes of the popularity.
    pub movement: Movement,
    /// Share of reads of absent keys.
    pub absent_share: f64,
    /// Which absent keys these are.
    pub absent: AbsentKeys,
    /// Selects the popular records.
    pub hot_key_seed: u64,
    /// Seed of the requests.
    pub seed: u64,
    /// Number of this stream among [`streams`](Self::streams) parallel ones.
    pub stream: u64,
    /// Number of parallel streams. They insert different records.
    pub streams: u64,
}

impl StreamSettings {
    /// Gets with Zipf `exponent`, one stream.
    pub fn gets(exponent: f64, absent_share: f64, hot_key_seed: u64, seed: u64) -> Self {
        StreamSettings {
            mix: Mix::GET,
            distribution: Distribution::Zipf { exponent },
            movement: Movement::Still,
            absent_share,
            absent: AbsentKeys::Popular,
            hot_key_seed,
            seed,
            stream: 0,
            streams: 1,
        }
    }

    /// Selects the popular absent keys: others than those of popular records, but of the same ranges.
    fn absent_key_seed(&self) -> u64 {
        if self.distribution.needs_key_order() {
            self.hot_key_seed
        } else {
            self.hot_key_seed ^ OF_ABSENT_KEYS
        }
    }
}

/// An endless, deterministic sequence of operations. Generating one costs no allocation and under 200 ns.
#[derive(Clone, Debug)]
pub struct OperationStream {
    settings: StreamSettings,
    sampler: Sampler,
    rng: Pcg64Mcg,
    loaded_records: u64,
    inserted_records: u64,
    fresh_reads: u64,
    operations: u64,
    /// Scatterings of the current period for present and absent keys.
    present_places: Permutation,
    absent_places: Permutation,
}

/// Separates the seeds of absent keys from those of present ones.
const OF_ABSENT_KEYS: u64 = 0xA5A5_0000_5A5A_FFFF;

impl OperationStream {
    /// The stream that `settings` define over `keys`.
    ///
    /// # Errors
    /// [`WorkloadError`] for settings outside their ranges, and for inserts and fresh absent keys with keys that cannot grow.
    pub fn new(settings: StreamSettings, keys: &KeySpace) -> Result<Self, WorkloadError> {
        let refused = |why: &str| Err(WorkloadError(why.to_owned()));
        if !(0.0..=1.0).contains(&settings.absent_share) {
            let got = settings.absent_share;
            return Err(WorkloadError::out_of_range("share of absent keys", got, "0 to 1"));
        }
        if settings.stream >= settings.streams {
            return refused("expected the number of a stream below that of streams");
        }
        if settings.movement.period_ops() == Some(0) {
            return refused("expected a period of at least 1 operation");
        }
        if settings.mix.seeks() && !matches!(keys, KeySpace::Edges { .. }) {
            return refused(
                "seeks ask for prefixes of synthetic keys: expected no file of keys and no --distribution ranges",
            );
        }
        if settings.mix.inserts() && !keys.can_grow() {
            return refused(
                "this workload inserts records, which keys from a file do not allow: use synthetic keys, or a mix without inserts",
            );
        }
        if settings.absent == AbsentKeys::Fresh && !keys.can_grow() {
            return refused(
                "keys from a file have too few absent keys to ask for each only once: use synthetic keys, or popular absent keys",
            );
        }
        if settings.distribution.needs_key_order() && !keys.is_in_order() {
            return refused("ranges of neighbouring keys need keys in the order of their records");
        }
        let records = keys.records();
        if matches!(keys, KeySpace::Ordered { .. }) && records > ORDERED_RECORDS_MAX / 2 {
            return Err(WorkloadError::out_of_range("records with keys in order", records, "at most 2^35"));
        }
        let sampler = settings.distribution.sampler(records)?;
        let ranks = settings.distribution.ranks(records);
        Ok(OperationStream {
            sampler,
            rng: Pcg64Mcg::seed_from_u64(settings.seed ^ mix64(settings.stream)),
            loaded_records: records,
            inserted_records: 0,
            fresh_reads: 0,
            operations: 0,
            present_places: Permutation::new(ranks, settings.hot_key_seed),
            absent_places: Permutation::new(ranks, settings.absent_key_seed()),
            settings,
        })
    }

    /// The next operation.
    #[inline]
    pub fn next_operation(&mut self) -> Operation {
        let operation = self.draw();
        self.operations += 1;
        operation
    }

    #[inline]
    fn draw(&mut self) -> Operation {
        let Mix { update, insert, scan, read_modify_write, seek, seek_type, .. } = self.settings.mix;
        let mut share: f64 = if self.settings.mix == Mix::GET { 1.0 } else { self.rng.random() };
        for (kind_share, kind) in [
            (update, Kind::Update),
            (insert, Kind::Insert),
            (scan, Kind::Scan),
            (read_modify_write, Kind::Rmw),
            (seek, Kind::Seek),
            (seek_type, Kind::SeekType),
        ] {
            if share < kind_share {
                return self.other_than_read(kind);
            }
            share -= kind_share;
        }
        if self.is_absent() {
            return Operation::ReadAbsent(self.absent_number());
        }
        Operation::Read(self.existing_record())
    }

    #[inline]
    fn is_absent(&mut self) -> bool {
        self.settings.absent_share > 0.0 && self.rng.random_bool(self.settings.absent_share)
    }

    fn other_than_read(&mut self, kind: Kind) -> Operation {
        match kind {
            Kind::Update => Operation::Update(self.existing_record()),
            Kind::Rmw => Operation::ReadModifyWrite(self.existing_record()),
            Kind::Scan => Operation::Scan {
                first: self.existing_record(),
                records: self.rng.random_range(1..=MAX_SCAN_RECORDS),
            },
            Kind::Seek => {
                let is_absent = self.is_absent();
                let number = if is_absent { self.absent_number() } else { self.existing_record() };
                Operation::SeekPrefix { number, is_absent }
            }
            Kind::SeekType => {
                Operation::SeekType { is_absent: self.is_absent(), record: self.existing_record() }
            }
            Kind::Insert => {
                self.inserted_records += 1;
                Operation::Insert(self.inserted(self.inserted_records - 1))
            }
        }
    }

    /// A record that this stream may expect to exist.
    #[inline]
    fn existing_record(&mut self) -> u64 {
        let rank = self.sampler.rank(&mut self.rng);
        if matches!(self.settings.distribution, Distribution::Latest { .. }) {
            return match self.inserted_records.checked_sub(rank + 1) {
                Some(newest) => self.inserted(newest),
                None => self.loaded_records - 1 - (rank - self.inserted_records),
            };
        }
        let place = self.place(rank, self.present_places, self.settings.hot_key_seed);
        self.record_at(place)
    }

    #[inline]
    fn absent_number(&mut self) -> u64 {
        if self.settings.absent == AbsentKeys::Popular {
            return self.popular_absent_number();
        }
        // Parallel streams share the numbers after a start that depends on the seed. So streams with another seed read other keys.
        let index = self.fresh_reads * self.settings.streams + self.settings.stream;
        self.fresh_reads += 1;
        let number = mix64(self.settings.seed).wrapping_add(index);
        if self.settings.distribution.needs_key_order() {
            // A key of its own behind a record of a popular range.
            self.popular_absent_number() + number % ABSENT_IN_GAP * self.loaded_records
        } else {
            number % ABSENT_NUMBERS
        }
    }

    #[inline]
    fn popular_absent_number(&mut self) -> u64 {
        let rank = self.sampler.rank(&mut self.rng);
        let place = self.place(rank, self.absent_places, self.settings.absent_key_seed());
        self.record_at(place)
    }

    /// A record of the range at `place`, or the one there.
    #[inline]
    fn record_at(&mut self, place: u64) -> u64 {
        let Distribution::Ranges { range_records, .. } = self.settings.distribution else { return place };
        let first = place * range_records;
        first + self.rng.random_range(0..range_records.min(self.loaded_records - first))
    }

    /// The record that this stream inserts as its `index`-th.
    fn inserted(&self, index: u64) -> u64 {
        self.loaded_records + index * self.settings.streams + self.settings.stream
    }

    #[inline]
    fn place(&self, rank: u64, still: Permutation, seed: u64) -> u64 {
        let epoch = self.settings.movement.epoch(rank, self.operations * self.settings.streams);
        match epoch {
            0 => still.apply(rank),
            epoch => {
                let ranks = self.settings.distribution.ranks(self.loaded_records);
                Permutation::new(ranks, seed ^ mix64(epoch)).apply(rank)
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Update,
    Insert,
    Scan,
    Rmw,
    Seek,
    SeekType,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::FileKeys;
    use springbloom_testkit::{binomial, seed};
    use std::collections::{HashMap, HashSet};
    use std::io::Write;

    const KEYS: KeySpace = KeySpace::Synthetic { records: 10_000 };

    fn settings(test: &str) -> StreamSettings {
        StreamSettings::gets(0.99, 0.5, 1, seed::seed(test))
    }

    fn stream(settings: StreamSettings) -> OperationStream {
        OperationStream::new(settings, &KEYS).expect("valid settings")
    }

    /// The present record with the most reads in the next `operations` operations.
    fn hottest(stream: &mut OperationStream, operations: usize) -> u64 {
        let mut counts = HashMap::new();
        for _ in 0..operations {
            if let Operation::Read(record) = stream.next_operation() {
                *counts.entry(record).or_insert(0u64) += 1;
            }
        }
        counts.into_iter().max_by_key(|&(_, count)| count).expect("reads").0
    }

    #[test]
    fn same_settings_same_stream_other_seed_other_stream() {
        let settings = settings("same_settings_same_stream_other_seed_other_stream");
        let take = |settings| {
            let mut stream = stream(settings);
            (0..1_000).map(|_| stream.next_operation()).collect::<Vec<_>>()
        };
        assert_eq!(take(settings), take(settings));
        assert_ne!(take(settings), take(StreamSettings { seed: settings.seed ^ 1, ..settings }));
        assert_ne!(take(settings), take(StreamSettings { streams: 2, stream: 1, ..settings }));
    }

    #[test]
    fn shares_are_those_of_the_mix() {
        let settings = settings("shares_are_those_of_the_mix");
        let operations = 100_000;
        for mix in Mix::ALL {
            let mut stream = stream(StreamSettings { mix, ..settings });
            let mut counts = [0u64; 6];
            for _ in 0..operations {
                counts[match stream.next_operation() {
                    Operation::Read(_) => 0,
                    Operation::ReadAbsent(_) => 1,
                    Operation::Update(_) => 2,
                    Operation::Insert(_) => 3,
                    Operation::Scan { records, .. } => {
                        assert!((1..=MAX_SCAN_RECORDS).contains(&records));
                        4
                    }
                    Operation::ReadModifyWrite(_) => 5,
                    other => panic!("{other:?}"),
                }] += 1;
            }
            let reads = 1.0 - mix.update - mix.insert - mix.scan - mix.read_modify_write;
            let shares = [reads / 2.0, reads / 2.0, mix.update, mix.insert, mix.scan, mix.read_modify_write];
            for (count, share) in counts.into_iter().zip(shares) {
                binomial::assert_rate(count, operations, share.clamp(0.0, 1.0), &mix.to_string());
            }
        }
    }

    #[test]
    fn latest_reads_what_this_stream_inserted() {
        let settings = settings("latest_reads_what_this_stream_inserted");
        let distribution = Distribution::Latest { exponent: 0.99 };
        let mut stream = stream(StreamSettings {
            mix: Mix::D,
            distribution,
            streams: 3,
            stream: 2,
            absent_share: 0.0,
            ..settings
        });
        let (mut newest, mut reads_of_newest, mut reads) = (None, 0, 0);
        for _ in 0..100_000 {
            match stream.next_operation() {
                Operation::Insert(record) => {
                    assert_eq!(record, newest.map_or(10_002, |newest| newest + 3));
                    newest = Some(record);
                }
                Operation::Read(record) => {
                    assert!(
                        record < 10_000 || (record % 3 == 10_002 % 3 && Some(record) <= newest),
                        "{record}"
                    );
                    reads += 1;
                    reads_of_newest += u64::from(newest.is_none() || Some(record) == newest);
                }
                other => panic!("{other:?}"),
            }
        }
        // Share of the first rank: 1 / H(10,000, 0.99) = 0.0993.
        binomial::assert_rate_within(reads_of_newest, reads, 0.097, 0.102, "reads of the newest record");
    }

    #[test]
    fn seeds_move_the_hot_key_and_absent_keys_have_their_own() {
        let settings = settings("seeds_move_the_hot_key_and_absent_keys_have_their_own");
        let hot: Vec<_> = (1..=4)
            .map(|hot_key_seed| hottest(&mut stream(StreamSettings { hot_key_seed, ..settings }), 20_000))
            .collect();
        assert!((0..4).all(|i| (0..i).all(|j| hot[i] != hot[j])), "{hot:?}");
        let mut stream = stream(settings);
        let mut absent = HashMap::new();
        for _ in 0..20_000 {
            if let Operation::ReadAbsent(record) = stream.next_operation() {
                *absent.entry(record).or_insert(0u64) += 1;
            }
        }
        assert_ne!(absent.into_iter().max_by_key(|&(_, count)| count).expect("reads").0, hot[0]);
    }

    #[test]
    fn fresh_absent_keys_neither_come_back_nor_exist() {
        let settings = StreamSettings {
            absent: AbsentKeys::Fresh,
            streams: 3,
            ..settings("fresh_absent_keys_neither_come_back_nor_exist")
        };
        let mut key = Vec::new();
        let mut present: Vec<_> = (0..KEYS.records())
            .map(|record| {
                KEYS.present(record, &mut key);
                key.clone()
            })
            .collect();
        present.sort_unstable();
        let mut asked = HashSet::new();
        let mut gaps = [0u64; 50];
        // Streams side by side, and those of a second run with another seed.
        for (seed, stream_number) in (0..2).flat_map(|run| (0..3).map(move |stream| (run, stream))) {
            let seed = settings.seed ^ seed;
            let mut stream = stream(StreamSettings { seed, stream: stream_number, ..settings });
            for _ in 0..20_000 {
                if let Operation::ReadAbsent(number) = stream.next_operation() {
                    KEYS.absent(number, &mut key);
                    let place = present.binary_search(&key).expect_err("a fresh key exists");
                    gaps[place * gaps.len() / (present.len() + 1)] += 1;
                    assert!(asked.insert(key.clone()), "{} comes back", key.escape_ascii());
                }
            }
        }
        binomial::assert_rate(asked.len() as u64, 120_000, 0.5, "lookups for absent keys");
        // Every part of the key range gets its share. The width of a part varies by 7%.
        let expected = asked.len() as u64 / gaps.len() as u64;
        assert!(gaps.iter().all(|&gap| gap.abs_diff(expected) < expected / 2), "{gaps:?}");
    }

    #[test]
    fn ranges_are_hot_as_a_whole_with_their_absent_keys() {
        // The last range has 400 records.
        let keys = KeySpace::Ordered { records: 9_400 };
        let distribution = Distribution::Ranges { range_records: 1_000, exponent: 1.0 };
        for (absent, hot_key_seed) in [(AbsentKeys::Popular, 1), (AbsentKeys::Fresh, 2)] {
            let settings = StreamSettings {
                distribution,
                absent,
                hot_key_seed,
                ..settings("ranges_are_hot_as_a_whole_with_their_absent_keys")
            };
            let mut stream = OperationStream::new(settings, &keys).expect("valid settings");
            let (mut present, mut missing) = ([0u64; 10], [0u64; 10]);
            let (mut records, mut asked, mut reads_again) = (HashSet::new(), HashSet::new(), 0u64);
            for _ in 0..60_000 {
                match stream.next_operation() {
                    Operation::Read(record) => {
                        present[(record / 1_000) as usize] += 1;
                        records.insert(record);
                        assert!(record < 9_400);
                    }
                    Operation::ReadAbsent(number) => {
                        missing[(number % 9_400 / 1_000) as usize] += 1;
                        reads_again += u64::from(!asked.insert(number));
                    }
                    other => panic!("{other:?}"),
                }
            }
            // The hottest of ten ranges has 1 / H(10) = .341 of the lookups, of both kinds.
            let hottest = (0..10).max_by_key(|&range| present[range]).expect("ranges");
            for counts in [present, missing] {
                binomial::assert_rate(
                    counts[hottest],
                    counts.iter().sum(),
                    0.3414,
                    "reads in the hottest range",
                );
            }
            let of_hottest = records.iter().filter(|&record| record / 1_000 == hottest as u64).count();
            assert!(of_hottest > 950, "{of_hottest} records of the hottest range were read");
            assert_eq!(reads_again > 0, absent == AbsentKeys::Popular);
        }
        let settings = StreamSettings { distribution, ..settings("ranges of scattered keys") };
        assert!(OperationStream::new(settings, &KEYS).is_err_and(|error| error.0.contains("in the order")));
    }

    #[test]
    fn streams_side_by_side_jump_together_and_on_time() {
        let settings = settings("streams_side_by_side_jump_together_and_on_time");
        let movement = Movement::Jump { period_ops: 900 };
        let places = |number, operations| {
            let mut stream = stream(StreamSettings { movement, streams: 3, stream: number, ..settings });
            (0..operations).for_each(|_| _ = stream.next_operation());
            (0..100)
                .map(|rank| stream.place(rank, stream.present_places, settings.hot_key_seed))
                .collect::<Vec<_>>()
        };
        let before = places(0, 299);
        assert_eq!(before, places(0, 0));
        assert_eq!(before, places(2, 299));
        let after = places(0, 300);
        assert!(before.iter().zip(&after).filter(|(a, b)| a == b).count() < 5);
        assert_eq!(after, places(2, 300));
    }

    #[test]
    fn movements() {
        let settings = settings("movements");
        let period_ops = 20_000;
        let hot = |movement| {
            let mut stream = stream(StreamSettings { movement, ..settings });
            (0..4).map(|_| hottest(&mut stream, period_ops as usize)).collect::<Vec<_>>()
        };
        let still = hot(Movement::Still);
        assert!(still.iter().all(|record| *record == still[0]));
        let jump = hot(Movement::Jump { period_ops });
        assert!(jump.windows(2).all(|pair| pair[0] != pair[1]), "{jump:?}");
        // A drifting hot set keeps most of its records over a tenth of the period.
        let drift = |start: usize| {
            let mut stream = stream(StreamSettings { movement: Movement::Drift { period_ops }, ..settings });
            (0..start).for_each(|_| _ = stream.next_operation());
            (0..200)
                .map(|rank| stream.place(rank, stream.present_places, settings.hot_key_seed))
                .collect::<Vec<_>>()
        };
        let (first, soon, later) = (drift(0), drift(2_000), drift(20_000));
        let kept = |other: &[u64]| first.iter().zip(other).filter(|(a, b)| a == b).count() as u64;
        binomial::assert_rate(kept(&soon), 200, 0.9, "ranks in place after a tenth of the period");
        assert_eq!(kept(&later), 0);
    }

    #[test]
    fn bad_settings_are_refused() {
        let settings = settings("bad_settings_are_refused");
        for bad in [
            StreamSettings { absent_share: 1.5, ..settings },
            StreamSettings { absent_share: f64::NAN, ..settings },
            StreamSettings { stream: 1, ..settings },
            StreamSettings { movement: Movement::Jump { period_ops: 0 }, ..settings },
            StreamSettings { distribution: Distribution::Zipf { exponent: -1.0 }, ..settings },
        ] {
            assert!(OperationStream::new(bad, &KEYS).is_err(), "{bad:?}");
        }
        let mut file = tempfile::NamedTempFile::new().expect("temporary file");
        file.write_all(b"a\nb\nc").expect("write");
        let keys = KeySpace::File(FileKeys::read(file.path(), None).expect("keys"));
        let fresh = StreamSettings { absent: AbsentKeys::Fresh, ..settings };
        assert!(
            OperationStream::new(fresh, &keys).is_err_and(|error| error.0.contains("too few absent keys"))
        );
    }
}
