//! What is hot survives: closing, a kill, moving and copying the database; and nothing that is wrong with the file does harm.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use rocksdb::{DB, Options};
use springbloom_rocksdb::{ElasticFilters, HOTNESS_FILE_NAME, UnitSettings};

use crate::common::{
    Folder, IDLE_TIMEOUT, build, contents, copy_files, folder, has_passed_alone, installed, small_segments,
    small_tree, stock, wait_until,
};

const FILE: &str = HOTNESS_FILE_NAME;
/// Far less than all units take, so that what is resident matters.
const BUDGET_BYTES: u64 = 56 << 10;
const NUMBERS: u32 = 64_000;
const ROUNDS: u64 = 120_000;

fn elastic(warm_start_every: Option<Duration>) -> ElasticFilters {
    let units = UnitSettings::bloom(6, 4).expect("the settings are sound");
    build(small_segments(BUDGET_BYTES).units(units).warm_start_every(warm_start_every))
}

/// A folder, and that of a database in it.
fn place() -> (Folder, PathBuf) {
    let folder = folder();
    let path = folder.path().join("db");
    (folder, path)
}

fn hourly() -> ElasticFilters {
    elastic(Some(Duration::from_secs(3600)))
}

/// Several levels, none of which changes any more.
fn tree() -> Options {
    let mut options = small_tree();
    options.set_disable_auto_compactions(true);
    options
}

fn open(elastic: &ElasticFilters, path: &Path) -> DB {
    let db = DB::open(&installed(elastic, &tree()), path).expect("open");
    assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
    db
}

/// Writes the numbers as several sorted runs that overlap.
fn fill(db: &DB) {
    for stride in 0..3 {
        for number in (2 * stride..NUMBERS).step_by(6) {
            db.put(contents::key(number), contents::value("warm", number)).expect("put");
        }
        db.flush().expect("flush");
    }
}

/// Looks up absent numbers, most of them in a quarter of the keys; gives the wasted reads.
fn look_up(elastic: &ElasticFilters, db: &DB, rounds: u64, seed: u64) -> u64 {
    let before = elastic.stats().outcomes.wasted_reads;
    let mut state = seed;
    for round in 0..rounds {
        // At an even pace, so that what is learned meanwhile does not depend on who else uses the machine.
        if round % 20 == 0 {
            assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
        }
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        let random = (state >> 33) as u32;
        let range = if random.is_multiple_of(16) { NUMBERS } else { NUMBERS / 4 };
        let number = ((random >> 4) % range) | 1;
        assert!(db.get_pinned(contents::key(number)).expect("get").is_none());
    }
    assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
    elastic.stats().outcomes.wasted_reads - before
}

/// A database with a history, and the wasted reads of the last lookups of it.
fn with_history(elastic: &ElasticFilters, path: &Path) -> u64 {
    let db = open(elastic, path);
    fill(&db);
    for seed in 0..4 {
        look_up(elastic, &db, ROUNDS, seed);
    }
    look_up(elastic, &db, ROUNDS, 99)
}

/// A database of which something is remembered.
fn with_file(path: &Path) {
    let elastic = hourly();
    let db = open(&elastic, path);
    fill(&db);
    look_up(&elastic, &db, ROUNDS / 10, 1);
}

fn assert_warm(path: &Path, before: u64, what: &str) {
    let elastic = hourly();
    let db = open(&elastic, path);
    let warm = look_up(&elastic, &db, ROUNDS, 99);
    println!("{what}: {before} wasted reads before, {warm} after");
    // 10%, and three standard deviations of a count: the manager learns on meanwhile.
    let most = 1.1 * before as f64 + 3.0 * (before as f64).sqrt();
    assert!(warm as f64 <= most, "{what}: {warm} wasted reads, {before} before");
}

/// Wasted reads right after opening without a file.
fn cold(path: &Path) -> u64 {
    let elastic = elastic(None);
    let db = open(&elastic, path);
    look_up(&elastic, &db, ROUNDS / 50, 99)
}

