// A table that the budget had no room for when it was opened, until it has.
#pragma once

#include <atomic>
#include <memory>

#include "db/dbformat.h"
#include "elastic_table_reader.h"
#include "forwarding_table_reader.h"
#include "handle.h"
#include "options/cf_options.h"

namespace springbloom {

// Lookups go to the stock reader until room was found, from then on to an ElasticTableReader. It is looked for by the keeper
// thread, never by a lookup.
class RefusedTableReader final : public ForwardingTableReader {
 public:
  RefusedTableReader(ElasticRef elastic, std::unique_ptr<rocksdb::TableReader> stock,
                     const rocksdb::TableReaderOptions& options, std::string path, uint64_t file_size);
  ~RefusedTableReader() override;

  rocksdb::Status Get(const rocksdb::ReadOptions& read_options, const rocksdb::Slice& internal_key,
                      rocksdb::GetContext* get_context, const rocksdb::SliceTransform* prefix_extractor,
                      bool skip_filters) override {
    return Current().Get(read_options, internal_key, get_context, prefix_extractor, skip_filters);
  }
  void MultiGet(const rocksdb::ReadOptions& read_options, const rocksdb::MultiGetContext::Range* range,
                const rocksdb::SliceTransform* prefix_extractor, bool skip_filters) override {
    Current().MultiGet(read_options, range, prefix_extractor, skip_filters);
  }
  rocksdb::Status MultiGetFilter(const rocksdb::ReadOptions& read_options,
                                 const rocksdb::SliceTransform* prefix_extractor,
                                 rocksdb::MultiGetContext::Range* range) override {
    return Current().MultiGetFilter(read_options, prefix_extractor, range);
  }
  size_t ApproximateMemoryUsage() const override { return Current().ApproximateMemoryUsage() + sizeof(*this); }
  void MarkObsolete(uint32_t uncache_aggressiveness) override;

 private:
  rocksdb::TableReader& Current() const {
    ElasticTableReader* filtered = filtered_.load(std::memory_order_acquire);
    return filtered == nullptr ? stock_ : *filtered;
  }
  // Callback of abi.h; `context` is a RefusedTableReader*.
  static int Retry(void* context);

  // What it takes to open the units: large, and of no use once that was done.
  struct Opening {
    Opening(const rocksdb::TableReaderOptions& options, std::string path, uint64_t file_size);

    const std::string path;
    const uint64_t file_size;
    // What `options` refers to: copies, because a reader outlives its column family for a moment when a database closes.
    const rocksdb::ImmutableOptions ioptions;
    const rocksdb::InternalKeyComparator comparator;
    const rocksdb::FileOptions file_options;
    const std::shared_ptr<const rocksdb::SliceTransform> prefix_extractor;
    const rocksdb::TableReaderOptions options;
  };

  const ElasticRef elastic_;
  // Null once the units were opened.
  std::unique_ptr<const Opening> opening_;
  // Owned, and owns the stock reader; null until the units were opened.
  std::atomic<ElasticTableReader*> filtered_{nullptr};
};

}  // namespace springbloom
