// A table reader that answers everything but lookups as another one does.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "table/multiget_context.h"
#include "table/table_reader.h"

namespace springbloom {

// Ten of these have bodies in TableReader, so that a forgotten one would compile.
class ForwardingTableReader : public rocksdb::TableReader {
 public:
  ~ForwardingTableReader() override { delete inner_.load(std::memory_order_acquire); }
  rocksdb::InternalIterator* NewIterator(const rocksdb::ReadOptions& read_options,
                                         const rocksdb::SliceTransform* prefix_extractor, rocksdb::Arena* arena,
                                         bool skip_filters, rocksdb::TableReaderCaller caller, size_t compaction_readahead_size,
                                         bool allow_unprepared_value) override {
    return Inner().NewIterator(read_options, prefix_extractor, arena, skip_filters, caller, compaction_readahead_size,
                               allow_unprepared_value);
  }
  rocksdb::FragmentedRangeTombstoneIterator* NewRangeTombstoneIterator(const rocksdb::ReadOptions& read_options) override {
    return Inner().NewRangeTombstoneIterator(read_options);
  }
  rocksdb::FragmentedRangeTombstoneIterator* NewRangeTombstoneIterator(rocksdb::SequenceNumber read_seqno,
                                                                       const rocksdb::Slice* timestamp) override {
    return Inner().NewRangeTombstoneIterator(read_seqno, timestamp);
  }
  uint64_t ApproximateOffsetOf(const rocksdb::ReadOptions& read_options, const rocksdb::Slice& key,
                               rocksdb::TableReaderCaller caller) override {
    return Inner().ApproximateOffsetOf(read_options, key, caller);
  }
  uint64_t ApproximateSize(const rocksdb::ReadOptions& read_options, const rocksdb::Slice& start, const rocksdb::Slice& end,
                           rocksdb::TableReaderCaller caller) override {
    return Inner().ApproximateSize(read_options, start, end, caller);
  }
  rocksdb::Status ApproximateKeyAnchors(const rocksdb::ReadOptions& read_options, std::vector<Anchor>& anchors) override {
    return Inner().ApproximateKeyAnchors(read_options, anchors);
  }
  void SetupForCompaction() override { Inner().SetupForCompaction(); }
  std::shared_ptr<const rocksdb::TableProperties> GetTableProperties() const override { return Inner().GetTableProperties(); }
  void Prepare(const rocksdb::Slice& target) override { Inner().Prepare(target); }
  size_t ApproximateMemoryUsage() const override { return Inner().ApproximateMemoryUsage(); }
  rocksdb::Status Prefetch(const rocksdb::ReadOptions& read_options, const rocksdb::Slice* begin,
                           const rocksdb::Slice* end) override {
    return Inner().Prefetch(read_options, begin, end);
  }
  rocksdb::Status DumpTable(rocksdb::WritableFile* out_file, bool show_sequence_number_type) override {
    return Inner().DumpTable(out_file, show_sequence_number_type);
  }
  rocksdb::Status VerifyChecksum(const rocksdb::ReadOptions& read_options, rocksdb::TableReaderCaller caller,
                                 bool meta_blocks_only) override {
    return Inner().VerifyChecksum(read_options, caller, meta_blocks_only);
  }
  void MarkObsolete(uint32_t uncache_aggressiveness) override { Inner().MarkObsolete(uncache_aggressiveness); }

 protected:
  explicit ForwardingTableReader(std::unique_ptr<rocksdb::TableReader> inner) : inner_(inner.release()) {}

  rocksdb::TableReader& Inner() const { return *inner_.load(std::memory_order_acquire); }
  // Puts another reader, which `make` makes of this one, in its place. Lookups may go on in either.
  template <typename Make>
  void Replace(Make make) noexcept {
    inner_.store(make(std::unique_ptr<rocksdb::TableReader>(inner_.load(std::memory_order_acquire))).release(),
                 std::memory_order_release);
  }

 private:
  // Owned. Not a unique_ptr, because a lookup may read it while it is replaced.
  std::atomic<rocksdb::TableReader*> inner_;
};

}  // namespace springbloom
