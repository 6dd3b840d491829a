#include "write/elastic_table_builder.h"

#include <memory>
#include <utility>

#include "db/dbformat.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb_release.h"
#include "table/block_based/block_based_table_builder.h"
#include "write/unit_block_policy.h"

namespace springbloom {

using rocksdb::BlockBasedTableOptions;
using rocksdb::Slice;
using rocksdb::SliceTransform;

namespace {

// A block cache that takes no filter blocks. For table builders that put what they write into the block cache (prepopulate_block_cache):
// filter units are read by the manager, and nobody asks the cache for them.
class UnfilteredCache final : public rocksdb::CacheWrapper {
 public:
  using CacheWrapper::CacheWrapper;

  const char* Name() const override { return "springbloom.UnfilteredCache"; }

  rocksdb::Status Insert(const Slice& key, ObjectPtr value, const CacheItemHelper* helper, size_t charge, Handle** handle,
                         Priority priority, const Slice& compressed, rocksdb::CompressionType type) override {
    if (helper->role != rocksdb::CacheEntryRole::kFilterBlock || handle != nullptr) {
      return target_->Insert(key, value, helper, charge, handle, priority, compressed, type);
    }
    if (helper->del_cb != nullptr) {
      helper->del_cb(value, memory_allocator());
    }
    return rocksdb::Status::OK();
  }
};

// The stock builder with one method overridden: everything else that RocksDB asks of a builder is answered by stock code.
class ElasticTableBuilder final : public rocksdb::BlockBasedTableBuilder {
 public:
  // `table_options` have the policy. `prefix_extractor` null: the table gets no units over prefixes; else those over keys if `adds_keys`.
  ElasticTableBuilder(std::shared_ptr<UnitBlockPolicy> policy, std::shared_ptr<const SliceTransform> prefix_extractor,
                      bool adds_keys, const BlockBasedTableOptions& table_options,
                      const rocksdb::TableBuilderOptions& builder_options, rocksdb::WritableFileWriter* file)
      : BlockBasedTableBuilder(table_options, builder_options, file),
        policy_(std::move(policy)),
        timestamp_bytes_(builder_options.internal_comparator.user_comparator()->timestamp_size()),
        prefix_extractor_(std::move(prefix_extractor)),
        adds_keys_(adds_keys) {}

  void Add(const Slice& internal_key, const Slice& value) override {
    if (policy_->units() != nullptr && rocksdb::ExtractValueType(internal_key) != rocksdb::kTypeRangeDeletion) {
      const Slice key = rocksdb::ExtractUserKeyAndStripTimestamp(internal_key, timestamp_bytes_);
      const size_t entry_bytes = internal_key.size() + value.size();
      if (adds_keys_) {
        policy_->Add(key, entry_bytes);
      }
      if (prefix_extractor_ != nullptr && prefix_extractor_->InDomain(key)) {
        policy_->AddPrefix(prefix_extractor_->Transform(key), entry_bytes);
      }
    }
    BlockBasedTableBuilder::Add(internal_key, value);
  }

 private:
  const std::shared_ptr<UnitBlockPolicy> policy_;
  const size_t timestamp_bytes_;
  const std::shared_ptr<const SliceTransform> prefix_extractor_;
  const bool adds_keys_;
};

}  // namespace

rocksdb::TableBuilder* NewElasticTableBuilder(const FiltersRef& filters, BlockBasedTableOptions options,
                                              const rocksdb::TableBuilderOptions& builder_options,
                                              rocksdb::WritableFileWriter* file) {
  std::shared_ptr<const SliceTransform> prefix_extractor;
  if (FiltersPrefixes(options)) {
    prefix_extractor = builder_options.moptions.prefix_extractor;
  }
  const bool adds_keys = options.whole_key_filtering || prefix_extractor == nullptr;
  auto policy = std::make_shared<UnitBlockPolicy>(filters, options, builder_options);
  options.filter_policy = policy;
  if (options.prepopulate_block_cache != BlockBasedTableOptions::PrepopulateBlockCache::kDisable &&
      options.block_cache != nullptr) {
    options.block_cache = std::make_shared<UnfilteredCache>(options.block_cache);
  }
  if (adds_keys) {
    release::GiveKeysToFilters(&options);
  }
  // Segments do what partitions are for, and a partitioned builder would ask for one block a partition.
  options.partition_filters = false;
  return new ElasticTableBuilder(std::move(policy), std::move(prefix_extractor), adds_keys, options, builder_options, file);
}

}  // namespace springbloom
