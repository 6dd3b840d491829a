// What reading a column family's files uses.
#pragma once

#include <memory>

#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/statistics.h"
#include "table/table_builder.h"

namespace springbloom {

// Shares, so that a read may last longer than the reader, the column family, and the database.
struct ReadObjects {
  explicit ReadObjects(const rocksdb::TableReaderOptions& options)
      : file_system(options.ioptions.fs), log(options.ioptions.info_log), statistics(options.ioptions.statistics) {}

  const std::shared_ptr<rocksdb::FileSystem> file_system;
  const std::shared_ptr<rocksdb::Logger> log;
  const std::shared_ptr<rocksdb::Statistics> statistics;
};

}  // namespace springbloom
