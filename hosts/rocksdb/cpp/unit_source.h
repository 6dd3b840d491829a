// Reads filter units of one table file, for the background thread.
#pragma once

#include <memory>
#include <string>

#include "abi.h"
#include "rocksdb/file_system.h"

namespace springbloom {

// Opens the file for each read: loads are rare, and a descriptor a table would double what max_open_files allows. The
// reader's own file cannot serve: it goes away with the reader while the units outlive it.
class UnitSource {
 public:
  // Owned by whoever is given the result.
  static sb_file Make(std::shared_ptr<rocksdb::FileSystem> fs, std::string path, const rocksdb::FileOptions& options,
                      uint64_t block_offset, uint64_t block_bytes);

 private:
  UnitSource(std::shared_ptr<rocksdb::FileSystem> fs, std::string path, const rocksdb::FileOptions& options,
             uint64_t block_offset, uint64_t block_bytes);

  // Callbacks of abi.h; `source` is a UnitSource*.
  static int Read(void* source, uint64_t offset, size_t size, uint8_t* into);
  static int Exists(void* source);
  static void Free(void* source);

  std::shared_ptr<rocksdb::FileSystem> fs_;
  std::string path_;
  rocksdb::FileOptions options_;
  uint64_t block_offset_;
  uint64_t block_bytes_;
};

}  // namespace springbloom
