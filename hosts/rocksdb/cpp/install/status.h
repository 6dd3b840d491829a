// Whether elastic filters are in use where they are expected.
#pragma once

#include "abi.h"
#include "rocksdb/db.h"
#include "springbloom.h"

namespace springbloom {

// Of a column family: whether it writes and reads filter units of `filters` (null: of any), and how many of its tables have them.
// Reads the tables' properties.
rocksdb::Status FamilyStatusOf(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, const sb_filters* filters,
                               FamilyStatus* status);

}  // namespace springbloom
