//! Every answer is that of a map, whatever is written, compacted, reopened, damaged or deleted meanwhile.

mod support;

use std::{collections::BTreeMap, ops::Bound, sync::Arc, time::Duration};

use rand::{
    RngExt, SeedableRng,
    rngs::SmallRng,
    seq::{IndexedRandom, SliceRandom},
};
use slatedb::{
    Db, DbIterator, DbReader, DbReaderMode, FilterPolicy, WriteBatch,
    config::{CompressionCodec, DbReaderOptions},
    object_store::{ObjectStore, ObjectStoreExt},
};
use springbloom_slatedb::{ElasticFilters, sweep};
use support::{Until, empty_store, flush, settings, unit_objects};

const PATH: &str = "db";
const KEYS: u32 = 40_000;
const ROUNDS: u32 = 40;
/// Answers of a round, of the writer and of the reader each.
const ANSWERS: u32 = 13_000;
/// Of a round, by each of the two.
const PREFIX_SCANS: u32 = 200;
/// Ends the prefixes of those keys that have it, which are few or many.
const SEPARATOR: u8 = b'7';

fn key(number: u32) -> Vec<u8> {
    // Some keys are prefixes of others, and lengths differ.
    let mut key = format!("{:08x}", number.wrapping_mul(2_654_435_761)).into_bytes();
    key.truncate(3 + number as usize % 6);
    key.extend_from_slice(&number.to_be_bytes()[2..]);
    key
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Bounds of which the keys have a prefix in common, or nearly.
fn bounds_near(prefix: &[u8], random: &mut SmallRng) -> Bounds {
    let mut end = || {
        let mut key = prefix.to_vec();
        match random.random_range(0..4) {
            0 => key.push(random.random()),
            1 => {
                let last = key.last_mut().expect("it has three bytes");
                *last = last.wrapping_add(1);
            }
            2 => key.truncate(key.len() - 1),
            _ => (),
        }
        let included = random.random_bool(0.5);
        if included { Bound::Included(key) } else { Bound::Excluded(key) }
    };
    (end(), end())
}

fn is_empty(bounds: &Bounds) -> bool {
    match bounds {
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => {
            from >= to
        }
        _ => false,
    }
}

fn policies(elastic: &ElasticFilters, store: &Arc<dyn ObjectStore>) -> Vec<Arc<dyn FilterPolicy>> {
    let over_prefixes = elastic.prefix_policy(PATH, store.clone(), Arc::new(Until(SEPARATOR)));
    vec![elastic.policy(PATH, store.clone()), over_prefixes]
}

async fn all_of(mut found: DbIterator) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut entries = Vec::new();
    while let Some(entry) = found.next().await.expect("the store works") {
        entries.push((entry.key.to_vec(), entry.value.to_vec()));
    }
    entries
}

async fn open(store: Arc<dyn ObjectStore>, elastic: &ElasticFilters, round: u32) -> Db {
    let mut settings = settings(64 << 10);
    settings.compression_codec = round.is_multiple_of(2).then_some(CompressionCodec::Zstd);
    let policies = policies(elastic, &store);
    Db::builder(PATH, store)
        .with_settings(settings)
        .with_filter_policies(policies)
        .build()
        .await
        .expect("it opens")
}

async fn open_reader(store: Arc<dyn ObjectStore>, elastic: &ElasticFilters) -> DbReader {
    let policies = policies(elastic, &store);
    let options =
        DbReaderOptions { manifest_poll_interval: Duration::from_millis(50), ..DbReaderOptions::default() };
    DbReader::builder(PATH, store)
        .with_reader_mode(DbReaderMode::ManagedCheckpoint)
        .with_options(options)
        .with_filter_policies(policies)
        .build()
        .await
        .expect("it opens")
}

async fn write(db: &Db, model: &mut Model, random: &mut SmallRng) {
    let mut batch = WriteBatch::new();
    for _ in 0..4000 {
        let key = key(random.random_range(0..KEYS));
        if random.random_bool(0.3) {
            batch.delete(&key);
            model.remove(&key);
        } else {
            let value = vec![random.random(); random.random_range(0..60)];
            batch.put(&key, &value);
            model.insert(key, value);
        }
    }
    db.write(batch).await.expect("the store works");
}

