#include "read/column_family.h"

#include <pthread.h>

#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

namespace springbloom {

using rocksdb::TableReaderOptions;

namespace {

// The column families that are open: by their filters, the opening of the database, an object that the column family owns, and the order of
// their keys. Nobody else's may be looked into: who has the last share of one waits for its reads.
struct OpenFamilies {
  using Key = std::tuple<const sb_filters*, std::string, const void*, const rocksdb::Comparator*>;

  std::mutex mutex;
  std::map<Key, std::weak_ptr<const ColumnFamily>> families;
};

// RocksDB makes the database's own folder the first of its folders for tables, unless it was given others.
rocksdb::Slice FolderOfDatabase(const TableReaderOptions& options) {
  return options.ioptions.db_paths.empty() ? rocksdb::Slice() : options.ioptions.db_paths.front().path;
}

// Keys in the order of their bytes are compared without a call back.
sb_comparator ComparatorForCore(const rocksdb::Comparator& comparator) {
  if (&comparator == rocksdb::BytewiseComparator()) {
    return sb_comparator{nullptr, nullptr};
  }
  return sb_comparator{&comparator, [](const void* of, sb_bytes a, sb_bytes b) noexcept {
                         return static_cast<const rocksdb::Comparator*>(of)->CompareWithoutTimestamp(
                             ToSlice(a), /*a_has_ts=*/false, ToSlice(b), /*b_has_ts=*/false);
                       }};
}

// Wrong rejections that the log is told of.
constexpr uint32_t kWrongTold = 100;

sb_row_cache RowsOf(const TableReaderOptions& options) {
  const auto& rows = options.ioptions.row_cache;
  return {rows.get(), rows == nullptr ? 0 : rows->GetCapacity()};
}

// Whether closing a column family may wait for reads of the database. A thread of RocksDB's pools removes tables of a database that stays
// open, and closes none: it must not stand, and what is read has shares in all that it uses. Only in the Env of a program from before there
// were file systems, which nobody shares, each read ends before the database does.
bool MayWait(const rocksdb::FileSystem& file_system) {
  char name[16] = "";
  const bool is_named = pthread_getname_np(pthread_self(), name, sizeof(name)) == 0;
  return !is_named || std::strncmp(name, "rocksdb:", 8) != 0 || std::strcmp(file_system.Name(), "LegacyFileSystem") == 0;
}

}  // namespace

ColumnFamily::ColumnFamily(FiltersRef given, const TableReaderOptions& options, const sb_row_cache& rows, bool is_for_writing)
    : filters(std::move(given)),
      comparator(options.internal_comparator.user_comparator()),
      core_comparator(ComparatorForCore(*comparator)),
      objects(std::make_shared<const ReadObjects>(options)),
      family_(sb_column_family_open(filters.get(), Bytes(options.cur_db_session_id), Bytes(FolderOfDatabase(options)),
                                    is_for_writing ? 1 : 0, rows, FileAccessFor(options))),
      verify_below_(sb_filters_host_settings(filters.get())->verify_below) {}

void ColumnFamily::LogOpening(const TableReaderOptions& options) const {
  rocksdb::Info(objects->log, "springbloom: filter units are in use: %s", SettingsText(filters.get()).c_str());
  if (options.prefix_extractor != nullptr) {
    rocksdb::Info(
        objects->log,
        "springbloom: prefix_extractor is set: units over prefixes filter seeks if the table options have a filter_policy, "
        "and no other ones");
  }
  if (options.ioptions.optimize_filters_for_hits) {
    rocksdb::Warn(objects->log, "springbloom: optimize_filters_for_hits is set: tables of the last level get no units");
  }
}

ColumnFamily::~ColumnFamily() { sb_column_family_close(filters.get(), family_, MayWait(*objects->file_system) ? 1 : 0); }

ColumnFamilyRef ColumnFamily::Of(const FiltersRef& filters, const TableReaderOptions& options, bool is_for_writing) {
  // Never destroyed: a database that outlives the statics of this file can still open tables.
  static auto* const open = new OpenFamilies;
  // Without the lock: the cache may be the program's own.
  const sb_row_cache rows = RowsOf(options);
  const OpenFamilies::Key key(filters.get(), options.cur_db_session_id, release::ColumnFamilyOf(options),
                              options.internal_comparator.user_comparator());
  ColumnFamilyRef family;
  {
    std::lock_guard<std::mutex> lock(open->mutex);
    std::erase_if(open->families, [](const auto& known) { return known.second.expired(); });
    std::weak_ptr<const ColumnFamily>& known = open->families[key];
    family = known.lock();
    if (family != nullptr) {
      return family;
    }
    family.reset(new ColumnFamily(filters, options, rows, is_for_writing));
    known = family;
  }
  // Without the lock: other databases open and close meanwhile.
  family->LogOpening(options);
  return family;
}

void ColumnFamily::CountVerified(bool was_there, const std::string& path) const {
  sb_filters_count(filters.get(), SB_VERIFIED, 1);
  sb_filters_count(filters.get(), SB_WRONG_REJECTIONS, was_there ? 1 : 0);
  if (was_there && told_of_wrong_.fetch_add(1) < kWrongTold) {
    rocksdb::Error(
        objects->log,
        "springbloom: the filter units of %s rejected a key that it holds; set the budget to 0 and report this, unless a "
        "comparator calls keys equal that differ in their bytes (assume_bytewise_equality)",
        path.c_str());
  }
}

void ColumnFamily::WarnOfUnreadable(const std::string& path) const {
  if (warned_of_unreadable_.exchange(true)) {
    return;
  }
  rocksdb::Warn(objects->log,
                "springbloom: the filter units of %s cannot be read; it is read without them until they can be, and this column "
                "family's other such tables are not told of here",
                path.c_str());
}

void ColumnFamily::WarnOfNoRoom() const {
  if (warned_of_no_room_.exchange(true)) {
    return;
  }
  rocksdb::Warn(objects->log,
                "springbloom: a table is read without filter units, as the budget of %llu bytes has no room for its bookkeeping; "
                "this column family's others are not told of here",
                static_cast<unsigned long long>(sb_filters_budget_bytes(filters.get())));
}

}  // namespace springbloom
