// A file system whose table files fail as the test says: tests/outage.rs and tests/chaos.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "check.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"

using namespace springbloom_test;

namespace {

// As tests/common/faults.rs numbers them.
enum TableFault : int {
  kNoFault = 0,
  kNoDescriptors = 1,
  kReadsFail = 2,
  kNamesGone = 3,
  kSlow = 4,
  kUnmounted = 5,
  kHeadsFail = 6,
  kWrongBytes = 7,
  kHeadsWrong = 8,
  kHeadsFailLate = 9,
  kHangs = 10,
  kSomeHang = 11
};

std::atomic<int>& TheTableFault() {
  static std::atomic<int> fault{kNoFault};
  return fault;
}

// A copy of what was read with a bit of each byte changed.
rocksdb::Slice Damaged(const rocksdb::Slice& read, char* scratch) {
  std::transform(read.data(), read.data() + read.size(), scratch, [](char byte) { return static_cast<char>(byte ^ 1); });
  return rocksdb::Slice(scratch, read.size());
}

bool IsTable(const std::string& name) { return name.ends_with(".sst"); }

class FaultyTable final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  FaultyTable(std::unique_ptr<rocksdb::FSRandomAccessFile>&& file, const std::string& name)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), is_of_some_(name.find("/some/") != name.npos) {}

  rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions& options, rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext* dbg) const override {
    switch (TheTableFault().load()) {
      case kReadsFail:
      case kUnmounted:
        return rocksdb::IOStatus::IOError("a fault of the test");
      case kSlow:
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    while (IsThreadOfFilters() && Hangs()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const rocksdb::IOStatus s = FSRandomAccessFileOwnerWrapper::Read(offset, n, options, result, scratch, dbg);
    const bool is_head = s.ok() && result->starts_with("SpgBloom");
    const int fault = TheTableFault().load();
    if (s.ok() && ((fault == kWrongBytes && IsThreadOfFilters()) || (fault == kHeadsWrong && is_head))) {
      *result = Damaged(*result, scratch);
    }
    if (is_head && fault == kHeadsFailLate) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
    return is_head && (fault == kHeadsFail || fault == kHeadsFailLate) ? rocksdb::IOStatus::IOError("a fault of the test") : s;
  }
  rocksdb::IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* dbg) override {
    for (size_t i = 0; i < count; ++i) {
      rocksdb::FSReadRequest& request = requests[i];
      request.status = Read(request.offset, request.len, options, &request.result, request.scratch, dbg);
    }
    return rocksdb::IOStatus::OK();
  }

 private:
  bool Hangs() const {
    const int fault = TheTableFault().load();
    return fault == kHangs || (fault == kSomeHang && is_of_some_);
  }

  const bool is_of_some_;
};

class FileSystemOfFaultyTables final : public rocksdb::FileSystemWrapper {
 public:
  FileSystemOfFaultyTables() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  static const char* kClassName() { return "springbloom.test.FileSystemOfFaultyTables"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus NewRandomAccessFile(const std::string& name, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* dbg) override {
    const int fault = TheTableFault().load();
    if (IsTable(name) && fault == kNoDescriptors) {
      return rocksdb::IOStatus::IOError("Too many open files (a fault of the test)");
    }
    if (IsTable(name) && (fault == kNamesGone || fault == kUnmounted)) {
      return rocksdb::IOStatus::PathNotFound("a fault of the test");
    }
    const rocksdb::IOStatus s = target()->NewRandomAccessFile(name, options, file, dbg);
    if (s.ok() && IsTable(name)) {
      *file = std::make_unique<FaultyTable>(std::move(*file), name);
    }
    return s;
  }

  rocksdb::IOStatus FileExists(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* dbg) override {
    const int fault = TheTableFault().load();
    if (fault == kNamesGone || fault == kUnmounted) {
      return rocksdb::IOStatus::NotFound("a fault of the test");
    }
    return target()->FileExists(name, options, dbg);
  }
};

}  // namespace

// Gives the options that file system.
extern "C" int springbloom_test_faulty_files(void* rocksdb_options, const char*, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    static const auto env = rocksdb::NewCompositeEnv(std::make_shared<FileSystemOfFaultyTables>());
    springbloom::OptionsIn(rocksdb_options).env = env.get();
  });
}

extern "C" void springbloom_test_set_fault(int fault) { TheTableFault().store(fault); }
