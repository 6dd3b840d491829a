// A file system and a log of which one call hangs until the test lets it go: tests/features/hanging_calls.rs.
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "check.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"

using namespace springbloom_test;

namespace {

// As tests/features/hanging_calls.rs numbers them.
enum HangingCall : int {
  kNothing = 0,
  kRead = 1,
  kOpen = 2,
  kExists = 3,
  kLog = 4,
  kRename = 5,
  kDelete = 6,
  kSync = 7,
  kReadByFilters = 8
};

// Of the one test that uses it.
class Hanging {
 public:
  void At(HangingCall call) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (call_ != call) {
      return;
    }
    ++threads_;
    changed_.wait(lock, [&] { return call_ != call; });
    --threads_;
  }

  void Set(int call) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      call_ = call;
    }
    changed_.notify_all();
  }

  int Threads() {
    std::lock_guard<std::mutex> lock(mutex_);
    return threads_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int call_ = kNothing;
  int threads_ = 0;
};

Hanging hanging;

// Reads of tables, those of threads of RocksDB and of the filters.
std::atomic<int> reads[2];

class HangingTable final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  using FSRandomAccessFileOwnerWrapper::FSRandomAccessFileOwnerWrapper;

  rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions& options, rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext* dbg) const override {
    hanging.At(kRead);
    ++reads[IsThreadOfFilters() ? 1 : 0];
    if (IsThreadOfFilters()) {
      hanging.At(kReadByFilters);
    }
    return target()->Read(offset, n, options, result, scratch, dbg);
  }
};

class HangingWriter final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;

  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg) override {
    hanging.At(kSync);
    return target()->Sync(options, dbg);
  }
};

class HangingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  HangingFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  static const char* kClassName() { return "springbloom.test.HangingFileSystem"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus NewRandomAccessFile(const std::string& name, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* dbg) override {
    hanging.At(kOpen);
    const rocksdb::IOStatus s = target()->NewRandomAccessFile(name, options, file, dbg);
    if (s.ok() && name.ends_with(".sst")) {
      *file = std::make_unique<HangingTable>(std::move(*file));
    }
    return s;
  }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file, rocksdb::IODebugContext* dbg) override {
    const rocksdb::IOStatus s = target()->NewWritableFile(name, options, file, dbg);
    if (s.ok()) {
      *file = std::make_unique<HangingWriter>(std::move(*file));
    }
    return s;
  }
  rocksdb::IOStatus FileExists(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* dbg) override {
    hanging.At(kExists);
    return target()->FileExists(name, options, dbg);
  }
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* dbg) override {
    hanging.At(kRename);
    return target()->RenameFile(from, to, options, dbg);
  }
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* dbg) override {
    hanging.At(kDelete);
    return target()->DeleteFile(name, options, dbg);
  }
};

class HangingLog final : public rocksdb::Logger {
 public:
  using Logger::Logv;
  void Logv(const char*, va_list) override { hanging.At(kLog); }
};

}  // namespace

// Gives the options that file system and a log of its own.
extern "C" int springbloom_test_hanging_calls(void* rocksdb_options, const char*, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    static const auto env = rocksdb::NewCompositeEnv(std::make_shared<HangingFileSystem>());
    auto& options = springbloom::OptionsIn(rocksdb_options);
    options.env = env.get();
    options.info_log = std::make_shared<HangingLog>();
  });
}

// From now on that call hangs, and no other.
extern "C" void springbloom_test_set_hanging_call(int call) { hanging.Set(call); }
extern "C" int springbloom_test_hanging_threads() { return hanging.Threads(); }
// Reads since the last call.
extern "C" int springbloom_test_take_reads(int of_filters) { return reads[of_filters].exchange(0); }
