//! Decides which filter units are resident in memory, under one hard budget in bytes, and holds them for lookups.
//!
//! Hosts [register](Manager::register) the tables they open; lookups probe and report through the [`TableHandle`] they
//! get, without lock, allocation or wait; a background thread turns the reports into loads and evictions as the
//! [policy](PolicyKind) decides (ElasticBF, ATC'19 sections 3.3 and 3.4), within a bounded share of one core. Knows no file format
//! and no files; policies know no clock.
//!
//! Invariants:
//! - absent, loading, corrupt or unknown units answer "may match";
//! - the policy, the budget and faults change cost, never answers;
//! - what is reserved never exceeds the [`MemoryBudget`], bookkeeping, buffers and garbage included.

#![deny(unsafe_code)]

mod absences;
mod allocation;
mod background;
mod budget;
mod counts;
mod curve;
mod error;
mod events;
mod fences;
mod garbage;
mod handle;
mod hotness;
mod identities;
mod inherit;
mod interned;
mod key_range;
mod loader;
mod loads;
mod manager;
mod memory;
mod neighbours;
mod opened;
mod outcome;
mod planner;
mod policy;
mod registry;
mod remember;
mod resident;
mod rings;
mod runs;
mod segments;
mod settings;
mod source;
mod stats;
mod table;
mod totals;
mod unsafe_thin;

pub use budget::{BudgetSnapshot, MemoryBudget, MemoryKind, Reservation};
pub use curve::{CurvePoint, MemoryCurve, SegmentDemand};
pub use error::ManagerError;
pub use fences::{BytewiseOrder, Fences, FencesRef, KeyOrder};
pub use handle::TableHandle;
pub use hotness::Hotness;
pub use manager::Manager;
pub use memory::allocated_bytes;
pub use outcome::Outcome;
pub use planner::Planner;
pub use policy::PolicyKind;
pub use remember::SegmentUse;
pub use settings::ManagerSettings;
pub use source::{KnownTable, RowVisitor, TableUnits, UnitReadError, UnitSource};
pub use stats::{LevelUnits, OutcomeTotals, Stats, UsedBytes};
pub use table::{ScopeId, SegmentSpec, TableId, TableSpec};
