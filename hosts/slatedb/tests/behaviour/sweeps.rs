//! Units whose table is gone are deleted, wherever the database is, and no others.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use crate::support::{Meter, Until, flush, settings, settle};
use futures::{StreamExt, TryStreamExt};
use slatedb::{
    Db, Settings, WriteBatch,
    admin::{Admin, CloneSourceSpec},
    config::{CheckpointOptions, CompressionCodec},
    object_store::{ObjectStore, ObjectStoreExt, local::LocalFileSystem, memory::InMemory, path::Path},
};
use springbloom_slatedb::{ElasticFilters, SweepError, Swept, sweep};

/// With characters that paths of objects escape, with none, and with no name at all.
const PATHS: [&str; 11] =
    ["orders", "a/b/c", "/a//b/", "", "kunden/müller", "tenant#1", "user~7", "100%", "a b", "%23", "x%2Fy"];

async fn objects(store: &dyn ObjectStore, part: &str) -> Vec<Path> {
    let all = store.list(None).map(|object| object.expect("the store works").location);
    all.filter(|path| futures::future::ready(path.as_ref().contains(part))).collect().await
}

/// A database of two tables with their units.
async fn written(path: &str) -> Arc<dyn ObjectStore> {
    compressed(path, None).await
}

async fn compressed(path: &str, compression_codec: Option<CompressionCodec>) -> Arc<dyn ObjectStore> {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let elastic = ElasticFilters::builder().start();
    let settings = Settings { compactor_options: None, compression_codec, ..Settings::default() };
    let db = Db::builder(path, store.clone()).with_settings(settings);
    let db = db.with_filter_policies(vec![elastic.policy(path, store.clone())]).build().await;
    let db = db.expect("it opens");
    for table in 0..2u32 {
        let mut batch = WriteBatch::new();
        (0..2000u32).for_each(|key| batch.put((key + table).to_be_bytes(), b"value"));
        db.write(batch).await.expect("the store works");
        flush(&db).await;
    }
    db.close().await.expect("the store works");
    elastic.wait_written().await;
    store
}

#[tokio::test]
async fn a_sweep_finds_the_tables_of_any_path() {
    for path in PATHS {
        let store = written(path).await;
        let swept = sweep(path, store.clone(), Duration::ZERO).await.expect("the store works");
        assert_eq!(swept, Swept { kept: 2, deleted: 0 }, "{path:?}");

        let tables = objects(&*store, "compacted/").await;
        store.delete(&tables[0]).await.expect("the store works");
        let swept = sweep(path, store.clone(), Duration::ZERO).await.expect("the store works");
        assert_eq!(swept, Swept { kept: 1, deleted: 1 }, "{path:?}");

        store.delete(&tables[1]).await.expect("the store works");
        let swept = sweep(path, store.clone(), Duration::ZERO).await.expect("the store works");
        assert_eq!(swept, Swept { kept: 0, deleted: 1 }, "{path:?}");
        assert_eq!(objects(&*store, "springbloom/").await, []);
    }
}

/// As one with few keys, or one that another policy or none wrote. The keys may be those of tables that have filters.
#[tokio::test]
async fn a_table_without_a_filter_keeps_no_units() {
    let path = "orders";
    let store = written(path).await;
    let (tables, units) = (objects(&*store, "compacted/").await, objects(&*store, "springbloom/").await);
    let name = units[0].filename().expect("it has one");
    let (keys, _) = name.split_once('-').expect("keys, and what is random");
    let dead = Path::from(path).join("springbloom").join(format!("{keys}-{:032x}", 1));
    store.put(&dead, b"units".to_vec().into()).await.expect("the store works");
    let settings = Settings { compactor_options: None, min_filter_keys: u32::MAX, ..Settings::default() };
    let db = Db::builder(path, store.clone()).with_settings(settings).build().await.expect("it opens");
    for table in 0..2u32 {
        let mut batch = WriteBatch::new();
        [table, 1999 + table].into_iter().for_each(|key| batch.put(key.to_be_bytes(), b"value"));
        db.write(batch).await.expect("the store works");
        flush(&db).await;
    }
    db.close().await.expect("the store works");
    let swept = sweep(path, store.clone(), Duration::ZERO).await.expect("the store works");
    assert_eq!(swept, Swept { kept: 2, deleted: 1 });
    assert_eq!(objects(&*store, "springbloom/").await, units);

    for table in tables {
        store.delete(&table).await.expect("the store works");
    }
    let swept = sweep(path, store.clone(), Duration::ZERO).await.expect("the store works");
    assert_eq!(swept, Swept { kept: 0, deleted: 2 });
}

