//! Insertions, into memory and into the log.
//!
//! `insert` makes keys visible to lookups at once. They are durable after the next [`FlashFilter::commit`] (in the log) or
//! [`FlashFilter::flush`] (in the pages). Concurrent commits share one sync: the first thread writes the updates of all.

use std::sync::Arc;

use parking_lot::MutexGuard;
use springbloom_filter::KeyDigest;

use crate::capacity::require_space_for;
use crate::filter::{FlashFilter, State};
use crate::geometry::{Layout, Update};
use crate::layer::{Layer, file_name};
use crate::memory::MemoryPlan;
use crate::settings::FilterSettings;
use crate::state::{
    COMMIT_UPDATES_MAX, Chain, LAYERS_MAX, blocks_for, encode_updates, snapshot_updates_max, updates_of,
};
use crate::writer::{CHUNK_KEYS, Writer};
use springbloom_page_device::{FlashError, Wal, Watch, require_writable};

impl FlashFilter {
    /// Locks the writer. Errors: an earlier write failed, or the filter is open for reading.
    pub(crate) fn sound_writer(&self) -> Result<MutexGuard<'_, Writer>, FlashError> {
        require_writable(&*self.storage)?;
        let writer = self.writer.lock();
        self.require_sound(&writer)?;
        Ok(writer)
    }

    fn require_sound(&self, writer: &Writer) -> Result<(), FlashError> {
        if writer.has_failed {
            return Err(FlashError::WriterFailed { name: self.state().newest().device.name().to_owned() });
        }
        Ok(())
    }

    /// Inserts one key. It is durable after [`FlashFilter::commit`] or [`FlashFilter::flush`]. Usually does no I/O; flushes some groups of
    /// pages when the memory for pending updates is full.
    pub fn insert(&self, digest: KeyDigest) -> Result<(), FlashError> {
        self.insert_many(&[digest])
    }

    /// Inserts many keys, in order; see [`FlashFilter::insert`].
    ///
    /// Errors: [`FlashError::Full`] at the first key that finds no room, unless [`FlashFilter::set_when_full`] says otherwise;
    /// [`FlashError::NoSpace`] if the filter must grow and the file system has no room.
    pub fn insert_many(&self, digests: &[KeyDigest]) -> Result<(), FlashError> {
        self.insert_watched(digests, &mut Watch::none())
    }

    /// The same with a watch, which is told the pages of a filter by which this one grows. If it ends early, the first keys are in the
    /// filter, and it has not grown.
    pub fn insert_watched(&self, digests: &[KeyDigest], watch: &mut Watch<'_>) -> Result<(), FlashError> {
        self.insert_asked(digests, 0, watch)
    }

    /// The same for keys of which the first `older` filters of the chain hold none.
    pub(crate) fn insert_asked(
        &self,
        digests: &[KeyDigest],
        mut older: usize,
        watch: &mut Watch<'_>,
    ) -> Result<(), FlashError> {
        let mut inserted = 0;
        // What older filters hold. Asked for all the keys of the call at once, as those of one page share a read.
        let mut known = vec![false; digests.len()];
        for (n, chunk) in digests.chunks(CHUNK_KEYS).enumerate() {
            let first = n * CHUNK_KEYS;
            let state = self.state();
            if state.layers.len() - 1 > older {
                older = state.layers.len() - 1;
                known[first..].copy_from_slice(&self.surely_known(&state, older, &digests[first..]));
            }
            // Keys that the filter holds need no room.
            let must_grow = self.sound_writer()?.must_grow(&state);
            if must_grow && self.held_before_new(chunk) == chunk.len() {
                inserted += chunk.len();
                continue;
            }
            let full = {
                let mut writer = match self.writer_with_room(watch) {
                    Err(FlashError::NoSpace { name, needed_bytes, free_bytes, .. }) => {
                        inserted += self.held_before_new(chunk);
                        return Err(FlashError::NoSpace { name, needed_bytes, free_bytes, inserted });
                    }
                    writer => writer?,
                };
                let state = self.state();
                writer.has_changed = true;
                let known = &known[first..first + chunk.len()];
                let fitting = self.fitting(&mut writer, &state, chunk, known)?;
                let added = fitting.keys.iter().try_for_each(|digest| self.add(&mut writer, &state, *digest));
                writer.has_failed |= added.is_err();
                added?;
                inserted += fitting.taken;
                writer.insertions += fitting.taken as u64;
                self.counters.insertions.add(fitting.taken as u64);
                (fitting.taken < chunk.len()).then(|| writer.full(&state, inserted))
            };
            self.commit_long_tail()?;
            full.map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    /// Makes all earlier insertions durable. Cost with a log: one write and one sync, shared by concurrent commits. Without a log: see
    /// [`FlashFilter::flush`].
    pub fn commit(&self) -> Result<(), FlashError> {
        let target = self.sound_writer()?.appended;
        if !self.state().newest().header.is_logged {
            return self.flush();
        }
        let Some(_guard) = self.group_commit.lead(target) else { return Ok(()) };
        self.commit_tail(&mut self.wal.lock())
    }

    fn commit_tail(&self, wal: &mut Wal) -> Result<(), FlashError> {
        let (mut batch, appended) = {
            let mut writer = self.sound_writer()?;
            (std::mem::take(&mut writer.tail), writer.appended)
        };
        let has_room = wal.has_room_for(blocks_for(batch.len() as u64));
        let committed = if has_room {
            commit(wal, &batch)
        } else {
            self.sound_writer().and_then(|mut writer| self.checkpoint(wal, &mut writer))
        };
        let mut writer = self.writer.lock();
        writer.has_failed |= committed.is_err();
        // Reuses the memory, unless another thread has started the next tail.
        if writer.tail.capacity() == 0 {
            batch.clear();
            writer.tail = batch;
        }
        drop(writer);
        committed?;
        self.group_commit.mark_durable(appended);
        Ok(())
    }

    /// Writes every pending update to its page. On return all pages are durable and the log is empty.
    pub fn flush(&self) -> Result<(), FlashError> {
        self.flush_watched(&mut Watch::none())
    }

    pub(crate) fn flush_watched(&self, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        let mut wal = self.wal.lock();
        let mut writer = self.sound_writer()?;
        self.flush_held(&mut wal, &mut writer, watch)
    }

    /// The same with both locks held. What `watch` ends early leaves all updates in memory or in pages, and the log as it is.
    pub(crate) fn flush_held(
        &self,
        wal: &mut Wal,
        writer: &mut Writer,
        watch: &mut Watch<'_>,
    ) -> Result<(), FlashError> {
        self.require_sound(writer)?;
        self.flush_all(writer, &self.state(), watch)?;
        self.checkpoint(wal, writer)
    }

    /// Starts a new generation of the log with the pending updates.
    pub(crate) fn checkpoint(&self, wal: &mut Wal, writer: &mut Writer) -> Result<(), FlashError> {
        let state = self.state();
        let restarted = start_generation(wal, &state, writer.insertions);
        writer.has_failed |= restarted.is_err();
        restarted?;
        writer.tail.clear();
        writer.has_changed = state.pending.len() > 0;
        self.group_commit.mark_durable(writer.appended);
        Ok(())
    }

    fn add(&self, writer: &mut Writer, state: &State, digest: KeyDigest) -> Result<(), FlashError> {
        let geometry = state.newest().header.geometry;
        let place = |n: u32| geometry.place(digest, n);
        match geometry.layout {
            Layout::Hierarchical => self.append(writer, state, place(0)),
            Layout::TwoChoices => {
                let (first, second) = (place(0), place(1));
                // The key is pending already. Adding it to the other page would only fill that page.
                if state.pending.contains(first) || state.pending.contains(second) {
                    return Ok(());
                }
                let loads = writer.loads.get_or_insert_with(|| state.newest().loads());
                let is_second_emptier = loads[second.page as usize] < loads[first.page as usize];
                let emptier = if is_second_emptier { second } else { first };
                let load = &mut loads[emptier.page as usize];
                *load = load.saturating_add(1);
                self.append(writer, state, emptier)
            }
        }
    }

    fn append(&self, writer: &mut Writer, state: &State, update: Update) -> Result<(), FlashError> {
        if self.put(writer, state, update)? && state.newest().header.is_logged {
            if writer.tail.capacity() == 0 {
                // The tail is committed when it has the planned length, which is checked after each chunk of keys.
                writer.tail.reserve_exact(writer.plan.tail_updates + CHUNK_KEYS);
            }
            writer.tail.push(update);
            writer.appended += 1;
        }
        Ok(())
    }

    /// Inserts the updates of a commit from another filter's log. Skips updates for pages that do not exist. Returns the number of updates.
    pub(crate) fn put_committed(&self, commit: &[u8]) -> Result<u64, FlashError> {
        let (mut writer, state) = (self.sound_writer()?, self.state());
        let pages = state.newest().header.geometry.page_count;
        let mut updates = 0;
        for update in updates_of(commit).filter(|update| update.page < pages) {
            self.put(&mut writer, &state, update)?;
            updates += 1;
        }
        writer.has_changed = true;
        Ok(updates)
    }

    /// Adds a pending update. Returns `false` if it was pending. Flushes some groups if there is no room.
    pub(crate) fn put(&self, writer: &mut Writer, state: &State, update: Update) -> Result<bool, FlashError> {
        let pending = &state.pending;
        if !pending.insert(update) {
            return Ok(false);
        }
        writer.order.note(pending.group_of(update.page));
        while pending.len() > writer.plan.updates_max || pending.bytes() > writer.plan.pending_bytes_max {
            self.flush_some(writer, state)?;
        }
        Ok(true)
    }

    fn commit_long_tail(&self) -> Result<(), FlashError> {
        let is_long = {
            let writer = self.sound_writer()?;
            writer.tail.len() >= writer.plan.tail_updates
        };
        if is_long { self.commit_tail(&mut self.wal.lock()) } else { Ok(()) }
    }

    /// Locks the writer. A full filter grows first, so that one that cannot grow takes no further key and keeps its rate.
    pub(crate) fn writer_with_room(
        &self,
        watch: &mut Watch<'_>,
    ) -> Result<MutexGuard<'_, Writer>, FlashError> {
        let writer = self.sound_writer()?;
        let state = self.state();
        if !writer.must_grow(&state) {
            return Ok(writer);
        }
        drop(writer);
        self.grow(watch)?;
        self.sound_writer()
    }

    /// Adds a filter of twice the capacity to the chain.
    fn grow(&self, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        let mut wal = self.wal.lock();
        let mut writer = self.sound_writer()?;
        let state = self.state();
        // A pending update may be of a key that its page holds already. Only pages tell.
        self.flush_all(&mut writer, &state, watch)?;
        // Another thread may have grown the chain between the check and the lock.
        if !state.newest().is_full(state.pending.len()) || state.layers.len() >= LAYERS_MAX {
            return Ok(());
        }
        let first = state.first();
        let number = state.layers.len() as u32;
        // Copies of other filters do not count: each of its own has twice the capacity of the one before.
        let own = state.layers.iter().filter(|layer| !layer.header.is_copy).count() as u32;
        let header = FilterSettings::of_chain(first).header(own, first.salt ^ u64::from(number), number)?;
        let plan = MemoryPlan::new(&header.geometry, &self.buffer)?;
        require_space_for(&*self.storage, &header, &plan)?;
        let grown = Layer::create(&*self.storage, header, watch).and_then(|layer| {
            state.newest().sync()?;
            let layers = state.layers.iter().cloned().chain([Arc::new(layer)]).collect();
            self.adopt(&mut wal, &mut writer, layers, plan)
        });
        if let Err(FlashError::Stopped) = grown {
            // One that stays is in no chain, and the next one of its name replaces it.
            let _ = self.storage.remove(&file_name(number));
        } else {
            writer.has_failed |= grown.is_err();
        }
        grown
    }

    /// Makes `layers` the chain. All keys are in pages. `plan` is for the last filter.
    pub(crate) fn adopt(
        &self,
        wal: &mut Wal,
        writer: &mut Writer,
        layers: Vec<Arc<Layer>>,
        plan: MemoryPlan,
    ) -> Result<(), FlashError> {
        wal.reserve(plan.log_blocks(&layers[layers.len() - 1].header.geometry));
        let pending = plan.pending(self.buffer.group_pages)?;
        let grown = State { layers, pending };
        start_generation(wal, &grown, writer.insertions)?;
        self.group_commit.mark_durable(writer.appended);
        let plan = plan.limited_to(snapshot_updates_max(wal));
        let (appended, when_full) = (writer.appended, writer.when_full);
        let next = Writer::new(plan, self.buffer.policy, grown.pending.groups(), writer.insertions);
        *writer = Writer { appended, when_full, ..next };
        *self.state.write() = Arc::new(grown);
        Ok(())
    }
}

