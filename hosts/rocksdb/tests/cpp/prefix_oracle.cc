// Iterators find what an ordered map has: in every mode that looks for prefixes and in those that do not, under extractors, comparators,
// bounds and indexes of all kinds, in all kinds of databases, and after the extractor and other settings changed.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "abi.h"
#include "check.h"
#include "rocksdb/comparator.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/optimistic_transaction_db.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/utilities/transaction_db.h"

using namespace springbloom_test;
using rocksdb::DB;
using rocksdb::ReadOptions;
using rocksdb::Slice;
using rocksdb::SliceTransform;
using rocksdb::WriteOptions;

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

// The first two letters in the order of bytes, then the others from the last one on: keys with the same two are neighbours, those with more
// in common need not be.
class BackwardsBehindPairs final : public rocksdb::Comparator {
 public:
  const char* Name() const override { return "springbloom.test.BackwardsBehindPairs"; }
  int Compare(const Slice& a, const Slice& b) const override { return Turned(a).compare(Turned(b)); }
  bool CanKeysWithDifferentByteContentsBeEqual() const override { return false; }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  static std::string Turned(const Slice& key) {
    std::string turned = key.ToString();
    std::reverse(turned.begin() + std::min<size_t>(2, turned.size()), turned.end());
    return turned;
  }
};

const BackwardsBehindPairs backwards_behind_pairs;

using Extractor = std::shared_ptr<const SliceTransform>;
using IndexType = rocksdb::BlockBasedTableOptions::IndexType;

// Orders user keys, without timestamps.
struct InOrder {
  const rocksdb::Comparator* comparator;
  bool operator()(const std::string& a, const std::string& b) const {
    return comparator->CompareWithoutTimestamp(a, /*a_has_ts=*/false, b, /*b_has_ts=*/false) < 0;
  }
};
using Model = std::map<std::string, std::string, InOrder>;

// What one database is made of.
struct Setting {
  enum Kind { kPlain, kTransactions, kOptimistic, kTimestamps };

  Kind kind;
  const rocksdb::Comparator* comparator;
  // Keys are of this many letters, and at least this long. Few letters: most prefixes are present.
  size_t letters;
  size_t least_bytes;
  // Of tables that are written with the one filters and the other.
  std::array<IndexType, 2> index_types;

  // A hash index asks for the prefix of every key and of every target.
  bool HasHashIndexes() const { return index_types[0] == IndexType::kHashSearch || index_types[1] == IndexType::kHashSearch; }

  std::string RandomKey(Random& random) const {
    std::string key(least_bytes + random.Below(5), 'a');
    for (char& letter : key) {
      letter = "|abcdefghijklmno"[random.Below(letters)];
    }
    return key;
  }
};

// Filters that a database may be opened with.
struct Installed {
  const sb_filters* filters;
  std::shared_ptr<rocksdb::TableFactory> table_factory;
  std::vector<std::shared_ptr<rocksdb::EventListener>> listeners;
};

// A state of the database that readers may still see.
struct Held {
  const rocksdb::Snapshot* snapshot;
  uint64_t timestamp;
  Model model;
};

class Database {
 public:
  Database(const rocksdb::Options& options, const std::array<Installed, 2>& installed, const std::string& path,
           const Setting& setting, Random& random)
      : setting(setting),
        options_(options),
        installed_(installed),
        path_(path),
        random_(random),
        model_(InOrder{setting.comparator}) {
    OpenAgain(options.prefix_extractor);
  }
  ~Database() { ForgetHeld(); }

  void OpenAgain(const Extractor& extractor) {
    ForgetHeld();
    db_.reset();
    in_force_ = &installed_[random_.Below(2)];
    options_.table_factory = in_force_->table_factory;
    options_.listeners = in_force_->listeners;
    options_.prefix_extractor = extractor;
    if (setting.kind == Setting::kTransactions) {
      rocksdb::TransactionDB* opened = nullptr;
      CheckOk(rocksdb::TransactionDB::Open(options_, rocksdb::TransactionDBOptions(), path_, &opened), "open");
      db_.reset(opened);
    } else if (setting.kind == Setting::kOptimistic) {
      rocksdb::OptimisticTransactionDB* opened = nullptr;
      CheckOk(rocksdb::OptimisticTransactionDB::Open(options_, path_, &opened), "open");
      db_.reset(opened);
    } else {
      db_ = Open(options_, path_);
    }
  }

