// A database that is closed is left alone: a program may then delete the Env that it gave RocksDB.
#include <atomic>
#include <thread>

#include "check.h"
#include "rocksdb/env.h"

using namespace springbloom_test;

namespace {

// Not deleted, to count what is done to it after that.
class CountingEnv final : public rocksdb::EnvWrapper {
 public:
  CountingEnv() : EnvWrapper(rocksdb::Env::Default()) {}
  static const char* kClassName() { return "springbloom.test.CountingEnv"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::Status NewRandomAccessFile(const std::string& name, std::unique_ptr<rocksdb::RandomAccessFile>* file,
                                      const rocksdb::EnvOptions& options) override {
    ++uses;
    return EnvWrapper::NewRandomAccessFile(name, file, options);
  }
  rocksdb::Status FileExists(const std::string& name) override {
    ++uses;
    return EnvWrapper::FileExists(name);
  }

  std::atomic<int> uses{0};
};

}  // namespace

extern "C" int springbloom_test_closed(void* rocksdb_options, const char* path, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    static CountingEnv env;
    rocksdb::Options options = springbloom::OptionsIn(rocksdb_options);
    options.env = &env;
    // Many tables, most of which the table cache has closed when the database is.
    options.max_open_files = 20;
    options.target_file_size_base = 8 << 10;
    auto db = Open(options, path);
    constexpr int kNumbers = 40000;
    for (int number = 0; number < kNumbers; ++number) {
      CheckOk(db->Put(rocksdb::WriteOptions(), Key(number * 7919 % kNumbers * 2), std::string(50, 'v')), "Put");
    }
    CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
    std::string value;
    for (int number = 1; number < 2 * kNumbers; number += 8) {
      Check(db->Get(rocksdb::ReadOptions(), Key(number), &value).IsNotFound(), "an odd number is absent");
    }
    // In the middle of loading units.
    CheckOk(db->Close(), "Close");
    db.reset();
    const int uses = env.uses;
    // Longer than the maintenance thread waits between two looks at tables, and at those that wait to be opened.
    std::this_thread::sleep_for(std::chrono::seconds(4));
    Check(env.uses == uses, std::to_string(env.uses - uses) + " uses of the Env after Close");
  });
}
