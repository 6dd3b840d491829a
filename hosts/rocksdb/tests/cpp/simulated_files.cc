// A file system, on the disk or in memory, of which each call hangs, fails or lies as the test says: tests/common/faults.rs.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"

using namespace springbloom_test;

namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// As tests/common/faults.rs numbers them. Opened, read and closed are tables.
enum Call : int {
  kOpen = 0,
  kRead = 1,
  kReadHead = 2,
  kMultiRead = 3,
  kExists = 4,
  kSize = 5,
  kLog = 6,
  kRename = 7,
  kDelete = 8,
  kSync = 9,
  kClose = 10
};
enum Act : int { kHangs = 0, kFails = 1, kIsNotFound = 2, kIsSlow = 3, kFailsLate = 4, kIsWrong = 5, kIsShort = 6, kIsFound = 7 };
enum By : int { kAnybody = 0, kFilters = 1 };

struct Fault {
  int id;
  Call call;
  Act act;
  By by;
  // Part of the path.
  std::string under;
  // Calls that go right before.
  int first;
};

// Calls of the filters for a database: none may be under way, and none begin, while it is closed.
class CallsOfFilters {
 public:
  void Begin(const std::string& name) {
    std::lock_guard<std::mutex> lock(mutex_);
    under_way_.push_back(name);
    for (const std::string& folder : closed_) {
      wrong_ += name.starts_with(folder) ? 1 : 0;
    }
  }
  void End(const std::string& name) {
    std::lock_guard<std::mutex> lock(mutex_);
    under_way_.erase(std::find(under_way_.begin(), under_way_.end(), name));
  }
  void Close(const std::string& folder) {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_.push_back(folder);
    wrong_ += std::count_if(under_way_.begin(), under_way_.end(), [&](const auto& name) { return name.starts_with(folder); });
  }
  void Open(const std::string& folder) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::erase(closed_, folder);
  }
  int TakeWrong() {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(wrong_, 0);
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> under_way_;
  std::vector<std::string> closed_;
  int wrong_ = 0;
};

// Those in force.
class Faults {
 public:
  // Does what a fault says of this call. Hangs until the fault ends. Gives what else it does.
  std::optional<Act> At(Call call, const std::string& name, bool is_of_filters) {
    if (count_.load() == 0) {
      return std::nullopt;
    }
    std::unique_lock<std::mutex> lock(mutex_);
    const auto fault = std::find_if(faults_.begin(), faults_.end(), [&](const Fault& fault) {
      return fault.call == call && (fault.by == kAnybody || is_of_filters) && name.find(fault.under) != name.npos;
    });
    if (fault == faults_.end() || --fault->first >= 0) {
      return std::nullopt;
    }
    const Fault found = *fault;
    if (found.act == kHangs) {
      ++hanging_;
      changed_.wait(lock, [&] { return IsOver(found.id); });
      --hanging_;
      return std::nullopt;
    }
    lock.unlock();
    if (found.act == kIsSlow || found.act == kFailsLate) {
      std::this_thread::sleep_for(std::chrono::milliseconds(found.act == kIsSlow ? 20 : 300));
    }
    return found.act;
  }

  int Begin(int call, int act, int by, const char* under, int first) {
    std::lock_guard<std::mutex> lock(mutex_);
    faults_.push_back({++last_id_, static_cast<Call>(call), static_cast<Act>(act), static_cast<By>(by), under, first});
    count_ = faults_.size();
    return last_id_;
  }

  // 0: all.
  void End(int id) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      std::erase_if(faults_, [id](const Fault& fault) { return id == 0 || fault.id == id; });
      count_ = faults_.size();
    }
    changed_.notify_all();
  }

  int Hanging() {
    std::lock_guard<std::mutex> lock(mutex_);
    return hanging_;
  }

 private:
  bool IsOver(int id) const {
    return std::none_of(faults_.begin(), faults_.end(), [id](const Fault& fault) { return fault.id == id; });
  }

  std::atomic<size_t> count_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Fault> faults_;
  int last_id_ = 0;
  int hanging_ = 0;
};

// Never destroyed: files may outlive the statics here.
Faults& TheFaults() {
  static auto* faults = new Faults;
  return *faults;
}

CallsOfFilters& TheCallsOfFilters() {
  static auto* calls = new CallsOfFilters;
  return *calls;
}

