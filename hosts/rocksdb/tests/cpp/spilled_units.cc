// A table with more filter units than memory should hold while it is written: they go to temporary files. Whatever such a file cannot
// do, the table is written, and its lookups are right.
#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <mutex>
#include <tuple>
#include <vector>

#include "check.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/sst_file_writer.h"

using namespace springbloom_test;

namespace {

enum class Fault { kNone, kNotCreated, kNotOpened, kFullAtOnce, kFullLater, kNotRead, kReadElsewhere, kNotMapped, kDeleted };

// More than a window of 8 MiB: the test's units take 32 bytes a key.
constexpr int kSpillingKeys = 300'000;
constexpr uint64_t kWindowBytes = 8 << 20;

bool IsSpillFile(const std::string& name) { return name.ends_with(".dbtmp") && name.find("OPTIONS") == std::string::npos; }

class FaultyWriter final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultyWriter(std::unique_ptr<rocksdb::FSWritableFile> file, uint64_t room)
      : FSWritableFileOwnerWrapper(std::move(file)), room_(room) {}

  using FSWritableFileOwnerWrapper::Append;
  rocksdb::IOStatus Append(const rocksdb::Slice& bytes, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* dbg) override {
    if (bytes.size() <= room_) {
      room_ -= bytes.size();
      return FSWritableFileOwnerWrapper::Append(bytes, options, dbg);
    }
    // A part of it fits, as on a disk.
    FSWritableFileOwnerWrapper::Append(rocksdb::Slice(bytes.data(), room_), options, dbg).PermitUncheckedError();
    room_ = 0;
    return rocksdb::IOStatus::NoSpace("the test's disk is full");
  }

 private:
  uint64_t room_;
};

class FaultyReader final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  FaultyReader(std::unique_ptr<rocksdb::FSRandomAccessFile> file, Fault fault)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), fault_(fault) {}

  rocksdb::IOStatus Read(uint64_t offset, size_t size, const rocksdb::IOOptions& options, rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext* dbg) const override {
    if (fault_ == Fault::kNotRead) {
      return rocksdb::IOStatus::IOError("the test's disk is broken");
    }
    const rocksdb::IOStatus s = target()->Read(offset, size, options, result, scratch, dbg);
    if (s.ok() && result->data() != scratch) {
      std::memcpy(scratch, result->data(), result->size());
      *result = rocksdb::Slice(scratch, result->size());
    }
    return s;
  }

 private:
  const Fault fault_;
};

class FaultyFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit FaultyFileSystem(Fault fault) : FileSystemWrapper(rocksdb::FileSystem::Default()), fault_(fault) {}
  static const char* kClassName() { return "springbloom.test.FaultyFileSystem"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file, rocksdb::IODebugContext* dbg) override {
    if (!is_on || !IsSpillFile(name)) {
      return target()->NewWritableFile(name, options, file, dbg);
    }
    ++spill_files;
    if (fault_ == Fault::kNotCreated) {
      return rocksdb::IOStatus::IOError("the test has no descriptors");
    }
    rocksdb::IOStatus s = target()->NewWritableFile(name, options, file, dbg);
    if (s.ok() && (fault_ == Fault::kFullAtOnce || fault_ == Fault::kFullLater)) {
      *file =
          std::make_unique<FaultyWriter>(std::move(*file), fault_ == Fault::kFullAtOnce ? 1'000'000 : kWindowBytes + 1'000'000);
    }
    return s;
  }

  rocksdb::IOStatus NewRandomAccessFile(const std::string& name, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* dbg) override {
    if (!is_on || !IsSpillFile(name)) {
      return target()->NewRandomAccessFile(name, options, file, dbg);
    }
    if (fault_ == Fault::kNotOpened) {
      return rocksdb::IOStatus::IOError("the test has no descriptors");
    }
    if (options.use_mmap_reads && fault_ == Fault::kNotMapped) {
      return rocksdb::IOStatus::InvalidArgument("the test does not map");
    }
    if (options.use_mmap_reads && fault_ == Fault::kDeleted) {
      target()->DeleteFile(name, rocksdb::IOOptions(), dbg).PermitUncheckedError();
    }
    rocksdb::IOStatus s = target()->NewRandomAccessFile(name, options, file, dbg);
    if (s.ok() && (fault_ == Fault::kNotRead || fault_ == Fault::kReadElsewhere)) {
      *file = std::make_unique<FaultyReader>(std::move(*file), fault_);
    }
    return s;
  }

  // Opening a database makes other temporary files.
  bool is_on = false;
  int spill_files = 0;

 private:
  const Fault fault_;
};

// Keeps the warnings of Springbloom.
class Warnings final : public rocksdb::Logger {
 public:
  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    char line[1000];
    std::vsnprintf(line, sizeof(line), format, arguments);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::string(line).find("filter units of ") != std::string::npos) {
      lines_ += std::string(line) + "\n";
    }
  }

  std::string Lines() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::string lines_;
};

struct Written {
  uint64_t filter_bytes;
  int spill_files;
  std::string warnings;
};

void CheckContents(rocksdb::DB& db, const rocksdb::Options& options, const std::string& folder, const std::string& what) {
  CheckOk(db.VerifyChecksum(), what + ": VerifyChecksum");
  std::string value;
  for (int number = 0; number < 2 * kSpillingKeys; number += 7) {
    Check(db.Get(rocksdb::ReadOptions(), Key(number), &value).ok() == (number % 2 == 0), what + ": " + Key(number));
  }
  std::vector<std::string> names;
  CheckOk(options.env->GetChildren(folder, &names), "GetChildren");
  for (const std::string& name : names) {
    Check(!IsSpillFile(name), what + ": " + name + " is left");
  }
}

