// Shows that a flush of stock RocksDB can wait forever: flush_hang FOLDER. Ends with 1 if a call hangs.
// `build assertions flush_hang` links nothing of Springbloom.
//
// Before a flush picks its memtables it syncs older logs, without the database's mutex. A memtable that another flush asks for meanwhile is
// not picked, yet MemTableList::PickMemtablesToFlush forgets that it was asked for. While there are fewer such memtables than
// min_write_buffer_number_to_merge, only another flush writes it. RocksDB's issues 12094 and 13280. As long as a call hangs here, `stress`
// next to this file avoids that setting.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/listener.h"

namespace {

constexpr auto kPatience = std::chrono::seconds(10);

void Check(const rocksdb::Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::exit(2);
  }
}

// Counts scheduled flushes and syncs of logs, and holds syncs until enough flushes are scheduled.
class Gate {
 public:
  explicit Gate(std::vector<int> holds) : holds_(std::move(holds)) {}

  void Scheduled() {
    std::lock_guard<std::mutex> lock(mutex_);
    scheduled_++;
    changed_.notify_all();
  }
  void AtSync() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (syncs_ == holds_.size()) {
      return;
    }
    const int needed = holds_[syncs_++];
    changed_.notify_all();
    changed_.wait(lock, [&] { return scheduled_ >= needed; });
  }
  void AwaitScheduled(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return scheduled_ >= count; });
  }
  void AwaitSync(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return syncs_ >= count; });
  }

 private:
  const std::vector<int> holds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int scheduled_ = 0;
  size_t syncs_ = 0;
};

class HeldLog final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  HeldLog(std::unique_ptr<rocksdb::FSWritableFile> file, Gate* gate) : FSWritableFileOwnerWrapper(std::move(file)), gate_(gate) {}
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override {
    gate_->AtSync();
    return FSWritableFileOwnerWrapper::Sync(options, debug);
  }

 private:
  Gate* gate_;
};

class HeldLogs final : public rocksdb::FileSystemWrapper {
 public:
  explicit HeldLogs(Gate* gate) : FileSystemWrapper(rocksdb::FileSystem::Default()), gate_(gate) {}
  const char* Name() const override { return "HeldLogs"; }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file, rocksdb::IODebugContext* debug) override {
    const rocksdb::IOStatus status = FileSystemWrapper::NewWritableFile(name, options, file, debug);
    if (status.ok() && name.ends_with(".log")) {
      *file = std::make_unique<HeldLog>(std::move(*file), gate_);
    }
    return status;
  }

 private:
  Gate* gate_;
};

class Schedules final : public rocksdb::EventListener {
 public:
  explicit Schedules(Gate* gate) : gate_(gate) {}
  void OnManualFlushScheduled(rocksdb::DB*, const std::vector<rocksdb::ManualFlushInfo>&) override { gate_->Scheduled(); }

 private:
  Gate* gate_;
};

// A database whose flushes run one at a time, as they do by default.
class Database {
 public:
  Database(const std::string& folder, int memtables_to_merge, Gate* gate)
      : env_(rocksdb::NewCompositeEnv(std::make_shared<HeldLogs>(gate))) {
    rocksdb::Options options;
    options.env = env_.get();
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.max_write_buffer_number = 6;
    options.min_write_buffer_number_to_merge = memtables_to_merge;
    options.listeners.push_back(std::make_shared<Schedules>(gate));
    Check(rocksdb::DestroyDB(folder, options));
    Check(rocksdb::DB::Open(options, folder, {{"default", options}, {"other", options}}, &families_, &db_));
  }
  void Put(int family) { Check(db_->Put({}, families_[family], "key", "value")); }
  void Flush(int family) { Check(db_->Flush({}, families_[family])); }
  void AtomicLiveFiles() {
    rocksdb::LiveFilesStorageInfoOptions options;
    options.atomic_flush = true;
    std::vector<rocksdb::LiveFileStorageInfo> files;
    Check(db_->GetLiveFilesStorageInfo(options, &files));
  }
  void LiveFiles() {
    std::vector<rocksdb::LiveFileStorageInfo> files;
    Check(db_->GetLiveFilesStorageInfo({}, &files));
  }
  ~Database() {
    for (auto* family : families_) {
      Check(db_->DestroyColumnFamilyHandle(family));
    }
  }

 private:
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
};

// Says whether `call` returns by itself. If not, another flush lets it go.
template <typename Call>
bool Hangs(const char* what, int memtables_to_merge, Database& database, Call call) {
  std::atomic<bool> is_done = false;
  std::thread caller([&] {
    call();
    is_done = true;
  });
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!is_done && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const bool hangs = !is_done;
  std::printf("min_write_buffer_number_to_merge=%d, %s: %s\n", memtables_to_merge, what, hangs ? "hangs" : "returns");
  if (hangs) {
    database.Put(0);
    database.Flush(0);
  }
  caller.join();
  return hangs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "expected a folder for a database\n");
    return 2;
  }
  int hangs = 0;
  for (const int merge : {1, 2}) {
    for (const bool live_files : {false, true}) {
      Gate gate({2});
      Database database(argv[1], merge, &gate);
      database.Put(0);
      std::thread first([&] { database.Flush(0); });
      gate.AwaitSync(1);
      gate.AwaitScheduled(1);
      database.Put(0);
      hangs += Hangs(live_files ? "live files while a flush runs" : "a flush while a flush runs", merge, database,
                     [&] { live_files ? database.LiveFiles() : database.Flush(0); });
      first.join();
    }
    // The first flush holds the second back until live files were asked for, whose flush is atomic and comes after the second.
    Gate gate({3, 4});
    Database database(argv[1], merge, &gate);
    database.Put(1);
    std::thread first([&] { database.Flush(1); });
    gate.AwaitSync(1);
    gate.AwaitScheduled(1);
    database.Put(0);
    std::thread second([&] { database.Flush(0); });
    gate.AwaitScheduled(2);
    std::thread live_files([&] { database.AtomicLiveFiles(); });
    gate.AwaitSync(2);
    database.Put(0);
    hangs += Hangs("a flush that meets an atomic one", merge, database, [&] { database.Flush(0); });
    first.join();
    second.join();
    live_files.join();
  }
  return hangs > 0;
}

// bzip2's user has to define it. Otherwise the linker takes it, and much of Springbloom with it, from the host's library.
extern "C" void bz_internal_error(int) { std::abort(); }
