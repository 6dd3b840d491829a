// Tables that the budget had no room for when they were opened, until it has.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "abi.h"
#include "read/column_family.h"
#include "read/forwarding_table_reader.h"
#include "options/cf_options.h"

namespace springbloom {

// Lookups go to the stock reader until room was found, from then on to an ElasticTableReader that owns it. Room is looked for by the
// maintenance thread, never by a lookup. Two words, which lie in a slab of the column family's RefusedTables.
class RefusedTableReader final : public ForwardingTableReader {
 public:
  // `options` are those that opened the stock reader.
  static std::unique_ptr<rocksdb::TableReader> Make(ColumnFamilyRef family, std::unique_ptr<rocksdb::TableReader> stock,
                                                    const rocksdb::TableReaderOptions& options);
  ~RefusedTableReader() override;
  static void operator delete(void* reader);

  rocksdb::Status Get(const rocksdb::ReadOptions& read_options, const rocksdb::Slice& internal_key,
                      rocksdb::GetContext* get_context, const rocksdb::SliceTransform* prefix_extractor,
                      bool skip_filters) override {
    return Inner().Get(read_options, internal_key, get_context, prefix_extractor, skip_filters);
  }
  void MultiGet(const rocksdb::ReadOptions& read_options, const rocksdb::MultiGetContext::Range* range,
                const rocksdb::SliceTransform* prefix_extractor, bool skip_filters) override {
    Inner().MultiGet(read_options, range, prefix_extractor, skip_filters);
  }
  rocksdb::Status MultiGetFilter(const rocksdb::ReadOptions& read_options, const rocksdb::SliceTransform* prefix_extractor,
                                 rocksdb::MultiGetContext::Range* range) override {
    return Inner().MultiGetFilter(read_options, prefix_extractor, range);
  }
  void MarkObsolete(uint32_t uncache_aggressiveness) override;

 private:
  friend class RefusedTables;

  explicit RefusedTableReader(std::unique_ptr<rocksdb::TableReader> stock) : ForwardingTableReader(std::move(stock)) {}
};

// With a budget of 0 every table has one: what an open table then takes beside stock RocksDB.
static_assert(sizeof(RefusedTableReader) == 2 * sizeof(void*));

// The refused tables of a column family. Thread-safe.
class RefusedTables {
 public:
  // `ioptions` are copied: a reader outlives its column family for a moment when a database closes.
  RefusedTables(const ColumnFamily& family, const rocksdb::ImmutableOptions& ioptions);
  // There is no table any more.
  ~RefusedTables();

 private:
  friend class RefusedTableReader;
  struct Slab;

  static Slab& SlabOf(void* slot);
  static size_t IndexIn(const Slab& slab, const void* slot);
  // Memory for a reader.
  void* Allocate();
  void Free(void* slot);
  void StartTrying(RefusedTableReader* reader);
  // When this returns, the reader is not being tried, and will not be. Whether it was opened.
  bool StopTrying(RefusedTableReader* reader);
  // Callback of springbloom_abi.h; `context` is a RefusedTables*.
  static int Retry(void* context) noexcept;
  int TryOne(RefusedTableReader* reader) const;

  const ColumnFamily& family_;
  const rocksdb::ImmutableOptions ioptions_;
  std::mutex mutex_;
  std::vector<Slab*> slabs_;
};

}  // namespace springbloom
