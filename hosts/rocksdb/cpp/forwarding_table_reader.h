// A table reader that answers everything but lookups as the stock reader does.
#pragma once

#include <memory>
#include <vector>

#include "table/multiget_context.h"
#include "table/table_reader.h"

namespace springbloom {

// Ten of these have bodies in TableReader, so that a forgotten one would compile.
class ForwardingTableReader : public rocksdb::TableReader {
 public:
  rocksdb::InternalIterator* NewIterator(const rocksdb::ReadOptions& read_options,
                                         const rocksdb::SliceTransform* prefix_extractor, rocksdb::Arena* arena,
                                         bool skip_filters, rocksdb::TableReaderCaller caller,
                                         size_t compaction_readahead_size, bool allow_unprepared_value) override {
    return stock_.NewIterator(read_options, prefix_extractor, arena, skip_filters, caller, compaction_readahead_size,
                              allow_unprepared_value);
  }
  rocksdb::FragmentedRangeTombstoneIterator* NewRangeTombstoneIterator(
      const rocksdb::ReadOptions& read_options) override {
    return stock_.NewRangeTombstoneIterator(read_options);
  }
  rocksdb::FragmentedRangeTombstoneIterator* NewRangeTombstoneIterator(rocksdb::SequenceNumber read_seqno,
                                                                       const rocksdb::Slice* timestamp) override {
    return stock_.NewRangeTombstoneIterator(read_seqno, timestamp);
  }
  uint64_t ApproximateOffsetOf(const rocksdb::ReadOptions& read_options, const rocksdb::Slice& key,
                               rocksdb::TableReaderCaller caller) override {
    return stock_.ApproximateOffsetOf(read_options, key, caller);
  }
  uint64_t ApproximateSize(const rocksdb::ReadOptions& read_options, const rocksdb::Slice& start,
                           const rocksdb::Slice& end, rocksdb::TableReaderCaller caller) override {
    return stock_.ApproximateSize(read_options, start, end, caller);
  }
  rocksdb::Status ApproximateKeyAnchors(const rocksdb::ReadOptions& read_options,
                                        std::vector<Anchor>& anchors) override {
    return stock_.ApproximateKeyAnchors(read_options, anchors);
  }
  void SetupForCompaction() override { stock_.SetupForCompaction(); }
  std::shared_ptr<const rocksdb::TableProperties> GetTableProperties() const override {
    return stock_.GetTableProperties();
  }
  void Prepare(const rocksdb::Slice& target) override { stock_.Prepare(target); }
  size_t ApproximateMemoryUsage() const override { return stock_.ApproximateMemoryUsage(); }
  rocksdb::Status Prefetch(const rocksdb::ReadOptions& read_options, const rocksdb::Slice* begin,
                           const rocksdb::Slice* end) override {
    return stock_.Prefetch(read_options, begin, end);
  }
  rocksdb::Status DumpTable(rocksdb::WritableFile* out_file, bool show_sequence_number_type) override {
    return stock_.DumpTable(out_file, show_sequence_number_type);
  }
  rocksdb::Status VerifyChecksum(const rocksdb::ReadOptions& read_options, rocksdb::TableReaderCaller caller,
                                 bool meta_blocks_only) override {
    return stock_.VerifyChecksum(read_options, caller, meta_blocks_only);
  }
  void MarkObsolete(uint32_t uncache_aggressiveness) override { stock_.MarkObsolete(uncache_aggressiveness); }

 protected:
  // `stock` is the subclass's to keep alive.
  explicit ForwardingTableReader(rocksdb::TableReader& stock) : stock_(stock) {}

  rocksdb::TableReader& stock_;
};

}  // namespace springbloom
