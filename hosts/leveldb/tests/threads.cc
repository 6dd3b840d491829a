// Threads that read, write, iterate, compact and move the budget at once. SPRINGBLOOM_SECONDS: how long.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "check.h"
#include "leveldb/cache.h"

namespace {

constexpr uint64_t kKeys = 30000;

std::string Key(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "key%08llu", static_cast<unsigned long long>(number));
  return text;
}

std::string Value(uint64_t version, Random* random) {
  std::string value = std::to_string(version) + " ";
  for (int at = 0; at < 250; ++at) {
    const uint64_t word = random->Below(UINT64_MAX);
    value.append(reinterpret_cast<const char*>(&word), sizeof(word));
  }
  return value;
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Random seeds;
  const Folder folder;
  const std::unique_ptr<leveldb::Cache> cache(leveldb::NewLRUCache(200000));
  const PolicyPtr policy = NewPolicy("budget=60000;segment_size=64K");
  leveldb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 1 << 20;
  options.max_file_size = 1 << 20;
  // The table cache has room for 64 tables, and there are more.
  options.max_open_files = 74;
  options.block_cache = cache.get();
  options.filter_policy = policy.get();
  const DbPtr db = Open(options, folder / "db");
  // Of each even key: the version that is certainly written. Odd keys are absent.
  std::vector<std::atomic<uint64_t>> versions(kKeys);
  for (uint64_t number = 0; number < kKeys; ++number) {
    CHECK_OK(db->Put(leveldb::WriteOptions(), Key(2 * number), Value(0, &seeds)));
  }
  std::atomic<bool> ends = false;
  std::vector<std::thread> threads;
  const auto start = [&](auto step) {
    threads.emplace_back([&ends, step, random = Random(seeds.Below(UINT64_MAX))]() mutable {
      while (!ends) {
        step(&random);
      }
    });
  };
  for (int reader = 0; reader < 3; ++reader) {
    start([&](Random* random) {
      const uint64_t number = random->Below(kKeys);
      std::string value;
      CHECK(db->Get(leveldb::ReadOptions(), Key(2 * number + 1), &value).IsNotFound());
      const uint64_t least = versions[number];
      CHECK_OK(db->Get(leveldb::ReadOptions(), Key(2 * number), &value));
      CHECK(std::stoull(value) >= least, "an old version");
    });
  }
  start([&](Random* random) {
    const uint64_t number = random->Below(kKeys);
    const uint64_t version = versions[number] + 1;
    CHECK_OK(db->Put(leveldb::WriteOptions(), Key(2 * number), Value(version, random)));
    versions[number] = version;
  });
  start([&](Random* random) {
    CHECK_OK(springbloom::SetBudget(random->OneIn(4) ? 0 : random->Below(200000)));
    std::string text;
    CHECK_OK(springbloom::GetMetrics(&text));
    std::this_thread::sleep_for(std::chrono::milliseconds(random->Below(100)));
  });
  start([&](Random* random) {
    const std::unique_ptr<leveldb::Iterator> entry(db->NewIterator(leveldb::ReadOptions()));
    const uint64_t first = random->Below(kKeys - 500);
    entry->Seek(Key(2 * first));
    for (uint64_t number = first; number < first + 500; ++number, entry->Next()) {
      CHECK(entry->Valid() && entry->key() == leveldb::Slice(Key(2 * number)));
    }
  });
  std::this_thread::sleep_for(std::chrono::seconds(FromEnvironment("SPRINGBLOOM_SECONDS", 8)));
  ends = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  const uint64_t rejected = Metric("springbloom_visits_total{outcome=\"rejected\"}");
  std::printf("%llu lookups in tables rejected\n", static_cast<unsigned long long>(rejected));
  CHECK(rejected > 0);
  return 0;
}
