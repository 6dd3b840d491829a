// An iterator that tells the filter of prefixes how seeks ended which it let pass.
#pragma once

#include <optional>

#include "read/prefix_filter.h"
#include "rocksdb/options.h"
#include "rocksdb/slice_transform.h"
#include "table/internal_iterator.h"

namespace springbloom {

// Forwards to the stock reader's iterator, and looks at where a seek left it.
class SeekOutcomes final : public release::ForwardingIterator {
 public:
  // What a prefix filter of the table would be asked for: nothing by iterators that look for no prefix.
  static bool AreOf(const rocksdb::ReadOptions& read_options, const rocksdb::SliceTransform* prefix_extractor,
                    bool skip_filters) {
    const bool looks_for_any =
        read_options.total_order_seek && !read_options.auto_prefix_mode && !read_options.prefix_same_as_start;
    return !skip_filters && !looks_for_any && prefix_extractor != nullptr;
  }
  // `stock` is owned from here on; both are in the arena, if there is one.
  static rocksdb::InternalIterator* Of(rocksdb::InternalIterator* stock, rocksdb::Arena* arena, const PrefixFilter& filter,
                                       const rocksdb::SliceTransform* prefix_extractor);

  SeekOutcomes(rocksdb::InternalIterator* stock, bool in_arena, const PrefixFilter& filter,
               const rocksdb::SliceTransform* prefix_extractor);
  ~SeekOutcomes() override;

  void Seek(const rocksdb::Slice& target) override;
  void SeekForPrev(const rocksdb::Slice& target) override;

 private:
  // What the filter was asked for this seek, and let pass.
  std::optional<sb_batch_key> Asked(const rocksdb::Slice& target);
  void Tell(const rocksdb::Slice& target);

  const bool in_arena_;
  const size_t timestamp_bytes_;
  const PrefixFilter& filter_;
  const rocksdb::SliceTransform* const extractor_;
  // What was asked by a seek whose block is still being read (async_io): the same seek is made once more, and asks nothing. Its key is gone
  // by then.
  std::optional<sb_batch_key> waiting_;
};

}  // namespace springbloom
