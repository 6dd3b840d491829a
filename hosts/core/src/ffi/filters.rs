//! Settings, instances of the filters, their budget and what they tell.

use std::{
    ffi::{c_char, c_int, c_void},
    mem, ptr, slice,
    sync::Arc,
    time::Duration,
};

use super::{guarded, owned::Shared, told_guarded};
use crate::{
    budget::charged_caches::PayingCache,
    engine::{Bytes, Cache, Engine},
    instance::{
        Filters,
        metrics::Counted,
        shared::{give_up_shared_instance, shared_instance, shared_instance_if_any},
    },
    settings::{HostSettings, Settings, table::SETTINGS},
};

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) name: Bytes<'a>,
    pub(super) value: Bytes<'a>,
}

/// Has a text taken.
fn give(context: *mut c_void, take: extern "C" fn(*mut c_void, Bytes<'_>), text: impl FnOnce() -> String) {
    take(context, Bytes::of(guarded(String::new(), text).as_bytes()));
}

// `SB_SETTINGS`.
const _: () = assert!(SETTINGS.len() == 10);

#[unsafe(no_mangle)]
extern "C" fn sb_setting_name(index: usize) -> Bytes<'static> {
    guarded(Bytes::of(&[]), || Bytes::of(SETTINGS.get(index).map_or("", |setting| setting.name).as_bytes()))
}

/// # Safety
/// `error` is writable for `error_size` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_setting_can_work(
    setting: Setting<'_>,
    error: *mut c_char,
    error_size: usize,
) -> c_int {
    let can_work = || {
        let [name, value] = [setting.name, setting.value].map(|text| String::from_utf8_lossy(text.get()));
        Settings::default().with(&[(&*name, &*value)])
    };
    // SAFETY: the buffer is the caller's.
    unsafe { told_guarded(error, error_size, can_work) }.is_some().into()
}

/// # Safety
/// `settings` points to `count` of them, `error` is writable for `error_size` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_filters_shared_instance(
    engine: &'static Engine,
    settings: *const Setting<'_>,
    count: usize,
    error: *mut c_char,
    error_size: usize,
) -> Shared<Filters> {
    // A pointer to nothing may be null.
    let settings = if count == 0 { ptr::dangling() } else { settings };
    // SAFETY: borrowed for the call.
    let settings = unsafe { slice::from_raw_parts(settings, count) };
    let find = || {
        let text = |bytes: Bytes<'_>| String::from_utf8_lossy(bytes.get()).into_owned();
        let settings: Vec<_> =
            settings.iter().map(|setting| (text(setting.name), text(setting.value))).collect();
        let given: Vec<_> = settings.iter().map(|(name, value)| (&**name, &**value)).collect();
        shared_instance(engine, &given)
    };
    // SAFETY: the buffer is the caller's.
    Shared::of(unsafe { told_guarded(error, error_size, find) })
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_shared_instance_if_any() -> Shared<Filters> {
    Shared::of(guarded(None, shared_instance_if_any))
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_give_up_shared_instance() {
    guarded((), give_up_shared_instance);
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_retain(filters: Shared<Filters>) {
    guarded((), || mem::forget(filters.again()));
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_release(filters: Shared<Filters>) {
    guarded((), || drop(filters.taken()));
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_host_settings(filters: &Filters) -> &HostSettings {
    guarded(&filters.host_settings, || &filters.host_settings)
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_budget_bytes(filters: &Filters) -> u64 {
    guarded(0, || filters.budget.in_force() as u64)
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_set_budget_bytes(filters: &Filters, budget_bytes: u64) -> c_int {
    guarded(false, || filters.set_budget_bytes(budget_bytes).is_ok()).into()
}

/// # Safety
/// `error` is writable for `error_size` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_filters_use_cache(
    filters: &Filters,
    cache: *const c_void,
    identity: *const c_void,
    cache_use: &mut Shared<PayingCache>,
    error: *mut c_char,
    error_size: usize,
) -> c_int {
    let cache = Cache { cache, identity };
    // SAFETY: the buffer is the caller's.
    let used = unsafe {
        told_guarded(error, error_size, || filters.budget.use_cache(filters.tables.engine, &cache))
    };
    let can_pay = used.is_some();
    *cache_use = Shared::of(used.flatten().map(Arc::new));
    can_pay.into()
}

#[unsafe(no_mangle)]
extern "C" fn sb_cache_use_release(cache_use: Shared<PayingCache>) {
    guarded((), || drop(cache_use.taken()));
}

#[unsafe(no_mangle)]
extern "C" fn sb_cache_use_yield(cache_use: &PayingCache) -> c_int {
    guarded(false, || cache_use.yield_room()).into()
}

#[unsafe(no_mangle)]
extern "C" fn sb_cache_use_has_yielded(cache_use: &PayingCache) {
    guarded((), || cache_use.has_yielded());
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_wait_idle(filters: &Filters, timeout_ms: u64) -> c_int {
    guarded(false, || filters.wait_idle(Duration::from_millis(timeout_ms))).into()
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_metrics_text(
    filters: &Filters,
    context: *mut c_void,
    take: extern "C" fn(*mut c_void, Bytes<'_>),
) {
    give(context, take, || filters.metrics_text());
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_settings_text(
    filters: &Filters,
    context: *mut c_void,
    take: extern "C" fn(*mut c_void, Bytes<'_>),
) {
    give(context, take, || filters.settings_text());
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_count(filters: &Filters, what: Counted, times: u64) {
    guarded((), || filters.count(what, times));
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_wasted_reads_per_lookup(filters: &Filters, budget_bytes: u64) -> f64 {
    guarded(-1.0, || {
        let visits = filters.visits_per_lookup();
        visits.map_or(-1.0, |visits| visits * filters.memory_curve().wasted_reads_per_visit(budget_bytes))
    })
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_block_bytes(filters: &Filters) -> u32 {
    guarded(0, || filters.block_bytes().unwrap_or(0))
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_set_data_bytes(filters: &Filters, session: Bytes<'_>, bytes: u64) {
    guarded((), || filters.tables.databases.set_data_bytes(session.get(), bytes));
}
