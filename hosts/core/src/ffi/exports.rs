//! Functions that an engine's adapter calls. None unwinds: a panic is caught and answered as "no units".
//!
//! What they are given is valid by the header: a reference stands for a pointer that is borrowed for the call, a box or a [`Shared`] for
//! one that is owned, an option for one that may be null, and [`Bytes`] can be read during the call.

use std::{
    ffi::{OsStr, c_char, c_int, c_void},
    mem,
    os::unix::ffi::OsStrExt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    ptr::{self, NonNull},
    slice,
    sync::atomic::AtomicU64,
    time::Duration,
};

use springbloom_filter::KeyDigest;
use springbloom_format::{BlockHeader, Contents, Directory};
use springbloom_manager::{self as manager, Answer, KeyOrder, set_host_bytes_of_thread};

use super::{
    shared::Shared,
    table::{LentTable, OwnedTable},
    types::{BatchKey, Ended, OPENED, Setting, TableSpec, write_message},
};
use crate::{
    engine::{
        Access, Bytes, Cache, CacheUse, Comparator, Engine, File, FileAccess, Head, OpenFile, RowCache,
    },
    instance::{
        Filters,
        shared::{give_up_shared_instance, shared_instance, shared_instance_if_any},
    },
    settings::{HostSettings, Settings, table::SETTINGS},
    tables::{
        Counted,
        databases::ColumnFamily,
        open_table::{self, OpenError, Opening},
        unit_builder::UnitBuilder,
    },
};

/// Catches panics: none may cross into another language.
pub(super) fn guarded<T>(on_panic: T, run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(on_panic)
}

/// What `run` gives; `None` if it errs or panics, and the buffer says why.
///
/// # Safety
/// `error` is writable for `size` bytes.
unsafe fn told_guarded<T, E: ToString>(
    error: *mut c_char,
    size: usize,
    run: impl FnOnce() -> Result<T, E>,
) -> Option<T> {
    let run = || run().map_err(|error| error.to_string());
    // SAFETY: the caller's promise.
    let tell = |message: String| unsafe { write_message(error, size, &message) };
    guarded(Err("an internal fault".to_owned()), run).map_err(tell).ok()
}

fn path_of(bytes: Bytes<'_>) -> &Path {
    Path::new(OsStr::from_bytes(bytes.get()))
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
    guarded(0, || filters.budget_bytes() as u64)
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
    charge: &mut Shared<CacheUse>,
    error: *mut c_char,
    error_size: usize,
) -> c_int {
    let cache = Cache { cache, identity };
    // SAFETY: the buffer is the caller's.
    let used = unsafe {
        told_guarded(error, error_size, || filters.budget.use_cache(filters.tables.engine, &cache))
    };
    let can_pay = used.is_some();
    *charge = Shared::of(used.flatten());
    can_pay.into()
}

