// What the C++ tests share: they are run by tests/features/cpp.rs, and tell what went wrong by a message.
#pragma once

#include <pthread.h>

#include <cstdio>
#include <initializer_list>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

#include "install/c_options.h"
#include "rocksdb/db.h"
#include "rocksdb_release.h"

namespace springbloom_test {

inline void Check(bool holds, const std::string& what) {
  if (!holds) {
    throw std::runtime_error(what);
  }
}

inline void CheckOk(const rocksdb::Status& status, const std::string& what) {
  Check(status.ok(), what + ": " + status.ToString());
}

inline std::string Key(int number) {
  char key[16];
  std::snprintf(key, sizeof(key), "key%07d", number);
  return key;
}

// Draws what a seed says.
class Random {
 public:
  explicit Random(uint64_t seed) : bits_(seed) {}
  size_t Below(size_t end) { return bits_() % end; }
  bool OneIn(size_t times) { return Below(times) == 0; }
  template <typename T>
  T Of(std::initializer_list<T> all) {
    return all.begin()[Below(all.size())];
  }

 private:
  std::mt19937_64 bits_;
};

// Calls `test`; 0, or 1 with a message.
template <typename Test>
int Run(char* error, size_t error_size, Test test) {
  try {
    test();
    return 0;
  } catch (const std::exception& exception) {
    std::snprintf(error, error_size, "%s", exception.what());
    return 1;
  }
}

// DB::Open of all releases: before 10.1 it gives no std::unique_ptr.
template <typename... Arguments>
rocksdb::Status TryToOpen(std::unique_ptr<rocksdb::DB>* db, const rocksdb::Options& options, const std::string& path,
                          Arguments... arguments) {
#if SPRINGBLOOM_ROCKSDB >= 100100
  return rocksdb::DB::Open(options, path, arguments..., db);
#else
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, path, arguments..., &opened);
  db->reset(opened);
  return status;
#endif
}

// What `open` opens, one of RocksDB's functions that give a database.
template <typename OpenDb>
std::unique_ptr<rocksdb::DB> Opened(OpenDb open) {
#if SPRINGBLOOM_ROCKSDB >= 100100
  std::unique_ptr<rocksdb::DB> db;
  CheckOk(open(&db), "open");
  return db;
#else
  rocksdb::DB* db = nullptr;
  CheckOk(open(&db), "open");
  return std::unique_ptr<rocksdb::DB>(db);
#endif
}

inline std::unique_ptr<rocksdb::DB> Open(const rocksdb::Options& options, const std::string& path) {
  std::unique_ptr<rocksdb::DB> db;
  CheckOk(TryToOpen(&db, options, path), "open");
  return db;
}

// Whether this is a thread that loads units, and none of RocksDB's or of the test's. Linux keeps 15 characters of a name.
inline bool LoadsUnits() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return std::string(name) == "springbloom" || std::string(name) == "springbloom-loa";
}

// Whether this is any thread of the filters.
inline bool IsThreadOfFilters() {
  char name[16] = "";
  return pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 && std::string_view(name).starts_with("springbloom");
}

}  // namespace springbloom_test

// Stands for a test of what this release of RocksDB cannot do, which nobody calls then (`is_from` in tests/common).
#define SPRINGBLOOM_TEST_OF_NEWER_RELEASES(name)                            \
  extern "C" int name(void*, const char*, char* error, size_t error_size) { \
    std::snprintf(error, error_size, "not with this release of RocksDB");   \
    return 1;                                                               \
  }
