// The filter units of a table of an open database, whether the table cache has the table open or not.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>

#include "springbloom_abi.h"

namespace springbloom {

struct TableUnits {
  TableUnits(uint64_t number, uint64_t file_size) : number(number), file_size(file_size) {}

  const uint64_t number;
  const uint64_t file_size;
  // `units` may be asked for once this is true.
  std::atomic<bool> are_open = false;
  // Guarded by the database's mutex, as is `deferred`.
  bool is_deferred = false;
  bool is_tried = false;
  bool is_forgotten = false;
  sb_table units = {};
  // Its place among the deferred tables, if it is one of them.
  std::list<TableUnits*>::iterator deferred;
};

}  // namespace springbloom