/// Writes updates to the log. Durable on return.
fn commit(wal: &mut Wal, updates: &[Update]) -> Result<(), FlashError> {
    let mut payload = Vec::new();
    updates.chunks(COMMIT_UPDATES_MAX).try_for_each(|updates| {
        payload.clear();
        encode_updates(updates, &mut payload);
        wal.commit(&payload)
    })
}

/// Syncs the pages, stamps the files and starts a new generation of the log with the pending updates.
fn start_generation(wal: &mut Wal, state: &State, insertions: u64) -> Result<(), FlashError> {
    state.newest().sync()?;
    // After the sync, as no order holds within one read of a copying program.
    for layer in &state.layers {
        layer.stamp(wal.next_generation())?;
        layer.sync()?;
    }
    let pending = &state.pending;
    let chain = Chain {
        insertions,
        pending_updates: pending.len(),
        is_stamped: true,
        layers: state.layers.iter().map(|layer| (layer.header, layer.ones())).collect(),
    };
    let mut waiting = (0..pending.groups()).flat_map(|group| pending.updates_of(group));
    let mut updates = Vec::new();
    wal.start_generation(chain.encode(), &mut |payload| {
        updates.clear();
        updates.extend((&mut waiting).take(COMMIT_UPDATES_MAX));
        encode_updates(&updates, payload);
        !updates.is_empty()
    })
}
