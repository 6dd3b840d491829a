// Replaces LevelDB's class of this name: where the database's policy is elastic, a table's units are asked before the table is opened.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "database.h"
#include "file_access.h"
#include "filters.h"
#include "internals.h"
#include "leveldb/cache.h"
#include "leveldb/env.h"
#include "leveldb/table.h"

const char springbloom::kTableCacheIsReplaced = 1;

namespace leveldb {

using springbloom::Database;
using springbloom::OpenedFile;

// LevelDB makes and deletes it with the size of its own, which is larger.
class TableCache {
 public:
  TableCache(const std::string& dbname, const Options& options, int entries);
  ~TableCache();
  TableCache(const TableCache&) = delete;
  TableCache& operator=(const TableCache&) = delete;

  // `table`: null, or where to put the table that is behind the iterator, alive as long as that.
  Iterator* NewIterator(const ReadOptions& options, uint64_t number, uint64_t file_size, Table** table);
  // Calls `take` with the first entry at or after the key, if the table may have an entry of its user key.
  Status Get(const ReadOptions& options, uint64_t number, uint64_t file_size, const Slice& internal_key, void* context,
             void (*take)(void* context, const Slice& found, const Slice& value));
  // The file is about to be deleted.
  void Evict(uint64_t number);

 private:
  struct Rep;
  Rep* const rep_;
};

namespace {

struct Reader {
  OpenedFile file;
  std::unique_ptr<Table> table;  // reads `file`
};

void Delete(const Slice&, void* value) { delete static_cast<Reader*>(value); }

std::string CacheKey(uint64_t number) { return std::string(reinterpret_cast<const char*>(&number), sizeof(number)); }

// A caller's function, and whether it was given an entry of the key.
struct Taker {
  Slice user_key;
  void* context;
  void (*take)(void* context, const Slice& found, const Slice& value);
  bool is_found = false;

  static void Take(void* taker, const Slice& found, const Slice& value) {
    auto* self = static_cast<Taker*>(taker);
    self->is_found = found.size() == self->user_key.size() + kKeyTrailerSize && found.starts_with(self->user_key);
    self->take(self->context, found, value);
  }
};

}  // namespace

struct TableCache::Rep {
  Rep(const std::string& dbname, const Options& given, int entries)
      : folder(dbname), options(given), cache(NewLRUCache(entries)) {
    selected = springbloom::SelectedBy(options);
    if (selected.filters == nullptr) {
      return;
    }
    // Tables with stock filters are read without: nobody knows here whether their policy is this one's predecessor.
    options.filter_policy = nullptr;
    if (selected.MayFilter()) {
      database.emplace(selected, folder, options);
    } else {
      Log(options.info_log,
          "springbloom: warning: no table of this database gets or is read with filter units: its comparator %s may call keys "
          "equal that differ in their bytes; if it never does, say so (assume_bytewise_equality=true); the metrics "
          "springbloom_tables_written_without_units_total and springbloom_tables_without_units_total count its tables",
          selected.user_comparator->Name());
    }
  }

  Status Find(uint64_t number, uint64_t file_size, Cache::Handle** handle) {
    const std::string key = CacheKey(number);
    *handle = cache->Lookup(key);
    if (*handle != nullptr) {
      return Status::OK();
    }
    auto reader = std::make_unique<Reader>();
    // What fails is not kept: it may have passed the next time.
    Status s = OpenTableFile(options.env, folder, number, &reader->file);
    if (!s.ok()) {
      return s;
    }
    const bool is_new = database && !database->Knows(number);
    if (is_new) {
      reader->file.file = springbloom::WithFooterRead(std::move(reader->file.file), file_size);
    }
    Table* opened = nullptr;
    s = Table::Open(options, reader->file.file.get(), file_size, &opened);
    if (!s.ok()) {
      return s;
    }
    reader->table.reset(opened);
    if (is_new) {
      database->Learn(number, file_size, reader->file);
    } else if (!database && selected.filters != nullptr) {
      sb_filters_count(selected.filters.get(), SB_WITHOUT_UNITS, 1);
    }
    *handle = cache->Insert(key, reader.release(), 1, &Delete);
    return s;
  }

  Table* TableOf(Cache::Handle* handle) { return static_cast<Reader*>(cache->Value(handle))->table.get(); }

  const std::string folder;
  Options options;
  springbloom::Selected selected;
  std::optional<Database> database;  // null: its tables are not filtered
  const std::unique_ptr<Cache> cache;
};

TableCache::TableCache(const std::string& dbname, const Options& options, int entries)
    : rep_(new Rep(dbname, options, entries)) {}

TableCache::~TableCache() { delete rep_; }

Iterator* TableCache::NewIterator(const ReadOptions& options, uint64_t number, uint64_t file_size, Table** table) {
  if (table != nullptr) {
    *table = nullptr;
  }
  Cache::Handle* handle = nullptr;
  const Status s = rep_->Find(number, file_size, &handle);
  if (!s.ok()) {
    return NewErrorIterator(s);
  }
  Table* found = rep_->TableOf(handle);
  Iterator* iterator = found->NewIterator(options);
  iterator->RegisterCleanup(
      [](void* cache, void* released) { static_cast<Cache*>(cache)->Release(static_cast<Cache::Handle*>(released)); },
      rep_->cache.get(), handle);
  if (table != nullptr) {
    *table = found;
  }
  return iterator;
}

Status TableCache::Get(const ReadOptions& options, uint64_t number, uint64_t file_size, const Slice& internal_key, void* context,
                       void (*take)(void* context, const Slice& found, const Slice& value)) {
  const Slice user_key(internal_key.data(), internal_key.size() - kKeyTrailerSize);
  const sb_table* units = rep_->database ? rep_->database->UnitsOf(number) : nullptr;
  uint32_t segment = 0;
  if (units != nullptr && !rep_->database->MayMatch(units, user_key, &segment)) {
    return Status::OK();
  }
  Cache::Handle* handle = nullptr;
  Status s = rep_->Find(number, file_size, &handle);
  if (!s.ok()) {
    return s;
  }
  Table* table = rep_->TableOf(handle);
  if (units == nullptr) {
    s = table->InternalGet(options, internal_key, context, take);
  } else {
    Taker taker{user_key, context, take};
    s = table->InternalGet(options, internal_key, &taker, &Taker::Take);
    // A read that failed says nothing.
    if (s.ok()) {
      sb_table_record(units, segment, taker.is_found ? SB_FOUND : SB_MISSING);
    }
  }
  rep_->cache->Release(handle);
  return s;
}

void TableCache::Evict(uint64_t number) {
  if (rep_->database) {
    rep_->database->Forget(number);
  }
  rep_->cache->Erase(CacheKey(number));
}

}  // namespace leveldb
