//! What a filter does when it holds as many keys as it was built for, and whether the disk can hold a filter.

use std::borrow::Cow;
use std::collections::HashSet;

use springbloom_filter::KeyDigest;
use springbloom_page_device::{FlashError, Storage, Watch, require_space};

use crate::filter::{FlashFilter, State};
use crate::header::FilterHeader;
use crate::layer::{Layer, file_name};
use crate::memory::MemoryPlan;
use crate::writer::{CHUNK_KEYS, WhenFull, Writer};

/// The part of a chunk of keys that a filter takes.
pub(crate) struct Fitting<'k> {
    /// The keys to add.
    pub(crate) keys: Cow<'k, [KeyDigest]>,
    /// Keys of the chunk before the first one without room.
    pub(crate) taken: usize,
}

impl Writer {
    /// Distinct keys in the newest filter: at most as many as were inserted, so that it takes all the keys that it was built for, and as
    /// many as its bits say for certain.
    fn held_keys(&self, state: &State) -> f64 {
        state.newest().surely_held_keys(state.pending.len()).min(self.insertions as f64)
    }

    /// New keys for which the newest filter has room by its capacity.
    fn room_by_capacity(&self, state: &State) -> u64 {
        (state.newest().header.capacity_keys as f64 - self.held_keys(state)).max(0.0) as u64
    }

    /// New keys that an insertion takes.
    fn room(&self, state: &State) -> u64 {
        let is_limited = self.when_full == WhenFull::Refuse && !self.grows(state);
        if is_limited { self.room_by_capacity(state) } else { u64::MAX }
    }

    /// Whether a full filter is followed by another one.
    pub(crate) fn grows(&self, state: &State) -> bool {
        state.newest().header.grows || self.when_full == WhenFull::Grow
    }

    /// Whether another filter must follow before a new key, unless pending updates are of keys that their pages hold already.
    pub(crate) fn must_grow(&self, state: &State) -> bool {
        self.grows(state) && state.newest().is_full(state.pending.len())
    }

    /// The error for a key after `inserted` keys of a call.
    pub(crate) fn full(&self, state: &State, inserted: usize) -> FlashError {
        let keys = (self.held_keys(state) as u64).saturating_add(1);
        full(state.newest(), keys, inserted)
    }
}

/// The error for `keys` keys in a filter that was built for fewer, after `inserted` keys of a call.
pub(crate) fn full(layer: &Layer, keys: u64, inserted: usize) -> FlashError {
    let (name, capacity_keys) = (layer.device.name().to_owned(), layer.header.capacity_keys);
    FlashError::Full { name, capacity_keys, keys, inserted }
}

impl FlashFilter {
    /// Chooses what insertions do when the filter is full, until it is closed.
    pub fn set_when_full(&self, when_full: WhenFull) {
        self.writer.lock().when_full = when_full;
    }

    /// Whether the filter holds as many distinct keys as it was built for. More keys raise its rate above the requested one. Always false
    /// for a growing filter.
    pub fn is_full(&self) -> bool {
        let (writer, state) = (self.writer.lock(), self.state());
        !state.newest().header.grows && writer.room_by_capacity(&state) == 0
    }

    /// How many of `keys` keys that the filter does not hold an insertion takes for certain. A full filter that grows does so first, and
    /// answers for at most 256 keys. Cost: if the number of pending updates leaves the answer open, they are written to their pages.
    pub fn room_for(&self, keys: usize) -> Result<usize, FlashError> {
        let mut writer = self.writer_with_room(&mut Watch::none())?;
        let state = self.state();
        let keys = if writer.grows(&state) { keys.min(CHUNK_KEYS) } else { keys };
        self.room_among(&mut writer, &state, keys)
    }

    /// The same with the writer's lock held.
    fn room_among(&self, writer: &mut Writer, state: &State, keys: usize) -> Result<usize, FlashError> {
        // A pending update may be of a key that its page holds already. Only pages tell.
        if writer.room(state) < keys as u64 && state.pending.len() > 0 {
            self.flush_all(writer, state, &mut Watch::none())?;
        }
        Ok(writer.room(state).min(keys as u64) as usize)
    }

    /// Which keys of `chunk` the first `filters` filters of the chain hold. None if a page could not be read: "may match" says
    /// nothing of a key then.
    pub(crate) fn surely_known(&self, state: &State, filters: usize, chunk: &[KeyDigest]) -> Vec<bool> {
        let (known, is_read) = self.asked(state, filters, chunk);
        if is_read { known } else { vec![false; chunk.len()] }
    }

    /// Which keys of `chunk` the first `filters` filters of the chain may hold, and whether all pages could be read.
    pub(crate) fn asked(&self, state: &State, filters: usize, chunk: &[KeyDigest]) -> (Vec<bool>, bool) {
        let unread = || self.counters.failed_reads.get() + self.counters.damaged_answers.get();
        let before = unread();
        let known = self.contains_in(state, filters, chunk);
        (known, unread() == before)
    }

    /// How many keys of `chunk` come before the first one that the filter does not hold.
    pub(crate) fn held_before_new(&self, chunk: &[KeyDigest]) -> usize {
        let state = self.state();
        self.surely_known(&state, state.layers.len(), chunk).iter().take_while(|is_known| **is_known).count()
    }

    /// The keys of `chunk` to add: those that are not `known` in older filters, or they would fill the newest one as well. Near the
    /// capacity, only those that the filter does not hold.
    pub(crate) fn fitting<'k>(
        &self,
        writer: &mut Writer,
        state: &State,
        chunk: &'k [KeyDigest],
        known: &[bool],
    ) -> Result<Fitting<'k>, FlashError> {
        let known = if writer.room(state) < chunk.len() as u64 {
            Cow::Owned(self.surely_known(state, state.layers.len(), chunk))
        } else if known.contains(&true) {
            Cow::Borrowed(known)
        } else {
            return Ok(Fitting { keys: Cow::Borrowed(chunk), taken: chunk.len() });
        };
        let mut seen = HashSet::new();
        let new: Vec<usize> = (0..chunk.len()).filter(|n| !known[*n] && seen.insert(chunk[*n])).collect();
        let room = self.room_among(writer, state, new.len())?;
        let taken = new.get(room).copied().unwrap_or(chunk.len());
        let keys = new[..room].iter().map(|n| chunk[*n]).collect();
        Ok(Fitting { keys: Cow::Owned(keys), taken })
    }
}

/// Returns an error if the file of the filter `header`, with its log, finds no room.
pub(crate) fn require_space_for(
    storage: &dyn Storage,
    header: &FilterHeader,
    plan: &MemoryPlan,
) -> Result<(), FlashError> {
    let file = file_name(header.layer);
    // An interrupted growth may have left the file.
    let there_bytes = storage.open(&file).map_or(0, |device| device.len_bytes());
    let needed_bytes = header.file_bytes().saturating_add(plan.log_bytes(&header.geometry));
    require_space(storage, &file, needed_bytes.saturating_sub(there_bytes))
}