  // Tables keep the extractor that they were written with.
  void Change(const Extractor& extractor, const std::string& text) {
    // Which may be one that RocksDB made of a text.
    outlived_.push_back(db_->GetOptions().prefix_extractor);
    CheckOk(db_->SetOptions({{"prefix_extractor", text}}), "SetOptions");
    options_.prefix_extractor = extractor;
  }

  void Write() {
    const size_t tables = 1 + random_.Below(4);
    for (size_t table = 0; table < tables; ++table) {
      if (random_.OneIn(5) && setting.kind != Setting::kTimestamps) {
        Ingest();
        continue;
      }
      const size_t entries = 1 + random_.Below(200);
      for (size_t entry = 0; entry < entries; ++entry) {
        WriteOne();
      }
      CheckOk(db_->Flush(rocksdb::FlushOptions()), "Flush");
    }
    if (random_.OneIn(6)) {
      CheckOk(db_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr), "CompactRange");
    }
    // Some stay in the memtable.
    for (size_t entry = random_.Below(20); entry > 0; --entry) {
      WriteOne();
    }
  }

  void Hold() {
    if (held_.size() == 3) {
      Release(held_.front());
      held_.erase(held_.begin());
    }
    held_.push_back({setting.kind == Setting::kTimestamps ? nullptr : db_->GetSnapshot(), timestamp_, model_});
  }

  const std::vector<Held>& AllHeld() const { return held_; }
  DB* Db() const { return db_.get(); }
  const Model& Now() const { return model_; }
  uint64_t Timestamp() const { return timestamp_; }
  const Extractor& InForce() const { return options_.prefix_extractor; }
  const sb_filters* Filters() const { return in_force_->filters; }
  const rocksdb::Options& GetOptions() const { return options_; }
  const std::string& Path() const { return path_; }

  const Setting setting;
  // Of the last seek, by any iterator: what a seek leaves behind must not change those that share its prefix.
  mutable std::string last_target;

 private:
  void WriteOne() {
    const std::string key = setting.RandomKey(random_);
    const bool has_timestamps = setting.kind == Setting::kTimestamps;
    const std::string ts = has_timestamps ? TimestampOf(++timestamp_) : "";
    const WriteOptions write;
    if (random_.OneIn(8)) {
      CheckOk(has_timestamps ? db_->Delete(write, key, ts) : db_->Delete(write, key), "Delete");
      model_.erase(key);
    } else if (random_.OneIn(60) && (setting.kind == Setting::kPlain || has_timestamps)) {
      std::string from = key, to = setting.RandomKey(random_);
      if (InOrder{setting.comparator}(to, from)) {
        std::swap(from, to);
      }
      rocksdb::ColumnFamilyHandle* const family = db_->DefaultColumnFamily();
      CheckOk(has_timestamps ? db_->DeleteRange(write, family, from, to, ts) : db_->DeleteRange(write, family, from, to),
              "DeleteRange");
      model_.erase(model_.lower_bound(from), model_.lower_bound(to));
    } else {
      // Many versions of a key, now and then, over which iterators step.
      for (size_t times = random_.OneIn(20) ? 12 : 1; times > 0; --times) {
        const std::string value = std::to_string(++values_);
        const std::string at = has_timestamps ? TimestampOf(++timestamp_) : "";
        CheckOk(has_timestamps ? db_->Put(write, key, at, value) : db_->Put(write, key, value), "Put");
        model_[key] = value;
      }
    }
  }

  void Ingest() {
    Model entries(InOrder{setting.comparator});
    for (size_t entry = 1 + random_.Below(50); entry > 0; --entry) {
      entries[setting.RandomKey(random_)] = std::to_string(++values_);
    }
    const std::string file = path_ + "/ingested.sst";
    rocksdb::SstFileWriter writer((rocksdb::EnvOptions()), options_);
    CheckOk(writer.Open(file), "open a table");
    for (const auto& [key, value] : entries) {
      CheckOk(writer.Put(key, value), "Put into a table");
      model_[key] = value;
    }
    CheckOk(writer.Finish(), "finish a table");
    CheckOk(db_->IngestExternalFile({file}, rocksdb::IngestExternalFileOptions()), "ingest");
  }

  void Release(const Held& held) {
    if (held.snapshot != nullptr) {
      db_->ReleaseSnapshot(held.snapshot);
    }
  }

  void ForgetHeld() {
    for (const Held& held : held_) {
      Release(held);
    }
    held_.clear();
  }

 public:
  static std::string TimestampOf(uint64_t timestamp) {
    std::string bytes;
    rocksdb::EncodeU64Ts(timestamp, &bytes);
    return bytes;
  }

 private:
  rocksdb::Options options_;
  const std::array<Installed, 2>& installed_;
  const Installed* in_force_ = nullptr;
  const std::string path_;
  Random& random_;
  // RocksDB's memtables call the extractor that they began with, and keep its address alone.
  std::vector<Extractor> outlived_;
  std::unique_ptr<DB> db_;
  Model model_;
  uint64_t timestamp_ = 0;
  uint64_t values_ = 0;
  std::vector<Held> held_;
};

