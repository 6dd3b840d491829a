// Reads files, and has what that uses.
#pragma once

#include <cstring>
#include <memory>
#include <string>

#include "abi.h"
#include "rocksdb_release.h"

namespace springbloom {

// Of a column family: shares, so that a read may last longer than the reader, the column family, and the database.
struct ReadObjects {
  explicit ReadObjects(const rocksdb::TableReaderOptions& options)
      : file_system(options.ioptions.fs),
        log(options.ioptions.info_log),
        statistics(options.ioptions.statistics),
        are_mapped(options.ioptions.allow_mmap_reads) {}

  const std::shared_ptr<rocksdb::FileSystem> file_system;
  const std::shared_ptr<rocksdb::Logger> log;
  const std::shared_ptr<rocksdb::Statistics> statistics;
  // Whether open files are.
  const bool are_mapped;
};

// A reader of a file that another one owns. RocksDB's own counts into the column family's statistics, which may be gone.
inline rocksdb::RandomAccessFileReader ReaderOf(rocksdb::FSRandomAccessFile* file, const std::string& path) {
  return rocksdb::RandomAccessFileReader(std::make_unique<rocksdb::FSRandomAccessFileWrapper>(file), path);
}

// Reads `size` bytes at `offset` into `into`. Whether it could.
inline bool ReadInto(const rocksdb::RandomAccessFileReader& file, const rocksdb::IOOptions& io_options, uint64_t offset,
                     size_t size, void* into) {
  rocksdb::Slice result;
  char* const scratch = static_cast<char*>(into);
  if (!release::ReadAt(file, io_options, offset, size, &result, scratch).ok() || result.size() != size) {
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
  if (verify != 0 && !release::AskToReconstruct(objects.file_system.get(), objects.statistics.get(), &io_options)) {
    return 1;
  }
  if (!ReadInto(file, io_options, offset, size, into)) {
    return 1;
  }
  if (verify != 0) {
    release::CountReconstructed(objects.statistics.get());
  }
  return 0;
}

// Reads a database's table files by their names, sees whether they still exist, and writes to the log. It opens a file for each read: loads
// by name are rare, and a descriptor for each table would double what max_open_files allows. `options` are those of a reader of the
// database. Owned by the receiver of the result.
sb_file_access FileAccessFor(const rocksdb::TableReaderOptions& options);

}  // namespace springbloom
