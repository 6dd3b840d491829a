// A budget grows while a database is being closed: tables get their units when RocksDB has freed the column family already, but not yet
// the tables.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "check.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/statistics.h"

using namespace springbloom_test;

namespace {

// Holds the thread that closes the database where it closes the first file, until the test lets it go.
class Closing {
 public:
  void StartsOnThisThread() { thread_ = std::this_thread::get_id(); }

  void AtFile() {
    if (std::this_thread::get_id() != thread_) {
      return;
    }
    thread_ = std::thread::id();
    std::unique_lock<std::mutex> lock(mutex_);
    is_held_ = true;
    changed_.wait_for(lock, std::chrono::minutes(2), [this] { return is_let_go_; });
  }

  bool IsHeld() {
    std::lock_guard<std::mutex> lock(mutex_);
    return is_held_;
  }

  void LetGo() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      is_let_go_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::atomic<std::thread::id> thread_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_held_ = false;
  bool is_let_go_ = false;
};

// Of the one test that uses it.
Closing closing;

class ClosingFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  using FSRandomAccessFileOwnerWrapper::FSRandomAccessFileOwnerWrapper;
  ~ClosingFile() override { closing.AtFile(); }
};

class ClosingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  ClosingFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  static const char* kClassName() { return "springbloom.test.ClosingFileSystem"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus NewRandomAccessFile(const std::string& name, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* dbg) override {
    std::unique_ptr<rocksdb::FSRandomAccessFile> opened;
    rocksdb::IOStatus status = target()->NewRandomAccessFile(name, options, &opened, dbg);
    if (status.ok()) {
      *file = std::make_unique<ClosingFile>(std::move(opened));
    }
    return status;
  }
};

}  // namespace

extern "C" int springbloom_test_closing(void* rocksdb_options, const char* path, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    static const auto env = rocksdb::NewCompositeEnv(std::make_shared<ClosingFileSystem>());
    rocksdb::Options options = springbloom::OptionsIn(rocksdb_options);
    options.env = env.get();
    options.disable_auto_compactions = true;
    options.statistics = rocksdb::CreateDBStatistics();
    auto db = Open(options, path);
    for (int table = 0; table < 8; ++table) {
      CheckOk(db->Put(rocksdb::WriteOptions(), Key(table), "value"), "Put");
      CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
    }
    // A reader of RocksDB counts a read here, and then in memory of the column family.
    const auto reads = [&options] {
      rocksdb::HistogramData data;
      options.statistics->histogramData(rocksdb::SST_READ_MICROS, &data);
      return data.count;
    };
    const uint64_t reads_before = reads();
    closing.StartsOnThisThread();
    db.reset();
    Check(closing.IsHeld(), "closing the database closes a file");
    Check(reads() == reads_before, std::to_string(reads() - reads_before) + " reads count into a column family that is gone");
  });
}

extern "C" int springbloom_test_is_closing() { return closing.IsHeld() ? 1 : 0; }
extern "C" void springbloom_test_go_on_closing() { closing.LetGo(); }
