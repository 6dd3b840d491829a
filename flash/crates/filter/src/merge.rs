//! Union of two filters: page by page where one of the chain has the same shape and the keys find room, else by copies of the other's
//! filters before the newest one, which goes on taking keys.
//!
//! What counts keys is durable before the first page changes, so a merge that is interrupted leaves counts that are too high, never too
//! low. Both filters keep their locks meanwhile: nobody else inserts, flushes or merges, so pages are whole and counts are of one moment.

use std::sync::Arc;

use parking_lot::MutexGuard;
use springbloom_page_device::{FlashError, Wal, Watch, require, require_space, require_writable};

use crate::capacity::full;
use crate::filter::{FlashFilter, State};
use crate::header::FilterHeader;
use crate::layer::{Layer, file_name};
use crate::memory::MemoryPlan;
use crate::state::LAYERS_MAX;
use crate::writer::{WhenFull, Writer};

/// Copies may raise the rate to this many times the one asked for.
const RATE_MAX: f64 = 1.5;

/// The locks of a filter.
type Held<'f> = (MutexGuard<'f, Wal>, MutexGuard<'f, Writer>);

impl FlashFilter {
    /// Adds every key of `other` to this filter. Durable on return. Insertions into both wait until it ends, lookups do not.
    ///
    /// If `other` has not grown and has the shape of a filter of this one, and the distinct keys of both find room there, their pages are
    /// united, and the rate becomes that of a filter with all these keys. Cost: reads both and writes this one. Otherwise the
    /// filters of `other` are copied into the chain: their capacity and their rate are added, and a lookup of an absent key reads a page of
    /// each. The newest filter of this one goes on taking new keys.
    ///
    /// Errors, before anything is written: [`FlashError::InvalidSetting`] if `other` is this filter; [`FlashError::Full`] if a filter of
    /// the shape of the newest one finds no room and this one does not grow; [`FlashError::RateTooHigh`] if the rate with the copies, once
    /// this one is full, would be more than 1.5 times the one asked for. [`WhenFull::Exceed`] permits the last two.
    ///
    /// `watch` is told the updates that are flushed first and the pages. If it ends early, no key is lost: this filter has some keys of the
    /// other one where pages are united, which a merge again completes, and none where filters are copied.
    pub fn merge_from(&self, other: &FlashFilter, watch: &mut Watch<'_>) -> Result<(), FlashError> {
        require(!std::ptr::eq(self, other), "the other filter", "this one itself", "another one")?;
        require_writable(&*self.storage)?;
        if !other.is_recovered() {
            return Err(FlashError::NotRecovered { name: other.storage.describe("") });
        }
        // In the order of their addresses, as another thread may merge the other way round.
        let ((mut wal, mut writer), (mut other_wal, mut other_writer));
        if std::ptr::from_ref(self) < std::ptr::from_ref(other) {
            (wal, writer) = self.held();
            (other_wal, other_writer) = other.held();
        } else {
            (other_wal, other_writer) = other.held();
            (wal, writer) = self.held();
        }
        if other.storage.is_writable() {
            other.flush_held(&mut other_wal, &mut other_writer, watch)?;
        }
        self.flush_held(&mut wal, &mut writer, watch)?;
        let (ours, theirs) = (self.state(), other.state());
        watch.expect(theirs.layers.iter().map(|layer| u64::from(layer.header.geometry.page_count)).sum());
        let insertions = other_writer.insertions;
        if let [single] = &*theirs.layers {
            let is_alike = |layer: &&Arc<Layer>| layer.header.geometry == single.header.geometry;
            for layer in ours.layers.iter().rev().filter(is_alike) {
                let ones = layer.estimated_ones_of_both(single);
                let is_newest = std::ptr::eq(&**layer, ours.newest());
                if has_room(layer, ones) || (is_newest && writer.when_full == WhenFull::Exceed) {
                    return self.unite(&mut wal, &mut writer, [layer, single], (ones, insertions), watch);
                }
                if is_newest && !writer.grows(&ours) {
                    return Err(full(layer, layer.keys_of_ones(ones) as u64, 0));
                }
            }
        }
        self.copy_all(&mut wal, &mut writer, &theirs, insertions, watch)
    }

