// Reads a file that is open.
#pragma once

#include <cstring>
#include <memory>
#include <string>

#include "read/read_objects.h"
#include "rocksdb_release.h"

namespace springbloom {

// A reader of a file that another one owns. RocksDB's own counts into the column family's statistics, which may be gone.
inline rocksdb::RandomAccessFileReader ReaderOf(rocksdb::FSRandomAccessFile* file, const std::string& path) {
  return rocksdb::RandomAccessFileReader(std::make_unique<rocksdb::FSRandomAccessFileWrapper>(file), path);
}

// Reads `size` bytes at `offset` into `into`. Whether it could.
inline bool ReadInto(const rocksdb::RandomAccessFileReader& file, const rocksdb::IOOptions& io_options, uint64_t offset,
                     size_t size, uint8_t* into) {
  rocksdb::Slice result;
  char* const scratch = reinterpret_cast<char*>(into);
  const rocksdb::IOStatus s = release::ReadAt(file, io_options, offset, size, &result, scratch);
  if (!s.ok() || result.size() != size) {
    return false;
  }
  if (result.data() != scratch) {
    std::memcpy(scratch, result.data(), size);
  }
  return true;
}

// The same for units, by `read` of springbloom_abi.h.
inline int ReadUnits(const ReadObjects& objects, const rocksdb::RandomAccessFileReader& file, uint64_t offset, size_t size,
                     int verify, uint8_t* into) {
  rocksdb::IOOptions io_options;
  if (verify != 0) {
    if (!release::CanVerifyAndReconstruct(objects.file_system.get())) {
      return 1;
    }
    release::VerifyAndReconstruct(&io_options);
    release::CountCorruptionRetry(objects.statistics.get());
  }
  if (!ReadInto(file, io_options, offset, size, into)) {
    return 1;
  }
  if (verify != 0) {
    release::CountCorruptionRetrySuccess(objects.statistics.get());
  }
  return 0;
}

}  // namespace springbloom
