// Known tables against a map, while threads look up those that stay. SPRINGBLOOM_OPERATIONS: how many change them.
#include "known_tables.h"

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "check.h"

namespace {

using springbloom::KnownTables;
using springbloom::TableUnits;

// They are known all the time, among others that come and go.
constexpr uint64_t kStaying = 50;
uint64_t Staying(uint64_t at) { return 1000 * at; }

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Random random;
  const uint64_t operations = FromEnvironment("SPRINGBLOOM_OPERATIONS", 1000000);
  KnownTables tables;
  std::map<uint64_t, TableUnits*> expected;
  const auto insert = [&](uint64_t number) {
    auto table = std::make_unique<TableUnits>(TableUnits{number, nullptr});
    expected[number] = table.get();
    tables.Insert(std::move(table));
  };
  for (uint64_t at = 0; at < kStaying; ++at) {
    insert(Staying(at));
  }
  std::atomic<bool> ends = false;
  std::atomic<uint64_t> found = 0;
  std::vector<std::thread> threads;
  for (int reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&, random = Random(reader)]() mutable {
      while (!ends) {
        const uint64_t number = Staying(random.Below(kStaying));
        const TableUnits* table = tables.Find(number);
        CHECK(table != nullptr && table->number == number, "%llu", static_cast<unsigned long long>(number));
        found.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  // As LevelDB gives numbers: mostly to tables, one after the other. Some tables stay long.
  uint64_t next = 1;
  size_t most = 300;
  for (uint64_t at = 0; at < operations; ++at) {
    if (at % (operations / 4) == 0) {
      most *= 3;
    }
    next += 1 + random.Below(3);
    if (expected.size() < most && !expected.contains(next)) {
      insert(next);
    }
    const auto victim = expected.lower_bound(random.Below(next));
    if (expected.size() >= most && victim != expected.end() && victim->first % 1000 != 0) {
      const std::unique_ptr<TableUnits> erased = tables.Erase(victim->first);
      CHECK(erased.get() == victim->second);
      expected.erase(victim);
    }
    const uint64_t asked = random.Below(next + 10);
    const auto known = expected.find(asked);
    CHECK(tables.Find(asked) == (known == expected.end() ? nullptr : known->second));
  }
  for (const uint64_t number : {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 2}) {
    CHECK(tables.Find(number) == nullptr && tables.Erase(number) == nullptr);
  }
  CHECK(tables.All().size() == expected.size());
  while (found < 100000) {
    std::this_thread::yield();
  }
  ends = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::printf("%zu known tables\n", expected.size());
  return 0;
}
