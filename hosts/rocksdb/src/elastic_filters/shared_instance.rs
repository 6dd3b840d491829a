//! The instance that option strings share: a string can name a budget, not an object.

use std::sync::{Arc, Mutex};

use crate::{
    ElasticFilters, ElasticFiltersBuilder,
    elastic_filters::{
        Shared,
        settings::{self, Given},
    },
    ffi::{BlockCache, CacheCharge},
    mutex::lock,
};

struct Instance {
    shared: Arc<Shared>,
    settings: ElasticFiltersBuilder,
}

static INSTANCE: Mutex<Option<Instance>> = Mutex::new(None);

/// The shared instance, if there is one.
pub(crate) fn shared_instance_if_any() -> Option<Arc<Shared>> {
    lock(&INSTANCE).as_ref().map(|instance| instance.shared.clone())
}

/// The shared instance. The first settings make it. Later ones change its budget, the last word winning, and must agree with
/// the others as far as they name them, because all tables share them; an instance that nobody uses any more makes way.
///
/// `block_cache`: the one to charge, if that is asked for.
pub(crate) fn shared_instance(given: &Given<'_>, block_cache: &BlockCache) -> Result<Arc<Shared>, String> {
    let mut instance = lock(&INSTANCE);
    if let Some(Instance { shared, settings }) = &*instance {
        let asked = settings::apply(settings.clone(), given)?;
        match settings::difference(settings, &asked) {
            None => {
                charge(shared, &asked, block_cache)?;
                if given.iter().any(|(name, _)| *name == settings::BUDGET) {
                    let elastic = ElasticFilters { shared: shared.clone() };
                    elastic.set_budget_bytes(asked.budget_bytes).map_err(|error| error.to_string())?;
                }
                return Ok(shared.clone());
            }
            Some((name, in_force, asked)) if Arc::strong_count(shared) > 1 => {
                return Err(format!(
                    "{name}: got {asked}, and the databases of this process that are open share {in_force}; give all of them the \
                     same, or leave it out"
                ));
            }
            Some(_) => *instance = None,
        }
    }
    let settings = settings::apply(ElasticFilters::builder(), given)?;
    let shared = settings.clone().build().map_err(|error| error.to_string())?.shared;
    charge(&shared, &settings, block_cache)?;
    *instance = Some(Instance { shared: shared.clone(), settings });
    Ok(shared)
}

fn charge(shared: &Shared, settings: &ElasticFiltersBuilder, block_cache: &BlockCache) -> Result<(), String> {
    if settings.charge_to_block_cache {
        shared.budget.charge_to(|| CacheCharge::of(block_cache))
    } else {
        Ok(())
    }
}
