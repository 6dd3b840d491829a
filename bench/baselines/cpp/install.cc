// Puts stock filters into a `rocksdb_options_t`, for which the C interface has no call.
#include <cstdint>
#include <cstdio>

#include "install/c_options.h"
#include "filter_cache.h"
#include "level_filters.h"

namespace {

// The block-based options in force; null, with a message in `error`, when the column family uses another table format.
const rocksdb::BlockBasedTableOptions* BlockBased(const rocksdb::Options& options, char* error, size_t error_size) {
  const rocksdb::BlockBasedTableOptions* tables = springbloom::TableOptions(options);
  if (tables == nullptr) {
    std::snprintf(error, error_size, "stock filters need the block-based table format, these options use \"%s\"",
                  options.table_factory == nullptr ? "none" : options.table_factory->Name());
  }
  return tables;
}

}  // namespace

// The functions give 0 on success, else a message in `error`.

extern "C" int springbloom_baselines_level_filters(void* rocksdb_options, int ribbon, const double* bloom_bits, size_t count,
                                                   char* error, size_t error_size) noexcept {
  rocksdb::Options& options = springbloom::OptionsIn(rocksdb_options);
  const rocksdb::BlockBasedTableOptions* tables = BlockBased(options, error, error_size);
  if (tables == nullptr) {
    return 1;
  }
  if (count == 0) {
    std::snprintf(error, error_size, "bits per key are needed for one level at least, got none");
    return 1;
  }
  rocksdb::BlockBasedTableOptions with_policy = *tables;
  const auto filter = ribbon != 0 ? springbloom::StockFilter::kRibbon : springbloom::StockFilter::kBloom;
  with_policy.filter_policy = springbloom::NewLevelFilterPolicy(filter, bloom_bits, count);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(with_policy));
  return 0;
}

extern "C" int springbloom_baselines_filter_cache(void* rocksdb_options, uint64_t capacity_bytes, char* error,
                                                  size_t error_size) noexcept {
  rocksdb::Options& options = springbloom::OptionsIn(rocksdb_options);
  const rocksdb::BlockBasedTableOptions* tables = BlockBased(options, error, error_size);
  if (tables == nullptr) {
    return 1;
  }
  rocksdb::BlockBasedTableOptions with_cache = *tables;
  with_cache.no_block_cache = false;
  with_cache.block_cache = springbloom::NewFilterCache(capacity_bytes);
  with_cache.cache_index_and_filter_blocks = true;
  with_cache.cache_index_and_filter_blocks_with_high_priority = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(with_cache));
  return 0;
}
