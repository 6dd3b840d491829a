#include "read/open_files.h"

#include <algorithm>

#include "read/elastic_table_reader.h"

namespace springbloom {

OpenFiles& OpenFiles::OfProcess() {
  static auto* all = new OpenFiles;
  return *all;
}

void OpenFiles::Add(const ElasticTableReader* reader) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (readers_.size() == readers_.capacity()) {
    readers_.reserve(readers_.size() + readers_.size() / 8 + 1);
  }
  readers_.insert(std::ranges::upper_bound(readers_, reader->File(), {}, &ElasticTableReader::File), reader);
}

std::shared_ptr<rocksdb::TableReader> OpenFiles::Remove(const ElasticTableReader* reader,
                                                        std::unique_ptr<rocksdb::TableReader>& stock) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::erase(readers_, reader);
  if (readers_.size() < readers_.capacity() / 2) {
    readers_.shrink_to_fit();
  }
  // Under the lock: a read that begins looks into it.
  std::shared_ptr<rocksdb::TableReader> closed(std::move(stock));
  for (Reading& reading : readings_) {
    if (reading.reader == reader) {
      reading.closed = closed;
      release::LeaveBlocksInCache(*closed);
      // Another reader may get its address before the read ends.
      reading.reader = nullptr;
    }
  }
  return closed;
}

bool OpenFiles::Read(const OpenFile& file, const std::function<void(rocksdb::FSRandomAccessFile*)>& read) {
  std::list<Reading> ended;
  std::unique_lock<std::mutex> lock(mutex_);
  const auto found = std::ranges::lower_bound(readers_, file, {}, &ElasticTableReader::File);
  if (found == readers_.end() || (*found)->File() != file) {
    return false;
  }
  rocksdb::FSRandomAccessFile* opened = (*found)->OpenedFile();
  const auto reading = readings_.insert(readings_.end(), Reading{*found, nullptr});
  lock.unlock();
  read(opened);
  lock.lock();
  ended.splice(ended.end(), readings_, reading);
  lock.unlock();
  return true;
}

}  // namespace springbloom
