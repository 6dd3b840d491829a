//! The settings of [`Filters`](crate::Filters).

pub(crate) mod table;

use std::{ffi::c_int, time::Duration};

use springbloom_filter::UnitSettings;

/// The memory for filter units and all their bookkeeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// This many bytes.
    Bytes(u64),
    /// The part of the block caches with which lookups read the fewest blocks; the caches pay for it.
    /// [`UNCHARGED_BYTES`](Self::UNCHARGED_BYTES) while no options with a block cache are in use.
    Auto,
}

impl Budget {
    /// Of [`Auto`](Self::Auto) where there is no block cache.
    pub const UNCHARGED_BYTES: u64 = 64 << 20;
}

/// What [`Filters`](crate::Filters) are started with. [`SETTINGS`](crate::SETTINGS) has what each setting does.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Memory for filter units and all their bookkeeping.
    pub budget: Budget,
    /// Key and value bytes that one group of units covers.
    pub segment_size: u64,
    /// Kind, number and size of the units that new tables get.
    pub units: UnitSettings,
    /// Whether to assume that keys which a custom comparator calls equal are equal byte for byte.
    pub assume_bytewise_equality: bool,
    /// Whether new tables get filter units.
    pub create_filters: bool,
    /// How often hotness is saved for the next start; `None`: never, nor read.
    pub warm_start_every: Option<Duration>,
    /// Whether a budget in bytes is charged to caches of the engine. [`Budget::Auto`] is.
    pub charge_to_block_cache: bool,
    /// Whether new tables get an index that needs little memory, where the engine has options for it and the budget is charged.
    pub small_index: bool,
    /// Whether a new table starts with the hotness of the segments whose keys it holds.
    pub inherit_hotness: bool,
    /// Share of the keys rejected by units that are looked up all the same.
    pub verify_share: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            budget: Budget::Auto,
            segment_size: 8 << 20,
            units: UnitSettings::default(),
            assume_bytewise_equality: false,
            create_filters: true,
            warm_start_every: Some(Duration::from_secs(60)),
            charge_to_block_cache: false,
            small_index: true,
            inherit_hotness: true,
            verify_share: 0.0,
        }
    }
}

impl Settings {
    /// Whether the caches of the engine pay for the budget.
    pub(crate) fn is_charged(&self) -> bool {
        self.charge_to_block_cache || self.budget == Budget::Auto
    }
}

/// What an engine's adapter asks of the settings: `sb_host_settings`.
#[repr(C)]
pub(crate) struct HostSettings {
    pub(crate) creates_filters: c_int,
    /// Where a block cache pays for filters, every byte of index takes one from data.
    pub(crate) shrinks_index: c_int,
    /// A budget that was given is for filters: what an index takes from them the cache would have, and data gains it.
    pub(crate) has_indexes: c_int,
    pub(crate) assumes_bytewise_equality: c_int,
    pub(crate) verify_below: u32,
}

impl HostSettings {
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            creates_filters: settings.create_filters.into(),
            shrinks_index: (settings.small_index && settings.is_charged()).into(),
            has_indexes: (settings.small_index && settings.budget == Budget::Auto).into(),
            assumes_bytewise_equality: settings.assume_bytewise_equality.into(),
            // Saturates.
            verify_below: (settings.verify_share * f64::from(u32::MAX)).ceil() as u32,
        }
    }
}
