//! Functions that an engine's adapter calls. None unwinds: a panic is caught and answered as "no units".
//!
//! A reference stands for a pointer that is borrowed for the call, a box for one that is owned, and an option for one that may be null.

use std::{
    ffi::{c_char, c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::{self, NonNull},
    slice,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use springbloom_filter::KeyDigest;
use springbloom_format::{BlockHeader, Contents, Directory};
use springbloom_manager::{self as manager, Answer, KeyOrder, set_host_bytes_of_thread};

use super::types::{
    BatchKey, Digest, KEYS, KEYS_BEFORE_PREFIXES, OPENED, PREFIXES, Setting, TableSpec, UNKNOWN_CONTENTS,
    write_message,
};
use crate::{
    engine::{
        Access, Bytes, Cache, CacheUse, Comparator, Engine, File, FileAccess, Head, OpenFile, RowCache,
    },
    instance::{
        Filters,
        shared::{give_up_shared_instance, shared_instance, shared_instance_if_any},
    },
    settings::{
        Settings,
        table::{self, SETTINGS},
    },
    tables::{
        databases::ColumnFamily,
        open_table::{self, OpenError, OpenTable, Opening},
        unit_builder::UnitBuilder,
    },
};

/// Catches panics: none may cross into another language.
pub(super) fn guarded<T>(on_panic: T, run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(on_panic)
}

// `SB_SETTINGS`.
const _: () = assert!(SETTINGS.len() == 12);

#[unsafe(no_mangle)]
extern "C" fn sb_setting_name(index: usize) -> Bytes {
    guarded(Bytes::empty(), || {
        SETTINGS.get(index).map_or(Bytes::empty(), |setting| Bytes::of(setting.name.as_bytes()))
    })
}

/// # Safety
/// What the setting points to is readable, `error` is writable for `error_size` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_setting_can_work(setting: Setting, error: *mut c_char, error_size: usize) -> c_int {
    // SAFETY: borrowed for the call.
    let [name, value] =
        [setting.name, setting.value].map(|bytes| unsafe { String::from_utf8_lossy(bytes.get()) });
    let applied = guarded(Err("an internal fault".to_owned()), || {
        table::apply(Settings::default(), &[(&*name, &*value)]).map(drop)
    });
    if let Err(message) = &applied {
        // SAFETY: the buffer is the caller's.
        unsafe { write_message(error, error_size, message) };
    }
    c_int::from(applied.is_ok())
}

/// # Safety
/// See `include/springbloom_abi.h`: `settings` and what they point to are readable, `error` is writable for `error_size` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_filters_shared_instance(
    engine: *const Engine,
    settings: *const Setting,
    count: usize,
    error: *mut c_char,
    error_size: usize,
) -> *const Filters {
    // A pointer to nothing may be null.
    let settings = if count == 0 { ptr::dangling() } else { settings };
    // SAFETY: borrowed for the call; the engine stays.
    let (engine, settings) = unsafe { (&*engine, slice::from_raw_parts(settings, count)) };
    // SAFETY: as above.
    let text = |bytes: Bytes| unsafe { String::from_utf8_lossy(bytes.get()) };
    let made = guarded(Err("an internal fault".to_owned()), || {
        let settings: Vec<_> =
            settings.iter().map(|setting| (text(setting.name), text(setting.value))).collect();
        let given: Vec<_> = settings.iter().map(|(name, value)| (&**name, &**value)).collect();
        shared_instance(engine, &given)
    });
    match made {
        Ok(filters) => Arc::into_raw(filters),
        Err(message) => {
            // SAFETY: the buffer is the caller's.
            unsafe { write_message(error, error_size, &message) };
            ptr::null()
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_shared_instance_if_any() -> *const Filters {
    guarded(None, shared_instance_if_any).map_or(ptr::null(), Arc::into_raw)
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_give_up_shared_instance() {
    guarded((), give_up_shared_instance);
}

/// # Safety
/// `filters` is alive.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_filters_retain(filters: *const Filters) {
    // SAFETY: the pointer came from an Arc that is alive.
    guarded((), || unsafe { Arc::increment_strong_count(filters) });
}

/// # Safety
/// The caller gives up a reference that it owns.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_filters_release(filters: *const Filters) {
    // SAFETY: the reference is the caller's to give.
    guarded((), || unsafe { Arc::decrement_strong_count(filters) });
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_budget_bytes(filters: &Filters) -> u64 {
    guarded(0, || filters.budget_bytes() as u64)
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_set_budget_bytes(filters: &Filters, budget_bytes: u64) -> c_int {
    c_int::from(guarded(false, || filters.set_budget_bytes(budget_bytes).is_ok()))
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_count_written_without_units(filters: &Filters) {
    guarded((), || _ = filters.tables.written_without_units.fetch_add(1, Relaxed));
}

/// # Safety
/// See `include/springbloom_abi.h`: `charge` is writable, `error` for `error_size` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_filters_use_cache(
    filters: &Filters,
    cache: *const c_void,
    identity: *const c_void,
    charge: &mut *const CacheUse,
    error: *mut c_char,
    error_size: usize,
) -> c_int {
    // SAFETY: borrowed for the call.
    let cache = unsafe { Cache::at(cache, identity) };
    match guarded(Err("an internal fault".to_owned()), || filters.use_cache(&cache)) {
        Ok(share) => *charge = share.map_or(ptr::null(), Arc::into_raw),
        Err(message) => {
            // SAFETY: the buffer is the caller's.
            unsafe { write_message(error, error_size, &message) };
            return 0;
        }
    }
    1
}

/// # Safety
/// The caller gives up a share that it owns.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_cache_use_release(charge: *const CacheUse) {
    // SAFETY: the share is the caller's to give.
    guarded((), || unsafe { Arc::decrement_strong_count(charge) });
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_make_way(filters: &Filters) {
    guarded((), || filters.make_way());
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_yield_to_cache(filters: &Filters) -> c_int {
    c_int::from(guarded(false, || filters.yield_to_cache()))
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_have_yielded_to_cache(filters: &Filters) {
    guarded((), || filters.have_yielded_to_cache());
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_wait_idle(filters: &Filters, timeout_ms: u64) -> c_int {
    guarded(0, || filters.wait_idle(Duration::from_millis(timeout_ms)).into())
}

/// # Safety
/// `take` takes `context` and a text that it does not keep.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_filters_metrics_text(
    filters: &Filters,
    context: *mut c_void,
    take: unsafe extern "C" fn(*mut c_void, Bytes),
) {
    let text = guarded(String::new(), || filters.metrics_text());
    // SAFETY: by the caller's promise.
    unsafe { take(context, Bytes::of(text.as_bytes())) };
}

/// # Safety
/// `take` takes `context` and a text that it does not keep.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_filters_settings_text(
    filters: &Filters,
    context: *mut c_void,
    take: unsafe extern "C" fn(*mut c_void, Bytes),
) {
    let text = guarded(String::new(), || filters.settings_text());
    // SAFETY: by the caller's promise.
    unsafe { take(context, Bytes::of(text.as_bytes())) };
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_count_table_without_units(filters: &Filters) {
    guarded((), || _ = filters.tables.without_units.fetch_add(1, Relaxed));
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_count_sought_table(filters: &Filters) {
    guarded((), || filters.count_sought_table());
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_wasted_reads_per_lookup(filters: &Filters, budget_bytes: u64) -> f64 {
    guarded(-1.0, || {
        let visits = filters.visits_per_lookup();
        visits.map_or(-1.0, |visits| visits * filters.memory_curve().wasted_reads_per_visit(budget_bytes))
    })
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_assumes_bytewise_equality(filters: &Filters) -> c_int {
    guarded(0, || c_int::from(filters.settings.assume_bytewise_equality))
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_writes_units(filters: &Filters) -> c_int {
    guarded(1, || c_int::from(filters.settings.write_units))
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_shrinks_index(filters: &Filters) -> c_int {
    guarded(0, || c_int::from(filters.settings.shrinks_index()))
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_block_bytes(filters: &Filters) -> u32 {
    guarded(0, || filters.block_bytes().unwrap_or(0))
}

/// # Safety
/// `session` is readable.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_filters_set_data_bytes(filters: &Filters, session: Bytes, bytes: u64) {
    // SAFETY: borrowed for the call.
    let session = unsafe { session.get() };
    guarded((), || filters.tables.databases.set_data_bytes(session, bytes));
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_verify_below(filters: &Filters) -> u32 {
    // Saturates.
    guarded(0, || (filters.settings.verify_share * f64::from(u32::MAX)).ceil() as u32)
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_count_verified(filters: &Filters, was_there: c_int) {
    guarded((), || {
        filters.tables.verified.fetch_add(1, Relaxed);
        filters.tables.wrong_rejections.fetch_add(u64::from(was_there != 0), Relaxed);
    });
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_has_indexes(filters: &Filters) -> c_int {
    guarded(0, || c_int::from(filters.settings.has_indexes()))
}

#[unsafe(no_mangle)]
extern "C" fn sb_filters_writes_further_prefixes(filters: &Filters) -> c_int {
    guarded(0, || c_int::from(!filters.settings.further_prefixes.is_empty()))
}

/// # Safety
/// `session` is readable.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_builder_new(
    filters: &Filters,
    bytewise: c_int,
    session: Bytes,
    file_number: u64,
) -> Option<Box<UnitBuilder>> {
    // SAFETY: borrowed for the call.
    let session = unsafe { session.get() };
    let (settings, memory) = (&filters.settings, &filters.tables.builder_memory);
    guarded(None, || Some(Box::new(UnitBuilder::new(settings, memory, bytewise != 0, session, file_number))))
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

/// # Safety
/// The key is readable.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_builder_add(builder: &mut UnitBuilder, key: Bytes, entry_bytes: u64) {
    // SAFETY: borrowed for the call.
    let key = unsafe { key.get() };
    add_guarded(builder, |builder| builder.add(key, entry_bytes));
}

/// # Safety
/// The prefix and the key are readable.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_builder_add_prefixes(
    builder: &mut UnitBuilder,
    prefix: Option<&Bytes>,
    key: Bytes,
    entry_bytes: u64,
) {
    // SAFETY: borrowed for the call.
    let (prefix, key) = unsafe { (prefix.map(|prefix| prefix.get()), key.get()) };
    add_guarded(builder, |builder| builder.add_prefixes(prefix, key, entry_bytes));
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
extern "C" fn sb_builder_finish(builder: &mut UnitBuilder) -> Bytes {
    guarded(Bytes::empty(), || Bytes::of(builder.finish()))
}

#[unsafe(no_mangle)]
extern "C" fn sb_builder_free(builder: Option<Box<UnitBuilder>>) {
    guarded((), || drop(builder));
}

/// # Safety
/// `start` is readable.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_block_extent(start: Bytes, head_bytes: &mut u64, block_bytes: &mut u64) -> c_int {
    // SAFETY: borrowed for the call.
    let start = unsafe { start.get() };
    let Some(header) = guarded(None, || BlockHeader::parse(start).ok()) else { return 0 };
    (*head_bytes, *block_bytes) = (header.head_bytes(), header.block_bytes);
    1
}

/// # Safety
/// `head` is readable.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_block_contents(head: Bytes, prefixes_at: &mut u64) -> c_int {
    // SAFETY: borrowed for the call.
    let head = unsafe { head.get() };
    let contents = guarded(None, || match BlockHeader::parse(head).ok()?.contents {
        Contents::KeysBeforePrefixes => {
            *prefixes_at = Directory::parse(head).ok()?.prefixes_at()?;
            Some(Contents::KeysBeforePrefixes)
        }
        contents => Some(contents),
    });
    match contents {
        None => UNKNOWN_CONTENTS,
        Some(Contents::Keys) => KEYS,
        Some(Contents::KeysBeforePrefixes) => KEYS_BEFORE_PREFIXES,
        Some(Contents::Prefixes | Contents::PrefixesByRules) => PREFIXES,
    }
}

/// # Safety
/// `from` and `end` are readable.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_table_further_prefix_of_range(table: &OpenTable, from: Bytes, end: Bytes) -> usize {
    // SAFETY: borrowed for the call.
    let (from, end) = unsafe { (from.get(), end.get()) };
    guarded(0, || table.further_prefixes().of_range(from, end).map_or(0, <[u8]>::len))
}

/// # Safety
/// `session` and `folder` are readable; `files.access` belongs to the callee from here on.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_column_family_open(
    filters: &Filters,
    session: Bytes,
    folder: Bytes,
    is_for_writing: c_int,
    rows: RowCache,
    files: Access,
) -> *const ColumnFamily {
    // SAFETY: borrowed for the call; the caller gives the access away.
    let (session, folder, files) = unsafe { (session.get(), folder.get(), FileAccess::new(files)) };
    let databases = &filters.tables.databases;
    guarded(ptr::null(), || Arc::into_raw(databases.open(session, folder, is_for_writing != 0, rows, files)))
}

/// # Safety
/// `family` is null, because opening it failed, or the caller gives it up.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_column_family_close(filters: &Filters, family: *const ColumnFamily, may_wait: c_int) {
    guarded((), || {
        if !family.is_null() {
            // SAFETY: the share is the caller's to give.
            let family = unsafe { Arc::from_raw(family) };
            filters.tables.close_column_family(&family, may_wait != 0);
        }
    });
}

#[unsafe(no_mangle)]
extern "C" fn sb_column_family_count_lookups(family: Option<&ColumnFamily>, lookups: u64) {
    guarded((), || family.into_iter().for_each(|family| family.database.count_lookups(lookups)));
}

/// # Safety
/// `head` is readable.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_head_check(head: Bytes, contents: i32) -> c_int {
    // SAFETY: borrowed for the call.
    let head = unsafe { head.get() };
    guarded(OpenError::Corrupt.code(), || match Directory::parse(head) {
        Ok(directory) if directory.contents().are_prefixes() == (contents == PREFIXES) => OPENED,
        Ok(_) => OpenError::NoSuchUnits.code(),
        Err(_) => OpenError::Corrupt.code(),
    })
}

/// # Safety
/// What `spec` and `head` point to is readable, the order of keys valid for the call; a share in `file` belongs to the callee from here
/// on.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_table_open(
    filters: &Filters,
    family: *const ColumnFamily,
    spec: &TableSpec,
    head: Option<&Head>,
    why: c_int,
    file: NonNull<File>,
    table: &mut *const OpenTable,
) -> c_int {
    *table = ptr::null();
    // SAFETY: the caller gives the share away.
    let file = unsafe { OpenFile::new(file) };
    if family.is_null() {
        return OpenError::NoSuchUnits.code(); // opening it failed
    }
    let opened = guarded((None, Err(OpenError::NoSuchUnits)), || {
        // SAFETY: the family is alive for the call.
        let family = unsafe {
            Arc::increment_strong_count(family);
            Arc::from_raw(family)
        };
        // SAFETY: borrowed for the call.
        let (path, name) = unsafe { (spec.path.get().to_vec(), spec.family.get()) };
        family.learn_name(name);
        // SAFETY: as above.
        let head = head.map(|head| unsafe { head.owned() });
        let head = head.ok_or(OpenError::of_code(why));
        // A table has its prefixes as if they were the keys of another one.
        let order = if spec.contents == PREFIXES { Comparator::BYTEWISE } else { spec.comparator };
        let opening = Opening {
            tables: filters.tables.clone(),
            family,
            path: path.into(),
            file_number: spec.file_number,
            level: u8::try_from(spec.level).ok(),
            contents: spec.contents,
            is_of_prefixes: spec.contents == PREFIXES,
            is_bytewise: order.is_bytewise(),
            file,
            index_bytes: usize::try_from(spec.index_bytes).unwrap_or(usize::MAX),
            number: AtomicU64::new(0),
        };
        open_table::open(opening, &order, head)
    });
    let (opened, result) = opened;
    *table = opened.map_or(ptr::null(), Arc::into_raw);
    result.map_or_else(OpenError::code, |()| OPENED)
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_stop_waiting(table: &OpenTable) {
    guarded((), || table.give_up());
}

/// # Safety
/// The path is readable.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_table_moved(filters: &Filters, path: Bytes, level: i32) {
    // SAFETY: borrowed for the call.
    let path = unsafe { path.get() };
    guarded((), || filters.tables.files.set_level(path, u8::try_from(level).ok()));
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_memory_bytes(table: &OpenTable) -> u64 {
    guarded(0, || table.handle().map_or(0, |handle| handle.memory_bytes() as u64))
}

/// # Safety
/// `table` was opened with `filters`, and the caller gives it up.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_table_close(filters: &Filters, table: *const OpenTable, obsolete: c_int) {
    // SAFETY: the share is the caller's to give.
    let table = unsafe { Arc::from_raw(table) };
    guarded((), || table.close(&filters.tables, obsolete != 0));
}

#[unsafe(no_mangle)]
extern "C" fn sb_set_thread_bytes(bytes: usize) {
    guarded((), || set_host_bytes_of_thread(bytes));
}

/// # Safety
/// `filters` is alive.
#[unsafe(no_mangle)]
extern "C" fn sb_filters_count_block_reads(filters: &Filters, reads: u64) {
    guarded((), || filters.tables.manager.count_block_reads(reads));
}

/// # Safety
/// The key is readable.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_digest_of(key: Bytes) -> Digest {
    // SAFETY: borrowed for the call.
    let key = unsafe { key.get() };
    guarded(Digest { lo: 0, hi: 0 }, || KeyDigest::of(key).into())
}

/// # Safety
/// `table` and what orders its keys are alive; `key` is readable, `segment` writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_table_may_match(
    table: *const OpenTable,
    order: *const Comparator,
    digest: Digest,
    key: Bytes,
    segment: *mut u32,
) -> c_int {
    // SAFETY: borrowed for the call.
    let (table, order, key) = unsafe { (&*table, &*order, key.get()) };
    let unknown = Answer { segment: 0, rejection: None };
    let answer = guarded(unknown, || {
        table.handle().map_or(unknown, |handle| handle.may_match(key, digest.into(), order))
    });
    // SAFETY: the caller's variable.
    unsafe { *segment = answer.segment };
    answer.may_match().into()
}

impl manager::BatchKey for BatchKey {
    fn key(&self) -> &[u8] {
        // SAFETY: its keys are readable while `sb_table_may_match_batch` borrows it, and nothing else asks for them.
        unsafe { self.key.get() }
    }

    fn digest(&self) -> KeyDigest {
        self.digest.into()
    }

    fn set_answer(&mut self, answer: Answer) {
        (self.segment, self.may_match) = (answer.segment, answer.may_match().into());
    }
}

/// # Safety
/// `table` and what orders its keys are alive; `sought` points to `count` of them, which are writable, and their keys are readable.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_table_may_match_batch(
    table: *const OpenTable,
    order: *const Comparator,
    sought: *mut BatchKey,
    count: usize,
) {
    if count == 0 {
        return;
    }
    // SAFETY: borrowed for the call.
    let (table, order, sought) = unsafe { (&*table, &*order, slice::from_raw_parts_mut(sought, count)) };
    for key in &mut *sought {
        // Whatever happens.
        (key.segment, key.may_match) = (0, 1);
    }
    guarded((), || {
        if let Some(handle) = table.handle() {
            handle.may_match_batch(sought, order);
        }
    });
}

/// # Safety
/// `table` is alive and has the segment.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_table_record_missing(table: *const OpenTable, segment: u32) {
    // SAFETY: borrowed for the call.
    let table = unsafe { &*table };
    guarded((), || table.handle().into_iter().for_each(|handle| handle.record_missing(segment)));
}

/// # Safety
/// `table` is alive and has the segment.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_table_record_found(table: *const OpenTable, segment: u32) {
    // SAFETY: borrowed for the call.
    let table = unsafe { &*table };
    guarded((), || table.handle().into_iter().for_each(|handle| handle.record_found(segment)));
}

/// # Safety
/// `table` is alive and has the segment.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_table_record_not_read(table: *const OpenTable, segment: u32) {
    // SAFETY: borrowed for the call.
    let table = unsafe { &*table };
    guarded((), || table.handle().into_iter().for_each(|handle| handle.record_not_read(segment)));
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