// Compares the iterators of one reader with a model.
class Comparison {
 public:
  using NewIterator = std::function<rocksdb::Iterator*(const ReadOptions&)>;

  Comparison(const Database& database, const Model& model, Random& random, NewIterator new_iterator, const char* reader)
      : setting_(database.setting),
        last_target_(database.last_target),
        extractor_(database.InForce().get()),
        model_(model),
        random_(random),
        new_iterator_(std::move(new_iterator)),
        reader_(reader),
        is_transaction_(std::string(reader) == "a transaction") {}

  // Seeks of one iterator, with options as drawn. The answers that were compared.
  uint64_t Seeks(ReadOptions options) {
    Draw(&options);
    const std::unique_ptr<rocksdb::Iterator> it(new_iterator_(options));
    for (size_t seeks = 1 + random_.Below(4); seeks > 0; --seeks) {
      Seek(*it);
    }
    return answers_;
  }

 private:
  enum Mode { kPrefix, kSameAsStart, kTotalOrder, kAutomatic };

  void Draw(ReadOptions* options) {
    mode_ = static_cast<Mode>(random_.Below(4));
    // RocksDB says that it may miss keys without a full prefix.
    if (mode_ == kAutomatic && setting_.least_bytes < 4) {
      mode_ = kPrefix;
    }
    // Before 11.8 RocksDB itself asks for the prefix of keys that have none.
    if (mode_ == kSameAsStart && SPRINGBLOOM_ROCKSDB < 110800) {
      mode_ = kPrefix;
    }
    if (extractor_ == nullptr && mode_ != kTotalOrder) {
      mode_ = kAutomatic;
    }
    options->prefix_same_as_start = mode_ == kSameAsStart;
    options->total_order_seek = mode_ == kTotalOrder;
    options->auto_prefix_mode = mode_ == kAutomatic;
    options->async_io = random_.OneIn(8);
    options->pin_data = random_.OneIn(8);
    options->fill_cache = random_.OneIn(2);
    options->adaptive_readahead = random_.OneIn(4);
    if (random_.OneIn(16)) {
      options->read_tier = rocksdb::kBlockCacheTier;
      may_be_incomplete_ = true;
    }
    if (random_.OneIn(2)) {
      upper_ = NearLastTarget();
      if (random_.OneIn(4)) {
        upper_ = upper_->substr(0, 1 + random_.Below(4));
      }
      upper_slice_ = *upper_;
      options->iterate_upper_bound = &upper_slice_;
    }
    if (random_.OneIn(4)) {
      lower_ = setting_.RandomKey(random_);
      lower_slice_ = *lower_;
      options->iterate_lower_bound = &lower_slice_;
    }
  }

