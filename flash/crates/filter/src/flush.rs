//! Flushes pending updates: reads, changes and writes groups of pages (BloomFlash section III-E).

use std::ops::Range;

use crate::filter::{FlashFilter, State};
use crate::layer::Layer;
use crate::pending::Pending;
use crate::writer::Writer;
use springbloom_page_device::{AlignedBuf, FlashError, Watch};

/// Clean pages between two dirty ones that are written too, so that one longer write replaces two.
const GAP_PAGES_MAX: u32 = 1;

/// Contiguous pages that are read, changed and written together.
type Run = Range<u32>;

impl FlashFilter {
    /// Flushes all pending updates, and tells `watch` how many. What it ends early leaves the others pending.
    pub(crate) fn flush_all(
        &self,
        writer: &mut Writer,
        state: &State,
        watch: &mut Watch<'_>,
    ) -> Result<(), FlashError> {
        watch.expect(state.pending.len());
        while state.pending.len() > 0 {
            let before = state.pending.len();
            let flushed = self.flush_some(writer, state);
            writer.has_failed |= flushed.is_err();
            flushed?;
            watch.advance(before - state.pending.len())?;
        }
        Ok(())
    }

    /// Flushes the next few groups, chosen by the policy. Their updates stay visible in memory until their pages are written.
    pub(crate) fn flush_some(&self, writer: &mut Writer, state: &State) -> Result<(), FlashError> {
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
            .map(|(run, piece)| (layer.header.page_offset(run.start), &mut **piece))
            .collect();
        layer.device.read_into(&mut reads).map_err(layer.device.error("read"))?;
        let (mut pages_written, mut ones_added) = (0, 0);
        for (run, piece) in runs.iter().zip(&mut pieces) {
            ones_added += apply(layer, pending, run, piece);
            pages_written += run.len() as u64;
        }
        {
            let _writing = layer.writing.lock();
            let writes: Vec<(u64, &[u8])> = runs
                .iter()
                .zip(&pieces)
                .map(|(run, piece)| (layer.header.page_offset(run.start), &**piece))
                .collect();
            layer.device.write_each(&writes)?;
        }
        runs.iter().cloned().flatten().for_each(|page| self.cache.forget(layer.page_name(page)));
        groups.iter().for_each(|group| pending.clear(*group));
        layer.add_ones(ones_added);
        let counters = &self.counters;
        counters.group_flushes.add(groups.len() as u64);
        counters.flush_page_writes.add(pages_written);
        counters.flush_writes.add(runs.len() as u64);
        counters.page_bytes_written.add(pages_written * page_bytes as u64);
        Ok(())
    }
}

/// The runs that cover `pages`, which are sorted. Every page of a run belongs to the group of one of `pages`, so a run is no longer than
/// these groups.
fn runs_of(pages: &[u32], pending: &Pending) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for &page in pages {
        let joins = |run: &Run| {
            let is_in_same_group = pending.group_of(page) == pending.group_of(run.end - 1);
            page == run.end || (page <= run.end + GAP_PAGES_MAX && is_in_same_group)
        };
        match runs.last_mut() {
            Some(run) if joins(run) => run.end = page + 1,
            _ => runs.push(page..page + 1),
        }
    }
    runs
}

/// One piece of `scratch` per run.
fn cut<'a>(scratch: &'a mut [u8], runs: &[Run], page_bytes: usize) -> Vec<&'a mut [u8]> {
    let mut rest = scratch;
    runs.iter()
        .map(|run| {
            let (piece, after) = std::mem::take(&mut rest).split_at_mut(run.len() * page_bytes);
            rest = after;
            piece
        })
        .collect()
}

/// Sets the bits of the pending updates for the pages of `run`. Returns how many were not set before.
fn apply(layer: &Layer, pending: &Pending, run: &Run, piece: &mut [u8]) -> u64 {
    let geometry = &layer.header.geometry;
    let mut added = 0;
    for (page, bytes) in run.clone().zip(piece.chunks_mut(geometry.page_bytes as usize)) {
        let before = layer.codec.ones(bytes);
        let damaged = pending.with_values(page, |values| {
            layer.codec.set(u64::from(page), bytes, values.flat_map(|value| geometry.bits_of(value)))
        });
        layer.warn_of(page, damaged);
        added += u64::from(layer.codec.ones(bytes).saturating_sub(before));
    }
    added
}
