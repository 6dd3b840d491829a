// The filter of a table's prefixes, in the place where the stock reader looks for its own.
#pragma once

#include <memory>

#include "read/table_filter.h"
#include "rocksdb_release.h"

namespace springbloom {

// Stock code asks it: which prefix of which extractor may be asked for, with which bounds and key domains, is RocksDB's own decision.
// Lookups of keys that ask it with a whole key were filtered before they came to the stock reader.
class PrefixFilter final : public release::PrefixBlockReader {
 public:
  // `stock`: an open table that has no filter. It owns what is installed. `units`: over its prefixes, given away.
  static void InstallInto(rocksdb::TableReader* stock, const ColumnFamilyRef& family, const sb_table* units);
  // The one that was installed into the stock reader of a table with filter units; null if none was.
  static PrefixFilter* Of(const rocksdb::TableReader& stock);

  PrefixFilter(const rocksdb::BlockBasedTable* stock, const ColumnFamilyRef& family, const sb_table* units)
      : PrefixBlockReader(stock), units_(family) {
    units_.Set(units);
  }

  bool HasUnits() const { return units_.IsOpen(); }
  // The extractor whose prefixes stock code asks for.
  const rocksdb::SliceTransform* ExtractorOr(const rocksdb::SliceTransform* given) const {
    const auto& own = table()->get_rep()->table_prefix_extractor;
    return own != nullptr ? own.get() : given;
  }
  // Nobody asks it from here on. The stock reader, which owns it, may live for longer.
  void Close(bool obsolete);

  bool MayHold(const rocksdb::Slice& prefix) override;
  size_t ApproximateMemoryUsage() const override { return sizeof(*this) + (HasUnits() ? units_.MemoryBytes() : 0); }

  // The prefix for which this thread asked since the last call of ForgetQuestion, if it asked this filter, which let it pass. It is a part
  // of the key that was sought.
  static void ForgetQuestion();
  const sb_batch_key* Question() const;
  const TableFilter& Units() const { return units_; }

 private:
  TableFilter units_;
};

// The budget pays for as much for each opened table (reader_bytes).
static_assert(sizeof(PrefixFilter) + 8 <= 112);

}  // namespace springbloom
