// Writes a standard block-based table and its filter units.
#pragma once

#include <memory>

#include "owners.h"
#include "table/block_based/block_based_table_builder.h"
#include "write/unit_block_policy.h"

namespace springbloom {

// Holds what must exist before the stock builder is constructed.
struct BuilderParts {
  BuilderParts(const FiltersRef& e, const rocksdb::BlockBasedTableOptions& table_options,
               const rocksdb::TableBuilderOptions& options)
      : policy(std::make_shared<UnitBlockPolicy>(e, table_options, options)) {}

  std::shared_ptr<UnitBlockPolicy> policy;
};

// The stock builder with one method overridden: everything else that RocksDB asks of a builder is answered by stock code.
class ElasticTableBuilder final : private BuilderParts, public rocksdb::BlockBasedTableBuilder {
 public:
  ElasticTableBuilder(const FiltersRef& filters, const rocksdb::BlockBasedTableOptions& table_options,
                      const rocksdb::TableBuilderOptions& builder_options, rocksdb::WritableFileWriter* file);

  void Add(const rocksdb::Slice& internal_key, const rocksdb::Slice& value) override;

 private:
  const size_t timestamp_bytes_;
  // Null: the table gets no units over prefixes.
  const std::shared_ptr<const rocksdb::SliceTransform> prefix_extractor_;
  // Without, a table with a prefix extractor gets units over prefixes alone.
  const bool adds_keys_;
};

}  // namespace springbloom
