// Tables that the budget had no room for when they were opened, until it has.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "abi.h"
#include "read/column_family.h"
#include "read/forwarding_table_reader.h"

namespace springbloom {

// Lookups go to the stock reader until room was found, from then on to an ElasticTableReader that owns it. Room is looked for by the
// maintenance thread, never by a lookup. With a budget of 0 every table has one: it lies in a slab of the column family's
// RefusedTables, which has the pointer to the other reader too, in 6 bytes.
class RefusedTableReader final : public ForwardingTableReader<RefusedTableReader> {
 public:
  static std::unique_ptr<rocksdb::TableReader> Make(ColumnFamilyRef family, std::unique_ptr<rocksdb::TableReader> stock);
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
  // The stock reader, or the ElasticTableReader that has taken its place.
  rocksdb::TableReader& Inner() const;

 private:
  friend class RefusedTables;

  RefusedTableReader() = default;
};

static_assert(sizeof(RefusedTableReader) == sizeof(void*));

// The refused tables of a column family. Thread-safe.
class RefusedTables {
 public:
  explicit RefusedTables(const ColumnFamily& family) : family_(family) {}
  // There is no table any more.
  ~RefusedTables();

 private:
  friend class RefusedTableReader;
  struct Slab;
  // A reader's place in its slab.
  struct Slot;

  // Memory for a reader that forwards to `inner`.
  void* Allocate(rocksdb::TableReader* inner);
  void Free(void* reader);
  void StartTrying(RefusedTableReader* reader);
  // When this returns, the reader is not being tried, and will not be. Whether it was opened.
  bool StopTrying(RefusedTableReader* reader);
  // Callback of springbloom_abi.h; `context` is a RefusedTables*.
  static int Retry(void* context) noexcept;
  int TryOne(RefusedTableReader* reader) const;

  const ColumnFamily& family_;
  std::mutex mutex_;
  std::vector<Slab*> slabs_;
  // The slab in which the last reader was tried: those before it hold few that are to be.
  size_t last_tried_ = 0;
};

}  // namespace springbloom