// Writes a database of one table, checks what is in it, and checks that again after it was opened without faults.
Written Write(rocksdb::Options options, Fault fault, const std::string& folder) {
  const std::string what = "fault " + std::to_string(static_cast<int>(fault));
  const auto file_system = std::make_shared<FaultyFileSystem>(fault);
  const auto env = rocksdb::NewCompositeEnv(file_system);
  const auto warnings = std::make_shared<Warnings>();
  rocksdb::Options sound = options;
  options.env = env.get();
  options.info_log = warnings;
  Written written{};
  {
    const auto db = Open(options, folder);
    for (int number = 0; number < kSpillingKeys; ++number) {
      CheckOk(db->Put(rocksdb::WriteOptions(), Key(2 * number), "v"), what + ": Put");
    }
    file_system->is_on = true;
    CheckOk(db->Flush(rocksdb::FlushOptions()), what + ": Flush");
    file_system->is_on = false;
    CheckContents(*db, options, folder, what);
    rocksdb::TablePropertiesCollection tables;
    CheckOk(db->GetPropertiesOfAllTables(&tables), "GetPropertiesOfAllTables");
    Check(tables.size() == 1, what + ": one table");
    written = {tables.begin()->second->filter_size, file_system->spill_files, warnings->Lines()};
  }
  // As a crash leaves them: opening the database deletes them.
  for (const char* name : {"/000123.dbtmp", "/0000123.dbtmp"}) {
    CheckOk(rocksdb::WriteStringToFile(rocksdb::Env::Default(), "units", folder + name), name);
  }
  CheckContents(*Open(sound, folder), sound, folder, what + ", opened again");
  return written;
}

}  // namespace

extern "C" int springbloom_test_spilled_units(void* rocksdb_options, const char* path, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    rocksdb::Options options = springbloom::OptionsIn(rocksdb_options);
    options.write_buffer_size = 256 << 20;
    options.disable_auto_compactions = true;
    uint64_t bytes = 0;
    for (const auto& [fault, spill_files, warning] : std::initializer_list<std::tuple<Fault, int, const char*>>{
             {Fault::kNone, 2, ""},
             {Fault::kNotCreated, 1, "no temporary file can be made"},
             {Fault::kNotOpened, 1, "no temporary file can be made"},
             {Fault::kFullAtOnce, 1, "cannot be written"},
             {Fault::kFullLater, 2, "cannot be written"},
             {Fault::kNotRead, 2, "are lost"},
             {Fault::kReadElsewhere, 2, "cannot be mapped"},
             {Fault::kNotMapped, 2, "cannot be mapped"},
             {Fault::kDeleted, 2, "cannot be mapped"},
         }) {
      const Written written = Write(options, fault, path + std::string("/") + std::to_string(static_cast<int>(fault)));
      bytes = fault == Fault::kNone ? written.filter_bytes : bytes;
      const std::string what = "fault " + std::to_string(static_cast<int>(fault)) + ": " + std::to_string(written.filter_bytes) +
                               " bytes of units, " + std::to_string(written.spill_files) + " files, " + written.warnings;
      Check(bytes > kWindowBytes && written.filter_bytes == (fault == Fault::kNotRead ? 0 : bytes), what);
      Check(written.spill_files == spill_files, what);
      Check(written.warnings.find(warning) != std::string::npos && written.warnings.empty() == (fault == Fault::kNone), what);
    }
  });
}

// Memory of units under construction is charged to a block cache that is asked to pay, and a cache that refuses fails nothing.
extern "C" int springbloom_test_charged_construction(void* rocksdb_options, const char* path, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    rocksdb::Options options = springbloom::OptionsIn(rocksdb_options);
    auto* table_options = options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
    for (const bool is_charged : {true, false}) {
      for (const bool is_strict : {false, true}) {
        table_options->block_cache = rocksdb::NewLRUCache(is_strict ? 1 << 20 : 64 << 20, 0, is_strict);
        table_options->cache_usage_options.options_overrides[rocksdb::CacheEntryRole::kFilterConstruction].charged =
            is_charged ? rocksdb::CacheEntryRoleOptions::Decision::kEnabled : rocksdb::CacheEntryRoleOptions::Decision::kDisabled;
        size_t most = 0;
        {
          rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
          CheckOk(writer.Open(path + std::string(".sst")), "Open");
          for (int number = 0; number < kSpillingKeys; ++number) {
            CheckOk(writer.Put(Key(2 * number), "v"), "Put");
            most = std::max(most, table_options->block_cache->GetPinnedUsage());
          }
          CheckOk(writer.Finish(), "Finish");
        }
        const std::string what = std::string(is_charged ? "charged" : "not charged") + (is_strict ? ", strict: " : ": ") +
                                 std::to_string(most) + " bytes at most, " +
                                 std::to_string(table_options->block_cache->GetPinnedUsage()) + " at the end";
        const size_t least = is_strict ? 512 << 10 : kWindowBytes;
        Check(is_charged ? most >= least && most <= 3 * kWindowBytes : most == 0, what);
        Check(table_options->block_cache->GetPinnedUsage() == 0, what);
      }
    }
  });
}