// A call that is under way. `is_for_filters`: whatever thread makes it.
class Called {
 public:
  Called(Call call, const std::string& name, bool is_for_filters = false) : name_(name), is_of_filters_(IsThreadOfFilters()) {
    if (is_of_filters_) {
      TheCallsOfFilters().Begin(name_);
    }
    act = TheFaults().At(call, name_, is_of_filters_ || is_for_filters);
  }
  ~Called() {
    if (is_of_filters_) {
      TheCallsOfFilters().End(name_);
    }
  }
  Called(const Called&) = delete;
  Called& operator=(const Called&) = delete;

  std::optional<Act> act;

 private:
  const std::string& name_;
  const bool is_of_filters_;
};

// Reads of tables, those of threads of RocksDB and of the filters.
std::atomic<int> reads[2];
std::atomic<int> open_tables{0};

IOStatus Failure(std::optional<Act> act) {
  if (act == kFails || act == kFailsLate) {
    return IOStatus::IOError("a fault of the test");
  }
  return act == kIsNotFound ? IOStatus::PathNotFound("a fault of the test") : IOStatus::OK();
}

// What a read that lies gives in place of `read`.
Slice Lie(std::optional<Act> act, const Slice& read, char* scratch) {
  if (act == kIsShort) {
    return Slice(read.data(), read.size() / 2);
  }
  if (act != kIsWrong) {
    return read;
  }
  std::transform(read.data(), read.data() + read.size(), scratch, [](char byte) { return static_cast<char>(byte ^ 1); });
  return Slice(scratch, read.size());
}

class SimulatedTable final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  SimulatedTable(std::unique_ptr<rocksdb::FSRandomAccessFile>&& file, std::string name)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), name_(std::move(name)) {
    ++open_tables;
  }
  ~SimulatedTable() override {
    const Called called(kClose, name_);
    --open_tables;
  }

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* dbg) const override {
    return ReadAs(kRead, offset, n, options, result, scratch, dbg);
  }
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const IOOptions& options, IODebugContext* dbg) override {
    for (size_t i = 0; i < count; ++i) {
      rocksdb::FSReadRequest& request = requests[i];
      request.status = ReadAs(kMultiRead, request.offset, request.len, options, &request.result, request.scratch, dbg);
    }
    return IOStatus::OK();
  }

 private:
  IOStatus ReadAs(Call call, uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                  IODebugContext* dbg) const {
    ++reads[IsThreadOfFilters() ? 1 : 0];
    const Called called(call, name_);
    std::optional<Act> act = called.act;
    IOStatus s = Failure(act);
    if (s.ok()) {
      s = target()->Read(offset, n, options, result, scratch, dbg);
    }
    if (s.ok() && !act && result->starts_with("SpgBloom")) {
      act = TheFaults().At(kReadHead, name_, /*is_of_filters=*/true);
      s = Failure(act);
    }
    if (s.ok()) {
      *result = Lie(act, *result, scratch);
    }
    return s;
  }

  const std::string name_;
};

class SimulatedWriter final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  SimulatedWriter(std::unique_ptr<rocksdb::FSWritableFile>&& file, std::string name)
      : FSWritableFileOwnerWrapper(std::move(file)), name_(std::move(name)) {}

  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override {
    const Called called(kSync, name_);
    const IOStatus s = Failure(called.act);
    return s.ok() ? target()->Sync(options, dbg) : s;
  }

 private:
  const std::string name_;
};

class SimulatedLog final : public rocksdb::LoggerWrapper {
 public:
  using LoggerWrapper::Logv;
  SimulatedLog(std::shared_ptr<rocksdb::Logger> log, std::string name)
      : LoggerWrapper(log.get()), log_(std::move(log)), name_(std::move(name)) {}

  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    const Called called(kLog, name_, std::string_view(format).starts_with("springbloom"));
    log_->Logv(level, format, arguments);
  }

 private:
  const std::shared_ptr<rocksdb::Logger> log_;
  const std::string name_;
};

class SimulatedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  static const char* kClassName() { return "springbloom.test.SimulatedFileSystem"; }
  const char* Name() const override { return kClassName(); }

  IOStatus NewRandomAccessFile(const std::string& name, const rocksdb::FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file, IODebugContext* dbg) override {
    if (!name.ends_with(".sst")) {
      return target()->NewRandomAccessFile(name, options, file, dbg);
    }
    const Called called(kOpen, name);
    IOStatus s = Failure(called.act);
    if (s.ok()) {
      s = target()->NewRandomAccessFile(name, options, file, dbg);
    }
    if (s.ok()) {
      *file = std::make_unique<SimulatedTable>(std::move(*file), name);
    }
    return s;
  }
  IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* dbg) override {
    const IOStatus s = target()->NewWritableFile(name, options, file, dbg);
    if (s.ok()) {
      *file = std::make_unique<SimulatedWriter>(std::move(*file), name);
    }
    return s;
  }
  IOStatus NewLogger(const std::string& name, const IOOptions& options, std::shared_ptr<rocksdb::Logger>* log,
                     IODebugContext* dbg) override {
    const IOStatus s = target()->NewLogger(name, options, log, dbg);
    if (s.ok()) {
      *log = std::make_shared<SimulatedLog>(*log, name);
    }
    return s;
  }
  IOStatus FileExists(const std::string& name, const IOOptions& options, IODebugContext* dbg) override {
    const Called called(kExists, name);
    if (called.act == kIsNotFound) {
      return IOStatus::NotFound("a fault of the test");
    }
    const IOStatus s = Failure(called.act);
    return !s.ok() || called.act == kIsFound ? s : target()->FileExists(name, options, dbg);
  }
  IOStatus GetFileSize(const std::string& name, const IOOptions& options, uint64_t* size, IODebugContext* dbg) override {
    const Called called(kSize, name);
    IOStatus s = Failure(called.act);
    if (s.ok()) {
      s = target()->GetFileSize(name, options, size, dbg);
    }
    if (s.ok() && called.act == kIsWrong) {
      *size /= 2;
    }
    return s;
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options, IODebugContext* dbg) override {
    const Called called(kRename, to);
    const IOStatus s = Failure(called.act);
    return s.ok() ? target()->RenameFile(from, to, options, dbg) : s;
  }
  IOStatus DeleteFile(const std::string& name, const IOOptions& options, IODebugContext* dbg) override {
    const Called called(kDelete, name);
    const IOStatus s = Failure(called.act);
    return s.ok() ? target()->DeleteFile(name, options, dbg) : s;
  }
};

// Never destroyed, for the same reason. Its stores have threads enough that some may hang.
rocksdb::Env* SimulatedEnv(const std::shared_ptr<rocksdb::FileSystem>& files) {
  for (const auto priority : {rocksdb::Env::LOW, rocksdb::Env::HIGH}) {
    rocksdb::Env::Default()->IncBackgroundThreadsIfNeeded(16, priority);
  }
  return rocksdb::NewCompositeEnv(std::make_shared<SimulatedFileSystem>(files)).release();
}

}  // namespace

// Give the options that file system.
extern "C" void springbloom_test_simulate_files_on_disk(void* rocksdb_options) {
  static auto* const env = SimulatedEnv(rocksdb::FileSystem::Default());
  springbloom::OptionsIn(rocksdb_options).env = env;
}
extern "C" void springbloom_test_simulate_files_in_memory(void* rocksdb_options) {
  static auto* const memory = rocksdb::NewMemEnv(rocksdb::Env::Default());
  static auto* const env = SimulatedEnv(memory->GetFileSystem());
  springbloom::OptionsIn(rocksdb_options).env = env;
}

// Gives the number of the fault.
extern "C" int springbloom_test_begin_fault(int call, int act, int by, const char* under, int first) {
  return TheFaults().Begin(call, act, by, under, first);
}
extern "C" void springbloom_test_end_fault(int id) { TheFaults().End(id); }
extern "C" int springbloom_test_hanging_threads() { return TheFaults().Hanging(); }
// The database in this folder was closed, or is about to be opened.
extern "C" void springbloom_test_set_closed(const char* folder, int is_closed) {
  is_closed != 0 ? TheCallsOfFilters().Close(folder) : TheCallsOfFilters().Open(folder);
}
// How many calls were made for closed databases since the last call.
extern "C" int springbloom_test_take_calls_for_closed() { return TheCallsOfFilters().TakeWrong(); }
extern "C" int springbloom_test_open_tables() { return open_tables; }
// Reads of tables since the last call.
extern "C" int springbloom_test_take_reads(int of_filters) { return reads[of_filters].exchange(0); }
