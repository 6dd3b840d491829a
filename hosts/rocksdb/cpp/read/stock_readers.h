// Opens tables as stock RocksDB opens them.
#pragma once

#include <memory>
#include <mutex>

#include "rocksdb_release.h"

namespace springbloom {

// Stock code asks no filter of a table, and none that was installed, unless it was opened with a filter policy.
class StockReaders {
 public:
  rocksdb::Status Open(const rocksdb::BlockBasedTableOptions& table_options, const rocksdb::ReadOptions& read_options,
                       const rocksdb::TableReaderOptions& reader_options, std::unique_ptr<rocksdb::RandomAccessFileReader>&& file,
                       uint64_t file_size, std::unique_ptr<rocksdb::TableReader>* table_reader,
                       bool prefetch_index_and_filter_in_cache);
  // The options change.
  void Forget();

 private:
  std::shared_ptr<const rocksdb::BlockBasedTableFactory> Factory(const rocksdb::BlockBasedTableOptions& table_options);

  std::mutex mutex_;
  // Made when the first table is opened after the options changed.
  std::shared_ptr<const rocksdb::BlockBasedTableFactory> factory_;
};

}  // namespace springbloom
