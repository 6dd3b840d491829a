// SHaMBa's modular Bloom filters (VLDB'23 PhD workshop, section 3) on stock RocksDB.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/cache.h"
#include "rocksdb/file_system.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/statistics.h"

namespace springbloom {

struct ModularFilterSettings {
  // Of all modules of a table together. Modules have equal sizes.
  double bits_per_key;
  // A module is skipped, and those behind it too, where its utility is below its threshold. One for each module.
  std::vector<double> thresholds;
  std::shared_ptr<rocksdb::FileSystem> fs;
  // The file that modules are written to and read from.
  std::string path;
  // Whether reads of modules bypass the page cache.
  bool direct_reads;
  // Where modules stay that were read.
  std::shared_ptr<rocksdb::Cache> cache;
};

// Both must be in the options of a database: the policy learns from the statistics which tables had the keys.
struct ModularFilter {
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  std::shared_ptr<rocksdb::Statistics> statistics;
};

// A table's filter block names its modules. They lie in a file of their own, because RocksDB reads a filter block as a whole. A lookup
// asks them one after the other, and reads a module that is not in the cache as RocksDB reads a filter block: at once, counted as one.
// A table that is written by a compaction does not inherit the use of the tables that it replaces, as SHaMBa's do.
ModularFilter NewModularFilter(ModularFilterSettings settings);

}  // namespace springbloom
