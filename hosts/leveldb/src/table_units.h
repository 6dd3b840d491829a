// The filter units of a table of an open database, whether the table cache has the table open or not.
#pragma once

#include <cstddef>
#include <cstdint>

#include "springbloom_abi.h"

namespace springbloom {

struct TableUnits {
  // By malloc, of what the core has of a table's file.
  static constexpr size_t kFileBytes = 48;

  const uint64_t number;
  // Null: it has none.
  const sb_table* const units;

  bool AreOpen() const { return units != nullptr && sb_table_is_open(units) != 0; }
};

}  // namespace springbloom
