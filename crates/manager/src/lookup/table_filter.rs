//! A lookup's way through a table's filters, once for all callers: the segment, its resident units, the record.
//!
//! A "no" is recorded at once. After a "maybe" the caller reads the table, or does not, and says how that ended.

use springbloom_filter::KeyDigest;

use crate::keys::Comparator;
use crate::lookup::TableHandle;
use crate::visits::Outcome;

/// Keys of a batch that are asked for at once.
const KEYS_AT_ONCE: usize = 32;

/// What a table's filters say of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The segment that would hold the key.
    pub segment: u32,
    /// How the units reject the key: the table does not hold it. `None` if it may.
    pub rejection: Option<Outcome>,
}

impl Answer {
    /// Whether the table may hold the key.
    #[inline]
    pub fn may_match(&self) -> bool {
        self.rejection.is_none()
    }
}

/// A key of a batch.
pub trait BatchKey {
    /// The key as the table's comparator knows it.
    fn key(&self) -> &[u8];
    /// Its digest.
    fn digest(&self) -> KeyDigest;
    /// Takes the answer.
    fn set_answer(&mut self, answer: Answer);
}

impl TableHandle {
    /// Whether the table may hold `key`. Lock-free, without allocation (but for the thread's first lookup).
    #[inline]
    pub fn may_match(&self, key: &[u8], digest: KeyDigest, comparator: &dyn Comparator) -> Answer {
        let segment = self.segment_of(key, comparator);
        let rejection = self.rejection(segment, digest);
        rejection.into_iter().for_each(|outcome| self.record(segment, outcome));
        Answer { segment, rejection }
    }

    /// [`may_match`](Self::may_match) for each key of a batch. Faster than one after the other.
    pub fn may_match_batch<K: BatchKey>(&self, keys: &mut [K], comparator: &dyn Comparator) {
        for keys in keys.chunks_mut(KEYS_AT_ONCE) {
            let mut asked = [(0, KeyDigest { lo: 0, hi: 0 }); KEYS_AT_ONCE];
            for (asked, key) in asked.iter_mut().zip(&*keys) {
                *asked = (self.segment_of(key.key(), comparator), key.digest());
            }
            let asked = &asked[..keys.len()];
            let mut rejections = [None; KEYS_AT_ONCE];
            self.rejections(asked, |place, rejection| rejections[place] = rejection);
            for ((rejection, key), &(segment, _)) in rejections.iter().zip(keys).zip(asked) {
                key.set_answer(Answer { segment, rejection: *rejection });
            }
            let visits = asked.iter().zip(rejections);
            self.record_all(visits.filter_map(|(&(segment, _), rejection)| Some((segment, rejection?))));
        }
    }
}
