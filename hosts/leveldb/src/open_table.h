// A table in the table cache.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>

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

  // What is below may be asked for once this is true.
  std::atomic<bool> has_units = false;
  sb_table units = {};
  // Its place among the deferred tables, if it is one of them.
  std::optional<std::list<std::shared_ptr<OpenTable>>::iterator> deferred;
  bool is_tried = false;
};

}  // namespace springbloom
