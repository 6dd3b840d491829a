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

namespace {

// The extractor whose prefixes stock code asks for.
const SliceTransform* ExtractorOf(const rocksdb::TableReader& stock, const SliceTransform* given) {
  const SliceTransform* own = RepOf(stock).table_prefix_extractor.get();
  return own != nullptr ? own : given;
}

// Whether a key begins with its prefix. RocksDB's own extractors do that.
bool TakesBeginnings(const SliceTransform& extractor) {
  return std::strcmp(extractor.Name(), "rocksdb.FixedPrefix") == 0 || std::strcmp(extractor.Name(), "rocksdb.CappedPrefix") == 0;
}

}  // namespace

InternalIterator* SeekOutcomes::Of(InternalIterator* stock, rocksdb::Arena* arena, const PrefixFilter& filter,
                                   const rocksdb::ReadOptions& read_options, const SliceTransform* prefix_extractor,
                                   rocksdb::SequenceNumber sees_all_from) {
  if (arena == nullptr) {
    return new SeekOutcomes(stock, /*in_arena=*/false, filter, read_options, prefix_extractor, sees_all_from);
  }
  return new (arena->AllocateAligned(sizeof(SeekOutcomes)))
      SeekOutcomes(stock, /*in_arena=*/true, filter, read_options, prefix_extractor, sees_all_from);
}

SeekOutcomes::SeekOutcomes(InternalIterator* stock, bool in_arena, const PrefixFilter& filter,
                           const rocksdb::ReadOptions& read_options, const SliceTransform* prefix_extractor,
                           rocksdb::SequenceNumber sees_all_from)
    : ForwardingIterator(stock),
      in_arena_(in_arena),
      reads_all_(read_options.read_tier == rocksdb::kReadAllTier),
      prefix_is_first_(filter.Units().Family().comparator == rocksdb::BytewiseComparator() &&
                       TakesBeginnings(*ExtractorOf(filter.Inner(), prefix_extractor))),
      upper_bound_(read_options.iterate_upper_bound),
      timestamp_bytes_(filter.Units().Family().comparator->timestamp_size()),
      filter_(filter),
      extractor_(ExtractorOf(filter.Inner(), prefix_extractor)),
      sees_all_from_(sees_all_from) {}

SeekOutcomes::~SeekOutcomes() {
  if (in_arena_) {
    Inner().~InternalIteratorBase();
  } else {
    delete &Inner();
  }
}

void SeekOutcomes::Seek(const Slice& target) {
  PrefixFilter::ForgetQuestion(/*is_forward=*/true);
  Inner().Seek(target);
  Tell(target, /*is_forward=*/true);
}

void SeekOutcomes::SeekForPrev(const Slice& target) {
  PrefixFilter::ForgetQuestion();
  Inner().SeekForPrev(target);
  Tell(target, /*is_forward=*/false);
}

bool SeekOutcomes::ProvesAbsence(const Slice& target, const Slice& prefix) const {
  // An old snapshot does not see a newer entry of which the prefix is the whole key. RocksDB steps over versions of a key by a seek to its
  // oldest one, which is of another type: at the same number an entry comes before it.
  return reads_all_ && prefix_is_first_ && rocksdb::ExtractValueType(target) == rocksdb::kValueTypeForSeek &&
         rocksdb::GetInternalKeySeqno(target) >= sees_all_from_ &&
         rocksdb::ExtractUserKeyAndStripTimestamp(target, timestamp_bytes_) == prefix &&
         // All that begins with the prefix is on the same side of a bound that does not.
         (upper_bound_ == nullptr || (upper_bound_->compare(prefix) > 0 && !upper_bound_->starts_with(prefix)));
}

bool SeekOutcomes::HasPrefix(const Slice& key, const Slice& prefix, bool is_further) const {
  return is_further ? key.starts_with(prefix) : extractor_->InDomain(key) && extractor_->Transform(key) == prefix;
}

std::optional<PrefixFilter::Asked> SeekOutcomes::Asked(const Slice& target) {
  std::optional<PrefixFilter::Asked> waiting = std::exchange(waiting_, std::nullopt);
  if (const PrefixFilter::Asked* const asked = filter_.Question()) {
    return *asked;
  }
  const Slice key = rocksdb::ExtractUserKeyAndStripTimestamp(target, timestamp_bytes_);
  if (!waiting || (waiting->is_further ? key.size() < waiting->sought.key.size : !extractor_->InDomain(key))) {
    return std::nullopt;
  }
  const Slice prefix = waiting->is_further ? Slice(key.data(), waiting->sought.key.size) : extractor_->Transform(key);
  const sb_digest digest = LookupDigest(prefix, filter_.Units().Family());
  if (std::memcmp(&digest, &waiting->sought.digest, sizeof(digest)) != 0) {
    return std::nullopt;  // it is another seek
  }
  waiting->sought.key = Bytes(prefix);
  return waiting;
}

void SeekOutcomes::Tell(const Slice& target, bool is_forward) {
  const std::optional<PrefixFilter::Asked> asked = Asked(target);
  if (!asked) {
    return;  // it was not asked, or it rejected the prefix
  }
  const sb_batch_key& sought = asked->sought;
  const rocksdb::Status status = Inner().status();
  if (!status.ok()) {
    if (status.IsTryAgain()) {
      waiting_ = asked;
    } else if (status.IsIncomplete()) {
      filter_.Units().RecordNotRead(sought.segment);
    }
    return;
  }
  const Slice prefix = ToSlice(sought.key);
  // A key may begin with a prefix and have another one: a longer one, where the extractor caps it. What is absent is asked for as both.
  bool begins_with_it = false;
  if (Inner().Valid()) {
    const Slice found = rocksdb::ExtractUserKeyAndStripTimestamp(Inner().key(), timestamp_bytes_);
    if (HasPrefix(found, prefix, asked->is_further)) {
      filter_.Units().RecordTruePositive(sought.segment);
      return;
    }
    begins_with_it = found.starts_with(prefix);
  }
  filter_.Units().RecordWastedRead(sought, is_forward && !begins_with_it && ProvesAbsence(target, prefix));
}

}  // namespace springbloom
