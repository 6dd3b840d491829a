// A table in the table cache.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "leveldb/env.h"
#include "leveldb/table.h"
#include "springbloom_abi.h"

namespace springbloom {

struct OpenTable {
  uint64_t number = 0;
  uint64_t file_size = 0;
  std::unique_ptr<leveldb::RandomAccessFile> file;
  std::unique_ptr<leveldb::Table> table;  // reads `file`
  bool has_older_name = false;
  // LevelDB is about to delete the file.
  std::atomic<bool> is_obsolete = false;

  // Null: it has none, for good. Set before lookups begin.
  const sb_table* units = nullptr;

  bool HasUnits() const { return units != nullptr && __atomic_load_n(&units->is_open, __ATOMIC_ACQUIRE) != 0; }
};

}  // namespace springbloom
