// What tests need of a database and the C interface does not have, or not in all releases.
#include <functional>

#include "check.h"
#include "rocksdb/table.h"
#include "rocksdb/trace_reader_writer.h"

// As the C interface has it.
struct rocksdb_t {
  rocksdb::DB* rep;
};

namespace springbloom_test {

using Call = std::function<rocksdb::Status(rocksdb::DB*)>;

int CallOn(void* rocksdb_db, char* error, size_t error_size, const Call& call) {
  return Run(error, error_size, [&] { CheckOk(call(static_cast<rocksdb_t*>(rocksdb_db)->rep), "RocksDB"); });
}

}  // namespace springbloom_test

// 80100 for 8.1.0.
extern "C" int springbloom_test_release() { return SPRINGBLOOM_ROCKSDB; }

extern "C" void springbloom_test_set_index_with_first_keys(void* options) {
  auto* const tables = springbloom::OptionsIn(options).table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  tables->index_type = rocksdb::BlockBasedTableOptions::kBinarySearchWithFirstKey;
}

// Readers of tables that a compaction removed clear the block cache when they are destroyed.
extern "C" void springbloom_test_uncache_removed_tables(void* options) {
#if SPRINGBLOOM_ROCKSDB >= 90500
  springbloom::OptionsIn(options).uncache_aggressiveness = 1'000'000;
#endif
}

extern "C" int springbloom_test_verify_checksums(void* rocksdb_db, char* error, size_t error_size) {
  return springbloom_test::CallOn(rocksdb_db, error, error_size, [](rocksdb::DB* db) { return db->VerifyChecksum(); });
}

extern "C" int springbloom_test_disable_file_deletions(void* rocksdb_db, char* error, size_t error_size) {
  return springbloom_test::CallOn(rocksdb_db, error, error_size, [](rocksdb::DB* db) { return db->DisableFileDeletions(); });
}

extern "C" int springbloom_test_enable_file_deletions(void* rocksdb_db, char* error, size_t error_size) {
  return springbloom_test::CallOn(rocksdb_db, error, error_size, [](rocksdb::DB* db) {
#if SPRINGBLOOM_ROCKSDB >= 90000
    return db->EnableFileDeletions();
#else
    return db->EnableFileDeletions(/*force=*/false);
#endif
  });
}
