// What the C++ tests share: they are run by tests/features/cpp.rs, and tell what went wrong by a message.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

#include "install/c_options.h"
#include "rocksdb/db.h"

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

inline std::unique_ptr<rocksdb::DB> Open(const rocksdb::Options& options, const std::string& path) {
  std::unique_ptr<rocksdb::DB> db;
  CheckOk(rocksdb::DB::Open(options, path, &db), "open");
  return db;
}

}  // namespace springbloom_test