  bool Less(const std::string& a, const std::string& b) const { return InOrder{setting_.comparator}(a, b); }

  // A key, one time of three with what the last target begins with.
  std::string NearLastTarget() {
    std::string key = setting_.RandomKey(random_);
    if (random_.OneIn(3)) {
      const size_t shared = std::min({1 + random_.Below(4), key.size(), last_target_.size()});
      key.replace(0, shared, last_target_, 0, shared);
    }
    return key;
  }

  // A target between the bounds: what others are clipped to depends on the release.
  std::optional<std::string> Target() {
    for (int tries = 0; tries < 20; ++tries) {
      std::string target = NearLastTarget();
      if (random_.OneIn(4)) {
        // Shorter than what a capped extractor caps, mostly.
        target.resize(std::min(target.size(), 1 + random_.Below(3)));
      }
      if (upper_ && random_.OneIn(2)) {
        // In a range whose keys share a beginning.
        const size_t shared = std::min(random_.Below(6), std::min(target.size(), upper_->size()));
        target.replace(0, shared, *upper_, 0, shared);
      }
      if (extractor_ != nullptr && extractor_->InDomain(target) && random_.OneIn(2)) {
        target = extractor_->Transform(target).ToString();
      }
      if (extractor_ != nullptr && mode_ == kSameAsStart && !extractor_->InDomain(target)) {
        continue;  // has no prefix
      }
      if ((!upper_ || Less(target, *upper_)) && (!lower_ || !Less(target, *lower_))) {
        last_target_ = target;
        return target;
      }
    }
    return std::nullopt;
  }

  void Seek(rocksdb::Iterator& it) {
    const std::optional<std::string> target = Target();
    if (!target) {
      return;
    }
    // RocksDB's hash index finds no way back to a prefix, with stock tables either, unless it is asked in total order.
    const bool goes_back = !setting_.HasHashIndexes() || mode_ == kTotalOrder || mode_ == kAutomatic;
    prefix_.reset();
    if (mode_ == kPrefix || mode_ == kSameAsStart) {
      if (!extractor_->InDomain(*target)) {
        // Promises nothing, and must leave no trace.
        if (!setting_.HasHashIndexes()) {
          it.Seek(*target);
        }
        return;
      }
      prefix_ = extractor_->Transform(*target).ToString();
    }
    bool forward = !goes_back || !random_.OneIn(3);
    what_ = std::string(reader_) + (forward ? ", Seek(" : ", SeekForPrev(") + *target + ")";
    Model::const_iterator at;
    if (forward) {
      it.Seek(*target);
      at = model_.lower_bound(*target);
    } else {
      it.SeekForPrev(*target);
      at = Before(model_.upper_bound(*target));
    }
    for (size_t steps = random_.Below(40); IsSame(it, at) && steps > 0; --steps) {
      // The changes of an uncommitted transaction are in another iterator, which knows no prefixes: beyond the last one it starts over.
      if (goes_back && !is_transaction_ && random_.OneIn(6)) {
        forward = !forward;
      }
      what_ += forward ? " Next" : " Prev";
      forward ? it.Next() : it.Prev();
      at = forward ? std::next(at) : Before(at);
    }
  }

  Model::const_iterator Before(Model::const_iterator at) const { return at == model_.begin() ? model_.end() : std::prev(at); }

  bool HasPrefix(const Slice& key) const {
    return !prefix_ || (extractor_->InDomain(key) && extractor_->Transform(key) == *prefix_);
  }

  // Whether the iterator stands at an entry that it promises, and at the right one.
  bool IsSame(const rocksdb::Iterator& it, Model::const_iterator at) {
    if (may_be_incomplete_ && it.status().IsIncomplete()) {
      return false;
    }
    CheckOk(it.status(), what_);
    ++answers_;
    const bool is_promised = at != model_.end() && (!upper_ || Less(at->first, *upper_)) &&
                             (!lower_ || !Less(at->first, *lower_)) && HasPrefix(at->first);
    if (is_promised) {
      Check(it.Valid() && it.key() == at->first && it.value() == at->second,
            Told(it) + ", expected " + at->first + "=" + at->second);
    } else {
      // Without prefix_same_as_start it may stand at an entry with another prefix.
      Check(!it.Valid() || (prefix_ && (mode_ == kPrefix || is_transaction_) && !HasPrefix(it.key())),
            Told(it) + ", expected no entry");
    }
    return is_promised;
  }

