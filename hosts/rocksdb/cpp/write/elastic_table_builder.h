// Writes standard block-based tables and their filter units.
#pragma once

#include "owners.h"
#include "rocksdb/table.h"
#include "table/table_builder.h"

namespace springbloom {

// Part of the on-disk format: the block's name in the metaindex is "fullfilter." + this.
inline constexpr const char* kUnitBlockPolicyName = "springbloom.FilterUnits";
inline constexpr const char* kUnitBlockMetaName = "fullfilter.springbloom.FilterUnits";

// Whether tables get units over prefixes, and iterators ask them.
//
// Of an iterator without total_order_seek RocksDB promises the keys with the prefix that it sought, but as long as no filter knows
// prefixes it finds the others, too, and programs rely on that. So it takes options that have asked for filters over prefixes: by a filter
// policy, as with stock tables.
inline bool FiltersPrefixes(const rocksdb::BlockBasedTableOptions& options) { return options.filter_policy != nullptr; }

// Owned by the receiver.
rocksdb::TableBuilder* NewElasticTableBuilder(const FiltersRef& filters, rocksdb::BlockBasedTableOptions table_options,
                                              const rocksdb::TableBuilderOptions& builder_options,
                                              rocksdb::WritableFileWriter* file);

}  // namespace springbloom
