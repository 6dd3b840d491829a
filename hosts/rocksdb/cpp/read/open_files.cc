#include "read/open_files.h"

#include "read/elastic_table_reader.h"

namespace springbloom {

OpenFiles& OpenFiles::OfProcess() {
  static auto* all = new OpenFiles;
  return *all;
}

size_t OpenFiles::Hash::operator()(const ElasticTableReader* reader) const noexcept { return (*this)(reader->File()); }

bool OpenFiles::Equal::operator()(const OpenFile& file, const ElasticTableReader* reader) const noexcept {
  const OpenFile other = reader->File();
  return file.path == other.path && file.session == other.session;
}

void OpenFiles::Add(const ElasticTableReader* reader) {
  std::lock_guard<std::mutex> lock(mutex_);
  readers_.insert(reader);
}

void OpenFiles::Remove(const ElasticTableReader* reader, std::unique_ptr<rocksdb::TableReader>& stock) {
  // Destroyed after the lock is let go of, unless a read keeps it.
  std::shared_ptr<rocksdb::TableReader> closed;
  std::lock_guard<std::mutex> lock(mutex_);
  readers_.erase(reader);
  closed = std::move(stock);
  for (Reading& reading : readings_) {
    if (reading.reader == reader) {
      reading.closed = closed;
      // Another reader may get its address before the read ends.
      reading.reader = nullptr;
    }
  }
}

bool OpenFiles::Read(const OpenFile& file, const std::function<void(rocksdb::FSRandomAccessFile*)>& read) {
  std::list<Reading> ended;
  std::unique_lock<std::mutex> lock(mutex_);
  const auto found = readers_.find(file);
  if (found == readers_.end()) {
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