#[test]
fn a_database_that_was_closed_starts_warm_and_so_do_its_copies() {
    let (folder, path) = place();
    let before = with_history(&hourly(), &path);
    assert!(path.join(FILE).is_file());
    let names: Vec<_> =
        fs::read_dir(&path).expect("folder").flatten().map(|entry| entry.file_name()).collect();
    let ours = names.iter().filter(|name| name.to_string_lossy().contains("SPRINGBLOOM"));
    assert_eq!(ours.count(), 1, "nothing is left over: {names:?}");
    // What the first lookups waste, where a cold start shows.
    let first = |remember| {
        let elastic = elastic(remember);
        let db = open(&elastic, &path);
        look_up(&elastic, &db, ROUNDS / 50, 99)
    };
    let (cold, warm) = (first(None), first(Some(Duration::from_secs(3600))));
    println!("first {} lookups: {cold} wasted reads from cold, {warm} from warm", ROUNDS / 50);
    assert!(cold as f64 > 1.5 * warm as f64, "the first lookups waste {cold} from cold, {warm} from warm");
    copy_files(&path, &folder.path().join("copy"));
    fs::rename(&path, folder.path().join("moved")).expect("rename");
    assert_warm(&folder.path().join("copy"), before, "copied");
    assert_warm(&folder.path().join("moved"), before, "moved");
}

#[test]
fn a_database_whose_process_was_killed_starts_warm() {
    const CHILD: &str = "SPRINGBLOOM_TEST_CHILD";
    if let Some(path) = std::env::var_os(CHILD) {
        // The child: works until it is killed, or for a while if nobody does that.
        let begun = Instant::now();
        let elastic = elastic(Some(Duration::from_millis(100)));
        let path = Path::new(&path);
        let db = open(&elastic, path);
        fill(&db);
        for seed in (0..).take_while(|_| begun.elapsed() < Duration::from_secs(300)) {
            let wasted = look_up(&elastic, &db, ROUNDS, seed % 8);
            fs::write(path.with_extension("new"), wasted.to_string()).expect("write");
            fs::rename(path.with_extension("new"), path.with_extension("wasted")).expect("rename");
            if seed >= 4 {
                fs::write(path.with_extension("ready"), "").expect("write");
            }
        }
        return;
    }
    let (_folder, path) = place();
    let mut child = Command::new(std::env::current_exe().expect("path"))
        .args(["warm_restart::a_database_whose_process_was_killed_starts_warm", "--exact"])
        .env(CHILD, &path)
        .spawn()
        .expect("spawn");
    wait_until("the child has a history", || path.with_extension("ready").exists());
    std::thread::sleep(Duration::from_millis(300));
    child.kill().expect("kill");
    child.wait().expect("wait");
    let wasted = fs::read_to_string(path.with_extension("wasted")).expect("read");
    assert_warm(&path, wasted.parse().expect("number"), "killed");
}

#[test]
fn whatever_is_wrong_with_the_file_is_a_cold_start() {
    let (_folder, path) = place();
    with_history(&hourly(), &path);
    let good = fs::read(path.join(FILE)).expect("read");
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 4;
    let mut newer = good.clone();
    newer[8] = 77;
    let baseline = cold(&path);
    for (what, bytes) in [
        ("empty", vec![]),
        ("cut", good[..good.len() / 2].to_vec()),
        ("flipped", flipped),
        ("newer", newer),
        ("foreign", b"something else, longer than a header of a file of ours would be, far longer".to_vec()),
    ] {
        fs::write(path.join(FILE), &bytes).expect("write");
        let elastic = hourly();
        let db = open(&elastic, &path);
        let wasted = look_up(&elastic, &db, ROUNDS / 50, 99);
        assert!(wasted as f64 > 0.4 * baseline as f64, "{what}: {wasted} of a cold start's {baseline}");
        drop((db, elastic));
        assert!(fs::read(path.join(FILE)).expect("read") != bytes, "{what}: replaced by a good one");
    }
    fs::remove_file(path.join(FILE)).expect("remove");
    fs::create_dir(path.join(FILE)).expect("a folder in its place");
    drop(open(&hourly(), &path));
}

