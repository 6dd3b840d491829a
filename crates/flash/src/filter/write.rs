//! Insertions: into memory and into the log.
//!
//! `insert` makes keys visible to lookups at once. They are durable when a later [`FlashFilter::commit`] (through the
//! log) or [`FlashFilter::flush`] (through the pages) returned. Threads that commit at the same time share one sync: the
//! first one writes what all of them appended.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use springbloom_filter::KeyDigest;

use super::layer::Layer;
use super::memory::MemoryPlan;
use super::{FlashFilter, State};
use crate::AlignedBuf;
use crate::error::FlashError;
use crate::flush_order::FlushOrder;
use crate::geometry::{Layout, Update};
use crate::header::FilterHeader;
use crate::journal::Log;
use crate::journal::block::{LAYERS_MAX, Start};
use crate::settings::{FilterSettings, FlushPolicy};
use crate::stats::Counters;

/// Digests inserted between two looks at the log and the capacity.
const CHUNK_KEYS: usize = 256;

/// What only the writer needs. Everything in it is behind one lock.
pub(crate) struct Writer {
    pub(super) plan: MemoryPlan,
    pub(super) order: FlushOrder,
    /// Appended and not yet committed.
    tail: Vec<Update>,
    /// Updates ever appended; the log is durable up to [`FlashFilter`]'s `durable`.
    appended: u64,
    /// Where flushes change pages.
    pub(super) scratch: AlignedBuf,
    /// Keys of every page, with two choices.
    loads: Option<Vec<u16>>,
    insertions: u64,
    has_failed: bool,
    has_warned: bool,
}

impl Writer {
    pub(crate) fn new(
        plan: MemoryPlan,
        policy: FlushPolicy,
        groups: u32,
        loads: Option<Vec<u16>>,
        insertions: u64,
    ) -> Writer {
        Writer {
            plan,
            order: FlushOrder::new(policy, groups),
            tail: Vec::new(),
            appended: 0,
            scratch: AlignedBuf::new(0),
            loads,
            insertions,
            has_failed: false,
            has_warned: false,
        }
    }

    pub(crate) fn insertions(&self) -> u64 {
        self.insertions
    }

    pub(crate) fn fixed_bytes(&self) -> u64 {
        self.plan.fixed_bytes
    }
}

