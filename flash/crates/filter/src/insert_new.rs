//! Insertions that tell which keys are new.

use std::collections::HashSet;

use springbloom_filter::KeyDigest;
use springbloom_page_device::{FlashError, Watch};

use crate::filter::FlashFilter;

impl FlashFilter {
    /// Inserts many keys, in order, and appends to `new`, for each key that is in the filter now, whether it was not there before. Of equal
    /// keys in a call the first may be new. Of concurrent calls with one key, one finds it new.
    ///
    /// A share of the new keys, the false positive rate, counts as known, and so does each key whose page cannot be read. The latter is
    /// inserted all the same. Cost: a batched lookup of all keys, and the insertion of those that are new. Concurrent calls take turns.
    ///
    /// Errors: as [`FlashFilter::insert_watched`]. After [`FlashError::Full`] and [`FlashError::NoSpace`] `new` has the answers for the
    /// keys of the call that are in the filter, after others none.
    pub fn insert_new(
        &self,
        digests: &[KeyDigest],
        new: &mut Vec<bool>,
        watch: &mut Watch<'_>,
    ) -> Result<(), FlashError> {
        let _turn = self.telling.lock();
        drop(self.sound_writer()?);
        let state = self.state();
        let filters = state.layers.len();
        let (may_match, is_read) = self.asked(&state, filters, digests);
        let mut seen = HashSet::with_capacity(digests.len());
        let is_new: Vec<bool> =
            digests.iter().zip(may_match).map(|(digest, known)| !known && seen.insert(*digest)).collect();
        // "May match" of a page that was not read says nothing of a key.
        let (added, asked) = if is_read {
            ((0..digests.len()).filter(|n| is_new[*n]).collect(), filters)
        } else {
            ((0..digests.len()).collect::<Vec<usize>>(), 0)
        };
        let keys: Vec<KeyDigest> = added.iter().map(|n| digests[*n]).collect();
        // Keys of the call that are in the filter, if the first `count` of those that were to be added are.
        let taken = |count: usize| added.get(count).copied().unwrap_or(digests.len());
        let mut done = self.insert_asked(&keys, asked, watch);
        let answered = match &mut done {
            Ok(()) => digests.len(),
            Err(FlashError::Full { inserted, .. } | FlashError::NoSpace { inserted, .. }) => {
                *inserted = taken(*inserted);
                *inserted
            }
            Err(_) => 0,
        };
        new.extend(&is_new[..answered]);
        done
    }
}
