// The file of an open table, as the core reads units and directories from it.
#pragma once

#include <memory>

#include "abi.h"
#include "read/read_objects.h"
#include "rocksdb_release.h"
#include "table/table_reader.h"

namespace springbloom {

// A reader of a file that another one owns. RocksDB's own counts into the column family's statistics, which may be gone.
inline rocksdb::RandomAccessFileReader ReaderOf(rocksdb::FSRandomAccessFile* file, const std::string& path) {
  return rocksdb::RandomAccessFileReader(std::make_unique<rocksdb::FSRandomAccessFileWrapper>(file), path);
}

// Reads `size` bytes at `offset` into `into`. Whether it could.
bool ReadInto(const rocksdb::RandomAccessFileReader& file, const rocksdb::IOOptions& io_options, uint64_t offset, size_t size,
              uint8_t* into);

// A share in the stock reader, which has the file open, and in what reading uses: units are read with no descriptor more, and though the
// file may have lost its name (a secondary instance whose primary compacted, a folder that was renamed).
class TableFile {
 public:
  // Owned by whoever is given the result.
  static sb_file Share(const std::shared_ptr<rocksdb::TableReader>& stock, const std::shared_ptr<const ReadObjects>& objects);

 private:
  TableFile(const std::shared_ptr<rocksdb::TableReader>& stock, const std::shared_ptr<const ReadObjects>& objects)
      : stock_(stock), objects_(objects) {}

  // Callbacks of springbloom_abi.h; `file` is a TableFile*.
  static int Read(const void* file, uint64_t offset, size_t size, int verify, uint8_t* into) noexcept;
  static int ReadHead(const void* file, int32_t contents, void* context, void (*take)(void*, const sb_head*) noexcept) noexcept;
  static void Free(void* file) noexcept;

  const std::shared_ptr<rocksdb::TableReader> stock_;
  const std::shared_ptr<const ReadObjects> objects_;
};

}  // namespace springbloom
