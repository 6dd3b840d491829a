// Reads filter units from table files, and sees whether a file still exists. Writes to the database's log.
#pragma once

#include <memory>
#include <string>

#include "abi.h"
#include "rocksdb/file_system.h"
#include "rocksdb/statistics.h"
#include "table/table_builder.h"

namespace springbloom {

// Shared by the tables of a database. It reads through the file that a reader has open. If none has, it opens the file for the read: loads
// are rare, and a descriptor for each table would double what max_open_files allows.
class FileAccess {
 public:
  // Owned by whoever is given the result. `options` are those of a reader of the database.
  static sb_file_access Make(const rocksdb::TableReaderOptions& options);

 private:
  explicit FileAccess(const rocksdb::TableReaderOptions& options);

  // Callbacks of springbloom_abi.h; `access` is a FileAccess*.
  static int Read(const void* access, sb_bytes path, uint64_t offset, size_t size, int verify, uint8_t* into) noexcept;
  static int Exists(const void* access, sb_bytes path) noexcept;
  static void Log(const void* access, int is_warning, sb_bytes text) noexcept;
  static void Free(void* access) noexcept;

  bool ReadFrom(const rocksdb::RandomAccessFileReader& file, const rocksdb::IOOptions& io_options, uint64_t offset, size_t size,
                char* into) const;

  const std::shared_ptr<rocksdb::FileSystem> fs_;
  const std::string session_;
  // The database's: not used once it is closed.
  rocksdb::Logger* const log_;
  rocksdb::Statistics* const statistics_;
  rocksdb::FileOptions options_;
};

}  // namespace springbloom
