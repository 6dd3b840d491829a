// Opens table files by their paths: to read filter units, and to see whether a file still exists. Writes to the database's log.
#pragma once

#include <memory>

#include "abi.h"
#include "rocksdb/file_system.h"
#include "rocksdb/statistics.h"
#include "table/table_builder.h"

namespace springbloom {

// Shared by the tables of a database. It opens the file for each read: loads are rare, and a descriptor for each table would double what
// max_open_files allows. The file of a reader will not do: it is closed with the reader, and the units outlive it.
class FileAccess {
 public:
  // Owned by whoever is given the result. `options` are those of a reader of the database.
  static sb_file_access Make(const rocksdb::TableReaderOptions& options);

 private:
  explicit FileAccess(const rocksdb::TableReaderOptions& options);

  // Callbacks of springbloom_abi.h; `access` is a FileAccess*.
  static int Read(const void* access, sb_bytes path, uint64_t offset, size_t size, int verify, uint8_t* into) noexcept;
  static int Exists(const void* access, sb_bytes path) noexcept;
  static void Log(const void* access, sb_bytes text) noexcept;
  static void Free(void* access) noexcept;

  const std::shared_ptr<rocksdb::FileSystem> fs_;
  // The database's: not used once it is closed.
  rocksdb::Logger* const log_;
  rocksdb::Statistics* const statistics_;
  rocksdb::FileOptions options_;
};

}  // namespace springbloom
