// Where a database or a table gets no filters, its LOG says so and metrics count it.
#include <vector>

#include "check.h"
#include "comparators.h"
#include "leveldb/cache.h"
#include "leveldb/env.h"
#include "unit_block.h"

namespace {

std::string Log(const std::string& path) {
  std::string text;
  CHECK_OK(leveldb::ReadFileToString(leveldb::Env::Default(), path + "/LOG", &text));
  return text;
}

uint64_t Written() { return Metric("springbloom_tables_written_without_units_total"); }
uint64_t Opened() { return Metric("springbloom_tables_without_units_total"); }

// Writes a table, or some, and reads it.
void Use(const leveldb::Options& options, const std::string& path) {
  const DbPtr db = Open(options, path);
  for (int number = 0; number < 100; ++number) {
    CHECK_OK(db->Put(leveldb::WriteOptions(), std::to_string(number), "value"));
  }
  db->CompactRange(nullptr, nullptr);
  std::string value;
  CHECK_OK(db->Get(leveldb::ReadOptions(), "7", &value));
}

// Names in the metaindex blocks of the tables in a folder.
std::vector<std::string> MetaBlocks(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    std::string bytes;
    if (entry.path().extension() == ".ldb") {
      CHECK_OK(leveldb::ReadFileToString(leveldb::Env::Default(), entry.path(), &bytes));
      for (const std::string name : {"filter.", springbloom::kUnitBlockName}) {
        if (bytes.find(name) != bytes.npos) {
          names.push_back(name);
        }
      }
    }
  }
  return names;
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const Folder folder;
  leveldb::Options options;
  options.create_if_missing = true;
  constexpr char kRefusal[] = "no table of this database gets or is read with filter units: its comparator test.FoldsCase";

  // A comparator that may call different keys equal: each opening says so, for elastic filters alone.
  options.comparator = &folds_case;
  {
    Use(options, folder / "custom");
    CHECK(Log(folder / "custom").find("springbloom: ") == std::string::npos);
    const PolicyPtr policy = NewPolicy("budget=1M");
    options.filter_policy = policy.get();
    for (int opening = 0; opening < 2; ++opening) {
      const uint64_t written = Written();
      const uint64_t opened = Opened();
      Use(options, folder / "custom");
      CHECK(Log(folder / "custom").find(kRefusal) != std::string::npos, "opening %d: %s", opening,
            Log(folder / "custom").c_str());
      CHECK(Written() > written && Opened() > opened, "opening %d", opening);
    }
    CHECK(MetaBlocks(folder / "custom").empty(), "nor do they get filters of another kind");
  }
  {
    const PolicyPtr policy = NewPolicy("budget=1M;create_filters=false");
    options.filter_policy = policy.get();
    Use(options, folder / "custom");
    CHECK(Written() == 0, "none were asked for");
  }
  {
    const PolicyPtr policy = NewPolicy("budget=1M;assume_bytewise_equality=true");
    options.filter_policy = policy.get();
    options.comparator = &backwards;
    Use(options, folder / "backwards");
    CHECK(Log(folder / "backwards").find("filter units are in use") != std::string::npos);
    CHECK(Log(folder / "backwards").find(kRefusal) == std::string::npos);
    CHECK(Written() == 0 && Opened() == 0 && MetaBlocks(folder / "backwards").size() == 1);
  }

  // Tables of stock LevelDB: the first one is told of, all are counted.
  options.comparator = leveldb::BytewiseComparator();
  options.filter_policy = nullptr;
  Use(options, folder / "stock");
  {
    const PolicyPtr policy = NewPolicy("budget=1M");
    options.filter_policy = policy.get();
    const DbPtr db = Open(options, folder / "stock");
    std::string value;
    CHECK_OK(db->Get(leveldb::ReadOptions(), "7", &value));
    CHECK(Opened() == 1);
    CHECK(Log(folder / "stock").find("has no filter units") != std::string::npos);
  }
  std::printf("all that is not filtered was told of\n");
  return 0;
}