/// As compactions leave them where the first and last key stay the same. A codec without its feature tells nothing.
#[tokio::test]
async fn units_of_a_dead_table_go_though_a_compressed_one_has_its_keys() {
    let codecs = [
        None,
        #[cfg(feature = "lz4")]
        Some(CompressionCodec::Lz4),
        #[cfg(feature = "snappy")]
        Some(CompressionCodec::Snappy),
        #[cfg(feature = "zlib")]
        Some(CompressionCodec::Zlib),
        #[cfg(feature = "zstd")]
        Some(CompressionCodec::Zstd),
    ];
    for codec in codecs {
        let store = compressed("orders", codec).await;
        let units = objects(&*store, "springbloom/").await;
        for (number, units) in units.iter().enumerate() {
            let (keys, _) = units.as_ref().rsplit_once('-').expect("keys, and what is random");
            let dead = Path::from(format!("{keys}-{number:032x}"));
            store.put(&dead, b"units".to_vec().into()).await.expect("the store works");
        }
        let swept = sweep("orders", store.clone(), Duration::ZERO).await.expect("the store works");
        assert_eq!(swept, Swept { kept: 2, deleted: 2 }, "{codec:?}");
        assert_eq!(objects(&*store, "springbloom/").await, units, "{codec:?}");
    }
}

/// A folder says that what is to be deleted is not there, as Google Cloud does.
#[tokio::test]
async fn sweeps_at_once_delete_each_object_once() {
    const DEAD: usize = 200;
    let folder = tempfile::tempdir().expect("there is room");
    let store: Arc<dyn ObjectStore> =
        Arc::new(LocalFileSystem::new_with_prefix(folder.path()).expect("it exists"));
    let db = Db::builder("orders", store.clone()).build().await.expect("it opens");
    db.close().await.expect("the store works");
    for dead in 0..DEAD {
        let name = Path::from("orders").join("springbloom").join(format!("{dead:016x}-{dead:032x}"));
        store.put(&name, b"units".to_vec().into()).await.expect("the store works");
    }
    // As tasks, which programs make of them.
    let sweeps = (0..3).map(|_| tokio::spawn(sweep("orders", store.clone(), Duration::ZERO)));
    let swept = futures::future::join_all(sweeps).await.into_iter().map(|swept| swept.expect("no panic"));
    assert_eq!(swept.map(|swept| swept.expect("the store works").deleted).sum::<usize>(), DEAD);
}

/// Their tables are in the folder of the other database, and its units too.
#[tokio::test(flavor = "multi_thread")]
async fn a_clone_uses_the_units_of_the_database_that_it_is_of() {
    let (path, clone) = ("orders", "copy");
    let store = written(path).await;
    let admin = Admin::builder(clone, store.clone()).build();
    let built = admin.create_clone_builder_from_source(CloneSourceSpec::new(path)).build().await;
    built.expect("the store works");
    for swept in [path, clone] {
        let swept = sweep(swept, store.clone(), Duration::ZERO).await.expect("the store works");
        assert_eq!(swept.deleted, 0);
    }
    let elastic = ElasticFilters::builder().start();
    let settings = Settings { compactor_options: None, ..Settings::default() };
    let db = Db::builder(clone, store.clone()).with_settings(settings);
    let db = db.with_filter_policies(vec![elastic.policy(clone, store.clone())]).build().await;
    let db = db.expect("it opens");
    let absent = async || {
        for key in 0..2000u32 {
            let found = elastic.get(&db, [&key.to_be_bytes()[..], b"-"].concat()).await;
            assert_eq!(found.expect("the store works"), None);
        }
        assert!(elastic.wait_idle(Duration::from_secs(30)).await);
        elastic.stats().outcomes.rejected
    };
    let (first, second) = (absent().await, absent().await);
    assert!(second - first > 3800, "{} of 4000 questions", second - first);
    db.close().await.expect("the store works");
}

/// As when units were copied without their tables, or the tables are in another store.
#[tokio::test]
async fn a_sweep_that_finds_no_database_deletes_nothing() {
    for path in PATHS {
        let store = written(path).await;
        for part in ["compacted/", "manifest/"] {
            let gone = futures::stream::iter(objects(&*store, part).await).map(Ok).boxed();
            store.delete_stream(gone).try_collect::<Vec<_>>().await.expect("the store works");
        }
        let error = sweep(path, store.clone(), Duration::ZERO).await.expect_err("there is no database");
        assert!(matches!(error, SweepError::NoDatabase { .. }), "{error}");
        assert_eq!(objects(&*store, "springbloom/").await.len(), 2, "{path:?}: {error}");
    }
}

#[tokio::test]
async fn nothing_is_swept_where_nothing_is() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    assert_eq!(sweep("orders", store, Duration::ZERO).await.expect("the store works"), Swept::default());
}

