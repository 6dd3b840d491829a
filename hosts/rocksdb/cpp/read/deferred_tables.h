// Deferred tables: when they were opened, the budget had no room for their bookkeeping, or their units could not be read. They get their
// units when that is over.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "abi.h"
#include "read/column_family.h"
#include "read/forwarding_table_reader.h"

namespace springbloom {

// Forwards to the stock reader. When there is room, the maintenance thread puts an ElasticTableReader, which owns the stock reader, in its
// place. Lookups never look for room. With a budget of 0 every table has such a reader, and the budget pays for none: each must take
// less than 16 bytes: its virtual table, and a pointer that lies in its slab in 6 bytes.
class DeferredTableReader final : public ForwardingTableReader<DeferredTableReader> {
 public:
  static std::unique_ptr<rocksdb::TableReader> Make(ColumnFamilyRef family, std::unique_ptr<rocksdb::TableReader> stock);
  ~DeferredTableReader() override;
  static void operator delete(void* reader);

  rocksdb::InternalIterator* NewIterator(const rocksdb::ReadOptions& read_options,
                                         const rocksdb::SliceTransform* prefix_extractor, rocksdb::Arena* arena,
                                         bool skip_filters, rocksdb::TableReaderCaller caller, size_t compaction_readahead_size,
                                         bool allow_unprepared_value) override;
  rocksdb::Status Get(const rocksdb::ReadOptions& read_options, const rocksdb::Slice& internal_key,
                      rocksdb::GetContext* get_context, const rocksdb::SliceTransform* prefix_extractor,
                      bool skip_filters) override;
  void MultiGet(const rocksdb::ReadOptions& read_options, const rocksdb::MultiGetContext::Range* range,
                const rocksdb::SliceTransform* prefix_extractor, bool skip_filters) override {
    Inner().MultiGet(read_options, range, prefix_extractor, skip_filters);
  }
  rocksdb::Status MultiGetFilter(const rocksdb::ReadOptions& read_options, const rocksdb::SliceTransform* prefix_extractor,
                                 rocksdb::MultiGetContext::Range* range) override {
    return Inner().MultiGetFilter(read_options, prefix_extractor, range);
  }
  void MarkObsolete(uint32_t uncache_aggressiveness) override;
  // The stock reader, or the ElasticTableReader in its place.
  rocksdb::TableReader& Inner() const;

 private:
  friend class DeferredTables;

  DeferredTableReader() = default;
};

static_assert(sizeof(DeferredTableReader) == sizeof(void*));

// The deferred tables of a column family. Thread-safe.
class DeferredTables {
 public:
  explicit DeferredTables(const ColumnFamily& family) : family_(family) {}
  // After the last table was closed.
  ~DeferredTables();

 private:
  friend class DeferredTableReader;
  struct Slab;
  // Where a reader and its pointer lie.
  struct Slot;

  // Memory for a reader that forwards to `inner`.
  void* Allocate(rocksdb::TableReader* inner);
  void Free(void* reader);
  void StartTrying(DeferredTableReader* reader);
  // When this returns, nobody tries the reader or will try it. Gives whether it has its units.
  bool StopTrying(DeferredTableReader* reader);
  // Callback of springbloom_abi.h; `context` is a DeferredTables*.
  static int Retry(void* context) noexcept;
  int TryOne(DeferredTableReader* reader) const;

  const ColumnFamily& family_;
  std::mutex mutex_;
  std::vector<Slab*> slabs_;
  // Where the next try begins, counted in slots: behind what was tried last, so that all have their turn.
  size_t next_try_ = 0;
};

}  // namespace springbloom
