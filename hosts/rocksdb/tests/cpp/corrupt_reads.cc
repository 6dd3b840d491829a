// A read of filter units that comes back corrupt is made once more, as RocksDB makes its own reads once more, where the file system can
// verify and mend what it reads.
#include <cstring>

#include "check.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/statistics.h"

#if SPRINGBLOOM_ROCKSDB >= 90500

using namespace springbloom_test;

namespace {

// What is corrupt whenever it is read without verification.
enum class Damage { kNone, kHeader, kDirectory, kUnits };

class CorruptingFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  CorruptingFile(std::unique_ptr<rocksdb::FSRandomAccessFile> file, Damage damage)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), damage_(damage) {}

  rocksdb::IOStatus Read(uint64_t offset, size_t size, const rocksdb::IOOptions& options, rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext* dbg) const override {
    const rocksdb::IOStatus s = target()->Read(offset, size, options, result, scratch, dbg);
    // Units are read by threads of Springbloom alone, the head of the block by those of RocksDB, too.
    if (!s.ok() || options.verify_and_reconstruct_read || result->empty() || (damage_ == Damage::kUnits && !LoadsUnits())) {
      return s;
    }
    char* bytes = const_cast<char*>(result->data());
    if (damage_ == Damage::kUnits) {
      bytes[result->size() / 2] ^= 1;
    } else if (result->starts_with("SpgBloom")) {
      bytes[damage_ == Damage::kHeader ? 0 : 70] ^= 1;
    }
    return s;
  }

 private:
  const Damage damage_;
};

class CorruptingFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  CorruptingFileSystem(Damage damage, bool mends)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), damage_(damage), mends_(mends) {}
  static const char* kClassName() { return "springbloom.test.CorruptingFileSystem"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus NewRandomAccessFile(const std::string& name, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* dbg) override {
    rocksdb::IOStatus s = target()->NewRandomAccessFile(name, options, file, dbg);
    if (s.ok() && damage_ != Damage::kNone && name.ends_with(".sst")) {
      *file = std::make_unique<CorruptingFile>(std::move(*file), damage_);
    }
    return s;
  }
  void SupportedOps(int64_t& supported_ops) override {
    target()->SupportedOps(supported_ops);
    if (mends_) {
      supported_ops |= int64_t{1} << rocksdb::FSSupportedOps::kVerifyAndReconstructRead;
    }
  }

 private:
  const Damage damage_;
  const bool mends_;
};

struct Seen {
  uint64_t rejected;
  uint64_t retries;
  uint64_t mended;
};

// Opens the database and looks up as many keys that are there as that are not, up to `rounds` times: until most of the latter are rejected
// and, if `until_retried`, a read was made once more.
Seen LookUp(const rocksdb::Options& options, const std::string& path, int keys, int rounds, bool until_retried) {
  const auto db = Open(options, path);
  const auto count = [&](rocksdb::Tickers ticker) { return options.statistics->getTickerCount(ticker); };
  Seen seen{};
  for (int round = 0; round < rounds; ++round) {
    const uint64_t before = count(rocksdb::BLOOM_FILTER_USEFUL);
    std::string value;
    for (int number = 0; number < 2 * keys; ++number) {
      Check(db->Get(rocksdb::ReadOptions(), Key(number), &value).ok() == (number % 2 == 0), Key(number));
    }
    seen = {count(rocksdb::BLOOM_FILTER_USEFUL) - before, count(rocksdb::FILE_READ_CORRUPTION_RETRY_COUNT),
            count(rocksdb::FILE_READ_CORRUPTION_RETRY_SUCCESS_COUNT)};
    if (seen.rejected > static_cast<uint64_t>(keys) / 2 && (seen.retries > 0 || !until_retried)) {
      break;
    }
    // Units are loaded meanwhile.
    options.env->SleepForMicroseconds(10'000);
  }
  return seen;
}

}  // namespace

extern "C" int springbloom_test_corrupt_reads(void* rocksdb_options, const char* path, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    // A table whose tail one read brings, and one with a longer tail.
    for (const int keys : {100, 20'000}) {
      const std::string folder = path + std::string("/") + std::to_string(keys);
      rocksdb::Options options = springbloom::OptionsIn(rocksdb_options);
      options.write_buffer_size = 64 << 20;
      {
        const auto db = Open(options, folder);
        for (int number = 0; number < keys; ++number) {
          CheckOk(db->Put(rocksdb::WriteOptions(), Key(2 * number), std::string(50, 'v')), "Put");
        }
        CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
      }
      for (const Damage damage : {Damage::kNone, Damage::kHeader, Damage::kDirectory, Damage::kUnits}) {
        for (const bool mends : {true, false}) {
          const auto env = rocksdb::NewCompositeEnv(std::make_shared<CorruptingFileSystem>(damage, mends));
          options.env = env.get();
          options.statistics = rocksdb::CreateDBStatistics();
          const bool is_retried = damage != Damage::kNone && mends;
          const bool is_filtered = damage == Damage::kNone || mends;
          const Seen seen = LookUp(options, folder, keys, is_filtered ? 1000 : 2, is_retried);
          const std::string what = std::to_string(keys) + " keys, damage " + std::to_string(static_cast<int>(damage)) +
                                   ", mends " + std::to_string(mends) + ": " + std::to_string(seen.rejected) + " rejected, " +
                                   std::to_string(seen.retries) + " retries, " + std::to_string(seen.mended) + " mended";
          // Without units, absent keys may still be known.
          Check((seen.rejected > static_cast<uint64_t>(keys) / 2) == is_filtered || damage == Damage::kUnits, what);
          Check((seen.retries > 0) == is_retried && seen.retries == seen.mended, what);
        }
      }
    }
  });
}

#else
SPRINGBLOOM_TEST_OF_NEWER_RELEASES(springbloom_test_corrupt_reads)
#endif
