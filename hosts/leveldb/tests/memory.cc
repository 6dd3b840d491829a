// Memory by malloc grows by the budget, and hardly more. SPRINGBLOOM_KEYS: how many the database has.
#include <malloc.h>

#include <chrono>

#include "check.h"
#include "counting_env.h"
#include "leveldb/cache.h"

namespace {

uint64_t Allocated() {
  const auto malloced = mallinfo2();
  return malloced.uordblks + malloced.hblkhd;
}

std::string Key(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "key%017llu", static_cast<unsigned long long>(number));
  return text;
}

}  // namespace

int main() {
  Random random;
  const uint64_t keys = FromEnvironment("SPRINGBLOOM_KEYS", 200000);
  // Half of what all units take.
  const uint64_t budget = keys;
  const Folder folder;
  CountingEnv env;
  const std::unique_ptr<leveldb::Cache> cache(leveldb::NewLRUCache(0));
  const PolicyPtr policy = NewPolicy("budget=0;warm_start_seconds=0");
  leveldb::Options options;
  options.create_if_missing = true;
  options.env = &env;
  options.block_cache = cache.get();
  options.filter_policy = policy.get();
  options.max_open_files = 50000;
  options.compression = leveldb::kNoCompression;
  const DbPtr db = Open(options, folder / "db");
  for (uint64_t at = 0; at < keys; ++at) {
    CHECK_OK(db->Put(leveldb::WriteOptions(), Key(2 * (at * 1000003 % keys)), std::string(100, 'v')));
  }
  db->CompactRange(nullptr, nullptr);
  std::string value;
  const auto reads_per_absent_key = [&] {
    const uint64_t lookups = keys / 2;
    const uint64_t before = env.reads;
    for (uint64_t at = 0; at < lookups; ++at) {
      CHECK(db->Get(leveldb::ReadOptions(), Key(2 * random.Below(keys) + 1), &value).IsNotFound());
    }
    return static_cast<double>(env.reads - before) / static_cast<double>(lookups);
  };
  const double unfiltered = reads_per_absent_key();
  const uint64_t before = Allocated();
  CHECK_OK(springbloom::SetBudget(budget));
  uint64_t grown = 0;
  double filtered = unfiltered;
  for (int round = 0; round < 10; ++round) {
    filtered = reads_per_absent_key();
    CHECK_OK(springbloom::WaitIdle(std::chrono::seconds(60)));
    const uint64_t now = Allocated();
    grown = std::max(grown, now > before ? now - before : 0);
  }
  std::printf(
      "a budget of %llu bytes for %llu keys: malloc's bytes grew by %llu; reads per absent key %.4f, without filters %.4f\n",
      static_cast<unsigned long long>(budget), static_cast<unsigned long long>(keys), static_cast<unsigned long long>(grown),
      filtered, unfiltered);
  // What the budget does not pay for (docs/guide.md#memory), and what LevelDB itself allocates meanwhile.
  const uint64_t beside = budget / 50 + (32 << 10);
  CHECK(grown <= budget + beside && grown > budget / 2);
  CHECK(filtered < unfiltered / 5);
  return 0;
}
