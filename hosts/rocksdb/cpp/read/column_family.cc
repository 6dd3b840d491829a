#include "read/column_family.h"

#include <algorithm>
#include <mutex>

#include "read/elastic_table_reader.h"
#include "read/file_access.h"
#include "read/deferred_tables.h"
#include "read/prefix_filter.h"

namespace springbloom {

using rocksdb::TableReaderOptions;

namespace {

// Never destroyed: a database that outlives the statics of this file can still close. Pointers to elements stay valid.
std::list<ColumnFamily>& AllOpen() {
  static auto* all = new std::list<ColumnFamily>;
  return *all;
}

// Those whose tables were closed while one was being tried. The try may hang, and needs the database's files alone: they end with the
// database at the latest.
std::list<ColumnFamily>& Ending() {
  static auto* ending = new std::list<ColumnFamily>;
  return *ending;
}

// Guards the lists, the column families' counts of readers, and what they make once.
std::mutex& AllOpenMutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

// RocksDB makes the database's own folder the first of its folders for tables, unless it was given others.
rocksdb::Slice FolderOfDatabase(const TableReaderOptions& options) {
  return options.ioptions.db_paths.empty() ? rocksdb::Slice() : options.ioptions.db_paths.front().path;
}

}  // namespace

ColumnFamily::ColumnFamily(FiltersRef given, const TableReaderOptions& options, bool is_for_writing)
    : filters(std::move(given)),
      comparator(options.internal_comparator.user_comparator()),
      statistics(options.ioptions.stats),
      file_system(options.ioptions.fs),
      log(options.ioptions.info_log),
      session_(options.cur_db_session_id),
      column_family_(release::ColumnFamilyOf(options)),
      family_(sb_column_family_open(filters.get(), Bytes(session_), Bytes(FolderOfDatabase(options)), is_for_writing ? 1 : 0,
                                    FileAccess::Make(options))) {}

void ColumnFamily::LogOpening(const TableReaderOptions& options) const {
  rocksdb::Info(log, "springbloom: filter units are in use: %s", SettingsText(filters.get()).c_str());
  if (options.prefix_extractor != nullptr) {
    rocksdb::Info(
        log,
        "springbloom: prefix_extractor is set: units over prefixes filter seeks if the table options have a filter_policy, or "
        "further_prefixes are set, and no other ones");
  }
  if (options.ioptions.optimize_filters_for_hits) {
    rocksdb::Warn(log, "springbloom: optimize_filters_for_hits is set: tables of the last level get no units");
  }
}

ColumnFamily::~ColumnFamily() {
  deferred_.reset();
  deferred_prefixes_.reset();
  sb_column_family_close(filters.get(), family_);
}

bool ColumnFamily::Matches(const FiltersRef& by, const TableReaderOptions& options) const {
  return by.get() == filters.get() && release::ColumnFamilyOf(options) == column_family_ &&
         options.internal_comparator.user_comparator() == comparator && options.cur_db_session_id == session_;
}

DeferredTables<ElasticTableReader>& ColumnFamily::Deferred() const {
  std::lock_guard<std::mutex> lock(AllOpenMutex());
  if (deferred_ == nullptr) {
    deferred_ = std::make_unique<DeferredTables<ElasticTableReader>>(*this);
  }
  return *deferred_;
}

DeferredTables<PrefixFilter>& ColumnFamily::DeferredPrefixes() const {
  std::lock_guard<std::mutex> lock(AllOpenMutex());
  if (deferred_prefixes_ == nullptr) {
    deferred_prefixes_ = std::make_unique<DeferredTables<PrefixFilter>>(*this);
  }
  return *deferred_prefixes_;
}

void ColumnFamily::WarnOfUnreadable(const std::string& path) const {
  {
    std::lock_guard<std::mutex> lock(AllOpenMutex());
    if (std::exchange(warned_of_unreadable_, true)) {
      return;
    }
  }
  rocksdb::Warn(log,
                "springbloom: the filter units of %s cannot be read; it is read without them until they can be, and this column "
                "family's other such tables are not told of here",
                path.c_str());
}

void ColumnFamily::WarnOfNoRoom() const {
  {
    std::lock_guard<std::mutex> lock(AllOpenMutex());
    if (std::exchange(warned_of_no_room_, true)) {
      return;
    }
  }
  rocksdb::Warn(log,
                "springbloom: a table is read without filter units, as the budget of %llu bytes has no room for its bookkeeping; "
                "this column family's others are not told of here",
                static_cast<unsigned long long>(sb_filters_budget_bytes(filters.get())));
}

ColumnFamilyRef::ColumnFamilyRef(const FiltersRef& filters, const TableReaderOptions& options, bool is_for_writing) {
  bool is_new = false;
  {
    std::lock_guard<std::mutex> lock(AllOpenMutex());
    std::list<ColumnFamily>& all = AllOpen();
    auto found =
        std::find_if(all.begin(), all.end(), [&](const ColumnFamily& family) { return family.Matches(filters, options); });
    is_new = found == all.end();
    if (is_new) {
      found = all.emplace(found, filters, options, is_for_writing);
      found->place_ = found;
    }
    ++found->readers_;
    family_ = &*found;
  }
  // Without the lock: other databases open and close meanwhile.
  if (is_new) {
    family_->LogOpening(options);
  }
}

ColumnFamilyRef::ColumnFamilyRef(const ColumnFamilyRef& other) : family_(other.family_) {
  if (family_ != nullptr) {
    std::lock_guard<std::mutex> lock(AllOpenMutex());
    ++family_->readers_;
  }
}

bool ColumnFamily::IsTried() const {
  return (deferred_ != nullptr && deferred_->HasTries()) || (deferred_prefixes_ != nullptr && deferred_prefixes_->HasTries());
}

bool ColumnFamily::IsOfDatabaseOf(const ColumnFamily& other) const {
  return other.filters.get() == filters.get() && other.session_ == session_;
}

// Whether it may end later than its last table. A comparator of the user's may be gone by then.
bool ColumnFamily::MayLinger() const {
  const auto is_of_same = [&](const ColumnFamily& other) { return other.IsOfDatabaseOf(*this); };
  return comparator == rocksdb::BytewiseComparator() && IsTried() && std::ranges::any_of(AllOpen(), is_of_same);
}

ColumnFamilyRef::~ColumnFamilyRef() {
  // Destroyed after the lock is released: its destructor waits for accesses to files, and that of the filters for threads, which may open
  // tables.
  std::list<ColumnFamily> gone;
  if (family_ != nullptr) {
    std::lock_guard<std::mutex> lock(AllOpenMutex());
    if (--family_->readers_ == 0) {
      std::list<ColumnFamily>& ending = Ending();
      ending.splice(ending.end(), AllOpen(), family_->place_);
      for (auto next = ending.begin(); next != ending.end();) {
        // Those of other databases, which may close meanwhile, are theirs to end.
        if (const auto family = next++; family->IsOfDatabaseOf(*family_) && !family->MayLinger()) {
          gone.splice(gone.end(), ending, family);
        }
      }
    }
  }
}

}  // namespace springbloom