#[unsafe(no_mangle)]
extern "C" fn sb_cache_use_release(charge: Shared<CacheUse>) {
    guarded((), || drop(charge.taken()));
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_make_way(filters: &Filters) {
    guarded((), || filters.budget.make_way());
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_yield_to_cache(filters: &Filters) -> c_int {
    guarded(false, || filters.budget.yield_to_cache()).into()
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_have_yielded_to_cache(filters: &Filters) {
    guarded((), || filters.budget.has_yielded_to_cache());
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

#[unsafe(no_mangle)]
extern "C" fn sb_builder_new(
    filters: &Filters,
    bytewise: c_int,
    session: Bytes<'_>,
    file_number: u64,
) -> Option<Box<UnitBuilder>> {
    let (settings, memory) = (&filters.settings, &filters.tables.builder_bytes);
    guarded(None, || {
        Some(Box::new(UnitBuilder::new(settings, memory, bytewise != 0, session.get(), file_number)))
    })
}

/// What a builder is given without a panic, or it gives up.
fn add_guarded(builder: &mut UnitBuilder, add: impl FnOnce(&mut UnitBuilder)) {
    let is_added = guarded(false, || {
        add(builder);
        true
    });
    if !is_added {
        builder.give_up();
    }
}

#[unsafe(no_mangle)]
extern "C" fn sb_builder_add(builder: &mut UnitBuilder, key: Bytes<'_>, entry_bytes: u64) {
    add_guarded(builder, |builder| builder.add(key.get(), entry_bytes));
}

#[unsafe(no_mangle)]
extern "C" fn sb_builder_add_prefix(builder: &mut UnitBuilder, prefix: Bytes<'_>, entry_bytes: u64) {
    add_guarded(builder, |builder| builder.add_prefix(prefix.get(), entry_bytes));
}

#[unsafe(no_mangle)]
extern "C" fn sb_builder_key_count(builder: &UnitBuilder) -> u64 {
    guarded(0, || builder.key_count())
}

#[unsafe(no_mangle)]
extern "C" fn sb_builder_bytes_estimate(builder: &UnitBuilder) -> u64 {
    guarded(0, || builder.block_bytes_estimate())
}

#[unsafe(no_mangle)]
extern "C" fn sb_builder_memory_bytes(builder: &UnitBuilder) -> u64 {
    guarded(0, || builder.memory_bytes())
}

#[unsafe(no_mangle)]
extern "C" fn sb_builder_finish(builder: &mut UnitBuilder) -> Bytes<'_> {
    guarded(Bytes::of(&[]), || Bytes::of(builder.finish()))
}

#[unsafe(no_mangle)]
extern "C" fn sb_builder_free(builder: Option<Box<UnitBuilder>>) {
    guarded((), || drop(builder));
}

#[unsafe(no_mangle)]
extern "C" fn sb_block_extent(start: Bytes<'_>, head_bytes: &mut u64, block_bytes: &mut u64) -> c_int {
    let Some(header) = guarded(None, || BlockHeader::parse(start.get()).ok()) else { return 0 };
    (*head_bytes, *block_bytes) = (header.head_bytes(), header.block_bytes);
    1
}

#[unsafe(no_mangle)]
extern "C" fn sb_block_units(head: Bytes<'_>, contents: c_int, units_at: &mut u64) -> c_int {
    let corrupt = Err(OpenError::Corrupt);
    let found = guarded(corrupt, || match Directory::parse(head.get()) {
        Ok(directory) if (directory.contents() == Contents::Prefixes) == (contents != 0) => Ok(0),
        Ok(directory) if contents != 0 => directory.prefixes_at().ok_or(OpenError::NoSuchUnits),
        Ok(_) => Err(OpenError::NoSuchUnits),
        Err(_) => corrupt,
    });
    *units_at = found.unwrap_or(0);
    found.map_or_else(OpenError::code, |_| OPENED)
}

#[unsafe(no_mangle)]
extern "C" fn sb_column_family_open(
    filters: &Filters,
    session: Bytes<'_>,
    folder: Bytes<'_>,
    is_for_writing: c_int,
    rows: RowCache,
    files: Access,
) -> Shared<ColumnFamily> {
    let files = FileAccess::new(files);
    let databases = &filters.tables.databases;
    let open = || databases.open(session.get(), folder.get(), is_for_writing != 0, rows, files);
    Shared::of(guarded(None, || Some(open())))
}

#[unsafe(no_mangle)]
extern "C" fn sb_column_family_close(filters: &Filters, family: Shared<ColumnFamily>, may_wait: c_int) {
    guarded((), || {
        // It is null where opening it failed.
        if let Some(family) = family.taken() {
            filters.tables.close_column_family(&family, may_wait != 0);
        }
    });
}

#[unsafe(no_mangle)]
extern "C" fn sb_column_family_count_lookups(family: Option<&ColumnFamily>, lookups: u64) {
    guarded((), || family.into_iter().for_each(|family| family.database.count_lookups(lookups)));
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_open(
    filters: &Filters,
    family: Shared<ColumnFamily>,
    spec: &TableSpec<'_>,
    head: Option<&Head<'_>>,
    why: c_int,
    file: NonNull<File>,
    table: &mut OwnedTable,
) -> c_int {
    let file = OpenFile::new(file);
    let never = || (None, Err(OpenError::NoSuchUnits));
    let (opened, result) = guarded(never(), || {
        let Some(family) = family.again() else { return never() }; // opening it failed
        family.learn_name(spec.family.get());
        let head = head.map(|head| head.owned()).ok_or(OpenError::of_code(why));
        let is_of_prefixes = spec.contents != 0;
        // A table has its prefixes as if they were the keys of another one.
        let order = if is_of_prefixes { Comparator::BYTEWISE } else { spec.comparator };
        let opening = Opening {
            tables: filters.tables.clone(),
            family,
            path: path_of(spec.path).into(),
            file_number: spec.file_number,
            level: u8::try_from(spec.level).ok(),
            is_of_prefixes,
            is_bytewise: order.is_bytewise(),
            file,
            index_bytes: usize::try_from(spec.index_bytes).unwrap_or(usize::MAX),
            number: AtomicU64::new(0),
        };
        open_table::open(opening, &order, head)
    });
    *table = OwnedTable::of(opened);
    result.map_or_else(OpenError::code, |()| OPENED)
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_stop_waiting(table: LentTable<'_>) {
    guarded((), || table.get().give_up());
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_moved(filters: &Filters, path: Bytes<'_>, level: i32) {
    guarded((), || filters.tables.files.set_level(path_of(path), u8::try_from(level).ok()));
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_memory_bytes(table: LentTable<'_>) -> u64 {
    guarded(0, || table.get().handle().map_or(0, |handle| handle.memory_bytes() as u64))
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_close(filters: &Filters, table: OwnedTable, obsolete: c_int) {
    guarded((), || table.taken().into_iter().for_each(|table| table.close(&filters.tables, obsolete != 0)));
}

#[unsafe(no_mangle)]
extern "C" fn sb_set_thread_bytes(bytes: usize) {
    guarded((), || set_host_bytes_of_thread(bytes));
}

#[unsafe(no_mangle)]
extern "C" fn sb_digest_of(key: Bytes<'_>) -> KeyDigest {
    guarded(KeyDigest { lo: 0, hi: 0 }, || KeyDigest::of(key.get()))
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_may_match(
    table: LentTable<'_>,
    order: &Comparator,
    digest: KeyDigest,
    key: Bytes<'_>,
    segment: &mut u32,
) -> c_int {
    let unknown = Answer { segment: 0, rejection: None };
    let answer = guarded(unknown, || {
        table.get().handle().map_or(unknown, |handle| handle.may_match(key.get(), digest, order))
    });
    *segment = answer.segment;
    answer.may_match().into()
}

impl manager::BatchKey for BatchKey<'_> {
    fn key(&self) -> &[u8] {
        self.key.get()
    }

    fn digest(&self) -> KeyDigest {
        self.digest
    }

    fn set_answer(&mut self, answer: Answer) {
        (self.segment, self.may_match) = (answer.segment, answer.may_match().into());
    }
}

/// # Safety
/// `sought` points to `count` keys, which are writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_table_may_match_batch(
    table: LentTable<'_>,
    order: &Comparator,
    sought: *mut BatchKey<'_>,
    count: usize,
) {
    if count == 0 {
        return;
    }
    // SAFETY: borrowed for the call.
    let sought = unsafe { slice::from_raw_parts_mut(sought, count) };
    for key in &mut *sought {
        // Whatever happens.
        (key.segment, key.may_match) = (0, 1);
    }
    guarded((), || {
        if let Some(handle) = table.get().handle() {
            handle.may_match_batch(sought, order);
        }
    });
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_record(table: LentTable<'_>, segment: u32, ended: Ended) {
    guarded((), || {
        let table = table.get();
        let Some(handle) = table.handle() else { return };
        match ended {
            Ended::Missing => handle.record_missing(segment),
            Ended::Found => handle.record_found(segment),
            Ended::NotRead => handle.record_not_read(segment),
        }
    });
}

#[cfg(test)]
mod tests {
    use springbloom_testkit::header::noexcept_functions;

    use super::guarded;

    #[test]
    fn a_panic_is_answered() {
        assert_eq!(guarded(7, || panic!("expected by the test")), 7);
    }

    #[test]
    fn every_function_that_crosses_the_border_catches_what_is_thrown() {
        let source = include_str!("exports.rs").split("#[cfg(test)]").next().expect("the functions");
        let exports: Vec<_> = [source, include_str!("index.rs")]
            .iter()
            .flat_map(|source| source.split("extern \"C\" fn sb_").skip(1))
            .collect();
        assert!(exports.len() > 30, "{} functions were found", exports.len());
        for export in &exports {
            let (name, body) = export.split_once('(').expect("a function has parameters");
            assert!(body.contains("guarded(") || body.contains("give("), "sb_{name} is not guarded");
        }
        let declared = noexcept_functions(include_str!("../../include/springbloom_abi.h"), " sb_");
        assert_eq!(declared, exports.len(), "the header declares them all");
    }
}
