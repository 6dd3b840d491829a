//! RocksDB, LMDB and redb under the same measurement.
//!
//! RocksDB gets its memory as one block cache for index, filters and memtables, and uses direct I/O. LMDB and redb read through the page
//! cache, which they do not account for, so only a [ceiling](crate::ceiling) shows the memory that they need.

use heed::types::Bytes;
use redb::ReadableDatabase;

use crate::setup::{KEY_BYTES, Setup, value_of};
use crate::store::Store;

pub(crate) struct RocksDb {
    database: rocksdb::DB,
    options: rocksdb::Options,
}

impl RocksDb {
    pub(crate) fn make(setup: &Setup, memory_bytes: usize) -> RocksDb {
        let cache = rocksdb::Cache::new_lru_cache(memory_bytes / 2);
        let mut table = rocksdb::BlockBasedOptions::default();
        table.set_bloom_filter(10.0, false);
        table.set_block_cache(&cache);
        table.set_cache_index_and_filter_blocks(true);
        table.set_index_type(rocksdb::BlockBasedIndexType::TwoLevelIndexSearch);
        table.set_partition_filters(true);
        table.set_format_version(6);
        let mut options = rocksdb::Options::default();
        options.create_if_missing(true);
        options.set_block_based_table_factory(&table);
        options.set_compression_type(rocksdb::DBCompressionType::None);
        options.set_write_buffer_size(memory_bytes / 8);
        options.set_max_write_buffer_number(2);
        options.set_max_background_jobs(2);
        options.set_use_direct_reads(true);
        options.set_use_direct_io_for_flush_and_compaction(true);
        options.enable_statistics();
        let database = rocksdb::DB::open(&options, setup.fresh("rocksdb")).expect("a database");
        RocksDb { database, options }
    }

    fn ticker(&self, name: &str) -> Option<u64> {
        let statistics = self.options.get_statistics()?;
        let line = statistics.lines().find(|line| line.starts_with(&format!("{name} ")))?;
        line.rsplit(' ').next()?.parse().ok()
    }
}

impl Store for RocksDb {
    fn put_many(&mut self, keys: &[[u8; KEY_BYTES]]) {
        let mut batch = rocksdb::WriteBatch::default();
        for key in keys {
            batch.put(key, value_of(key));
        }
        self.database.write(batch).expect("write");
    }

    fn flush(&mut self) {
        self.database.flush_wal(true).expect("sync");
    }

    fn get_many(&mut self, keys: &[[u8; KEY_BYTES]]) -> usize {
        let values = self.database.multi_get(keys);
        let found = keys.iter().zip(values).filter_map(|(key, value)| Some((key, value.expect("get")?)));
        found.inspect(|(key, value)| assert_eq!(value[..], value_of(key))).count()
    }

    fn reads(&self) -> Option<u64> {
        None
    }

    fn written_bytes(&self) -> Option<u64> {
        let parts = ["rocksdb.wal.bytes", "rocksdb.flush.write.bytes", "rocksdb.compact.write.bytes"];
        parts.iter().map(|name| self.ticker(name)).sum()
    }
}

pub(crate) struct Lmdb {
    environment: heed::Env,
    database: heed::Database<Bytes, Bytes>,
    waiting: Vec<[u8; KEY_BYTES]>,
}

impl Lmdb {
    pub(crate) fn make(setup: &Setup, _: usize) -> Lmdb {
        let mut options = heed::EnvOpenOptions::new();
        options.map_size((setup.keys as usize * 400).next_multiple_of(1 << 20) + (64 << 20));
        // SAFETY: the folder is this run's own, so nobody else changes the mapped file.
        let environment = unsafe { options.open(setup.fresh("lmdb")) }.expect("an environment");
        let mut transaction = environment.write_txn().expect("a transaction");
        let database = environment.create_database(&mut transaction, None).expect("a database");
        transaction.commit().expect("commit");
        Lmdb { environment, database, waiting: Vec::new() }
    }
}

impl Store for Lmdb {
    fn put_many(&mut self, keys: &[[u8; KEY_BYTES]]) {
        self.waiting.extend_from_slice(keys);
    }

    /// One transaction for all pending pairs.
    fn flush(&mut self) {
        let mut transaction = self.environment.write_txn().expect("a transaction");
        for key in self.waiting.drain(..) {
            self.database.put(&mut transaction, &key, &value_of(&key)).expect("put");
        }
        transaction.commit().expect("commit");
    }

    fn get_many(&mut self, keys: &[[u8; KEY_BYTES]]) -> usize {
        let transaction = self.environment.read_txn().expect("a transaction");
        let get =
            |key: &[u8; KEY_BYTES]| self.database.get(&transaction, key).expect("get").map(<[u8]>::to_vec);
        let found = keys.iter().filter_map(|key| Some((key, get(key)?)));
        found.inspect(|(key, value)| assert_eq!(value[..], value_of(key))).count()
    }

    fn reads(&self) -> Option<u64> {
        None
    }

    fn written_bytes(&self) -> Option<u64> {
        None
    }
}

const TABLE: redb::TableDefinition<'_, &[u8], &[u8]> = redb::TableDefinition::new("pairs");

pub(crate) struct Redb {
    database: redb::Database,
    waiting: Vec<[u8; KEY_BYTES]>,
}

impl Redb {
    pub(crate) fn make(setup: &Setup, memory_bytes: usize) -> Redb {
        let database = redb::Builder::new()
            .set_cache_size(memory_bytes)
            .create(setup.fresh("redb").join("pairs.redb"))
            .expect("a database");
        let transaction = database.begin_write().expect("a transaction");
        transaction.open_table(TABLE).expect("a table");
        transaction.commit().expect("commit");
        Redb { database, waiting: Vec::new() }
    }
}

impl Store for Redb {
    fn put_many(&mut self, keys: &[[u8; KEY_BYTES]]) {
        self.waiting.extend_from_slice(keys);
    }

    /// One transaction for all pending pairs.
    fn flush(&mut self) {
        let transaction = self.database.begin_write().expect("a transaction");
        {
            let mut table = transaction.open_table(TABLE).expect("a table");
            for key in self.waiting.drain(..) {
                table.insert(&key[..], &value_of(&key)[..]).expect("put");
            }
        }
        transaction.commit().expect("commit");
    }

    fn get_many(&mut self, keys: &[[u8; KEY_BYTES]]) -> usize {
        let transaction = self.database.begin_read().expect("a transaction");
        let table = transaction.open_table(TABLE).expect("a table");
        let get =
            |key: &[u8; KEY_BYTES]| table.get(&key[..]).expect("get").map(|value| value.value().to_vec());
        let found = keys.iter().filter_map(|key| Some((key, get(key)?)));
        found.inspect(|(key, value)| assert_eq!(value[..], value_of(key))).count()
    }

    fn reads(&self) -> Option<u64> {
        None
    }

    fn written_bytes(&self) -> Option<u64> {
        None
    }
}
