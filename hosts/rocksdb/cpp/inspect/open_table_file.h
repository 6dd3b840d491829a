// A table file that is opened on its own, without its database.
#pragma once

#include <memory>
#include <string>

#include "options/cf_options.h"
#include "rocksdb_release.h"

namespace springbloom {

inline rocksdb::Status OpenTableFile(const rocksdb::ImmutableOptions& options, const std::string& path,
                                     std::unique_ptr<rocksdb::RandomAccessFileReader>* file, uint64_t* file_bytes) {
  const rocksdb::Status s = options.fs->GetFileSize(path, rocksdb::IOOptions(), file_bytes, nullptr);
  if (!s.ok()) {
    return s;
  }
  rocksdb::FileOptions file_options;
  release::SayChecksumIsUnknown(&file_options);
  return rocksdb::RandomAccessFileReader::Create(options.fs, path, file_options, file, nullptr);
}

}  // namespace springbloom
