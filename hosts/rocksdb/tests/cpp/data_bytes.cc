// How often a listener has RocksDB sum up a database's tables.
#include <time.h>

#include "check.h"
#include "install/level_change_listener.h"
#include "rocksdb/utilities/stackable_db.h"

using namespace springbloom_test;

namespace {

// Stands for a database with so many tables that a sum takes `nanos` of a core.
class SummedDb final : public rocksdb::StackableDB {
 public:
  SummedDb(std::shared_ptr<rocksdb::DB> db, long nanos) : StackableDB(std::move(db)), nanos_(nanos) {}

  using StackableDB::GetAggregatedIntProperty;
  bool GetAggregatedIntProperty(const rocksdb::Slice& property, uint64_t* value) override {
    ++sums;
    const long begun = Now();
    while (Now() - begun < nanos_) {
    }
    return StackableDB::GetAggregatedIntProperty(property, value);
  }

  int sums = 0;

 private:
  static long Now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  }

  const long nanos_;
};

}  // namespace

extern "C" int springbloom_test_data_bytes(void* rocksdb_options, const char* path, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    const std::shared_ptr<rocksdb::DB> db = Open(springbloom::OptionsIn(rocksdb_options), path);
    const auto sums_of = [&](long nanos) {
      SummedDb summed(db, nanos);
      springbloom::LevelChangeListener listener(springbloom::Share(springbloom_installed(rocksdb_options)));
      for (int flush = 0; flush < 100; ++flush) {
        listener.OnFlushCompleted(&summed, rocksdb::FlushJobInfo());
      }
      return summed.sums;
    };
    // Of 100 flushes in a row, one after another has to wait for two seconds.
    const int of_many_tables = sums_of(10'000'000);
    Check(of_many_tables >= 1 && of_many_tables < 50, std::to_string(of_many_tables) + " sums of many tables");
    const int of_few_tables = sums_of(0);
    Check(of_few_tables > 50, std::to_string(of_few_tables) + " sums of few tables");
  });
}
