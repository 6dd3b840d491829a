//! Reads that tell the filters what they found. SlateDB asks the filters in the task of the read, where the tables that they let it read
//! are noted. A `FilterContext` would reach the program's own policies, too, which may take it for theirs.

use std::{cell::RefCell, future::Future, sync::Arc};

use springbloom_manager::Outcome;

use crate::known_tables::Open;

/// A table that a read was let to.
pub(crate) struct Passed {
    pub(crate) open: Arc<Open>,
    pub(crate) segment: u32,
    /// That let it pass.
    pub(crate) units: u8,
}

tokio::task_local! {
    /// Of the read that is under way. One that is dropped before its end teaches nothing.
    static PASSED: RefCell<Vec<Passed>>;
}

/// Whether the filters will be told how the read that asks them ended.
pub(crate) fn is_told() -> bool {
    PASSED.try_with(|_| ()).is_ok()
}

/// Notes a table that the read was let to. Only if it [is told](is_told).
pub(crate) fn note(passed: Passed) {
    PASSED.with(|noted| noted.borrow_mut().push(passed));
}

/// Tells the filters how `read` ended.
pub(crate) async fn told<T, E>(read: impl Future<Output = Result<Option<T>, E>>) -> Result<Option<T>, E> {
    let read = async {
        let found = read.await?;
        end(PASSED.with(RefCell::take), found.is_some());
        Ok(found)
    };
    PASSED.scope(RefCell::default(), read).await
}

/// Of several tables, the one with the most units is taken for the one that holds the key: it was the least likely to let another one pass.
/// A deleted key counts as absent.
fn end(passed: Vec<Passed>, is_found: bool) {
    let most = passed.iter().map(|passed| passed.units).max();
    let mut holder = most.filter(|_| is_found);
    for Passed { open, segment, units } in passed {
        let holds = holder == Some(units);
        if holds {
            holder = None;
        }
        if let Some(absent) = open.absent(segment) {
            absent.told(!holds);
        }
        open.handle.record(segment, if holds { Outcome::TruePositive } else { Outcome::WastedRead });
    }
}