#[test]
fn tables_that_were_not_opened_in_between_are_still_remembered() {
    let (_folder, path) = place();
    let before = with_history(&hourly(), &path);
    {
        // Opens but a few tables, and leaves.
        let elastic = hourly();
        let mut options = tree();
        options.set_max_open_files(20);
        let db = DB::open(&installed(&elastic, &options), &path).expect("open");
        for _ in 0..100 {
            assert!(db.get_pinned(contents::key(1)).expect("get").is_none());
        }
    }
    assert_warm(&path, before, "after a short visit");
}

#[test]
fn stock_rocksdb_takes_no_notice() {
    let (folder, path) = place();
    with_file(&path);
    {
        let db = DB::open(&tree(), &path).expect("stock opens it");
        stock::rewrite(&db);
        rocksdb::checkpoint::Checkpoint::new(&db)
            .and_then(|checkpoint| checkpoint.create_checkpoint(folder.path().join("checkpoint")))
            .expect("checkpoint");
        let engine_folder = folder.path().join("backup");
        let options = rocksdb::backup::BackupEngineOptions::new(&engine_folder).expect("options");
        let env = rocksdb::Env::new().expect("env");
        let mut engine = rocksdb::backup::BackupEngine::open(&options, &env).expect("backup engine");
        engine.create_new_backup(&db).expect("backup");
        engine
            .restore_from_latest_backup(
                folder.path().join("restored"),
                folder.path().join("restored"),
                &Default::default(),
            )
            .expect("restore");
    }
    assert!(!folder.path().join("checkpoint").join(FILE).exists());
    assert!(path.join(FILE).exists(), "stock RocksDB does not clean it away");
    // What is remembered is of tables that are gone: a cold start, and right answers.
    let elastic = hourly();
    look_up(&elastic, &open(&elastic, &path), 1000, 1);
    drop(elastic);
    DB::repair(&tree(), &path).expect("repair");
    assert!(path.join(FILE).exists());
    // Repair keeps what it took out in a folder of its own.
    let _ = fs::remove_dir_all(path.join("lost"));
    DB::destroy(&tree(), &path).expect("destroy");
    assert!(!path.exists(), "destroying a database leaves nothing");
    let elastic = hourly();
    drop(open(&elastic, &path));
}

#[test]
fn a_store_that_is_open_for_a_moment_is_remembered() {
    let (_folder, path) = place();
    with_file(&path);
    fs::remove_file(path.join(FILE)).expect("remove");
    let elastic = hourly();
    let db = DB::open(&installed(&elastic, &tree()), &path).expect("open");
    look_up(&elastic, &db, 2000, 99);
    drop(db);
    assert!(path.join(FILE).exists(), "its lock was not looked for before it closed");
}

#[test]
fn what_could_not_be_saved_is_saved_later_without_new_lookups() {
    let (_folder, path) = place();
    let elastic = elastic(Some(Duration::from_millis(50)));
    let db = open(&elastic, &path);
    fs::create_dir(path.join(FILE)).expect("a folder in the place of the file");
    fill(&db);
    look_up(&elastic, &db, ROUNDS, 99);
    let is_told =
        || fs::read_to_string(path.join("LOG")).is_ok_and(|log| log.contains("cannot be remembered"));
    wait_until("the failure is told", is_told);
    std::thread::sleep(Duration::from_millis(500));
    fs::remove_dir(path.join(FILE)).expect("it is empty");
    wait_until("it is saved", || path.join(FILE).is_file());
}

/// Names and contents of what is in a folder, RocksDB's log aside.
fn listing(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).expect("folder").flatten();
    let mut files: Vec<_> = entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())))
        .filter(|(name, _)| !name.starts_with("LOG"))
        .map(|(name, contents)| (name, contents.unwrap_or_default()))
        .collect();
    files.sort();
    files
}