    fn held(&self) -> Held<'_> {
        (self.wal.lock(), self.writer.lock())
    }

    /// Unites the pages of the first filter, which is in the chain, with those of the other. `counts` are the bits that both set and the
    /// insertions of the other.
    fn unite(
        &self,
        wal: &mut Wal,
        writer: &mut Writer,
        [ours, theirs]: [&Layer; 2],
        counts: (u64, u64),
        watch: &mut Watch<'_>,
    ) -> Result<(), FlashError> {
        ours.set_ones(counts.0.max(ours.ones()).max(theirs.ones()));
        writer.recovered(counts.1);
        self.checkpoint(wal, writer)?;
        let taken = ours.take_over(theirs, true, &mut |pages, is_written| {
            writer.has_failed |= !is_written;
            let count = pages.len();
            pages.for_each(|page| self.cache.forget(ours.page_name(page)));
            watch.advance(count as u64)
        });
        match &taken {
            Ok(ones) => ours.set_ones(*ones),
            Err(FlashError::Stopped) => ours.estimate_fill()?,
            Err(_) => return taken.map(drop),
        }
        self.checkpoint(wal, writer)?;
        taken.map(drop)
    }

    /// Copies the filters of `theirs` to the place before the newest one. They join the chain at once, when all are copied.
    fn copy_all(
        &self,
        wal: &mut Wal,
        writer: &mut Writer,
        theirs: &State,
        insertions: u64,
        watch: &mut Watch<'_>,
    ) -> Result<(), FlashError> {
        let state = self.state();
        let (first, newest) = (state.first(), &state.newest().header);
        require(
            state.layers.len() + theirs.layers.len() <= LAYERS_MAX,
            "number of filters of both together",
            state.layers.len() + theirs.layers.len(),
            "at most 48; make a larger filter of the original keys",
        )?;
        let rate = rate_of(&state, theirs);
        if writer.when_full != WhenFull::Exceed && rate > RATE_MAX * first.chain_fpr {
            let (name, expected) = (self.storage.describe(""), first.chain_fpr);
            return Err(FlashError::RateTooHigh { name, got: rate, expected });
        }
        let numbers = state.layers.len() as u32..;
        let headers = numbers.zip(&theirs.layers).map(|(number, layer)| FilterHeader {
            salt: first.salt ^ u64::from(number),
            chain_fpr: first.chain_fpr,
            layer: number,
            grows: newest.grows,
            is_logged: newest.is_logged,
            is_copy: true,
            ..layer.header
        });
        let plan = MemoryPlan::new(&newest.geometry, &self.buffer)?;
        let bytes = headers.clone().fold(0u64, |sum, header| sum.saturating_add(header.file_bytes()));
        require_space(&*self.storage, "", bytes)?;
        let mut layers = state.layers.clone();
        for (header, layer) in headers.clone().zip(&theirs.layers) {
            match self.copy(header, layer, watch) {
                Ok(copy) => layers.insert(layers.len() - 1, Arc::new(copy)),
                Err(error) => {
                    for header in headers.take_while(|other| other.layer <= header.layer) {
                        // One that stays is in no chain, and the next one of its name replaces it.
                        let _ = self.storage.remove(&file_name(header.layer));
                    }
                    return Err(error);
                }
            }
        }
        writer.recovered(insertions);
        let adopted = self.adopt(wal, writer, layers, plan);
        writer.has_failed |= adopted.is_err();
        adopted
    }

    /// A copy of the filter `other`, durable on return.
    fn copy(&self, header: FilterHeader, other: &Layer, watch: &mut Watch<'_>) -> Result<Layer, FlashError> {
        let copy = Layer::create_unwritten(&*self.storage, header)?;
        let ones = copy.take_over(other, false, &mut |pages, _| watch.advance(pages.len() as u64))?;
        copy.sync()?;
        copy.set_ones(ones.max(other.ones()));
        Ok(copy)
    }
}

/// Whether `ones` set bits are of no more keys than the filter was built for.
fn has_room(ours: &Layer, ones: u64) -> bool {
    let capacity = ours.header.capacity_keys as f64;
    ours.keys_of_ones(ones) - capacity.sqrt() <= capacity
}

/// The rate of both chains when the newest filter of `ours` is full. The others take no more keys.
fn rate_of(ours: &State, theirs: &State) -> f64 {
    let absent_log = |rate: f64| f64::ln_1p(-rate);
    let (last, others) = (ours.newest(), &ours.layers[..ours.layers.len() - 1]);
    let present: f64 =
        others.iter().chain(&theirs.layers).map(|layer| absent_log(layer.estimated_fpr())).sum();
    -(present + absent_log(last.estimated_fpr().max(last.header.fpr))).exp_m1()
}
