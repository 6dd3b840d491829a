// For the library of one release: makes the id "springbloom" known when it is loaded.
#include <cstdio>
#include <string>

#include "abi.h"
#include "rocksdb/version.h"

namespace {

__attribute__((constructor)) void Register() {
  // The loader asks, too. Who preloads this library itself may have another release.
  const std::string ours =
      std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + "." + std::to_string(ROCKSDB_PATCH);
  const std::string theirs = rocksdb::GetRocksVersionAsString(/*with_patch=*/true);
  if (theirs == ours) {
    springbloom_register();
  } else {
    std::fprintf(stderr, "springbloom: the program has RocksDB %s; this library is for %s, and is not in use\n", theirs.c_str(),
                 ours.c_str());
  }
}

}  // namespace
