//! Insertions: into memory, into the log, into pages.
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
use crate::pending::Pending;
use crate::settings::{FilterSettings, FlushPolicy};
use crate::stats::Counters;

/// Digests inserted between two looks at the log and the capacity.
const CHUNK_KEYS: usize = 256;
/// Clean pages between two dirty ones that are written along with them: one longer write instead of two.
const GAP_PAGES_MAX: u32 = 1;

/// What only the writer needs. Everything in it is behind one lock.
pub(crate) struct Writer {
    plan: MemoryPlan,
    order: FlushOrder,
    /// Appended and not yet committed.
    tail: Vec<Update>,
    /// Updates ever appended; the log is durable up to [`FlashFilter`]'s `durable`.
    appended: u64,
    /// Where flushes change pages.
    scratch: AlignedBuf,
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

/// Contiguous pages that are read, changed and written as one.
struct Run {
    first_page: u32,
    pages: u32,
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

    /// Runs a write; after a failed one nothing is known about the device, so the writer refuses from then on.
    fn guarded<T>(&self, result: Result<T, FlashError>) -> Result<T, FlashError> {
        if result.is_err() {
            self.writer().has_failed = true;
        }
        result
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
        let (batch, appended) = {
            let mut writer = self.sound_writer()?;
            (std::mem::take(&mut writer.tail), writer.appended)
        };
        if !journal.has_room_for(batch.len() as u64) {
            return self.checkpoint(journal);
        }
        let committed = journal.commit(&batch);
        self.guarded(committed)?;
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
        let pending = Pending::new(header.geometry.page_count, self.buffer.group_pages);
        state.newest().sync()?;
        journal.want(plan.log_bytes(&header.geometry));
        let start =
            Start { layer_count: layers.len() as u32, insertions: writer.insertions, ..Start::default() };
        journal.restart(start, &mut std::iter::empty())?;
        self.mark_durable(writer.appended);
        let (appended, insertions) = (writer.appended, writer.insertions);
        let plan = plan.limited_to(journal.snapshot_updates_max());
        *writer = Writer::new(plan, self.buffer.policy, pending.groups(), loads, insertions);
        writer.appended = appended;
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(State { layers, pending });
        Ok(())
    }

    fn flush_all(&self, writer: &mut Writer, state: &State) -> Result<(), FlashError> {
        while state.pending.len() > 0 {
            self.flush_some(writer, state)?;
        }
        Ok(())
    }

    /// Writes the next few groups, by policy. Their updates stay visible in memory until their pages are written.
    fn flush_some(&self, writer: &mut Writer, state: &State) -> Result<(), FlashError> {
        let layer = state.newest();
        let pending = &state.pending;
        let group_pages = self.buffer.group_pages.min(layer.header.geometry.page_count);
        let page_bytes = layer.header.geometry.page_bytes as usize;
        let scratch_bytes = writer.plan.flush_groups as usize * group_pages as usize * page_bytes;
        if writer.scratch.len() < scratch_bytes {
            writer.scratch = AlignedBuf::new(scratch_bytes);
        }
        let mut groups: Vec<u32> =
            std::iter::from_fn(|| writer.order.take()).take(writer.plan.flush_groups as usize).collect();
        groups.sort_unstable();
        let pages: Vec<u32> = groups.iter().flat_map(|group| pending.dirty_pages(*group)).collect();
        let runs = runs_of(&pages, pending);
        let mut pieces = cut(&mut writer.scratch, &runs, page_bytes);
        let mut reads: Vec<(u64, &mut [u8])> = runs
            .iter()
            .zip(&mut pieces)
            .map(|(run, piece)| (layer.header.page_offset(run.first_page), &mut **piece))
            .collect();
        layer.device.read_into(&mut reads).map_err(FlashError::io("read", &layer.name))?;
        let (mut pages_written, mut ones_added) = (0, 0);
        for (run, piece) in runs.iter().zip(&mut pieces) {
            ones_added += apply(layer, pending, run, piece);
            pages_written += u64::from(run.pages);
        }
        {
            let _writing = layer.writing.lock().unwrap_or_else(PoisonError::into_inner);
            let writes: Vec<(u64, &[u8])> = runs
                .iter()
                .zip(&pieces)
                .map(|(run, piece)| (layer.header.page_offset(run.first_page), &**piece))
                .collect();
            layer.device.write_each(&writes).map_err(FlashError::io("write", &layer.name))?;
        }
        for run in &runs {
            (run.first_page..run.first_page + run.pages)
                .for_each(|page| self.cache.forget(layer.page_name(page)));
        }
        groups.iter().for_each(|group| pending.clear(*group));
        layer.add_ones(ones_added);
        let counters = &self.counters;
        Counters::add(&counters.group_flushes, groups.len() as u64);
        Counters::add(&counters.flush_page_reads, pages_written);
        Counters::add(&counters.flush_page_writes, pages_written);
        Counters::add(&counters.flush_writes, runs.len() as u64);
        Counters::add(&counters.page_bytes_written, pages_written * page_bytes as u64);
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

/// The runs that cover `pages`, which are in order. Every page of a run belongs to a group of one of `pages`, so runs are
/// no longer than these groups.
fn runs_of(pages: &[u32], pending: &Pending) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for &page in pages {
        let joins = |run: &Run| {
            let end = run.first_page + run.pages;
            let is_in_same_group = pending.group_of(page) == pending.group_of(end - 1);
            page == end || (page <= end + GAP_PAGES_MAX && is_in_same_group)
        };
        match runs.last_mut() {
            Some(run) if joins(run) => {
                run.pages = page + 1 - run.first_page;
            }
            _ => runs.push(Run { first_page: page, pages: 1 }),
        }
    }
    runs
}

/// A piece of `scratch` for each run.
fn cut<'a>(scratch: &'a mut [u8], runs: &[Run], page_bytes: usize) -> Vec<&'a mut [u8]> {
    let mut rest = scratch;
    runs.iter()
        .map(|run| {
            let (piece, after) = std::mem::take(&mut rest).split_at_mut(run.pages as usize * page_bytes);
            rest = after;
            piece
        })
        .collect()
}

/// Sets the bits of what waits for the pages of `run`; returns how many were not set before.
fn apply(layer: &Layer, pending: &Pending, run: &Run, piece: &mut [u8]) -> u64 {
    let geometry = &layer.header.geometry;
    let mut added = 0;
    for (page, bytes) in (run.first_page..).zip(piece.chunks_mut(geometry.page_bytes as usize)) {
        let before = layer.codec.ones(bytes);
        let damaged = pending.with_values(page, |values| {
            layer.codec.set(u64::from(page), bytes, values.flat_map(|value| geometry.bits_of(value)))
        });
        if damaged > 0 {
            log::warn!(
                "{}: page {page}: {damaged} damaged sectors answer \"may match\" from now on",
                layer.name
            );
        }
        added += u64::from(layer.codec.ones(bytes).saturating_sub(before));
    }
    added
}
