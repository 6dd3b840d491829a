// A file system whose reads take as long as those of a slow device: they cost a seek, unless they go on where the last one ended.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "install/c_options.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"

namespace springbloom {
namespace {

using rocksdb::FSReadRequest;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

class SlowFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  SlowFile(std::unique_ptr<rocksdb::FSRandomAccessFile>&& file, std::chrono::microseconds seek)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), seek_(seek) {}

  IOStatus Read(uint64_t offset, size_t bytes, const IOOptions& options, rocksdb::Slice* result, char* scratch,
                IODebugContext* debug) const override {
    Seek(offset, bytes);
    return target()->Read(offset, bytes, options, result, scratch, debug);
  }

  IOStatus MultiRead(FSReadRequest* requests, size_t count, const IOOptions& options, IODebugContext* debug) override {
    for (size_t request = 0; request < count; ++request) {
      Seek(requests[request].offset, requests[request].len);
    }
    return target()->MultiRead(requests, count, options, debug);
  }

  IOStatus ReadAsync(FSReadRequest& request, const IOOptions& options, std::function<void(FSReadRequest&, void*)> callback,
                     void* argument, void** handle, rocksdb::IOHandleDeleter* deleter, IODebugContext* debug) override {
    Seek(request.offset, request.len);
    return target()->ReadAsync(request, options, callback, argument, handle, deleter, debug);
  }

 private:
  void Seek(uint64_t offset, size_t bytes) const {
    if (end_of_last_.exchange(offset + bytes, std::memory_order_relaxed) != offset) {
      std::this_thread::sleep_for(seek_);
    }
  }

  const std::chrono::microseconds seek_;
  mutable std::atomic<uint64_t> end_of_last_{UINT64_MAX};
};

class SlowFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  SlowFileSystem(const std::shared_ptr<rocksdb::FileSystem>& fs, std::chrono::microseconds seek)
      : FileSystemWrapper(fs), seek_(seek) {}

  const char* Name() const override { return "springbloom.SlowFileSystem"; }

  IOStatus NewRandomAccessFile(const std::string& name, const rocksdb::FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file, IODebugContext* debug) override {
    const IOStatus status = target()->NewRandomAccessFile(name, options, file, debug);
    if (status.ok()) {
      *file = std::make_unique<SlowFile>(std::move(*file), seek_);
    }
    return status;
  }

 private:
  const std::chrono::microseconds seek_;
};

}  // namespace
}  // namespace springbloom

// The options do not own their environment, so it is not freed.
extern "C" void springbloom_baselines_slow_reads(void* rocksdb_options, uint64_t seek_us) noexcept {
  rocksdb::Options& options = springbloom::OptionsIn(rocksdb_options);
  auto fs = std::make_shared<springbloom::SlowFileSystem>(options.env->GetFileSystem(), std::chrono::microseconds(seek_us));
  options.env = rocksdb::NewCompositeEnv(fs).release();
}
