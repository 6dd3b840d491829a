#include "read/stock_readers.h"

#include <utility>

#include "read/yielding_cache.h"

namespace springbloom {

using rocksdb::Status;

namespace {

// Finds no filter in any table, and lets stock code ask a filter that is installed.
class NoFilterPolicy final : public rocksdb::FilterPolicy {
 public:
  const char* Name() const override { return "springbloom.NoFilter"; }
  const char* CompatibilityName() const override { return Name(); }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(const rocksdb::FilterBuildingContext&) const override { return nullptr; }
  rocksdb::FilterBitsReader* GetFilterBitsReader(const rocksdb::Slice&) const override { return nullptr; }
};

}  // namespace

void StockReaders::Forget() {
  std::shared_ptr<const rocksdb::BlockBasedTableFactory> left;  // goes without the lock: with it may go a cache
  std::lock_guard<std::mutex> lock(mutex_);
  left.swap(factory_);
}

std::shared_ptr<const rocksdb::BlockBasedTableFactory> StockReaders::Factory(
    const rocksdb::BlockBasedTableOptions& table_options) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (factory_ == nullptr) {
    rocksdb::BlockBasedTableOptions options(table_options);
    options.block_cache = YieldingCache::Over(table_options.block_cache);
    if (options.filter_policy == nullptr) {
      options.filter_policy = std::make_shared<NoFilterPolicy>();
    }
    factory_ = std::make_shared<rocksdb::BlockBasedTableFactory>(options);
  }
  return factory_;
}

Status StockReaders::Open(const rocksdb::BlockBasedTableOptions& table_options, const rocksdb::ReadOptions& read_options,
                          const rocksdb::TableReaderOptions& reader_options,
                          std::unique_ptr<rocksdb::RandomAccessFileReader>&& file, uint64_t file_size,
                          std::unique_ptr<rocksdb::TableReader>* table_reader, bool prefetch_index_and_filter_in_cache) {
  return Factory(table_options)
      ->NewTableReader(read_options, reader_options, std::move(file), file_size, table_reader,
                       prefetch_index_and_filter_in_cache);
}

}  // namespace springbloom