  std::string Told(const rocksdb::Iterator& it) const {
    static constexpr const char* kModes[] = {"prefixes", "prefix_same_as_start", "total_order_seek", "auto_prefix_mode"};
    return what_ + ": got " + (it.Valid() ? it.key().ToString() + "=" + it.value().ToString() : "no entry") + "; " +
           kModes[mode_] + ", extractor " + (extractor_ == nullptr ? "none" : extractor_->AsString()) +
           (upper_ ? ", upper bound " + *upper_ : "") + (lower_ ? ", lower bound " + *lower_ : "") + ", indexes " +
           std::to_string(setting_.index_types[0]) + " and " + std::to_string(setting_.index_types[1]);
  }

  const Setting& setting_;
  std::string& last_target_;
  const SliceTransform* const extractor_;
  const Model& model_;
  Random& random_;
  const NewIterator new_iterator_;
  const char* const reader_;
  const bool is_transaction_;
  Mode mode_ = kPrefix;
  bool may_be_incomplete_ = false;
  std::optional<std::string> upper_, lower_;
  Slice upper_slice_, lower_slice_;
  // That of the keys that are promised.
  std::optional<std::string> prefix_;
  std::string what_;
  uint64_t answers_ = 0;
};

// Lookups next to iterators: in a table with units over prefixes alone they ask those.
void Get(const Database& database, Random& random) {
  std::vector<std::string> keys;
  for (size_t count = 1 + random.Below(5); count > 0; --count) {
    keys.push_back(database.setting.RandomKey(random));
  }
  const std::vector<Slice> slices(keys.begin(), keys.end());
  std::vector<rocksdb::PinnableSlice> values(keys.size());
  std::vector<rocksdb::Status> statuses(keys.size());
  ReadOptions options;
  const std::string ts = Database::TimestampOf(database.Timestamp());
  const Slice at(ts);
  if (database.setting.kind == Setting::kTimestamps) {
    options.timestamp = &at;
  }
  options.async_io = random.OneIn(4);
  DB* const db = database.Db();
  if (random.OneIn(2)) {
    db->MultiGet(options, db->DefaultColumnFamily(), keys.size(), slices.data(), values.data(), statuses.data());
  } else {
    for (size_t i = 0; i < keys.size(); ++i) {
      statuses[i] = db->Get(options, db->DefaultColumnFamily(), slices[i], &values[i]);
    }
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto found = database.Now().find(keys[i]);
    Check(found == database.Now().end() ? statuses[i].IsNotFound() : statuses[i].ok() && values[i] == found->second,
          "Get(" + keys[i] + "): " + statuses[i].ToString() + " " + values[i].ToString());
  }
}

uint64_t CompareDatabase(const Database& database, Random& random) {
  uint64_t answers = 0;
  for (int step = 0; step < 100; ++step) {
    ReadOptions options;
    const Model* model = &database.Now();
    uint64_t timestamp = database.Timestamp();
    if (!database.AllHeld().empty() && random.OneIn(3)) {
      const Held& held = database.AllHeld()[random.Below(database.AllHeld().size())];
      options.snapshot = held.snapshot;
      timestamp = held.timestamp;
      model = &held.model;
    }
    const std::string ts = Database::TimestampOf(timestamp);
    const Slice at(ts);
    if (database.setting.kind == Setting::kTimestamps) {
      options.timestamp = &at;
    }
    answers +=
        Comparison(
            database, *model, random, [&](const ReadOptions& read) { return database.Db()->NewIterator(read); }, "the database")
            .Seeks(options);
    if (random.OneIn(4)) {
      Get(database, random);
    }
  }
  return answers;
}

