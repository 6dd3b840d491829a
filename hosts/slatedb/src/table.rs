//! The filter of a table: its head, and the manager's handle to what is resident of its units.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use bytes::BufMut;
use slatedb::{Filter, FilterQuery, FilterTarget, PrefixTarget};
use springbloom_filter::KeyDigest;
use springbloom_manager::{BytewiseOrder, Fences, TableHandle, TableSpec};

use crate::{absent_share::AbsentShare, elastic_filters::Database, head};

/// A table for whose bookkeeping the budget has no room is tried again once in so many questions.
const RETRY_EVERY: u32 = 1024;

/// Clones of SlateDB's share it.
#[derive(Clone)]
pub(crate) struct Table(Arc<Shared>);

struct Shared {
    database: Arc<Database>,
    /// As SlateDB stores it.
    head: Box<[u8]>,
    /// Set once the manager knows the table.
    open: OnceLock<Open>,
    refused: AtomicU32,
    is_usable: bool,
}

struct Open {
    handle: TableHandle,
    absent: Box<[AbsentShare]>,
}

/// What one takes beside its head, and beside 8 bytes for each segment.
pub(crate) const TABLE_BYTES: usize = size_of::<Shared>() + 2 * size_of::<usize>();

impl Table {
    pub(crate) fn new(database: Arc<Database>, head: &[u8]) -> Self {
        let (open, refused) = Default::default();
        let mut shared = Shared { database, head: head.into(), open, refused, is_usable: true };
        shared.is_usable = shared.try_open().is_some();
        Self(Arc::new(shared))
    }
}

impl Shared {
    /// `None` if the head cannot be used. Nothing is set while there is no room.
    fn try_open(&self) -> Option<()> {
        let (place, directory) = head::decode(&self.head, self.database.extractor().is_some())?;
        let segments = || 0..directory.segment_count();
        let firsts = segments().map(|segment| directory.fence(segment));
        let registered = self.database.manager().register(TableSpec {
            id: self.database.table_id(place.name),
            scope: self.database.scope(),
            level: None,
            order: &BytewiseOrder,
            shapes: segments().map(|segment| directory.shape(segment)).collect(),
            fences: Fences::pack(firsts, Some(directory.last_key()), &BytewiseOrder)?,
            source: self.database.objects(&place.folder),
            locator: &place.name.to_bytes(),
            warm_start: None,
        });
        if let Some(handle) = registered {
            let absent = segments().map(|_| AbsentShare::default()).collect();
            // Two threads may have tried.
            self.open.set(Open { handle, absent }).ok();
        }
        Some(())
    }

    fn open(&self) -> Option<&Open> {
        let open = self.open.get();
        if open.is_none()
            && self.is_usable
            && self.refused.fetch_add(1, Relaxed) % RETRY_EVERY == RETRY_EVERY - 1
        {
            self.try_open();
        }
        open
    }
}

impl Filter for Table {
    fn might_match(&self, query: &FilterQuery) -> bool {
        let database = &self.0.database;
        let key = match &query.target {
            FilterTarget::Point(key) if database.extractor().is_none() => Some(&key[..]),
            FilterTarget::Prefix(prefix) => database.prefix_of(&PrefixTarget::Prefix(prefix.clone()), prefix),
            FilterTarget::Point(_) | FilterTarget::Range { .. } => None,
        };
        let Some(key) = key else { return true };
        let Some(Open { handle, absent }) = self.0.open() else { return true };
        let segment = handle.segment_of(key, &BytewiseOrder);
        let Some(absent) = absent.get(segment as usize) else { return true };
        let units = handle.resident_units(segment);
        let rejection = handle.rejection(segment, KeyDigest::of(key));
        match rejection {
            Some(_) if units > 0 => absent.rejected(units),
            _ => (),
        }
        handle.record(segment, rejection.unwrap_or_else(|| absent.passed(units)));
        rejection.is_none()
    }

    fn encode(&self, writer: &mut dyn BufMut) {
        writer.put_slice(&self.0.head);
    }

    fn size(&self) -> usize {
        self.0.head.len()
    }

    fn clamp_allocated_size(&self) -> Arc<dyn Filter> {
        Arc::new(self.clone())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(Open { handle, .. }) = self.open.take() {
            let id = handle.id();
            drop(handle);
            self.database.closed(id);
        }
    }
}
