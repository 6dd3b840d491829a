// Random operations on databases with many kinds of options, against a map. SPRINGBLOOM_OPERATIONS: how many in each database.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "check.h"
#include "comparators.h"
#include "contents.h"
#include "counting_env.h"
#include "leveldb/cache.h"
#include "leveldb/write_batch.h"

namespace {

struct World {
  const char* name;
  const char* settings;
  const leveldb::Comparator* comparator;
  size_t block_size;
  bool compresses;
  bool uses_units;
};

const World kWorlds[] = {
    {"default", "budget=200000", leveldb::BytewiseComparator(), 4096, true, true},
    {"little memory", "budget=20000;segment_size=64K;units=bloom:6x2", leveldb::BytewiseComparator(), 1024, false, true},
    {"many segments", "budget=100000;segment_size=16K;units=ribbon:4", leveldb::BytewiseComparator(), 512, true, true},
    {"backwards", "budget=200000;assume_bytewise_equality=true", &backwards, 4096, true, true},
    {"backwards, unknown", "budget=200000", &backwards, 4096, true, false},
    {"folds case", "budget=200000", &folds_case, 4096, true, false},
};

struct Snapshot {
  const leveldb::Snapshot* of_db;
  Contents contents;
};

class Oracle {
 public:
  Oracle(const World& world, Random* random) : world_(world), random_(*random), contents_(NoContents(world.comparator)) {
    Reopen();
  }

  ~Oracle() {
    CheckAll(db_.get(), contents_);
    CheckUnits();
    Close();
  }

  void Operate() {
    switch (random_.Below(5000)) {
      case 0:
        return db_->CompactRange(nullptr, nullptr);
      case 1:
        return Reopen();
      case 2:
        return Repair();
      case 3:
      case 4:
        CHECK_OK(springbloom::SetBudget(random_.OneIn(4) ? 0 : random_.Below(300000)));
        return;
      case 5:
        springbloom::WaitIdle(std::chrono::milliseconds(200));
        return;
      case 6:
        return CheckScan(db_.get(), leveldb::ReadOptions(), contents_, RandomKey(), 1000, random_.OneIn(2));
      case 7:
      case 8:
        return TakeSnapshot();
      case 9:
        if (!snapshots_.empty()) {
          Release(random_.Below(snapshots_.size()));
        }
        return;
      default:
        break;
    }
    if (random_.OneIn(3)) {
      return Write();
    }
    leveldb::ReadOptions options;
    options.verify_checksums = random_.OneIn(2);
    options.fill_cache = random_.OneIn(2);
    if (!snapshots_.empty() && random_.OneIn(4)) {
      const Snapshot& snapshot = snapshots_[random_.Below(snapshots_.size())];
      options.snapshot = snapshot.of_db;
      return CheckGet(db_.get(), options, snapshot.contents, RandomKey());
    }
    CheckGet(db_.get(), options, contents_, RandomKey());
  }

 private:
  static constexpr uint64_t kKeys = 20000;

  // A third of them is never written; some are long, and one is empty.
  std::string RandomKey() {
    // Some are asked for more often than others.
    uint64_t number = random_.OneIn(2) ? random_.Below(kKeys) : random_.Below(kKeys / 50);
    if (number == 7) {
      return "";
    }
    char text[32];
    std::snprintf(text, sizeof(text), random_.OneIn(2) ? "Key%07llu" : "key%07llu", static_cast<unsigned long long>(number));
    return number % 1000 == 11 ? text + std::string(600, 'x') : text;
  }

  bool IsWritable(const std::string& key) const { return key.size() < 10 || (key[9] - '0') % 3 != 0; }

  void Write() {
    leveldb::WriteBatch batch;
    const uint64_t entries = random_.OneIn(10) ? random_.Below(100) : 1;
    for (uint64_t at = 0; at < entries; ++at) {
      const std::string key = RandomKey();
      if (!IsWritable(key)) {
        continue;
      }
      if (random_.OneIn(4)) {
        batch.Delete(key);
        contents_.erase(key);
      } else {
        const std::string value(random_.Below(300), static_cast<char>('a' + random_.Below(26)));
        batch.Put(key, value);
        contents_[key] = value;
      }
    }
    CHECK_OK(db_->Write(leveldb::WriteOptions(), &batch));
  }

