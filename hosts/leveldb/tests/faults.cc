// Damaged units, files that cannot be read and memory that is short: lookups read more, and answer the same.
#include <chrono>
#include <fstream>
#include <future>
#include <thread>
#include <vector>

#include "check.h"
#include "contents.h"
#include "counting_env.h"
#include "leveldb/cache.h"
#include "unit_block.h"

namespace {

constexpr int kKeys = 40000;

std::string Key(int number) {
  char text[32];
  std::snprintf(text, sizeof(text), "key%08d", number);
  return text;
}

std::string Value(int number) { return std::to_string(number) + std::string(90, 'v'); }

leveldb::Options NewOptions(CountingEnv* env, leveldb::Cache* cache, const leveldb::FilterPolicy* policy) {
  leveldb::Options options;
  options.create_if_missing = true;
  options.env = env;
  options.block_cache = cache;
  options.max_file_size = 1 << 20;
  options.compression = leveldb::kNoCompression;
  options.filter_policy = policy;
  return options;
}

// Reads per absent key. Checks present ones, too.
double Ask(leveldb::DB* db, CountingEnv* env, int step) {
  leveldb::ReadOptions options;
  options.fill_cache = false;
  std::string value;
  for (int number = 0; number < kKeys; number += step) {
    CHECK_OK(db->Get(options, Key(2 * number), &value));
    CHECK(value == Value(number));
  }
  const uint64_t before = env->reads;
  for (int number = 0; number < kKeys; number += step) {
    CHECK(db->Get(options, Key(2 * number + 1), &value).IsNotFound());
  }
  return static_cast<double>((env->reads - before) * step) / kKeys;
}

// Whether lookups for absent keys read little, after some time at most.
bool IsFilteredSoon(leveldb::DB* db, CountingEnv* env) {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::minutes(1)) {
    if (Ask(db, env, 7) < .1) {
      return true;
    }
    springbloom::WaitIdle(std::chrono::milliseconds(500));
  }
  return false;
}

template <typename Condition>
void EventuallyIs(const Condition& is_so, const char* what) {
  const auto start = std::chrono::steady_clock::now();
  while (!is_so()) {
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::minutes(1), "%s", what);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

std::vector<std::filesystem::path> Tables(const std::string& folder) {
  std::vector<std::filesystem::path> tables;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".ldb") {
      tables.push_back(entry.path());
    }
  }
  return tables;
}

