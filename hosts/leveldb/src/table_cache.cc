// Replaces LevelDB's class of this name: where the database's policy is elastic, a table's units are asked before the table is read.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "database.h"
#include "filters.h"
#include "internals.h"
#include "leveldb/cache.h"
#include "leveldb/env.h"
#include "leveldb/table.h"
#include "open_table.h"

const char springbloom::kTableCacheIsReplaced = 1;

namespace leveldb {

using springbloom::Database;
using springbloom::OpenTable;

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

struct Cached {
  // The cache's own, and that of reads which are under way.
  std::shared_ptr<OpenTable> table = std::make_shared<OpenTable>();
  Database* database = nullptr;  // null: the policy is not elastic
};

void Delete(const Slice&, void* value) {
  const std::unique_ptr<Cached> cached(static_cast<Cached*>(value));
  if (cached->database != nullptr) {
    cached->database->Close(cached->table.get());
  }
}

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
    springbloom::Selected selected = springbloom::SelectedBy(options);
    if (selected.filters != nullptr) {
      // Tables with stock filters are read without: nobody knows here whether their policy is this one's predecessor.
      options.filter_policy = nullptr;
      database.emplace(std::move(selected), folder, options);
    }
  }

  Status Find(uint64_t number, uint64_t file_size, Cache::Handle** handle) {
    const std::string key = CacheKey(number);
    *handle = cache->Lookup(key);
    if (*handle != nullptr) {
      return Status::OK();
    }
    auto cached = std::make_unique<Cached>();
    OpenTable& table = *cached->table;
    table.number = number;
    table.file_size = file_size;
    cached->database = database ? &*database : nullptr;
    RandomAccessFile* file = nullptr;
    Status s = options.env->NewRandomAccessFile(TableFileName(folder, number), &file);
    if (!s.ok() && options.env->NewRandomAccessFile(SSTTableFileName(folder, number), &file).ok()) {
      table.has_older_name = true;
      s = Status::OK();
    }
    // What fails is not kept: it may have passed the next time.
    if (!s.ok()) {
      return s;
    }
    table.file.reset(file);
    Table* opened = nullptr;
    s = Table::Open(options, file, file_size, &opened);
    if (!s.ok()) {
      return s;
    }
    table.table.reset(opened);
    if (database) {
      database->Open(cached->table);
    }
    *handle = cache->Insert(key, cached.release(), 1, &Delete);
    return s;
  }

  OpenTable& TableOf(Cache::Handle* handle) { return *static_cast<Cached*>(cache->Value(handle))->table; }

  const std::string folder;
  Options options;
  std::optional<Database> database;
  // Its tables are closed before their database.
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
  Table* found = rep_->TableOf(handle).table.get();
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
  Cache::Handle* handle = nullptr;
  Status s = rep_->Find(number, file_size, &handle);
  if (!s.ok()) {
    return s;
  }
  const OpenTable& table = rep_->TableOf(handle);
  if (!table.HasUnits()) {
    s = table.table->InternalGet(options, internal_key, context, take);
  } else if (Database::Lookup lookup(*rep_->database, table, internal_key); lookup.MayMatch()) {
    Taker taker{Slice(internal_key.data(), internal_key.size() - kKeyTrailerSize), context, take};
    s = table.table->InternalGet(options, internal_key, &taker, &Taker::Take);
    // A read that failed says nothing.
    if (s.ok()) {
      lookup.Record(taker.is_found);
    }
  }
  rep_->cache->Release(handle);
  return s;
}

void TableCache::Evict(uint64_t number) {
  const std::string key = CacheKey(number);
  if (Cache::Handle* handle = rep_->cache->Lookup(key); handle != nullptr) {
    rep_->TableOf(handle).is_obsolete.store(true, std::memory_order_relaxed);
    rep_->cache->Release(handle);
  }
  rep_->cache->Erase(key);
}

}  // namespace leveldb
