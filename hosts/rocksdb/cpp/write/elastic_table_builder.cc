#include "write/elastic_table_builder.h"

#include "db/dbformat.h"
#include "prefixes.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb_release.h"
#include "write/unfiltered_cache.h"

namespace springbloom {

namespace {

// What prefixes are added by, if they are.
std::shared_ptr<const rocksdb::SliceTransform> ExtractorOf(const rocksdb::BlockBasedTableOptions& options,
                                                           const rocksdb::TableBuilderOptions& builder_options) {
  return FiltersPrefixes(options) ? builder_options.moptions.prefix_extractor : nullptr;
}

rocksdb::BlockBasedTableOptions WithPolicy(rocksdb::BlockBasedTableOptions options,
                                           const std::shared_ptr<UnitBlockPolicy>& policy, bool adds_keys) {
  options.filter_policy = policy;
  if (options.prepopulate_block_cache != rocksdb::BlockBasedTableOptions::PrepopulateBlockCache::kDisable &&
      options.block_cache != nullptr) {
    options.block_cache = std::make_shared<UnfilteredCache>(options.block_cache);
  }
  if (adds_keys) {
    release::GiveKeysToFilters(&options);
  }
  // Segments do what partitions are for, and a partitioned builder would ask for one block a partition.
  options.partition_filters = false;
  return options;
}

}  // namespace

ElasticTableBuilder::ElasticTableBuilder(const FiltersRef& e, const rocksdb::BlockBasedTableOptions& table_options,
                                         const rocksdb::TableBuilderOptions& builder_options, rocksdb::WritableFileWriter* file)
    : BuilderParts(e, table_options, builder_options),
      BlockBasedTableBuilder(
          WithPolicy(table_options, policy,
                     table_options.whole_key_filtering || ExtractorOf(table_options, builder_options) == nullptr),
          builder_options, file),
      timestamp_bytes_(builder_options.internal_comparator.user_comparator()->timestamp_size()),
      prefix_extractor_(ExtractorOf(table_options, builder_options)),
      adds_keys_(table_options.whole_key_filtering || prefix_extractor_ == nullptr) {}

void ElasticTableBuilder::Add(const rocksdb::Slice& internal_key, const rocksdb::Slice& value) {
  if (policy->units() != nullptr && rocksdb::ExtractValueType(internal_key) != rocksdb::kTypeRangeDeletion) {
    const rocksdb::Slice key = rocksdb::ExtractUserKeyAndStripTimestamp(internal_key, timestamp_bytes_);
    const size_t entry_bytes = internal_key.size() + value.size();
    if (adds_keys_) {
      policy->Add(key, entry_bytes);
    }
    if (prefix_extractor_ != nullptr && prefix_extractor_->InDomain(key)) {
      policy->AddPrefix(prefix_extractor_->Transform(key), entry_bytes);
    }
  }
  BlockBasedTableBuilder::Add(internal_key, value);
}

}  // namespace springbloom
