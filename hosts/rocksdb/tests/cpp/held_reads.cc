// A file system that holds reads of filter units back until the test lets them go: tests/features/held_reads.rs.
#include <condition_variable>
#include <mutex>

#include "check.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"

using namespace springbloom_test;

namespace {

// Of the tests that use them, one at a time.
std::mutex mutex_of_held;
std::condition_variable changed;
int held = 0;
bool are_let_go = false;

class HoldingFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  using FSRandomAccessFileOwnerWrapper::FSRandomAccessFileOwnerWrapper;

  rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions& options, rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext* dbg) const override {
    if (LoadsUnits()) {
      std::unique_lock<std::mutex> lock(mutex_of_held);
      ++held;
      changed.wait(lock, [] { return are_let_go; });
      --held;
    }
    return target()->Read(offset, n, options, result, scratch, dbg);
  }
};

class HoldingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  HoldingFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  static const char* kClassName() { return "springbloom.test.HoldingFileSystem"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus NewRandomAccessFile(const std::string& name, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* dbg) override {
    const rocksdb::IOStatus s = target()->NewRandomAccessFile(name, options, file, dbg);
    if (s.ok() && name.ends_with(".sst")) {
      *file = std::make_unique<HoldingFile>(std::move(*file));
    }
    return s;
  }
};

}  // namespace

// Gives the options that file system, which holds reads back from now on. Readers of tables that a compaction removed clear the block cache
// when they are destroyed.
extern "C" int springbloom_test_hold_reads(void* rocksdb_options, const char*, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    static const auto env = rocksdb::NewCompositeEnv(std::make_shared<HoldingFileSystem>());
    {
      std::lock_guard<std::mutex> lock(mutex_of_held);
      are_let_go = false;
    }
    auto& options = springbloom::OptionsIn(rocksdb_options);
    options.env = env.get();
#if SPRINGBLOOM_ROCKSDB >= 90500
    options.uncache_aggressiveness = 1'000'000;
#endif
  });
}

extern "C" int springbloom_test_reads_held() {
  std::lock_guard<std::mutex> lock(mutex_of_held);
  return held;
}
extern "C" void springbloom_test_let_reads_go() {
  {
    std::lock_guard<std::mutex> lock(mutex_of_held);
    are_let_go = true;
  }
  changed.notify_all();
}
