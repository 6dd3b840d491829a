// Describes RocksDB to the core.
#include "abi.h"
#include "install/cache_charge.h"
#include "read/elastic_table_reader.h"
#include "read/table_file.h"

constinit const sb_engine springbloom_engine = {
    .table_extension = "sst",
    // RocksDB also opens databases of LevelDB, whose tables have this extension.
    .older_table_extension = "ldb",
    .database_file = "CURRENT",
    // A read-only database does not have it open.
    .lock_file = "LOCK",
    // RocksDB takes it for a temporary OPTIONS file (ParseFileName), which DestroyDB deletes with the database, and which nothing else
    // reads, deletes or copies.
    .hotness_file = "OPTIONS-0-SPRINGBLOOM-HOTNESS.dbtmp",
    .hotness_file_new = "OPTIONS-0-SPRINGBLOOM-HOTNESS-NEW.dbtmp",
    // The reader and its file, each with what malloc adds.
    .reader_bytes = sizeof(springbloom::ElasticTableReader) + 8 + sizeof(springbloom::TableFile) + 8,
    .cache = &springbloom::kBlockCacheCalls,
};
