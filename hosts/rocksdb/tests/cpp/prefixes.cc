// Iterators that look for prefixes find what iterators find that look at everything: under extractors, comparators and bounds of all kinds,
// and after the extractor changed.
#include <algorithm>
#include <optional>
#include <random>

#include "abi.h"
#include "check.h"
#include "rocksdb/comparator.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/table.h"

using namespace springbloom_test;
using rocksdb::Slice;
using rocksdb::SliceTransform;

namespace {

// Up to and with the first '|': other keys have no prefix.
class UpToBar final : public SliceTransform {
 public:
  const char* Name() const override { return "springbloom.test.UpToBar"; }
  Slice Transform(const Slice& key) const override { return Slice(key.data(), Bar(key) + 1); }
  bool InDomain(const Slice& key) const override { return Bar(key) < key.size(); }

 private:
  static size_t Bar(const Slice& key) { return std::find(key.data(), key.data() + key.size(), '|') - key.data(); }
};

using Random = std::mt19937_64;

// A key of a few letters, so that many share prefixes of any length.
std::string RandomKey(Random& random, size_t least_bytes) {
  std::string key(least_bytes + random() % 5, 'a');
  for (char& letter : key) {
    letter = "abcd|"[random() % 5];
  }
  return key;
}

struct Compared {
  rocksdb::DB* db;
  const rocksdb::Comparator* comparator;
  // The extractor that is in force; null if there is none.
  std::shared_ptr<const SliceTransform> extractor;
  size_t least_bytes;
  Random& random;

  bool HasPrefix(const Slice& key, const Slice& prefix) const {
    return extractor->InDomain(key) && extractor->Transform(key) == prefix;
  }

  // What an iterator finds from where it stands, at most `most` entries, while they have the prefix.
  std::vector<std::string> Walk(rocksdb::Iterator& it, bool forward, const std::optional<Slice>& prefix) const {
    std::vector<std::string> found;
    while (it.Valid() && found.size() < 40 && (!prefix || HasPrefix(it.key(), *prefix))) {
      found.push_back(it.key().ToString() + "=" + it.value().ToString());
      forward ? it.Next() : it.Prev();
    }
    CheckOk(it.status(), "an iterator");
    return found;
  }

  std::vector<std::string> Find(const rocksdb::ReadOptions& options, const std::string& target, bool forward,
                                const std::optional<Slice>& prefix) const {
    const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(options));
    forward ? it->Seek(target) : it->SeekForPrev(target);
    return Walk(*it, forward, prefix);
  }

  void Compare(const rocksdb::ReadOptions& options, const std::string& target, bool forward, const std::optional<Slice>& prefix,
               const char* what) const {
    rocksdb::ReadOptions all(options);
    all.total_order_seek = true;
    all.auto_prefix_mode = false;
    all.prefix_same_as_start = false;
    Check(Find(options, target, forward, prefix) == Find(all, target, forward, prefix),
          std::string(what) + ": an iterator from " + target + " misses an entry, extractor " +
              (extractor == nullptr ? "none" : extractor->AsString()));
  }

  void Step() const {
    const std::string target = RandomKey(random, least_bytes);
    rocksdb::ReadOptions options;
    options.async_io = random() % 8 == 0;
    const bool forward = random() % 3 != 0;
    if (extractor != nullptr && extractor->InDomain(target)) {
      const std::string prefix = extractor->Transform(target).ToString();
      Compare(options, target, forward, Slice(prefix), "a prefix");
      options.prefix_same_as_start = true;
      Compare(options, target, forward, Slice(prefix), "prefix_same_as_start");
      Compare(options, prefix, forward, Slice(prefix), "the prefix itself");
      options.prefix_same_as_start = false;
    }
    // RocksDB says that it may miss keys shorter than a full prefix.
    const std::string end = RandomKey(random, least_bytes);
    if (least_bytes >= 4 && forward && comparator->Compare(target, end) < 0) {
      const Slice bound(end);
      options.iterate_upper_bound = &bound;
      options.auto_prefix_mode = true;
      Compare(options, target, true, std::nullopt, "auto_prefix_mode");
    }
  }
};

void WaitForUnits(void* rocksdb_options) {
  Check(sb_filters_wait_idle(springbloom_installed(rocksdb_options), 60000) != 0, "the loader never came to rest");
}

