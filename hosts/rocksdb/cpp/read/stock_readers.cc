#include "read/stock_readers.h"

#include <string>
#include <utility>

#include "read/retry_without_charge.h"

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
    rocksdb::BlockBasedTableOptions with_policy(table_options);
    if (with_policy.filter_policy == nullptr) {
      with_policy.filter_policy = std::make_shared<NoFilterPolicy>();
    }
    factory_ = std::make_shared<rocksdb::BlockBasedTableFactory>(with_policy);
  }
  return factory_;
}

Status StockReaders::Open(const sb_filters* filters, const rocksdb::BlockBasedTableOptions& table_options,
                          const rocksdb::ReadOptions& read_options, const rocksdb::TableReaderOptions& reader_options,
                          std::unique_ptr<rocksdb::RandomAccessFileReader>&& file, uint64_t file_size,
                          std::unique_ptr<rocksdb::TableReader>* table_reader, bool prefetch_index_and_filter_in_cache) {
  const std::string name = file->file_name();
  const auto open = [&, factory = Factory(table_options)](std::unique_ptr<rocksdb::RandomAccessFileReader>&& opened) {
    return factory->NewTableReader(read_options, reader_options, std::move(opened), file_size, table_reader,
                                   prefetch_index_and_filter_in_cache);
  };
  Status s = open(std::move(file));
  RetryWithoutCharge(
      filters, [&] { return s.IsMemoryLimit(); }, [&] { return s.ok(); },
      [&] {
        // The stock reader that failed has closed its file.
        std::unique_ptr<rocksdb::RandomAccessFileReader> again;
        s = release::OpenTableFile(reader_options.ioptions.fs, name, rocksdb::FileOptions(reader_options.env_options), &again);
        if (s.ok()) {
          s = open(std::move(again));
        }
      });
  return s;
}

}  // namespace springbloom
