// Reads filter units from table files, and sees whether a file still exists. Writes to the database's log.
#pragma once

#include <memory>
#include <string>

#include "abi.h"
#include "read/read_objects.h"
#include "rocksdb/file_system.h"
#include "table/table_builder.h"

namespace springbloom {

// Shared by the tables of a database. It opens a file for the read, if no reader has it open: loads are rare, and a descriptor for each
// table would double what max_open_files allows.
class FileAccess {
 public:
  // Owned by the receiver of the result. `options` are those of a reader of the database.
  static sb_file_access Make(const rocksdb::TableReaderOptions& options);

 private:
  explicit FileAccess(const rocksdb::TableReaderOptions& options);

  // Callbacks of springbloom_abi.h; `access` is a FileAccess*.
  static int Read(const void* access, sb_bytes path, uint64_t offset, size_t size, int verify, uint8_t* into) noexcept;
  static int Exists(const void* access, sb_bytes path) noexcept;
  static void Log(const void* access, int is_warning, sb_bytes text) noexcept;
  static void Free(void* access) noexcept;

  const ReadObjects objects_;
  rocksdb::FileOptions options_;
};

}  // namespace springbloom