impl FlashFilter {
    pub(super) fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The writer, unless an earlier write failed.
    pub(super) fn sound_writer(&self) -> Result<MutexGuard<'_, Writer>, FlashError> {
        let writer = self.writer();
        if writer.has_failed {
            return Err(FlashError::WriterFailed { name: self.state().newest().name.clone() });
        }
        Ok(writer)
    }

    /// Inserts one key. Not durable before [`FlashFilter::commit`] or [`FlashFilter::flush`]. Usually no I/O; writes
    /// groups of pages when the memory for waiting updates is full.
    pub fn insert(&self, digest: KeyDigest) -> Result<(), FlashError> {
        self.insert_many(&[digest])
    }

    /// Inserts many keys; see [`FlashFilter::insert`].
    pub fn insert_many(&self, digests: &[KeyDigest]) -> Result<(), FlashError> {
        for chunk in digests.chunks(CHUNK_KEYS) {
            {
                let mut writer = self.sound_writer()?;
                let state = self.state();
                let added = chunk.iter().try_for_each(|digest| self.add(&mut writer, &state, *digest));
                writer.has_failed |= added.is_err();
                added?;
                writer.insertions += chunk.len() as u64;
            }
            Counters::add(&self.counters.insertions, chunk.len() as u64);
            self.maintain()?;
        }
        Ok(())
    }

    /// Returns when everything inserted before is durable. With a log: one write and one sync of it, shared with other
    /// threads that commit. Without: [`FlashFilter::flush`].
    pub fn commit(&self) -> Result<(), FlashError> {
        let target = self.sound_writer()?.appended;
        if !self.state().newest().header.is_logged {
            return self.flush();
        }
        let is_durable = || self.durable.load(Ordering::Acquire) >= target;
        let Some(_turn) = self.commit_turn.take(is_durable) else { return Ok(()) };
        self.commit_tail(&mut self.journal())
    }

    fn commit_tail(&self, journal: &mut Log) -> Result<(), FlashError> {
        let (mut batch, appended) = {
            let mut writer = self.sound_writer()?;
            (std::mem::take(&mut writer.tail), writer.appended)
        };
        if !journal.has_room_for(batch.len() as u64) {
            return self.checkpoint(journal);
        }
        let committed = journal.commit(&batch);
        let mut writer = self.writer();
        writer.has_failed |= committed.is_err();
        // Its memory is used again, unless somebody has begun the next one.
        if writer.tail.capacity() == 0 {
            batch.clear();
            writer.tail = batch;
        }
        drop(writer);
        committed?;
        self.mark_durable(appended);
        Ok(())
    }

    /// Writes every waiting update to its page, and returns when all pages are durable and the log is empty.
    pub fn flush(&self) -> Result<(), FlashError> {
        let mut journal = self.journal();
        {
            let mut writer = self.sound_writer()?;
            let state = self.state();
            let flushed = self.flush_all(&mut writer, &state);
            writer.has_failed |= flushed.is_err();
            flushed?;
        }
        self.checkpoint(&mut journal)
    }

    /// Begins a new generation of the log with what waits in memory.
    fn checkpoint(&self, journal: &mut Log) -> Result<(), FlashError> {
        let mut writer = self.sound_writer()?;
        let state = self.state();
        let restarted = restart(journal, &state, writer.insertions);
        writer.has_failed |= restarted.is_err();
        restarted?;
        writer.tail.clear();
        self.mark_durable(writer.appended);
        Ok(())
    }

    /// Puts the updates that a log held back into memory; they are durable already.
    pub(super) fn replay(&mut self, waiting: &[Update]) -> Result<(), FlashError> {
        let mut writer = self.writer();
        let state = self.state();
        waiting.iter().try_for_each(|update| self.put(&mut writer, &state, *update).map(|_| ()))
    }

    /// Makes the log as large as `plan` wants it, if it was made for less memory.
    pub(super) fn fit_log(&mut self, plan: MemoryPlan) -> Result<(), FlashError> {
        let mut journal = self.journal();
        if journal.want(plan.log_bytes(&self.state().newest().header.geometry)) {
            self.checkpoint(&mut journal)?;
            self.writer().plan = plan.limited_to(journal.snapshot_updates_max());
        }
        Ok(())
    }

    fn add(&self, writer: &mut Writer, state: &State, digest: KeyDigest) -> Result<(), FlashError> {
        let geometry = state.newest().header.geometry;
        let place = |n: u32| geometry.place(digest, n);
        match geometry.layout {
            Layout::Hierarchical => self.append(writer, state, place(0)),
            Layout::TwoChoices => {
                let (first, second) = (place(0), place(1));
                // It waits already: putting it into the other page too would only fill that one.
                if state.pending.contains(first) || state.pending.contains(second) {
                    return Ok(());
                }
                let chosen = match &mut writer.loads {
                    Some(loads) => {
                        let emptier = if loads[second.page as usize] < loads[first.page as usize] {
                            second
                        } else {
                            first
                        };
                        let load = &mut loads[emptier.page as usize];
                        *load = load.saturating_add(1);
                        emptier
                    }
                    None => first,
                };
                self.append(writer, state, chosen)
            }
            Layout::Flat => {
                (0..u32::from(geometry.probes)).try_for_each(|n| self.append(writer, state, place(n)))
            }
        }
    }

    fn append(&self, writer: &mut Writer, state: &State, update: Update) -> Result<(), FlashError> {
        if self.put(writer, state, update)? && state.newest().header.is_logged {
            if writer.tail.capacity() == 0 {
                // Committed when it is as long as planned, which is noticed after a chunk of keys.
                writer.tail.reserve_exact(writer.plan.tail_updates + CHUNK_KEYS);
            }
            writer.tail.push(update);
            writer.appended += 1;
        }
        Ok(())
    }

    /// Lets `update` wait in memory; `false` if it did already. Makes room by flushing if there is none.
    fn put(&self, writer: &mut Writer, state: &State, update: Update) -> Result<bool, FlashError> {
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

    /// What insertions leave behind: a long tail, a full log, a full filter.
    fn maintain(&self) -> Result<(), FlashError> {
        let (tail_is_long, is_full) = {
            let mut writer = self.sound_writer()?;
            let state = self.state();
            let is_full = state.newest().is_full(state.pending.len());
            if is_full && !state.newest().header.grows && !writer.has_warned {
                writer.has_warned = true;
                log::warn!(
                    "{} holds the {} keys it was built for: its false positive rate rises above {:.2e} from here",
                    state.newest().name,
                    state.newest().header.capacity_keys,
                    state.newest().header.fpr
                );
            }
            (writer.tail.len() >= writer.plan.tail_updates, is_full && state.newest().header.grows)
        };
        if is_full {
            self.grow()?;
        }
        if tail_is_long {
            self.commit_tail(&mut self.journal())?;
        }
        Ok(())
    }

    /// Adds a filter of twice the capacity to the chain.
    fn grow(&self) -> Result<(), FlashError> {
        let mut journal = self.journal();
        let mut writer = self.sound_writer()?;
        let state = self.state();
        // Another thread may have been here between the look and the lock.
        if !state.newest().is_full(state.pending.len()) || state.layers.len() >= LAYERS_MAX {
            return Ok(());
        }
        let first = &state.layers[0].header;
        let number = state.layers.len() as u32;
        let settings = FilterSettings::of_chain(first);
        let header = settings.header(settings.plan(number)?, first.salt ^ u64::from(number), number);
        let plan = MemoryPlan::new(&header.geometry, &self.buffer)?;
        let grown = self.grow_to(&mut journal, &mut writer, &state, header, plan);
        writer.has_failed |= grown.is_err();
        grown
    }

    fn grow_to(
        &self,
        journal: &mut Log,
        writer: &mut Writer,
        state: &State,
        header: FilterHeader,
        plan: MemoryPlan,
    ) -> Result<(), FlashError> {
        self.flush_all(writer, state)?;
        let (layer, ()) = Layer::create(&*self.storage, header, &mut |_| Ok(()))?;
        let loads = (header.geometry.layout == Layout::TwoChoices).then(|| layer.loads());
        let mut layers = state.layers.clone();
        layers.push(Arc::new(layer));
        state.newest().sync()?;
        journal.want(plan.log_bytes(&header.geometry));
        let start =
            Start { layer_count: layers.len() as u32, insertions: writer.insertions, ..Start::default() };
        journal.restart(start, &mut std::iter::empty())?;
        self.mark_durable(writer.appended);
        let (appended, insertions) = (writer.appended, writer.insertions);
        let plan = plan.limited_to(journal.snapshot_updates_max());
        let pending = plan.pending(self.buffer.group_pages);
        *writer = Writer::new(plan, self.buffer.policy, pending.groups(), loads, insertions);
        writer.appended = appended;
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(State { layers, pending });
        Ok(())
    }
}

/// Syncs the pages and begins a new generation of the log with what waits in memory.
fn restart(journal: &mut Log, state: &State, insertions: u64) -> Result<(), FlashError> {
    state.newest().sync()?;
    let pending = &state.pending;
    let start = Start { layer_count: state.layers.len() as u32, insertions, ..Start::default() };
    let mut waiting = (0..pending.groups()).flat_map(|group| pending.updates_of(group));
    journal.restart(start, &mut waiting)
}
