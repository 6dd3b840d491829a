// Temporary files beside a table that is being written, for filter units that memory should not hold.
#pragma once

#include <memory>
#include <string>

#include "abi.h"
#include "rocksdb/file_system.h"
#include "table/table_builder.h"

namespace springbloom {

// Those of one table. They are in the file system of its options, so that what is encrypted there stays so. A crash leaves them; RocksDB
// deletes those of a database when it opens it, by their names.
class SpillFiles {
 public:
  SpillFiles(const rocksdb::TableBuilderOptions& options, std::string table);

  // Uses this object, which stays where it is.
  sb_spill_files Calls() { return sb_spill_files{this, &Create, &Append, &Read, &Map, &Free}; }

 private:
  class File;

  // Callbacks of springbloom_abi.h; `context` is a SpillFiles*, `file` a File*.
  static void* Create(void* context) noexcept;
  static int Append(void* file, sb_bytes bytes) noexcept;
  static int Read(void* file, uint64_t offset, size_t size, uint8_t* into) noexcept;
  static const uint8_t* Map(void* file, size_t size) noexcept;
  static void Free(void* file) noexcept;

  std::string NextName();
  // 0 on success; else the log says what could not be done.
  int Told(const rocksdb::IOStatus& s, const char* what) const;

  const std::shared_ptr<rocksdb::FileSystem> fs_;
  rocksdb::Logger* const log_;
  const std::string table_;
  // Flushes and compactions write tables of a database, whose names are numbers; others may be beside files of the user.
  const bool is_of_database_;
  int files_ = 0;
};

}  // namespace springbloom