void Write(rocksdb::DB* db, Random& random, size_t least_bytes) {
  for (int table = 0; table < 4; ++table) {
    for (int entry = 0; entry < 150; ++entry) {
      const std::string key = RandomKey(random, least_bytes);
      if (random() % 8 == 0) {
        CheckOk(db->Delete(rocksdb::WriteOptions(), key), "Delete");
      } else {
        CheckOk(db->Put(rocksdb::WriteOptions(), key, std::to_string(random() % 1000)), "Put");
      }
    }
    if (random() % 2 == 0) {
      const auto [from, to] = std::minmax({RandomKey(random, least_bytes), RandomKey(random, least_bytes)});
      if (db->GetOptions().comparator->Compare(from, to) < 0 && random() % 2 == 0) {
        CheckOk(db->DeleteRange(rocksdb::WriteOptions(), db->DefaultColumnFamily(), from, to), "DeleteRange");
      }
    }
    CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
  }
}

void Test(void* rocksdb_options, const std::string& path, const rocksdb::Comparator* comparator,
          std::shared_ptr<const SliceTransform> extractor, size_t least_bytes, bool whole_keys, Random& random) {
  rocksdb::Options options = springbloom::OptionsIn(rocksdb_options);
  options.comparator = comparator;
  options.prefix_extractor = extractor;
  options.disable_auto_compactions = true;
  auto* table_options = options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  table_options->whole_key_filtering = whole_keys;
  CheckOk(rocksdb::DestroyDB(path, options), "DestroyDB");
  std::unique_ptr<rocksdb::DB> db = Open(options, path);
  const rocksdb::Snapshot* snapshot = nullptr;
  const auto compare = [&](const std::shared_ptr<const SliceTransform>& in_force) {
    const Compared compared{db.get(), comparator, in_force, least_bytes, random};
    for (int step = 0; step < 300; ++step) {
      compared.Step();
    }
    if (snapshot == nullptr) {
      return;
    }
    for (int step = 0; step < 100 && in_force != nullptr; ++step) {
      const std::string target = RandomKey(random, least_bytes);
      rocksdb::ReadOptions of_snapshot;
      of_snapshot.snapshot = snapshot;
      if (in_force->InDomain(target)) {
        compared.Compare(of_snapshot, target, true, in_force->Transform(target), "a snapshot");
        compared.Compare(of_snapshot, in_force->Transform(target).ToString(), true, in_force->Transform(target), "a snapshot");
      }
    }
  };
  Write(db.get(), random, least_bytes);
  snapshot = db->GetSnapshot();
  compare(extractor);
  WaitForUnits(rocksdb_options);
  compare(extractor);
  Write(db.get(), random, least_bytes);
  WaitForUnits(rocksdb_options);
  compare(extractor);
  // Tables keep the extractor that they were written with.
  const std::pair<const char*, std::shared_ptr<const SliceTransform>> changes[] = {
      {"rocksdb.FixedPrefix.2", std::shared_ptr<const SliceTransform>(rocksdb::NewFixedPrefixTransform(2))},
      {"nullptr", nullptr},
      {"rocksdb.CappedPrefix.4", std::shared_ptr<const SliceTransform>(rocksdb::NewCappedPrefixTransform(4))},
  };
  for (const auto& [text, changed] : changes) {
    CheckOk(db->SetOptions({{"prefix_extractor", text}}), "SetOptions");
    compare(changed);
    Write(db.get(), random, least_bytes);
    WaitForUnits(rocksdb_options);
    compare(changed);
  }
  CheckOk(db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr), "CompactRange");
  WaitForUnits(rocksdb_options);
  compare(changes[2].second);
  db->ReleaseSnapshot(std::exchange(snapshot, nullptr));
  // Opened again, with the first extractor.
  CheckOk(db->Close(), "Close");
  db.reset();
  db = Open(options, path);
  WaitForUnits(rocksdb_options);
  compare(extractor);
}

}  // namespace

extern "C" int springbloom_test_prefixes(void* rocksdb_options, const char* path, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    const uint64_t seed = std::random_device()();
    try {
      Random random(seed);
      for (const bool whole_keys : {true, false}) {
        for (const rocksdb::Comparator* comparator : {rocksdb::BytewiseComparator(), rocksdb::ReverseBytewiseComparator()}) {
          const std::shared_ptr<const SliceTransform> fixed(rocksdb::NewFixedPrefixTransform(4));
          const std::shared_ptr<const SliceTransform> capped(rocksdb::NewCappedPrefixTransform(3));
          Test(rocksdb_options, path, comparator, fixed, 4, whole_keys, random);
          Test(rocksdb_options, path, comparator, fixed, 0, whole_keys, random);
          Test(rocksdb_options, path, comparator, capped, 0, whole_keys, random);
          Test(rocksdb_options, path, comparator, std::make_shared<UpToBar>(), 1, whole_keys, random);
        }
      }
    } catch (const std::exception& exception) {
      throw std::runtime_error("seed " + std::to_string(seed) + ": " + exception.what());
    }
  });
}
