// A comparator is given keys of its own column family alone, whatever a table says of where it comes from, and by threads of the program
// and of RocksDB alone: a program may destroy it once its database is closed.
#include <atomic>
#include <cstring>
#include <thread>

#include "check.h"
#include "rocksdb/comparator.h"
#include "rocksdb/sst_file_writer.h"

using namespace springbloom_test;
using rocksdb::Slice;

namespace {

// Orders keys of 8 bytes, and would read out of the bounds of others. Counts what is not to be.
class Integers final : public rocksdb::Comparator {
 public:
  const char* Name() const override { return "springbloom.test.Integers"; }
  int Compare(const Slice& a, const Slice& b) const override {
    foreign_ += IsThreadOfFilters() ? 1 : 0;
    const uint64_t x = Of(a);
    const uint64_t y = Of(b);
    return x < y ? -1 : x > y;
  }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
  bool CanKeysWithDifferentByteContentsBeEqual() const override { return false; }

  std::atomic<int>& Foreign() const { return foreign_; }

 private:
  uint64_t Of(const Slice& key) const {
    uint64_t number = 0;
    if (key.size() == sizeof(number)) {
      std::memcpy(&number, key.data(), sizeof(number));
    } else {
      ++foreign_;
    }
    return number;
  }

  mutable std::atomic<int> foreign_{0};
};

std::string Integer(uint64_t number) { return std::string(reinterpret_cast<const char*>(&number), sizeof(number)); }

template <typename KeyOf>
void Ingest(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, const rocksdb::Options& options, KeyOf key_of) {
  const std::string path = db->GetName() + ".ingested";
  // Without a handle, so that the table does not say whose it is.
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
  CheckOk(writer.Open(path), "open");
  for (int number = 0; number < 2000; ++number) {
    CheckOk(writer.Put(key_of(number), "v"), "Put");
  }
  CheckOk(writer.Finish(), "Finish");
  rocksdb::IngestExternalFileOptions ingestion;
  ingestion.move_files = true;
  CheckOk(db->IngestExternalFile(family, {path}, ingestion), "ingest");
}

}  // namespace

extern "C" int springbloom_test_foreign_keys(void* rocksdb_options, const char* path, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    static Integers integers;
    integers.Foreign() = 0;
    const rocksdb::Options& options = springbloom::OptionsIn(rocksdb_options);
    rocksdb::Options of_integers = options;
    of_integers.comparator = &integers;
    using Families = std::vector<rocksdb::ColumnFamilyDescriptor>;
    std::vector<rocksdb::ColumnFamilyHandle*> families;
    std::unique_ptr<rocksdb::DB> db;
    CheckOk(TryToOpen(&db, options, path, Families{{"default", options}, {"integers", of_integers}}, &families), "open");
    Ingest(db.get(), families[0], options, [](int number) { return Key(2 * number); });
    std::string value;
    for (int number = 0; number < 4000; ++number) {
      Check(db->Get(rocksdb::ReadOptions(), families[0], Key(number), &value).ok() == (number % 2 == 0), Key(number));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    Ingest(db.get(), families[1], of_integers, [](int number) { return Integer(number); });
    for (int number = 0; number < 3000; ++number) {
      Check(db->Get(rocksdb::ReadOptions(), families[1], Integer(number), &value).ok() == (number < 2000), "an integer");
    }
    Check(integers.Foreign() == 0,
          std::to_string(integers.Foreign()) + " keys of another column family, or by a thread of the filters, were compared");
    for (rocksdb::ColumnFamilyHandle* family : families) {
      CheckOk(db->DestroyColumnFamilyHandle(family), "DestroyColumnFamilyHandle");
    }
  });
}
