//! Which units to read next, and which tables cannot be read for now.

mod failing;
mod in_flight;
mod queue;
mod request;
mod table_list;
mod tables_to_read;
mod waiting;

pub(crate) use in_flight::READS_MAX;
pub(crate) use queue::{LoadBy, LoadQueue};
pub(crate) use request::{LoadRequest, LoadResult, ReadUnits};
