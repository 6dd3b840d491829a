// A seek that finds nothing says nothing of what later seeks find. A hash index positions a seek at nothing where no key has the target's
// capped prefix, however many keys begin with the target.
#include "abi.h"
#include "check.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/table.h"

using namespace springbloom_test;

namespace {

std::string Found(rocksdb::DB* db, const std::string& target, const rocksdb::Slice* upper_bound, bool auto_prefix_mode) {
  rocksdb::ReadOptions read;
  read.iterate_upper_bound = upper_bound;
  read.auto_prefix_mode = auto_prefix_mode;
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(read));
  it->Seek(target);
  CheckOk(it->status(), "Seek(" + target + ")");
  return it->Valid() ? it->key().ToString() + "=" + it->value().ToString() : "no entry";
}

}  // namespace

extern "C" int springbloom_test_hash_index(void* options, const char* path, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    rocksdb::Options with_hash_index = springbloom::OptionsIn(options);
    with_hash_index.prefix_extractor.reset(rocksdb::NewCappedPrefixTransform(3));
    with_hash_index.disable_auto_compactions = true;
    auto* const tables = with_hash_index.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
    tables->index_type = rocksdb::BlockBasedTableOptions::kHashSearch;
    tables->filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    auto db = Open(with_hash_index, path);
    for (const char* value : {"old", "new"}) {
      for (char first = 'a'; first <= 'z'; ++first) {
        for (char second = 'a'; second <= 'z'; ++second) {
          CheckOk(db->Put(rocksdb::WriteOptions(), std::string{first, second} + "er1", value), "Put");
        }
      }
      CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
    }
    Check(sb_filters_wait_idle(springbloom_installed(options), 60000) != 0, "the loader never came to rest");
    for (int round = 0; round < 3; ++round) {
      for (char first = 'a'; first <= 'z'; ++first) {
        for (char second = 'a'; second < 'z'; ++second) {
          const std::string key = std::string{first, second} + "er1", end{first, static_cast<char>(second + 1)};
          const rocksdb::Slice upper_bound(end);
          const std::string found = Found(db.get(), key, &upper_bound, /*auto_prefix_mode=*/true);
          Check(found == key + "=new", "round " + std::to_string(round) + ", " + key + ": found " + found);
          // No key has the capped prefix of two letters: nothing is promised here.
          Found(db.get(), key.substr(0, 2), nullptr, /*auto_prefix_mode=*/false);
          // Units reject what no table has.
          const char upper = static_cast<char>(first - 'a' + 'A');
          const std::string absent{upper, second}, behind{upper, static_cast<char>(second + 1)};
          const rocksdb::Slice bound_of_absent(behind);
          Check(Found(db.get(), absent + "er1", &bound_of_absent, /*auto_prefix_mode=*/true) == "no entry",
                absent + " is absent");
        }
      }
    }
  });
}
