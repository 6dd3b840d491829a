// The whole index of a table in memory: read from its file, and asked by stock RocksDB.
#pragma once

#include <memory>

#include "abi.h"
#include "options/cf_options.h"
#include "rocksdb_release.h"
#include "table/block_based/block_based_table_reader.h"

namespace springbloom {

// Takes an entry of an index.
using TakeIndexEntry = void (*)(void* context, const sb_index_entry* entry) noexcept;

// Whether tables with these options have such an index in the block cache, and not pinned.
bool ComesAndGoes(const rocksdb::BlockBasedTableOptions& options, rocksdb::BlockBasedTableOptions::IndexType type);

// Bytes of the table's index in memory, about. 0 where the stock one is in memory anyway, or in a form that is not packed.
uint64_t WholeIndexBytes(const rocksdb::BlockBasedTable::Rep& table);

// Reads the entries of a table's index: first the index block, then all partitions together. Uses the file and what `options` has, and no
// comparator. False where something is damaged or odd: stock code will meet it, and report it.
bool ReadWholeIndex(const rocksdb::BlockBasedTable::Rep& table, const rocksdb::ImmutableOptions& options, void* context,
                    TakeIndexEntry take);

// Answers from the whole index while that is resident, and else as the stock index reader, which it owns.
class WholeIndexReader final : public release::ForwardingIndexReader {
 public:
  // Takes the place of the index reader of `stock`, an open table. `units` are its units, which have the index.
  static void InstallInto(rocksdb::TableReader* stock, const sb_table* units);
  // The one that was installed.
  static WholeIndexReader* Of(const rocksdb::TableReader& stock);

  WholeIndexReader(std::unique_ptr<IndexReader> stock, const sb_table* units)
      : ForwardingIndexReader(std::move(stock)), units_(units) {}

  rocksdb::InternalIteratorBase<rocksdb::IndexValue>* NewIterator(const rocksdb::ReadOptions& read_options,
                                                                  bool disable_prefix_seek, rocksdb::IndexBlockIter* iter,
                                                                  rocksdb::GetContext* get_context,
                                                                  rocksdb::BlockCacheLookupContext* lookup_context) override;
  size_t ApproximateMemoryUsage() const override { return sizeof(*this) + Inner().ApproximateMemoryUsage(); }

  // The units are closed.
  void Close() { units_ = nullptr; }

 private:
  const sb_table* units_;
};

// The budget pays for as much for the place of an index (HOST_BYTES).
static_assert(sizeof(WholeIndexReader) + 8 <= 32);

}  // namespace springbloom
