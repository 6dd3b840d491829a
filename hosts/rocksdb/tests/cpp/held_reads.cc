// A file system that holds reads of filter units back until the test lets them go: tests/features/held_reads.rs.
#include <condition_variable>
#include <mutex>

#include "check.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"

using namespace springbloom_test;

namespace {

class HoldingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  HoldingFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  static const char* kClassName() { return "springbloom.test.HoldingFileSystem"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus NewRandomAccessFile(const std::string& name, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* dbg) override {
    if (name.ends_with(".sst") && LoadsUnits()) {
      std::unique_lock<std::mutex> lock(mutex_);
      ++held_;
      changed_.wait(lock, [this] { return are_let_go_; });
      --held_;
    }
    return target()->NewRandomAccessFile(name, options, file, dbg);
  }

  int Held() {
    std::lock_guard<std::mutex> lock(mutex_);
    return held_;
  }

  void LetGo() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      are_let_go_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int held_ = 0;
  bool are_let_go_ = false;
};

// Of the one test that uses it.
const std::shared_ptr<HoldingFileSystem>& TheFileSystem() {
  static const auto holding = std::make_shared<HoldingFileSystem>();
  return holding;
}

}  // namespace

// Gives the options that file system.
extern "C" int springbloom_test_hold_reads(void* rocksdb_options, const char*, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    static const auto env = rocksdb::NewCompositeEnv(TheFileSystem());
    springbloom::OptionsIn(rocksdb_options).env = env.get();
  });
}

extern "C" int springbloom_test_reads_held() { return TheFileSystem()->Held(); }
extern "C" void springbloom_test_let_reads_go() { TheFileSystem()->LetGo(); }
