//! Decides which filter units are resident in memory, under one hard budget in bytes, and holds them for lookups.
//!
//! Hosts [register](Manager::register) the tables they open; lookups probe and report through the [`TableHandle`] they
//! get, without lock, allocation or wait; a background thread turns the reports into loads and evictions as the
//! [policy](Policy) decides (ElasticBF, ATC'19 sections 3.3 and 3.4), within a bounded share of one core. Knows no file format
//! and no files; policies know no clock.
//!
//! Invariants:
//! - absent, loading, corrupt or unknown units answer "may match";
//! - the policy, the budget and faults change cost, never answers;
//! - what is reserved never exceeds the [`MemoryBudget`], bookkeeping, buffers and garbage included.

#![deny(unsafe_code)]

mod background;
mod budget;
mod chore;
mod interned;
mod keys;
mod load_unit;
mod lookup;
mod manager;
mod memory;
mod memory_curve;
mod names;
mod notices;
mod plan;
mod registry;
mod settings;
mod stats;
mod table_spec;
mod unit_source;
mod visits;
mod waiting_table;

pub use background::JoinedThread;
pub use budget::{BudgetSnapshot, MemoryBudget, MemoryKind, Reservation};
pub use chore::Chore;
pub use keys::{BytewiseComparator, Comparator, Fences};
pub use lookup::{Answer, BatchKey, LoadedIndex, TableHandle};
pub use manager::Manager;
pub use memory::{allocated_bytes, group_bytes};
pub use memory_curve::{CurvePoint, MeasuredUse, MemoryCurve};
pub use names::{ScopeId, SegmentRef, TableId};
pub use notices::{Notice, Notices};
pub use plan::{
    Allocation, Benefit, Hotness, PerSegment, Planner, Policy, Run, ScopeCounts, SegmentDemand, SegmentState,
    VICTIMS_MAX,
};
pub use registry::{Activity, ForgottenScopes, Lately};
pub use settings::ManagerSettings;
pub use stats::{LevelUnits, ScopeStats, Stats, UsedBytes};
pub use table_spec::{SegmentUse, TableSpec};
pub use unit_source::{KnownTable, Place, TableUnits, UnitReadError, UnitSource, UnitVisitor};
pub use visits::{Outcome, OutcomeTotals, SEGMENTS_MAX, TABLES_MAX, Visit, set_host_bytes_of_thread};
pub use waiting_table::{WaitingTable, WaitsFor};
