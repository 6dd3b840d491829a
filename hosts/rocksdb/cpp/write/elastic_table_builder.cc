#include "write/elastic_table_builder.h"

#include "db/dbformat.h"
#include "file/writable_file_writer.h"
#include "rocksdb_release.h"
#include "write/unfiltered_cache.h"

namespace springbloom {

namespace {

rocksdb::BlockBasedTableOptions WithPolicy(rocksdb::BlockBasedTableOptions options,
                                           const std::shared_ptr<UnitBlockPolicy>& policy) {
  options.filter_policy = policy;
  if (options.prepopulate_block_cache != rocksdb::BlockBasedTableOptions::PrepopulateBlockCache::kDisable &&
      options.block_cache != nullptr) {
    options.block_cache = std::make_shared<UnfilteredCache>(options.block_cache);
  }
  release::GiveKeysToFilters(&options);
  // Segments do what partitions are for, and a partitioned builder would ask for one block a partition.
  options.partition_filters = false;
  return options;
}

}  // namespace

ElasticTableBuilder::ElasticTableBuilder(const FiltersRef& e, const rocksdb::BlockBasedTableOptions& table_options,
                                         const rocksdb::TableBuilderOptions& builder_options, rocksdb::WritableFileWriter* file)
    : BuilderParts(e, table_options, builder_options, file->file_name()),
      BlockBasedTableBuilder(WithPolicy(table_options, policy), builder_options, file),
      timestamp_bytes_(builder_options.internal_comparator.user_comparator()->timestamp_size()) {}

void ElasticTableBuilder::Add(const rocksdb::Slice& internal_key, const rocksdb::Slice& value) {
  if (policy->units() != nullptr && rocksdb::ExtractValueType(internal_key) != rocksdb::kTypeRangeDeletion) {
    const rocksdb::Slice key = rocksdb::ExtractUserKeyAndStripTimestamp(internal_key, timestamp_bytes_);
    policy->Add(key, internal_key.size() + value.size());
  }
  BlockBasedTableBuilder::Add(internal_key, value);
}

}  // namespace springbloom
