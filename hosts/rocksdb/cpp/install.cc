// Puts our table factory, or stock per-level Bloom filters to compare with, into a `rocksdb_options_t`.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "abi.h"
#include "c_options.h"
#include "elastic_table_factory.h"
#include "filter_cache.h"
#include "rocksdb/filter_policy.h"
#include "table_moves.h"

namespace {

int Refuse(char* error, size_t error_size, const std::string& message) {
  std::snprintf(error, error_size, "%s", message.c_str());
  return 1;
}

std::string NotBlockBased(const rocksdb::Options& options) {
  return std::string("filter units need the block-based table format, these options use \"") +
         (options.table_factory == nullptr ? "none" : options.table_factory->Name()) + "\"";
}

// Monkey on stock RocksDB: a Bloom filter of its own size for each level.
class LevelBloomPolicy final : public rocksdb::FilterPolicy {
 public:
  explicit LevelBloomPolicy(const double* bits, size_t count) {
    for (size_t level = 0; level < count; ++level) {
      levels_.emplace_back(rocksdb::NewBloomFilterPolicy(bits[level]));
    }
  }
  const char* Name() const override { return "springbloom.LevelBloom"; }
  const char* CompatibilityName() const override { return levels_[0]->CompatibilityName(); }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(const rocksdb::FilterBuildingContext& context) const override {
    const size_t level = context.level_at_creation < 0 ? 0 : static_cast<size_t>(context.level_at_creation);
    return levels_[std::min(level, levels_.size() - 1)]->GetBuilderWithContext(context);
  }
  rocksdb::FilterBitsReader* GetFilterBitsReader(const rocksdb::Slice& contents) const override {
    return levels_[0]->GetFilterBitsReader(contents);
  }

 private:
  std::vector<std::unique_ptr<const rocksdb::FilterPolicy>> levels_;
};

}  // namespace

extern "C" const sb_elastic* springbloom_installed(void* rocksdb_options) noexcept {
  const auto* ours =
      dynamic_cast<const springbloom::ElasticTableFactory*>(springbloom::OptionsIn(rocksdb_options).table_factory.get());
  return ours == nullptr ? nullptr : ours->Given();
}

extern "C" int springbloom_install(void* rocksdb_options, const sb_elastic* elastic, char* error, size_t error_size) noexcept {
  rocksdb::Options& options = springbloom::OptionsIn(rocksdb_options);
  const rocksdb::BlockBasedTableOptions* table_options = springbloom::TableOptions(options);
  if (table_options == nullptr) {
    return Refuse(error, error_size, NotBlockBased(options));
  }
  springbloom_register();
  const springbloom::ElasticRef shared = springbloom::Share(elastic);
  options.table_factory = std::make_shared<springbloom::ElasticTableFactory>(*table_options, shared);
  // Those of an instance that was installed before keep it alive for nothing.
  std::erase_if(options.listeners, [](const std::shared_ptr<rocksdb::EventListener>& listener) {
    return std::strcmp(listener->Name(), springbloom::TableMoves::kClassName()) == 0;
  });
  options.listeners.push_back(std::make_shared<springbloom::TableMoves>(shared));
  return 0;
}

extern "C" int springbloom_install_level_bloom(void* rocksdb_options, const double* bits, size_t count, char* error,
                                               size_t error_size) noexcept {
  rocksdb::Options& options = springbloom::OptionsIn(rocksdb_options);
  const rocksdb::BlockBasedTableOptions* table_options = springbloom::TableOptions(options);
  if (table_options == nullptr) {
    return Refuse(error, error_size, NotBlockBased(options));
  }
  if (count == 0) {
    return Refuse(error, error_size, "bits per key are needed for one level at least, got none");
  }
  rocksdb::BlockBasedTableOptions with_policy = *table_options;
  with_policy.filter_policy = std::make_shared<LevelBloomPolicy>(bits, count);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(with_policy));
  return 0;
}

extern "C" int springbloom_install_filter_cache(void* rocksdb_options, uint64_t capacity_bytes, char* error,
                                                size_t error_size) noexcept {
  rocksdb::Options& options = springbloom::OptionsIn(rocksdb_options);
  const rocksdb::BlockBasedTableOptions* table_options = springbloom::TableOptions(options);
  if (table_options == nullptr) {
    return Refuse(error, error_size, NotBlockBased(options));
  }
  rocksdb::BlockBasedTableOptions with_cache = *table_options;
  with_cache.no_block_cache = false;
  with_cache.block_cache = springbloom::NewFilterCache(capacity_bytes);
  with_cache.cache_index_and_filter_blocks = true;
  with_cache.cache_index_and_filter_blocks_with_high_priority = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(with_cache));
  return 0;
}