/// Of a root database, or of one with such a name, and by policies whose units have the same first and last key.
#[tokio::test]
async fn a_sweep_keeps_the_units_of_other_databases_and_of_all_policies() {
    for codec in [None, Some(CompressionCodec::Zstd)] {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let elastic = ElasticFilters::builder().start();
        for path in ["db", "db/springbloom", "db/springbloom/x"] {
            let settings =
                Settings { compactor_options: None, compression_codec: codec, ..Settings::default() };
            let policies = vec![
                elastic.policy(path, store.clone()),
                elastic.prefix_policy(path, store.clone(), Arc::new(Until(b':'))),
            ];
            let db = Db::builder(path, store.clone()).with_settings(settings).with_filter_policies(policies);
            let db = db.build().await.expect("it opens");
            for table in 0..2u32 {
                let mut batch = WriteBatch::new();
                (0..2000u32)
                    .for_each(|key| batch.put(format!("{:03}:{key:06}:{table}", key % 100), b"value"));
                db.write(batch).await.expect("the store works");
                flush(&db).await;
            }
            db.close().await.expect("the store works");
        }
        elastic.wait_written().await;
        let before = objects(&*store, "springbloom").await;
        for path in ["db", "db/springbloom", "db/springbloom/x"] {
            let swept = sweep(path, store.clone(), Duration::ZERO).await.expect("the store works");
            assert_eq!(swept, Swept { kept: 4, deleted: 0 }, "{path} {codec:?}");
        }
        assert_eq!(objects(&*store, "springbloom").await, before);
    }
}

/// Of the newest manifest, and of a checkpoint.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_without_the_tables_of_manifests_costs_no_units() {
    let path = "orders";
    let store = Meter::new(written(path).await);
    let first = objects(&*store, "springbloom/").await;
    store.hides_tables.store(true, Relaxed);
    let swept = sweep(path, store.clone(), Duration::ZERO).await.expect("the store works");
    assert_eq!(swept, Swept { kept: 2, deleted: 0 });

    let admin = Admin::builder(path, store.clone()).build();
    let checkpoint = admin.create_detached_checkpoint(&CheckpointOptions::default()).await;
    checkpoint.expect("the store works");
    let elastic = ElasticFilters::builder().start();
    let db = Db::builder(path, store.clone()).with_settings(settings(1 << 20));
    let db = db.with_filter_policies(vec![elastic.policy(path, store.clone())]).build().await;
    let db = db.expect("it opens");
    while !db.manifest().l0().is_empty() && db.manifest().compacted().is_empty() {
        let mut batch = WriteBatch::new();
        (0..2000u32).for_each(|key| batch.put(key.to_be_bytes(), b"new"));
        db.write(batch).await.expect("the store works");
        flush(&db).await;
        settle(&db).await;
    }
    db.close().await.expect("the store works");
    elastic.wait_written().await;
    sweep(path, store.clone(), Duration::ZERO).await.expect("the store works");
    let left = objects(&*store, "springbloom/").await;
    assert!(first.iter().all(|units| left.contains(units)), "{first:?} {left:?}");

    // This one, and those that compactions made.
    for checkpoint in admin.list_checkpoints(None).await.expect("the store works") {
        admin.delete_checkpoint(checkpoint.id).await.expect("the store works");
    }
    sweep(path, store.clone(), Duration::ZERO).await.expect("the store works");
    let left = objects(&*store, "springbloom/").await;
    assert!(!first.iter().any(|units| left.contains(units)), "{first:?} {left:?}");
}

/// SlateDB panics where a store gives less of a table than it was asked for.
#[tokio::test]
async fn a_table_that_cannot_be_read_is_named_and_nothing_is_deleted() {
    let store = Meter::new(written("orders").await);
    let dead = Path::from("orders/springbloom").join(format!("{:016x}-{:032x}", 1, 1));
    store.put(&dead, b"units".to_vec().into()).await.expect("the store works");
    let is_named = async |tables: &[Path]| {
        let error = sweep("orders", store.clone(), Duration::ZERO).await.expect_err("a table is damaged");
        assert!(tables.iter().any(|table| error.to_string().contains(table.as_ref())), "{error}");
        assert_eq!(objects(&*store, "springbloom/").await.len(), 3);
    };
    let tables = objects(&*store, "compacted/").await;
    store.shortens_tables.store(true, Relaxed);
    is_named(&tables).await;
    store.shortens_tables.store(false, Relaxed);

    let whole = store.get(&tables[0]).await.expect("listed").bytes().await.expect("listed");
    for length in [0, 1, 10, 100, whole.len() / 2, whole.len() - 1] {
        store.put(&tables[0], whole.slice(..length).into()).await.expect("the store works");
        is_named(&tables[..1]).await;
    }
    store.put(&tables[0], whole.into()).await.expect("the store works");
    let swept = sweep("orders", store.clone(), Duration::ZERO).await.expect("all is whole");
    assert_eq!(swept, Swept { kept: 2, deleted: 1 });
}