  void TakeSnapshot() {
    if (snapshots_.size() == 3) {
      Release(0);
    }
    snapshots_.push_back({db_->GetSnapshot(), contents_});
  }

  void Release(size_t at) {
    db_->ReleaseSnapshot(snapshots_[at].of_db);
    snapshots_.erase(snapshots_.begin() + static_cast<ptrdiff_t>(at));
  }

  // Tables of ours, all with units: the draws may have left that out.
  void CheckUnits() {
    Close();
    leveldb::Options options = NewOptions();
    policy_ = NewPolicy(world_.settings);
    options.filter_policy = policy_.get();
    db_ = Open(options, folder_ / "db");
    for (uint64_t at = 0; at < kKeys; ++at) {
      Write();
    }
    db_->CompactRange(nullptr, nullptr);
    // The background thread learns from the first lookups which units are worth their bytes; a busy machine lets it wait.
    const auto start = std::chrono::steady_clock::now();
    const std::chrono::seconds patience(world_.uses_units ? 60 : 1);
    uint64_t rejected = 0;
    while (rejected <= 1000 && std::chrono::steady_clock::now() - start < patience) {
      for (int at = 0; at < 1000; ++at) {
        CheckGet(db_.get(), leveldb::ReadOptions(), contents_, RandomKey());
      }
      rejected = Metric("springbloom_visits_total{outcome=\"rejected\"}");
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    std::printf("%s: tables rejected %llu lookups after %.1f s\n", world_.name, static_cast<unsigned long long>(rejected),
                elapsed.count());
    CHECK(world_.uses_units ? rejected > 1000 : rejected == 0);
  }

  void Close() {
    while (!snapshots_.empty()) {
      Release(0);
    }
    db_.reset();
    policy_.reset();
    keeper_.reset();
  }

  leveldb::Options NewOptions() {
    leveldb::Options options;
    options.create_if_missing = true;
    options.comparator = world_.comparator;
    options.write_buffer_size = 64 << 10;
    options.max_file_size = 1 << 20;
    options.max_open_files = 74;
    options.block_size = world_.block_size;
    options.block_cache = cache_.get();
    options.paranoid_checks = random_.OneIn(2);
    options.compression = world_.compresses ? leveldb::kSnappyCompression : leveldb::kNoCompression;
    return options;
  }

  // Now and then another than ours.
  void DrawPolicy(leveldb::Options* options) {
    const uint64_t kind = random_.Below(6);
    if (kind == 0 && world_.comparator != &folds_case) {
      policy_.reset(leveldb::NewBloomFilterPolicy(10));
    } else if (kind == 1) {
      policy_.reset();
    } else {
      policy_ = NewPolicy(world_.settings + std::string(random_.OneIn(5) ? ";create_filters=false" : ""));
    }
    options->filter_policy = policy_.get();
  }

  void Reopen() {
    Close();
    leveldb::Options options = NewOptions();
    DrawPolicy(&options);
    db_ = Open(options, folder_ / "db");
    // Calls of springbloom_leveldb.h need one.
    keeper_ = NewPolicy("");
    if (random_.OneIn(3)) {
      CheckAll(db_.get(), contents_);
    }
  }

  // LevelDB's repair takes tables with higher numbers for newer, which those of compactions are not: it keeps what it should if each key
  // has one version.
  void Repair() {
    while (!snapshots_.empty()) {
      Release(0);
    }
    db_->CompactRange(nullptr, nullptr);
    Reopen();
    Close();
    leveldb::Options options = NewOptions();
    DrawPolicy(&options);
    CHECK_OK(leveldb::RepairDB(folder_ / "db", options));
    Reopen();
    CheckAll(db_.get(), contents_);
  }

  const World& world_;
  Random& random_;
  const Folder folder_;
  const std::unique_ptr<leveldb::Cache> cache_{leveldb::NewLRUCache(100000)};
  PolicyPtr policy_;
  PolicyPtr keeper_;
  DbPtr db_;
  Contents contents_;
  std::vector<Snapshot> snapshots_;
};

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Random random;
  const uint64_t operations = FromEnvironment("SPRINGBLOOM_OPERATIONS", 25000);
  for (const World& world : kWorlds) {
    Oracle oracle(world, &random);
    for (uint64_t at = 0; at < operations; ++at) {
      oracle.Operate();
    }
  }
  std::printf("%llu answers, none wrong\n", static_cast<unsigned long long>(answers));
  return 0;
}
