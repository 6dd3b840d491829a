#include "read/seek_outcomes.h"

#include <cstring>
#include <new>
#include <utility>

#include "db/dbformat.h"
#include "memory/arena.h"
#include "read/lookup_digest.h"
#include "read/unit_table.h"

namespace springbloom {

using rocksdb::InternalIterator;
using rocksdb::Slice;
using rocksdb::SliceTransform;

InternalIterator* SeekOutcomes::Of(InternalIterator* stock, rocksdb::Arena* arena, const PrefixFilter& filter,
                                   const SliceTransform* prefix_extractor) {
  const size_t bytes = sizeof(SeekOutcomes);
  void* const place = arena == nullptr ? ::operator new(bytes) : arena->AllocateAligned(bytes);
  return new (place) SeekOutcomes(stock, arena != nullptr, filter, prefix_extractor);
}

SeekOutcomes::SeekOutcomes(InternalIterator* stock, bool in_arena, const PrefixFilter& filter,
                           const SliceTransform* prefix_extractor)
    : ForwardingIterator(stock),
      in_arena_(in_arena),
      timestamp_bytes_(filter.Units().Family().comparator->timestamp_size()),
      filter_(filter),
      extractor_(filter.ExtractorOr(prefix_extractor)) {}

SeekOutcomes::~SeekOutcomes() {
  if (in_arena_) {
    Inner().~InternalIteratorBase();
  } else {
    delete &Inner();
  }
}

void SeekOutcomes::Seek(const Slice& target) {
  PrefixFilter::ForgetQuestion();
  Inner().Seek(target);
  Tell(target);
}

void SeekOutcomes::SeekForPrev(const Slice& target) {
  PrefixFilter::ForgetQuestion();
  Inner().SeekForPrev(target);
  Tell(target);
}

std::optional<sb_batch_key> SeekOutcomes::Asked(const Slice& target) {
  std::optional<sb_batch_key> waiting = std::exchange(waiting_, std::nullopt);
  if (const sb_batch_key* const asked = filter_.Question()) {
    return *asked;
  }
  const Slice key = rocksdb::ExtractUserKeyAndStripTimestamp(target, timestamp_bytes_);
  if (!waiting || !extractor_->InDomain(key)) {
    return std::nullopt;
  }
  const Slice prefix = extractor_->Transform(key);
  const sb_digest digest = LookupDigest(prefix, filter_.Units().Family());
  if (std::memcmp(&digest, &waiting->digest, sizeof(digest)) != 0) {
    return std::nullopt;  // it is another seek
  }
  waiting->key = Bytes(prefix);
  return waiting;
}

void SeekOutcomes::Tell(const Slice& target) {
  const std::optional<sb_batch_key> asked = Asked(target);
  if (!asked) {
    return;  // it was not asked, or it rejected the prefix
  }
  const rocksdb::Status status = Inner().status();
  if (!status.ok()) {
    if (status.IsTryAgain()) {
      waiting_ = asked;
    } else if (status.IsIncomplete()) {
      filter_.Units().Record(asked->segment, SB_NOT_READ);
    }
    return;
  }
  bool is_found = false;
  if (Inner().Valid()) {
    const Slice key = rocksdb::ExtractUserKeyAndStripTimestamp(Inner().key(), timestamp_bytes_);
    is_found = extractor_->InDomain(key) && extractor_->Transform(key) == ToSlice(asked->key);
  }
  filter_.Units().Record(asked->segment, is_found ? SB_FOUND : SB_MISSING);
}

}  // namespace springbloom