/// Damages or deletes some objects with units.
async fn spoil(store: &dyn ObjectStore, random: &mut SmallRng) {
    let mut objects = unit_objects(store, PATH).await;
    objects.shuffle(random);
    for path in objects.iter().take(2) {
        if random.random_bool(0.5) {
            store.delete(path).await.expect("the store works");
        } else {
            let mut units = store.get(path).await.expect("listed").bytes().await.expect("listed").to_vec();
            let at = random.random_range(0..units.len());
            units[at] ^= 1 << random.random_range(0..8);
            units.truncate(if random.random_bool(0.2) { at } else { units.len() });
            store.put(path, units.into()).await.expect("the store works");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_million_answers_are_right() {
    let seed = std::env::var("SPRINGBLOOM_SEED")
        .map_or_else(|_| rand::random(), |seed| seed.parse().expect("a number"));
    println!("SPRINGBLOOM_SEED={seed}");
    let mut random = SmallRng::seed_from_u64(seed);
    let store = empty_store();
    let start = || ElasticFilters::builder().budget_bytes(120_000).segment_keys(600).start();
    let (mut elastic, elastic_of_reader) = (start(), start());
    let mut db = open(store.clone(), &elastic, 0).await;
    let mut model = Model::new();
    let (mut answers, mut rejected) = (0u32, 0);
    for round in 0..ROUNDS {
        write(&db, &mut model, &mut random).await;
        flush(&db).await;
        if round % 5 == 4 {
            spoil(&*store, &mut random).await;
        }
        if round % 8 == 7 {
            rejected += rejections(&elastic);
            db.close().await.expect("the store works");
            elastic = start();
            db = open(store.clone(), &elastic, round).await;
        }
        if round % 10 == 9 {
            sweep(PATH, store.clone(), Duration::from_secs(1)).await.expect("the store works");
        }
        elastic.set_budget_bytes(*[0, 30_000, 60_000, 120_000].choose(&mut random).expect("not empty"));
        let reader = open_reader(store.clone(), &elastic_of_reader).await;
        for answer in 0..ANSWERS {
            let key = key(random.random_range(0..KEYS + KEYS / 2));
            let expected = model.get(&key);
            let got = db.get(&key).await.expect("the store works");
            assert_eq!(
                got.as_deref(),
                expected.map(Vec::as_slice),
                "{key:?}, answer {answer} of round {round}, seed {seed}"
            );
            let got = reader.get(&key).await.expect("the store works");
            assert_eq!(
                got.as_deref(),
                expected.map(Vec::as_slice),
                "reader: {key:?}, answer {answer} of round {round}, seed {seed}"
            );
            answers += 2;
        }
        for _ in 0..PREFIX_SCANS {
            let mut prefix = key(random.random_range(0..KEYS + KEYS / 2));
            // To the separator, before it, or beyond it.
            prefix.truncate(random.random_range(3..9));
            let after = model.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
            let expected: Vec<_> = after.map(|(key, value)| (key.clone(), value.clone())).collect();
            let got = all_of(db.scan_prefix(&prefix, ..).await.expect("the store works")).await;
            assert_eq!(got, expected, "{prefix:?}, round {round}, seed {seed}");
            let got = all_of(reader.scan_prefix(&prefix, ..).await.expect("the store works")).await;
            assert_eq!(got, expected, "reader: {prefix:?}, round {round}, seed {seed}");
            let bounds = bounds_near(&prefix, &mut random);
            if !is_empty(&bounds) {
                let inside = model.range(bounds.clone());
                let expected: Vec<_> = inside.map(|(key, value)| (key.clone(), value.clone())).collect();
                let got = all_of(db.scan(bounds.clone()).await.expect("the store works")).await;
                assert_eq!(got, expected, "{bounds:?}, round {round}, seed {seed}");
                let got = all_of(reader.scan(bounds.clone()).await.expect("the store works")).await;
                assert_eq!(got, expected, "reader: {bounds:?}, round {round}, seed {seed}");
            }
        }
        reader.close().await.expect("the store works");
        let stats = elastic.stats();
        assert!(stats.used_bytes <= stats.budget_bytes, "{stats:?}");
    }
    rejected += rejections(&elastic) + rejections(&elastic_of_reader);
    println!("{answers} answers, {rejected} rejections");
    assert!(answers >= 1_000_000 && rejected > 500_000, "{answers} answers, {rejected} rejections");
    db.close().await.expect("the store works");
}

fn rejections(elastic: &ElasticFilters) -> u64 {
    elastic.stats().outcomes.rejected
}
