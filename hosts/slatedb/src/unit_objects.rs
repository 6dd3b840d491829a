//! Objects with the units of tables, one for each: written when a table is built, read in pieces when its units are wanted.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use slatedb::object_store::{self, ObjectStore, ObjectStoreExt, path::Path};
use springbloom_format::{FormatError, UnitLayout};
use springbloom_manager::{TableUnits, UnitReadError, UnitSource, UnitVisitor};

use crate::{head::UnitsName, requests::Requests, traffic::Writing};

/// How long the units of a new table are kept in memory at least, so that this process need not read them.
const FRESH_FOR: Duration = Duration::from_secs(5);
/// Pauses before an object that was not there is asked for again. Each request costs money.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(3600);
/// Attempts to write an object, beyond those of the store itself.
const ATTEMPTS: u32 = 4;
/// Of an attempt: the units are in memory for this long.
const ATTEMPT_LONGEST: Duration = Duration::from_secs(300);

/// The folder of a database's units, as heads of tables name it; [`path_of`] makes a path of it.
pub(crate) fn units_text(database: &Path) -> String {
    let name = "springbloom";
    if database.as_ref().is_empty() { name.to_owned() } else { format!("{database}/{name}") }
}

/// The path of a folder that a head names. As SlateDB does with its tables, this escapes a second time what the database's path escapes.
pub(crate) fn path_of(text: &str) -> Path {
    Path::from(text)
}

/// The objects of one folder.
pub(crate) struct UnitObjects {
    store: Arc<dyn ObjectStore>,
    folder: Path,
    requests: Requests,
    /// Units that were just built.
    fresh: Arc<Mutex<HashMap<u128, Bytes>>>,
    missing: Mutex<HashMap<u128, Missing>>,
}

struct Missing {
    until: Instant,
    pause: Duration,
}

impl UnitObjects {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, folder: &str, requests: Requests) -> Self {
        let (fresh, missing) = Default::default();
        Self { store, folder: path_of(folder), requests, fresh, missing }
    }

    /// Begins to write an object. Until it is there, this process reads the units from memory, and others do without.
    pub(crate) fn write(&self, name: UnitsName, units: Bytes) {
        self.fresh.lock().insert(name.id, units.clone());
        let fresh = Fresh { units: self.fresh.clone(), id: name.id };
        let mut writing = Writing::begin(self.requests.traffic.clone());
        let (store, path, requests) = (self.store.clone(), self.path(name), self.requests.clone());
        self.requests.spawn(async move {
            let begin = Instant::now();
            for attempt in 1.. {
                writing.traffic.requested.lock().puts += 1;
                let put = tokio::time::timeout(ATTEMPT_LONGEST, store.put(&path, units.clone().into()));
                let error = match put.await {
                    Ok(Ok(_)) => {
                        writing.end(units.len());
                        break;
                    }
                    Ok(Err(error)) => error.to_string(),
                    Err(late) => late.to_string(),
                };
                if attempt == ATTEMPTS || requests.is_closed() {
                    log::warn!("a table will have no filters: writing {path} failed: {error}");
                    break;
                }
                tokio::time::sleep(Duration::from_secs(1 << attempt)).await;
            }
            drop(writing);
            tokio::time::sleep(FRESH_FOR.saturating_sub(begin.elapsed())).await;
            drop(fresh);
        });
    }

    fn path(&self, name: UnitsName) -> Path {
        self.folder.clone().join(name.to_text())
    }

    fn read(&self, name: UnitsName, span: Range<u64>) -> Result<Bytes, UnitReadError> {
        if let Some(units) = self.fresh.lock().get(&name.id) {
            let span = span.start as usize..span.end as usize;
            return units
                .get(span)
                .map(Bytes::copy_from_slice)
                .ok_or_else(|| UnitReadError::Corrupt("the units are too short".into()));
        }
        if self.missing.lock().get(&name.id).is_some_and(|missing| Instant::now() < missing.until) {
            return Err(UnitReadError::Gone);
        }
        self.requests.traffic.requested.lock().gets += 1;
        let (store, path, expected) = (self.store.clone(), self.path(name), span.end - span.start);
        let answer = self.requests.wait(async move { store.get_range(&path, span).await });
        match answer {
            Some(Ok(bytes)) if bytes.len() as u64 == expected => {
                self.requests.traffic.requested.lock().get_bytes += expected;
                self.missing.lock().remove(&name.id);
                Ok(bytes)
            }
            Some(Ok(bytes)) => Err(UnitReadError::Corrupt(format!("{} of {expected} bytes", bytes.len()))),
            Some(Err(object_store::Error::NotFound { .. })) => {
                let mut missing = self.missing.lock();
                let now = Instant::now();
                // Nobody asks any more for those of tables that are gone.
                missing.retain(|_, missing| now < missing.until + PAUSE_MAX);
                let missing = missing.entry(name.id).or_insert(Missing { until: now, pause: PAUSE_MIN });
                missing.until = now + missing.pause;
                missing.pause = (missing.pause * 2).min(PAUSE_MAX);
                Err(UnitReadError::Gone)
            }
            Some(Err(error)) => Err(UnitReadError::Io(io::Error::other(error))),
            None => Err(UnitReadError::Io(io::ErrorKind::Interrupted.into())),
        }
    }
}

/// Units that are kept in memory until this is dropped.
struct Fresh {
    units: Arc<Mutex<HashMap<u128, Bytes>>>,
    id: u128,
}

impl Drop for Fresh {
    fn drop(&mut self) {
        self.units.lock().remove(&self.id);
    }
}

/// The name that a table was registered with, and the layout of its units in their object.
fn name_and_layout(table: TableUnits<'_>) -> Result<(UnitsName, UnitLayout), UnitReadError> {
    let found = UnitsName::of_bytes(table.locator)
        .and_then(|name| Some((name, UnitLayout::of(0, name.identity(), table.shapes.iter().copied())?)));
    // The directory that the shapes are from was parsed.
    found.ok_or_else(|| UnitReadError::Corrupt("no block has such segments".into()))
}

fn corrupt(error: FormatError) -> UnitReadError {
    UnitReadError::Corrupt(error.to_string())
}

impl UnitSource for UnitObjects {
    fn read_unit(&self, table: TableUnits<'_>, segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        let (name, layout) = name_and_layout(table)?;
        let bytes = self.read(name, layout.unit_span(segment, unit))?;
        layout.decode_unit(segment, unit, &bytes).map(<[u8]>::to_vec).map_err(corrupt)
    }

    fn read_rows(
        &self,
        table: TableUnits<'_>,
        units: Range<u8>,
        visit: UnitVisitor<'_>,
    ) -> Result<(), UnitReadError> {
        let (name, layout) = name_and_layout(table)?;
        let (Some(last), first) = (units.clone().last(), units.start) else { return Ok(()) };
        let bytes = self.read(name, layout.row_span(first).start..layout.row_span(last).end)?;
        for (unit, row) in units.zip(bytes.chunks_exact(layout.row_bytes() as usize)) {
            for (segment, decoded) in layout.decode_row(unit, row) {
                visit(segment, unit, decoded.map_err(corrupt));
            }
        }
        Ok(())
    }
}
