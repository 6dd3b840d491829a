// The interface of the policy, and what it is for: few reads for absent keys within a budget.
#include <unistd.h>

#include <chrono>
#include <iterator>

#include "check.h"
#include "counting_env.h"
#include "leveldb/cache.h"

namespace {

constexpr int kKeys = 200000;

std::string Key(int number) {
  char text[32];
  std::snprintf(text, sizeof(text), "key%010d", number);
  return text;
}

leveldb::Options OptionsOf(leveldb::Env* env, leveldb::Cache* cache, const leveldb::FilterPolicy* policy) {
  leveldb::Options options;
  options.create_if_missing = true;
  options.env = env;
  options.write_buffer_size = 1 << 20;
  options.block_cache = cache;
  options.filter_policy = policy;
  return options;
}

// Even keys are there.
void Load(leveldb::DB* db) {
  for (int at = 0; at < kKeys; ++at) {
    const int number = static_cast<int>(at * 7919LL % kKeys);
    CHECK_OK(db->Put(leveldb::WriteOptions(), Key(2 * number), std::string(100, static_cast<char>('a' + number % 26))));
  }
}

// Reads per lookup of absent keys.
double AbsentReads(leveldb::DB* db, CountingEnv* env, Random* random, int lookups) {
  leveldb::ReadOptions options;
  options.fill_cache = false;
  std::string value;
  const uint64_t before = env->reads;
  for (int at = 0; at < lookups; ++at) {
    CHECK(db->Get(options, Key(2 * static_cast<int>(random->Below(kKeys)) + 1), &value).IsNotFound());
  }
  return static_cast<double>(env->reads - before) / lookups;
}

void CheckPresent(leveldb::DB* db, Random* random, int lookups) {
  std::string value;
  for (int at = 0; at < lookups; ++at) {
    const int number = static_cast<int>(random->Below(kKeys));
    CHECK_OK(db->Get(leveldb::ReadOptions(), Key(2 * number), &value));
    CHECK(value == std::string(100, static_cast<char>('a' + number % 26)));
  }
}

void RefusesBadSettings() {
  for (const char* settings : {"budget=much", "budget", "colour=red", "units=ribbon:0", "budget=64M;units", "=1"}) {
    const leveldb::FilterPolicy* policy = nullptr;
    const leveldb::Status s = springbloom::NewElasticFilterPolicy(settings, &policy);
    std::printf("%s: %s\n", settings, s.ToString().c_str());
    CHECK(s.IsInvalidArgument() && policy == nullptr, "%s", settings);
  }
  uint64_t budget = 0;
  CHECK(springbloom::GetBudget(&budget).IsNotFound());
  const PolicyPtr policy = NewPolicy(" budget = 1M ; units=ribbon:8;");
  const leveldb::FilterPolicy* other = nullptr;
  CHECK(springbloom::NewElasticFilterPolicy("units=ribbon:16", &other).IsInvalidArgument(), "settings disagree");
  const PolicyPtr second = NewPolicy("budget=2M");
  CHECK_OK(springbloom::GetBudget(&budget));
  CHECK(budget == 2 << 20);
}

std::ptrdiff_t Threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// A thread that was joined may be listed for a moment.
bool AreThreadsSoon(std::ptrdiff_t number) {
  for (int tries = 0; tries < 500; ++tries) {
    if (Threads() <= number) {
      return true;
    }
    usleep(10000);
  }
  return false;
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  // An emulator has some of its own.
  const std::ptrdiff_t threads_at_first = Threads();
  RefusesBadSettings();
  Random random;
  const Folder folder;
  CountingEnv env;
  const std::unique_ptr<leveldb::Cache> cache(leveldb::NewLRUCache(100));
  double unfiltered = 0;
  {
    const DbPtr db = Open(OptionsOf(&env, cache.get(), nullptr), folder / "none");
    Load(db.get());
    db->CompactRange(nullptr, nullptr);
    unfiltered = AbsentReads(db.get(), &env, &random, 20000);
  }
  {
    const PolicyPtr policy = NewPolicy("budget=0;warm_start_seconds=1");
    const DbPtr db = Open(OptionsOf(&env, cache.get(), policy.get()), folder / "ours");
    Load(db.get());
    db->CompactRange(nullptr, nullptr);
    CHECK(AbsentReads(db.get(), &env, &random, 20000) > .9 * unfiltered, "without a budget nothing is filtered");
    CHECK_OK(springbloom::SetBudget(500000));
    CHECK(!springbloom::SetBudget(UINT64_MAX).ok());
    double reads = 0;
    for (int round = 0; round < 100 && (round == 0 || reads > .1); ++round) {
      CHECK_OK(springbloom::WaitIdle(std::chrono::seconds(10)));
      reads = AbsentReads(db.get(), &env, &random, 20000);
    }
    std::printf("reads per absent key: %.3f unfiltered, %.3f with 20 bits per key\n", unfiltered, reads);
    CHECK(unfiltered > .9 && reads < .1);
    CheckPresent(db.get(), &random, 20000);
    double expected = -1;
    CHECK_OK(springbloom::GetWastedReadsPerLookup(500000, &expected));
    CHECK(expected >= 0 && expected < .5, "%f", expected);
    CHECK(Metric("springbloom_used_bytes") <= 500000);
    CHECK_OK(springbloom::SetBudget(50000));
    CHECK(Metric("springbloom_used_bytes") <= 50000);
    CheckPresent(db.get(), &random, 2000);
    CHECK_OK(springbloom::SetBudget(500000));
    AbsentReads(db.get(), &env, &random, 100000);
    sleep(3);
  }
  CHECK(std::filesystem::exists(folder / "ours/SPRINGBLOOM-HOTNESS"), "what is hot is remembered");
  // LevelDB's compaction thread never ends.
  CHECK(AreThreadsSoon(threads_at_first + 1), "no thread stays without a policy");
  {
    const PolicyPtr policy = NewPolicy("budget=500000");
    const DbPtr db = Open(OptionsOf(&env, cache.get(), policy.get()), folder / "ours");
    // Opens the tables.
    std::unique_ptr<leveldb::Iterator> all(db->NewIterator(leveldb::ReadOptions()));
    int keys = 0;
    for (all->SeekToFirst(); all->Valid(); all->Next()) {
      ++keys;
    }
    CHECK(keys == kKeys);
    CHECK_OK(springbloom::WaitIdle(std::chrono::seconds(10)));
    const double reads = AbsentReads(db.get(), &env, &random, 2000);
    std::printf("reads per absent key after a warm start: %.3f\n", reads);
    CHECK(reads < .3);
  }
  return 0;
}
