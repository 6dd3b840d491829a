// A table reader that answers everything but lookups as another one does.
#pragma once

#include <vector>

#include "rocksdb_release.h"
#include "table/multiget_context.h"

namespace springbloom {

// `Self` has a function Inner that gives the other one. Ten of these have bodies in TableReader, so that a forgotten one would compile.
template <typename Self>
class ForwardingTableReader : public release::ForwardingTableReader<Self> {
  using release::ForwardingTableReader<Self>::Other;

 public:
  using typename rocksdb::TableReader::Anchor;

  rocksdb::InternalIterator* NewIterator(const rocksdb::ReadOptions& read_options,
                                         const rocksdb::SliceTransform* prefix_extractor, rocksdb::Arena* arena,
                                         bool skip_filters, rocksdb::TableReaderCaller caller, size_t compaction_readahead_size,
                                         bool allow_unprepared_value) override {
    return Other().NewIterator(read_options, prefix_extractor, arena, skip_filters, caller, compaction_readahead_size,
                               allow_unprepared_value);
  }
  rocksdb::FragmentedRangeTombstoneIterator* NewRangeTombstoneIterator(const rocksdb::ReadOptions& read_options) override {
    return Other().NewRangeTombstoneIterator(read_options);
  }
  rocksdb::FragmentedRangeTombstoneIterator* NewRangeTombstoneIterator(rocksdb::SequenceNumber read_seqno,
                                                                       const rocksdb::Slice* timestamp) override {
    return Other().NewRangeTombstoneIterator(read_seqno, timestamp);
  }
  uint64_t ApproximateOffsetOf(const rocksdb::ReadOptions& read_options, const rocksdb::Slice& key,
                               rocksdb::TableReaderCaller caller) override {
    return Other().ApproximateOffsetOf(read_options, key, caller);
  }
  uint64_t ApproximateSize(const rocksdb::ReadOptions& read_options, const rocksdb::Slice& start, const rocksdb::Slice& end,
                           rocksdb::TableReaderCaller caller) override {
    return Other().ApproximateSize(read_options, start, end, caller);
  }
  rocksdb::Status ApproximateKeyAnchors(const rocksdb::ReadOptions& read_options, std::vector<Anchor>& anchors) override {
    return Other().ApproximateKeyAnchors(read_options, anchors);
  }
  void SetupForCompaction() override { Other().SetupForCompaction(); }
  std::shared_ptr<const rocksdb::TableProperties> GetTableProperties() const override { return Other().GetTableProperties(); }
  void Prepare(const rocksdb::Slice& target) override { Other().Prepare(target); }
  size_t ApproximateMemoryUsage() const override { return Other().ApproximateMemoryUsage(); }
  rocksdb::Status Prefetch(const rocksdb::ReadOptions& read_options, const rocksdb::Slice* begin,
                           const rocksdb::Slice* end) override {
    return Other().Prefetch(read_options, begin, end);
  }
};

}  // namespace springbloom
