//! Everything that a lookup touches. It takes no lock, waits for nobody and allocates nothing.

pub(crate) mod group_cell;
mod handle;
mod table_filter;
mod table_index;
mod table_shared;
mod unsafe_heads;
mod unsafe_raw_handle;
mod unsafe_thin_arc;

pub use handle::TableHandle;
pub use table_filter::{Answer, BatchKey};
pub use table_index::LoadedIndex;
pub(crate) use table_index::TableIndex;
pub(crate) use table_shared::{Lookups, TableShared};