#[test]
fn reading_a_database_writes_nothing() {
    let (folder, path) = place();
    with_file(&path);
    let secondary_path = folder.path().join("secondary");
    for forget in [false, true] {
        if forget {
            fs::remove_file(path.join(FILE)).expect("remove");
        }
        let before = listing(&path);
        for is_secondary in [false, true] {
            let elastic = elastic(Some(Duration::from_millis(50)));
            let options = installed(&elastic, &tree());
            let db = match is_secondary {
                true => DB::open_as_secondary(&options, &path, &secondary_path),
                false => DB::open_for_read_only(&options, &path, false),
            };
            let db = db.expect("open");
            look_up(&elastic, &db, ROUNDS / 50, 99);
            std::thread::sleep(Duration::from_millis(300));
            drop(db);
            drop(elastic);
            assert!(listing(&path) == before, "secondary: {is_secondary}, without a file: {forget}");
        }
    }
    // One that is opened to write, and only read, remembers.
    let elastic = hourly();
    let db = open(&elastic, &path);
    look_up(&elastic, &db, ROUNDS / 50, 99);
    drop(db);
    assert!(path.join(FILE).exists());
}

#[test]
fn a_secondary_leaves_what_its_primary_remembers_alone() {
    let (folder, path) = place();
    let primary = hourly();
    let db = open(&primary, &path);
    fill(&db);
    look_up(&primary, &db, ROUNDS / 10, 1);
    let other = hourly();
    let options = installed(&other, &tree());
    let secondary = DB::open_as_secondary(&options, &path, &folder.path().join("secondary")).expect("open");
    look_up(&other, &secondary, 2000, 1);
    drop(db);
    let remembered = fs::read(path.join(FILE)).expect("read");
    look_up(&other, &secondary, 2000, 2);
    drop(secondary);
    assert!(fs::read(path.join(FILE)).expect("read") == remembered);
}

#[test]
fn a_closed_database_is_forgotten_at_once() {
    for (remember, max_open_files) in [(None, -1), (None, 20), (Some(Duration::from_secs(3600)), 20)] {
        let folder = folder();
        let elastic = elastic(remember);
        let mut options = tree();
        options.set_max_open_files(max_open_files);
        let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
        fill(&db);
        look_up(&elastic, &db, ROUNDS / 50, 1);
        assert!(elastic.stats().tables > 20, "{:?}", elastic.stats());
        drop(db);
        let stats = elastic.stats();
        assert!(stats.tables == 0 && stats.levels.is_empty(), "{stats:?}");
        assert_eq!(folder.path().join(FILE).exists(), remember.is_some());
    }
}

#[test]
fn a_folder_that_goes_away_is_not_made_again() {
    let (_folder, path) = place();
    let elastic = elastic(Some(Duration::from_millis(50)));
    {
        let db = open(&elastic, &path);
        fill(&db);
        look_up(&elastic, &db, 2000, 1);
        wait_until("the file is written while the database is open", || path.join(FILE).exists());
    }
    DB::destroy(&tree(), &path).expect("destroy");
    assert!(!path.exists());
    std::thread::sleep(Duration::from_millis(200));
    drop(elastic);
    assert!(!path.exists());
}

/// Maintenance threads of this process. The kernel keeps 15 bytes of a name.
fn maintenance_threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux");
    let names = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.trim() == "springbloom-mai").count()
}

#[test]
fn a_database_outlives_the_handle_and_dropping_the_last_reference_anywhere_ends_the_thread() {
    if has_passed_alone(
        a_database_outlives_the_handle_and_dropping_the_last_reference_anywhere_ends_the_thread,
        &[],
    ) {
        return;
    }
    let started = Instant::now();
    let folder = folder();
    let elastic = hourly();
    let db = open(&elastic, folder.path());
    drop(elastic);
    contents::fill_db(&db, "orphan");
    contents::check_db(&db, "orphan");
    // The database holds the last reference, and drops it on another thread.
    std::thread::spawn(move || drop(db)).join().expect("no deadlock");
    for _ in 0..50 {
        drop(hourly());
    }
    assert!(started.elapsed() < Duration::from_secs(60));
    assert!(maintenance_threads() < 20, "{} threads are left", maintenance_threads());
}
