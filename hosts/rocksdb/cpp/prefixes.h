// Who gets units over prefixes.
#pragma once

#include "owners.h"
#include "rocksdb/table.h"

namespace springbloom {

// Whether tables get units over prefixes, and iterators ask them.
//
// Of an iterator without total_order_seek RocksDB promises the keys with the prefix that it sought, but as long as no filter knows
// prefixes it finds the others, too, and programs rely on that. So it takes options that have asked for filters over prefixes: by a filter
// policy, as with stock tables.
inline bool FiltersPrefixes(const rocksdb::BlockBasedTableOptions& options) { return options.filter_policy != nullptr; }

}  // namespace springbloom
