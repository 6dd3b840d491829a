//! A batch is answered as its keys are one after the other.

mod common;

use proptest::prelude::*;
use springbloom_filter::{KeyDigest, UnitSettings};
use springbloom_manager::{Answer, BatchKey, BytewiseComparator, Outcome, TableHandle};
use springbloom_published_policies::PolicyKind;

use common::{IDLE_TIMEOUT, MemoryTable, key, manager};

const SEGMENTS: u64 = 5;
const KEYS: u64 = 500;

fn outcomes(handle: &TableHandle, batch: &[(u32, KeyDigest)]) -> Vec<Option<Outcome>> {
    let mut told = Vec::new();
    handle.rejections(batch, |place, outcome| {
        assert_eq!(place, told.len(), "keys are told in order");
        told.push(outcome);
    });
    told
}

/// A key of a batch, and what it is told.
struct Asked {
    key: Vec<u8>,
    answer: Option<Answer>,
}

impl BatchKey for Asked {
    fn key(&self) -> &[u8] {
        &self.key
    }

    fn digest(&self) -> KeyDigest {
        KeyDigest::of(&self.key)
    }

    fn set_answer(&mut self, answer: Answer) {
        assert_eq!(self.answer.replace(answer), None, "a key is told once");
    }
}

#[test]
fn a_batch_takes_the_way_of_a_single_lookup() {
    let manager = manager(1 << 20, PolicyKind::Uniform);
    let table = MemoryTable::new(1, SEGMENTS, KEYS);
    let handle = manager.register(table.spec(Some(1))).expect("there is room");
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    let ask = |n| Asked { key: key(1, n).to_vec(), answer: None };
    // More than are asked for at once.
    let mut batch: Vec<_> = (0..100).map(|n| ask(n * 47 % (2 * SEGMENTS * KEYS))).collect();
    let alone: Vec<_> = batch
        .iter()
        .map(|asked| Some(handle.may_match(&asked.key, asked.digest(), &BytewiseComparator)))
        .collect();
    let recorded = manager.outcomes();
    handle.may_match_batch(&mut batch, &BytewiseComparator);
    assert_eq!(batch.iter().map(|asked| asked.answer).collect::<Vec<_>>(), alone);
    let rejections = || alone.iter().flatten().filter_map(|answer| answer.rejection);
    assert!(rejections().next().is_some());
    assert!(alone.iter().flatten().any(Answer::may_match));
    assert_eq!(recorded.visits(), rejections().count() as u64, "each \"no\" was recorded");
    assert_eq!(manager.outcomes().visits(), 2 * recorded.visits());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the family, the units in memory (none, some, all), and the segments of the keys: in order or not, one that is not there,
    /// too.
    #[test]
    fn a_batch_is_answered_as_its_keys_alone(
        is_ribbon: bool,
        budget_bytes in prop::sample::select(vec![0, 9_200, 12_000, 1 << 20]),
        batches in prop::collection::vec(prop::collection::vec((0..=SEGMENTS as u32, 0..2 * KEYS), 0..70), 1..8),
        is_in_order: bool,
    ) {
        let units = if is_ribbon { UnitSettings::default() } else { UnitSettings::bloom(6, 4).unwrap() };
        let manager = manager(budget_bytes, PolicyKind::Uniform);
        let table = MemoryTable::built_with(units, 1, 1, SEGMENTS, KEYS);
        let Some(handle) = manager.register(table.spec(Some(1))) else {
            // The sanitizers' allocators round up.
            prop_assert!(budget_bytes == 0 || cfg!(sanitized), "there is room in {budget_bytes}");
            return Ok(());
        };
        prop_assert!(manager.wait_idle(IDLE_TIMEOUT));
        for mut batch in batches {
            if is_in_order {
                batch.sort_unstable();
            }
            let keys: Vec<_> = batch
                .iter()
                .map(|&(segment, n)| (segment, KeyDigest::of(&key(1, 2 * KEYS * u64::from(segment) + n))))
                .collect();
            let alone: Vec<_> = keys.iter().map(|&(segment, digest)| handle.rejection(segment, digest)).collect();
            prop_assert_eq!(outcomes(&handle, &keys), alone.clone());
            // Even ones are present.
            let present = batch.iter().zip(&alone).filter(|((segment, n), _)| n % 2 == 0 && u64::from(*segment) < SEGMENTS);
            prop_assert!(present.into_iter().all(|(_, outcome)| outcome.is_none()));
        }
    }
}