// The units of a table, and the block after them that tells where they are. Stock LevelDB reads neither.
void Damage(const std::filesystem::path& path, Random* random) {
  std::string bytes;
  CHECK_OK(leveldb::ReadFileToString(leveldb::Env::Default(), path, &bytes));
  leveldb::RandomAccessFile* file = nullptr;
  CHECK_OK(leveldb::Env::Default()->NewRandomAccessFile(path, &file));
  springbloom::UnitBlock block;
  CHECK(block.Find(file, bytes.size()) == SB_OPENED, "%s", path.c_str());
  delete file;
  const size_t begin = block.handle.offset();
  const size_t metaindex = begin + block.handle.size() + leveldb::kBlockTrailerSize;
  switch (random->Below(4)) {
    case 0:  // header and directory
      bytes[begin + random->Below(200)] ^= static_cast<char>(1 + random->Below(255));
      break;
    case 1:  // units
      for (size_t at = begin + random->Below(2000); at < metaindex; at += 1 + random->Below(3000)) {
        bytes[at] ^= static_cast<char>(1 + random->Below(255));
      }
      break;
    case 2:  // metaindex
      bytes[metaindex + random->Below(60)] ^= static_cast<char>(1 + random->Below(255));
      break;
    default:
      std::fill(bytes.begin() + static_cast<ptrdiff_t>(begin), bytes.begin() + static_cast<ptrdiff_t>(metaindex + 40), '\0');
      break;
  }
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Random random;
  const Folder folder;
  CountingEnv env;
  const std::unique_ptr<leveldb::Cache> cache(leveldb::NewLRUCache(100));
  const std::string path = folder / "db";
  {
    const PolicyPtr policy = NewPolicy("budget=200000;segment_size=64K");
    const DbPtr db = Open(NewOptions(&env, cache.get(), policy.get()), path);
    for (int number = 0; number < kKeys; ++number) {
      CHECK_OK(db->Put(leveldb::WriteOptions(), Key(2 * number), Value(number)));
    }
    db->CompactRange(nullptr, nullptr);
    CHECK(IsFilteredSoon(db.get(), &env), "units are used");

    // Less than the bookkeeping of the tables. They get their units back.
    CHECK_OK(springbloom::SetBudget(500));
    Ask(db.get(), &env, 7);
    CHECK_OK(springbloom::SetBudget(200000));
    CHECK(IsFilteredSoon(db.get(), &env), "after a small budget");

    // Units cannot be read for a while.
    CHECK_OK(springbloom::SetBudget(0));
    CHECK_OK(springbloom::SetBudget(200000));
    env.fails = true;
    std::string value;
    for (int number = 0; number < 3000; ++number) {
      const leveldb::Status s = db->Get(leveldb::ReadOptions(), Key(2 * number), &value);
      CHECK(s.ok() || s.IsIOError(), "no key is taken for absent: %s", s.ToString().c_str());
    }
    springbloom::WaitIdle(std::chrono::milliseconds(300));
    env.fails = false;
    CHECK(IsFilteredSoon(db.get(), &env), "after an outage");
  }
  {
    // No room at the opening.
    const PolicyPtr policy = NewPolicy("budget=500;segment_size=64K;warm_start_seconds=0");
    const DbPtr db = Open(NewOptions(&env, cache.get(), policy.get()), path);
    CHECK(Ask(db.get(), &env, 7) > .9);
    CHECK_OK(springbloom::SetBudget(200000));
    CHECK(IsFilteredSoon(db.get(), &env), "deferred tables get their units");
    // Files that are gone while their readers are open.
    CHECK_OK(springbloom::SetBudget(0));
    const std::string elsewhere = folder / "elsewhere";
    std::filesystem::create_directory(elsewhere);
    for (const auto& table : Tables(path)) {
      std::filesystem::rename(table, elsewhere + "/" + table.filename().string());
    }
    CHECK_OK(springbloom::SetBudget(200000));
    Ask(db.get(), &env, 7);
    springbloom::WaitIdle(std::chrono::milliseconds(300));
    Ask(db.get(), &env, 7);
    for (const auto& table : Tables(elsewhere)) {
      std::filesystem::rename(table, path + "/" + table.filename().string());
    }
    CHECK(IsFilteredSoon(db.get(), &env), "the files are back");
  }
  {
    // Units that are read wrong at the opening, and for a while after it.
    const PolicyPtr policy = NewPolicy("budget=200000;segment_size=64K;warm_start_seconds=0");
    env.damages_heads_of_units = true;
    const DbPtr db = Open(NewOptions(&env, cache.get(), policy.get()), path);
    for (int round = 0; round < 4; ++round) {
      CHECK(Ask(db.get(), &env, 7) > .9);
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
    }
    env.damages_heads_of_units = false;
    CHECK(IsFilteredSoon(db.get(), &env), "they are read again");
  }
  {
    // Tables that are compacted away while their units are being found. Nothing waits for reads that hang.
    const PolicyPtr policy = NewPolicy("budget=500;segment_size=64K;warm_start_seconds=0");
    DbPtr db = Open(NewOptions(&env, cache.get(), policy.get()), path);
    CHECK(Ask(db.get(), &env, 7) > .9);
    env.hangs = 2;
    CHECK_OK(springbloom::SetBudget(200000));
    EventuallyIs([&] { return env.hangs == 0; }, "tables are tried while others hang");
    std::future<void> compacted = std::async(std::launch::async, [&] {
      for (int number = 0; number < kKeys; number += 50) {
        CHECK_OK(db->Put(leveldb::WriteOptions(), Key(2 * number), Value(number)));
      }
      db->CompactRange(nullptr, nullptr);
    });
    EventuallyIs([&] { return compacted.wait_for(std::chrono::milliseconds(0)) == std::future_status::ready; }, "a compaction");
    CHECK(IsFilteredSoon(db.get(), &env), "while other reads hang");
    env.hangs = -1;
    db.reset();
  }
  const uint64_t trials = FromEnvironment("SPRINGBLOOM_DAMAGES", 20);
  for (uint64_t trial = 0; trial < trials; ++trial) {
    const std::string copy = folder / "copy";
    std::filesystem::remove_all(copy);
    std::filesystem::copy(path, copy);
    for (const auto& table : Tables(copy)) {
      Damage(table, &random);
    }
    const PolicyPtr policy = NewPolicy("budget=200000;segment_size=64K");
    {
      const DbPtr db = Open(NewOptions(&env, cache.get(), policy.get()), copy);
      Ask(db.get(), &env, 3);
      springbloom::WaitIdle(std::chrono::milliseconds(200));
      Ask(db.get(), &env, 3);
    }
    // Repair reads no units either, and writes none that are damaged.
    if (trial % 4 == 0) {
      CHECK_OK(leveldb::RepairDB(copy, NewOptions(&env, cache.get(), policy.get())));
      const DbPtr db = Open(NewOptions(&env, cache.get(), policy.get()), copy);
      Ask(db.get(), &env, 3);
      db->CompactRange(nullptr, nullptr);
      Ask(db.get(), &env, 3);
    }
  }
  std::printf("%llu damaged databases\n", static_cast<unsigned long long>(trials));
  return 0;
}