uint64_t CompareTransaction(const Database& database, Random& random) {
  std::unique_ptr<rocksdb::Transaction> transaction;
  if (database.setting.kind == Setting::kTransactions) {
    transaction.reset(static_cast<rocksdb::TransactionDB*>(database.Db())->BeginTransaction(WriteOptions()));
  } else {
    transaction.reset(static_cast<rocksdb::OptimisticTransactionDB*>(database.Db())->BeginTransaction(WriteOptions()));
  }
  Model model = database.Now();
  for (size_t changes = random.Below(30); changes > 0; --changes) {
    const std::string key = database.setting.RandomKey(random);
    if (random.OneIn(4)) {
      CheckOk(transaction->Delete(key), "Delete");
      model.erase(key);
    } else {
      CheckOk(transaction->Put(key, "uncommitted"), "Put");
      model[key] = "uncommitted";
    }
  }
  uint64_t answers = 0;
  for (int step = 0; step < 100; ++step) {
    answers +=
        Comparison(
            database, model, random, [&](const ReadOptions& read) { return transaction->GetIterator(read); }, "a transaction")
            .Seeks(ReadOptions());
  }
  CheckOk(transaction->Rollback(), "Rollback");
  return answers;
}

// A database that reads what another one writes.
uint64_t CompareFollower(const Database& database, Random& random) {
  const bool is_secondary = random.OneIn(2);
  rocksdb::Options options = database.GetOptions();
  options.max_open_files = -1;
  // Or a compaction deletes a table that the other one is about to open.
  CheckOk(database.Db()->WaitForCompact(rocksdb::WaitForCompactOptions()), "WaitForCompact");
  const std::unique_ptr<DB> follower = Opened([&](auto* db) {
    return is_secondary ? DB::OpenAsSecondary(options, database.Path(), database.Path() + "-secondary", db)
                        : DB::OpenForReadOnly(options, database.Path(), db);
  });
  ReadOptions read;
  const std::string ts = Database::TimestampOf(database.Timestamp());
  const Slice at(ts);
  if (database.setting.kind == Setting::kTimestamps) {
    read.timestamp = &at;
  }
  uint64_t answers = 0;
  for (int step = 0; step < 100; ++step) {
    answers += Comparison(
                   database, database.Now(), random, [&](const ReadOptions& read) { return follower->NewIterator(read); },
                   is_secondary ? "a secondary" : "a read-only database")
                   .Seeks(read);
  }
  return answers;
}

// One of which keys with the same prefix are neighbours.
std::pair<Extractor, std::string> RandomExtractor(Random& random, const Setting& setting, bool by_text) {
  std::vector<std::pair<Extractor, std::string>> all;
  const bool all_in_domain = setting.HasHashIndexes();
  if (!all_in_domain) {
    all.push_back({nullptr, "nullptr"});
  }
  if (!all_in_domain || setting.least_bytes >= 4) {
    all.push_back({Extractor(rocksdb::NewFixedPrefixTransform(2)), "rocksdb.FixedPrefix.2"});
  }
  if (setting.comparator != &backwards_behind_pairs) {
    if (!all_in_domain || setting.least_bytes >= 4) {
      all.push_back({Extractor(rocksdb::NewFixedPrefixTransform(4)), "rocksdb.FixedPrefix.4"});
    }
    all.push_back({Extractor(rocksdb::NewCappedPrefixTransform(3)), "rocksdb.CappedPrefix.3"});
    if (!all_in_domain && !by_text) {
      all.push_back({std::make_shared<UpToBar>(), ""});
    }
  }
  return all[random.Below(all.size())];
}

