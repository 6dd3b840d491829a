// Built twice, with this library and with stock LevelDB alone, which take turns on one database: PROGRAM write|check|compact|repair|destroy
// FOLDER SEED ROUND. The database holds what the rounds up to ROUND wrote.
#include <cstring>

#include "contents.h"
#include "leveldb/cache.h"
#include "leveldb/write_batch.h"

namespace {

constexpr uint64_t kKeys = 30000;

std::string Key(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "key%08llu", static_cast<unsigned long long>(number));
  return text;
}

void FillRound(uint64_t seed, uint64_t round, leveldb::WriteBatch* batch, Contents* contents) {
  Random random(seed + round);
  for (uint64_t at = 0; at < kKeys / 3; ++at) {
    const std::string key = Key(random.Below(kKeys));
    if (random.OneIn(5)) {
      batch->Delete(key);
      contents->erase(key);
    } else {
      const std::string value = std::to_string(round) + std::string(random.Below(200), 'v');
      batch->Put(key, value);
      (*contents)[key] = value;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc == 5);
  const std::string action = argv[1];
  const std::string path = argv[2];
  const uint64_t seed = std::strtoull(argv[3], nullptr, 10);
  const uint64_t last = std::strtoull(argv[4], nullptr, 10);
#ifdef SPRINGBLOOM_STOCK
  const PolicyPtr policy(seed % 2 == 0 ? leveldb::NewBloomFilterPolicy(10) : nullptr);
#else
  const PolicyPtr policy = NewPolicy("budget=100000");
#endif
  const std::unique_ptr<leveldb::Cache> cache(leveldb::NewLRUCache(100000));
  leveldb::Options options;
  options.create_if_missing = true;
  options.paranoid_checks = true;
  options.write_buffer_size = 256 << 10;
  options.filter_policy = policy.get();
  options.block_cache = cache.get();
  if (action == "repair") {
    CHECK_OK(leveldb::RepairDB(path, options));
    return 0;
  }
  if (action == "destroy") {
    CHECK_OK(leveldb::DestroyDB(path, options));
    return 0;
  }
  Contents contents = NoContents();
  leveldb::WriteBatch batch;
  for (uint64_t round = 1; round <= last; ++round) {
    batch.Clear();
    FillRound(seed, round, &batch, &contents);
  }
  const DbPtr db = Open(options, path);
  if (action == "write") {
    CHECK_OK(db->Write(leveldb::WriteOptions(), &batch));
  } else if (action == "compact") {
    db->CompactRange(nullptr, nullptr);
  } else {
    CHECK(action == "check");
  }
  CheckAll(db.get(), contents);
  return 0;
}
