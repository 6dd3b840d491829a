//! The instance that option strings share. A string cannot name an object, so there is one in a process.

use std::sync::Arc;

use parking_lot::Mutex;

use super::Filters;
use crate::{
    engine::Engine,
    error::Error,
    settings::{
        Settings,
        table::{self, BUDGET, Given},
    },
};

static INSTANCE: Mutex<Option<Arc<Filters>>> = Mutex::new(None);

/// The shared instance, if there is one.
pub(crate) fn shared_instance_if_any() -> Option<Arc<Filters>> {
    INSTANCE.lock().clone()
}

/// Gives it up: it ends with its last user, and the next settings make another one.
pub(crate) fn give_up_shared_instance() {
    let instance = INSTANCE.lock().take();
    // Without the lock: it may wait for threads.
    drop(instance);
}

/// The shared instance. The first settings make it. Later ones change its budget; their other settings must agree with those in force, and
/// settings that are not given are those in force. An instance that nobody uses any more passes nothing on: it is replaced where it
/// differs from what is given and, where nothing is given, the defaults.
pub(crate) fn shared_instance(engine: &'static Engine, given: &Given<'_>) -> Result<Arc<Filters>, Error> {
    let mut instance = INSTANCE.lock();
    let in_use = instance.as_ref().filter(|filters| Arc::strong_count(filters) > 1);
    let others = in_use.map_or_else(Settings::default, |filters| filters.settings.clone());
    let sets_budget = in_use.is_none() || given.iter().any(|(name, _)| *name == BUDGET);
    let settings = others.with(given)?;
    if let Some(filters) = &*instance {
        match table::difference(&filters.settings, &settings) {
            // Whether caches pay is decided when filters start.
            None if in_use.is_some() || filters.settings.is_charged() == settings.is_charged() => {
                let filters = filters.clone();
                // A budget that moves waits for a cache.
                drop(instance);
                if sets_budget {
                    filters.set_budget(settings.budget)?;
                }
                return Ok(filters);
            }
            Some((name, in_force, asked)) if in_use.is_some() => {
                return Err(Error::Settings(format!(
                    "{name}: got {asked}, and the options and open databases of this process share {in_force}; give all of them the \
                     same, or leave it out"
                )));
            }
            _ => (),
        }
    }
    let filters = Filters::start(settings, engine)?;
    let _replaced = instance.replace(filters.clone());
    // First: the one that is replaced may wait for threads.
    drop(instance);
    Ok(filters)
}
