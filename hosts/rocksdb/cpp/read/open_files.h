// The table files that readers have open. Units are read through them: no descriptor need be free, and the file may have lost its name
// (a secondary instance whose primary compacted, a folder that was renamed).
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "rocksdb_release.h"

namespace springbloom {

class ElasticTableReader;

// A reader of a file that another one owns. RocksDB's own counts into the column family's statistics, which may be gone too.
inline rocksdb::RandomAccessFileReader ReaderOf(rocksdb::FSRandomAccessFile* file, const std::string& path) {
  return rocksdb::RandomAccessFileReader(std::make_unique<rocksdb::FSRandomAccessFileWrapper>(file), path);
}

// What tells the file: the session that opened the database, and the path.
struct OpenFile {
  std::string_view session;
  std::string_view path;

  auto operator<=>(const OpenFile&) const = default;
};

// The readers of this process. Thread-safe; the mutex is held for no read.
class OpenFiles {
 public:
  // Memory that a reader takes here: its place, and the spare ones' share.
  static constexpr size_t kBytesPerReader = 9;

  // Never destroyed: a database that outlives the statics of a program can still close.
  static OpenFiles& OfProcess();

  void Add(const ElasticTableReader* reader);
  // The reader is closed, and gives away `stock`, which owns the file. It waits for no read: one that is under way keeps that.
  std::shared_ptr<rocksdb::TableReader> Remove(const ElasticTableReader* reader, std::unique_ptr<rocksdb::TableReader>& stock);
  // Calls `read` with the file if it is open. Whether it is.
  bool Read(const OpenFile& file, const std::function<void(rocksdb::FSRandomAccessFile*)>& read);

 private:
  // A read that is under way: its reader, or what that one left when it was closed meanwhile.
  struct Reading {
    const ElasticTableReader* reader;
    std::shared_ptr<rocksdb::TableReader> closed;
  };

  std::mutex mutex_;
  // By their files, of which each may have several: a set would take five times the memory for each open table.
  std::vector<const ElasticTableReader*> readers_;
  // A few: as many as threads that read units.
  std::list<Reading> readings_;
};

}  // namespace springbloom