// One database from its making to its end. The answers that were compared.
uint64_t Live(const std::array<void*, 2>& rocksdb_options, bool is_stock, const std::string& path, Random& random) {
  Setting setting{};
  setting.kind = static_cast<Setting::Kind>(random.Below(4));
  setting.comparator = setting.kind == Setting::kTimestamps ? rocksdb::BytewiseComparatorWithU64Ts()
                       : random.OneIn(3)                    ? rocksdb::ReverseBytewiseComparator()
                       : random.OneIn(4)                    ? &backwards_behind_pairs
                                                            : rocksdb::BytewiseComparator();
  setting.letters = 4 + random.Below(12);
  setting.least_bytes = random.OneIn(3) ? random.Below(2) : 4;
  for (IndexType& index_type : setting.index_types) {
    index_type = random.Of({IndexType::kBinarySearch, IndexType::kHashSearch, IndexType::kTwoLevelIndexSearch,
                            IndexType::kBinarySearchWithFirstKey});
    // There is no prefix that all of these keys have, and RocksDB takes timestamps for a part of the key there.
    const bool cannot_be_hashed =
        setting.kind == Setting::kTimestamps || (setting.comparator == &backwards_behind_pairs && setting.least_bytes < 4);
    if (index_type == IndexType::kHashSearch && cannot_be_hashed) {
      index_type = IndexType::kBinarySearch;
    }
  }

  rocksdb::Options options = springbloom::OptionsIn(rocksdb_options[0]);
  options.comparator = setting.comparator;
  options.prefix_extractor = RandomExtractor(random, setting, /*by_text=*/false).first;
  options.disable_auto_compactions = random.OneIn(2);
  options.max_sequential_skip_in_iterations = random.Of<uint64_t>({0, 1, 8});
  options.max_open_files = random.OneIn(3) ? 12 : -1;
  options.target_file_size_base = random.OneIn(2) ? 2 << 10 : 48 << 10;
  if (random.OneIn(3)) {
    options.memtable_prefix_bloom_size_ratio = 0.1;
  }
  const bool whole_key_filtering = random.OneIn(2);
  const uint64_t block_size = random.OneIn(2) ? 256 : 4096;
  // Without one, there are no units over prefixes.
  const bool has_policy = !random.OneIn(4);
  std::array<Installed, 2> installed;
  for (size_t i = 0; i < installed.size(); ++i) {
    const rocksdb::Options& given = springbloom::OptionsIn(rocksdb_options[i]);
    auto* const tables = given.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
    tables->whole_key_filtering = whole_key_filtering;
    tables->block_size = block_size;
    tables->index_type = setting.index_types[i];
    if (has_policy) {
      tables->filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    }
    installed[i] = {springbloom_installed(rocksdb_options[i]), given.table_factory, given.listeners};
    if (is_stock) {
      installed[i].table_factory.reset(rocksdb::NewBlockBasedTableFactory(*tables));
      installed[i].listeners.clear();
    }
  }
  CheckOk(rocksdb::DestroyDB(path, options), "DestroyDB");

  uint64_t answers = 0;
  Database database(options, installed, path, setting, random);
  for (size_t rounds = 4 + random.Below(8); rounds > 0; --rounds) {
    database.Write();
    const uint64_t budget = random.Of<uint64_t>({0, 20 << 10, 100 << 10, 16 << 20, 16 << 20});
    Check(sb_filters_set_budget_bytes(database.Filters(), budget) != 0, "the budget can be set");
    if (random.OneIn(2)) {
      database.Hold();
    }
    if (!random.OneIn(4)) {
      Check(sb_filters_wait_idle(database.Filters(), 60000) != 0, "the loader never came to rest");
    }
    answers += CompareDatabase(database, random);
    if (setting.kind == Setting::kTransactions || setting.kind == Setting::kOptimistic) {
      answers += CompareTransaction(database, random);
    }
    if (random.OneIn(4)) {
      answers += CompareFollower(database, random);
    }
    if (random.OneIn(4)) {
      const auto [extractor, text] = RandomExtractor(random, setting, /*by_text=*/true);
      database.Change(extractor, text);
      answers += CompareDatabase(database, random);
    }
    if (random.OneIn(5)) {
      database.OpenAgain(RandomExtractor(random, setting, /*by_text=*/false).first);
    }
  }
  return answers;
}

}  // namespace

// Both options have filters, which `is_stock` leaves unused.
extern "C" int springbloom_test_prefix_oracle(void* first_options, void* second_options, int is_stock, const char* path,
                                              uint64_t seed, uint64_t* answers, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    Random random(seed);
    *answers = Live({first_options, second_options}, is_stock != 0, path, random);
  });
}
