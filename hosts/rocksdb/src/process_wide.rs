//! The instance that option strings share: a string can name a budget, not an object.

use std::sync::{Arc, Mutex, PoisonError};

use springbloom_filter::{FilterError, UnitSettings};
use springbloom_manager::PolicyKind;

use crate::{Elastic, elastic::Shared};

static INSTANCE: Mutex<Option<Arc<Shared>>> = Mutex::new(None);

/// Settings as an option string gives them.
pub(crate) struct StringSettings<'a> {
    pub(crate) budget_bytes: u64,
    pub(crate) segment_data_bytes: u64,
    /// Empty for the default.
    pub(crate) units: &'a str,
    pub(crate) policy: &'a str,
}

/// The process-wide instance, if there is one.
pub(crate) fn process_wide_if_any() -> Option<Arc<Shared>> {
    INSTANCE.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The process-wide instance. The first settings make it; later ones change its budget, the last word winning. Units and
/// segments of an existing instance stay as they are, because its tables share them.
pub(crate) fn process_wide(settings: &StringSettings<'_>) -> Result<Arc<Shared>, String> {
    let policy: PolicyKind = settings.policy.parse().map_err(|error| format!("policy: {error}"))?;
    let units = match settings.units {
        "" => UnitSettings::default(),
        text => text.parse().map_err(|error: FilterError| error.to_string())?,
    };
    let mut instance = INSTANCE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(shared) = &*instance {
        let elastic = Elastic { shared: shared.clone() };
        elastic.set_budget_bytes(settings.budget_bytes);
        return Ok(elastic.shared);
    }
    let elastic = Elastic::builder()
        .budget_bytes(settings.budget_bytes)
        .segment_data_bytes(settings.segment_data_bytes)
        .units(units)
        .policy(policy)
        .build()
        .map_err(|error| error.to_string())?;
    *instance = Some(elastic.shared.clone());
    Ok(elastic.shared)
}
