#include "store.h"

#include <cstring>
#include <memory>
#include <string>

#include "error.h"
#include "filters.h"
#include "leveldb/cache.h"
#include "leveldb/db.h"
#include "leveldb/filter_policy.h"
#include "tree_env.h"

using leveldb::Slice;
using leveldb::Status;

namespace {

// Selects filters that the benchmark has, as the policy of the library does.
class Selecting : public leveldb::FilterPolicy {
 public:
  explicit Selecting(const sb_filters* filters) : filters_(filters) {}
  const char* Name() const override { return "springbloom.ElasticFilter"; }
  void CreateFilter(const Slice*, int, std::string* dst) const override {
    dst->append(reinterpret_cast<const char*>(&filters_), sizeof(filters_));
  }
  bool KeyMayMatch(const Slice&, const Slice&) const override { return true; }

 private:
  const sb_filters* const filters_;
};

Slice SliceOf(sb_bytes bytes) { return Slice(reinterpret_cast<const char*>(bytes.data), bytes.size); }

}  // namespace

std::string& LastError() {
  thread_local std::string error;
  return error;
}

struct lb_store {
  explicit lb_store(bool holds) : env(holds) {}

  TreeEnv env;
  // Each lookup reads.
  const std::unique_ptr<leveldb::Cache> no_cache{leveldb::NewLRUCache(0)};
  std::unique_ptr<const leveldb::FilterPolicy> policy;
  std::unique_ptr<leveldb::DB> db;
  std::string text;
};

extern "C" {

const sb_engine* lb_engine() noexcept { return &springbloom::kEngine; }

const char* lb_error() noexcept { return LastError().c_str(); }

lb_store* lb_open(const char* path, uint64_t write_buffer, uint64_t file_bytes, int holds, const sb_filters* filters,
                  uint32_t bloom_bits) noexcept {
  auto store = std::make_unique<lb_store>(holds != 0);
  if (filters != nullptr) {
    store->policy = std::make_unique<Selecting>(filters);
  } else if (bloom_bits != 0) {
    store->policy.reset(leveldb::NewBloomFilterPolicy(static_cast<int>(bloom_bits)));
  }
  leveldb::Options options;
  options.create_if_missing = true;
  options.env = &store->env;
  options.write_buffer_size = write_buffer;
  options.max_file_size = file_bytes;
  options.max_open_files = 50000;
  options.block_cache = store->no_cache.get();
  options.compression = leveldb::kNoCompression;
  options.filter_policy = store->policy.get();
  leveldb::DB* db = nullptr;
  const Status s = leveldb::DB::Open(options, path, &db);
  store->db.reset(db);
  if (Failed(s)) {
    store->env.LetGo();
    return nullptr;
  }
  return store.release();
}

int lb_put(lb_store* store, sb_bytes key, sb_bytes value) noexcept {
  return Failed(store->db->Put(leveldb::WriteOptions(), SliceOf(key), SliceOf(value))) ? -1 : 0;
}

int lb_get(lb_store* store, sb_bytes key, sb_bytes* value, uint64_t* reads) noexcept {
  const uint64_t before = CountingEnv::reads_of_thread;
  const Status s = store->db->Get(leveldb::ReadOptions(), SliceOf(key), &store->text);
  *reads = CountingEnv::reads_of_thread - before;
  *value = springbloom::Bytes(store->text);
  return s.IsNotFound() ? 0 : Failed(s) ? -1 : 1;
}

sb_bytes lb_tables(lb_store* store) noexcept {
  store->db->GetProperty("leveldb.sstables", &store->text);
  return springbloom::Bytes(store->text);
}

void lb_settle(lb_store* store) noexcept { store->env.WaitForWork(); }

void lb_close(lb_store* store) noexcept {
  store->env.LetGo();
  store->db.reset();
  store->env.WaitForWork();
  delete store;
}
}
