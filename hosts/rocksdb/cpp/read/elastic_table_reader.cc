#include "read/elastic_table_reader.h"

#include <array>

#include "db/dbformat.h"
#include "read/lookup_digest.h"
#include "monitoring/perf_context_imp.h"
#include "monitoring/statistics_impl.h"
#include "options/cf_options.h"
#include "read/seek_outcomes.h"
#include "read/whole_index.h"
#include "util/coro_utils.h"

namespace springbloom {

using rocksdb::get_perf_context;
using rocksdb::GetContext;
using rocksdb::MultiGetContext;
using rocksdb::PerfContextByLevel;
using rocksdb::PerfLevel;
using rocksdb::ReadOptions;
using rocksdb::Slice;
using rocksdb::SliceTransform;
using rocksdb::Status;
// The perf macros name these without their namespace.
using rocksdb::perf_context;
using rocksdb::perf_level;

ElasticTableReader::ElasticTableReader(std::unique_ptr<rocksdb::TableReader> stock, ColumnFamilyRef family, int level)
    : ForwardingTableReader(stock.get()),
      file_(TableFile::Of(std::move(stock), family->objects)),
      units_(std::move(family)),
      has_range_tombstones_(RepOf(Inner()).fragmented_range_dels != nullptr),
      level_(level) {}

void ElasticTableReader::Open(int contents, const UnitTable::Head& head) {
  if (head.why == SB_NO_SUCH_UNITS) {
    return;
  }
  const rocksdb::BlockBasedTable::Rep& stock = RepOf(Inner());
  const ColumnFamily& family = units_.Family();
  sb_table_spec spec{};
  spec.path = Bytes(stock.file->file_name());
  spec.file_number = stock.table_properties->orig_file_number;
  spec.level = stock.level;
  spec.contents = contents;
  spec.comparator = family.core_comparator;
  spec.family = Bytes(stock.table_properties->column_family_name);
  const bool may_have_index = contents == SB_KEYS && sb_filters_host_settings(family.filters.get())->has_indexes != 0;
  spec.index_bytes = may_have_index ? WholeIndexBytes(stock) : 0;
  const sb_head read{Bytes(head.bytes), head.block_offset, Bytes(stock.table_properties->db_session_id)};
  const sb_table* table = nullptr;
  const int why = sb_table_open(family.filters.get(), family.Handle(), &spec, head.why == SB_OPENED ? &read : nullptr, head.why,
                                file_->Share(), &table);
  if (contents == SB_PREFIXES) {
    PrefixFilter::InstallInto(&Inner(), units_.FamilyRef(), table);
  } else {
    units_.Set(table);
  }
  if (spec.index_bytes != 0 && table != nullptr) {
    WholeIndexReader::InstallInto(&Inner(), table);
    has_whole_index_ = true;
  }
  if (why == SB_NO_ROOM) {
    family.WarnOfNoRoom();
  }
}

ElasticTableReader::~ElasticTableReader() {
  const bool obsolete = obsolete_.load(std::memory_order_relaxed);
  // Nothing begins to read the file from here on.
  if (PrefixFilter* const prefixes = Prefixes()) {
    prefixes->Close(obsolete);
  }
  if (has_whole_index_) {
    WholeIndexReader::Of(Inner())->Close();
  }
  units_.Close(obsolete);
  if (file_->IsShared()) {
    // A read that is under way keeps the stock reader, which leaves the block cache alone in the end: the column family's options and
    // comparator, which it needs to clear that, may be gone by then.
    ForwardingTableReader::MarkObsolete(/*uncache_aggressiveness=*/0);
  }
  // Before the column family, with which the database may be closed.
  file_.reset();
}

void ElasticTableReader::MarkObsolete(uint32_t uncache_aggressiveness) {
  obsolete_.store(true, std::memory_order_relaxed);
  units_.StopWaiting();
  if (const PrefixFilter* const prefixes = Prefixes()) {
    prefixes->Units().StopWaiting();
  }
  ForwardingTableReader::MarkObsolete(uncache_aggressiveness);
}

void ElasticTableReader::CountAnswers(uint64_t rejected, uint64_t passed) const {
  if (rejected != 0) {
    RecordTick(Statistics(), rocksdb::BLOOM_FILTER_USEFUL, rejected);
    PERF_COUNTER_ADD(bloom_sst_miss_count, rejected);
    PERF_COUNTER_BY_LEVEL_ADD(bloom_filter_useful, rejected, level_);
  }
  if (passed != 0) {
    PERF_COUNTER_ADD(bloom_sst_hit_count, passed);
    if (!StockCounts()) {
      RecordTick(Statistics(), rocksdb::BLOOM_FILTER_FULL_POSITIVE, passed);
      PERF_COUNTER_BY_LEVEL_ADD(bloom_filter_full_positive, passed, level_);
    }
  }
}

void ElasticTableReader::CountBlockReads(uint64_t misses_before, const GetContext& after) const {
  if (const uint64_t reads = after.get_context_stats_.num_cache_miss - misses_before; reads != 0) {
    sb_filters_count(units_.Family().filters.get(), SB_BLOCK_READS, reads);
  }
}

void ElasticTableReader::RecordPassed(uint32_t segment, const ReadOptions& read_options, GetContext::GetState before,
                                      const Status& status, const GetContext& after) const {
  if (before != GetContext::kNotFound) {
    return;  // a further operand of a merge says nothing
  }
  if (status.IsIncomplete() && read_options.read_tier == rocksdb::kBlockCacheTier) {
    units_.Record(segment, SB_NOT_READ);
    return;
  }
  if (!status.ok()) {
    return;  // nor does a failed read
  }
  if (after.State() == GetContext::kNotFound) {
    units_.Record(segment, SB_MISSING);
    return;
  }
  units_.Record(segment, SB_FOUND);
  if (StockCounts()) {
    return;
  }
  RecordTick(Statistics(), rocksdb::BLOOM_FILTER_FULL_TRUE_POSITIVE);
  PERF_COUNTER_BY_LEVEL_ADD(bloom_filter_full_true_positive, 1, level_);
}

void ElasticTableReader::RecordPrefixPassed(GetContext::GetState before, const Status& status, const GetContext& after) const {
  const PrefixFilter* const prefixes = Prefixes();
  const sb_batch_key* const asked = prefixes == nullptr ? nullptr : prefixes->Question();
  if (asked == nullptr || before != GetContext::kNotFound || !status.ok()) {
    return;
  }
  prefixes->Units().Record(asked->segment, after.State() == GetContext::kNotFound ? SB_MISSING : SB_FOUND);
}

rocksdb::InternalIterator* ElasticTableReader::NewIterator(const ReadOptions& read_options,
                                                           const SliceTransform* prefix_extractor, rocksdb::Arena* arena,
                                                           bool skip_filters, rocksdb::TableReaderCaller caller,
                                                           size_t compaction_readahead_size, bool allow_unprepared_value) {
  rocksdb::InternalIterator* const iterator = Inner().NewIterator(read_options, prefix_extractor, arena, skip_filters, caller,
                                                                  compaction_readahead_size, allow_unprepared_value);
  const PrefixFilter* const prefixes = Prefixes();
  if (prefixes == nullptr || !SeekOutcomes::AreOf(read_options, prefix_extractor, skip_filters)) {
    if (caller == rocksdb::TableReaderCaller::kUserIterator) {
      sb_filters_count(units_.Family().filters.get(), SB_SOUGHT_TABLES, 1);
    }
    return iterator;
  }
  return SeekOutcomes::Of(iterator, arena, *prefixes, prefix_extractor);
}

bool ElasticTableReader::MayMatch(const Slice& internal_key, uint32_t* segment) const {
  const Slice key = rocksdb::ExtractUserKeyAndStripTimestamp(internal_key, TimestampBytes());
  const bool may_match = units_.MayMatch(units_.Family().core_comparator, LookupDigest(key, units_.Family()), key, segment);
  CountAnswers(/*rejected=*/may_match ? 0 : 1, /*passed=*/may_match ? 1 : 0);
  return may_match;
}

Status ElasticTableReader::Get(const ReadOptions& read_options, const Slice& internal_key, GetContext* get_context,
                               const SliceTransform* prefix_extractor, bool skip_filters) {
  const GetContext::GetState before = get_context->State();
  const uint64_t misses_before = get_context->get_context_stats_.num_cache_miss;
  const bool is_filtered = !skip_filters && HasUnits();
  uint32_t segment = 0;
  if (!is_filtered) {
    PrefixFilter::ForgetQuestion();
  } else if (!MayMatch(internal_key, &segment)) {
    return Verified(read_options, internal_key, get_context, prefix_extractor);
  }
  Status s = Inner().Get(read_options, internal_key, get_context, prefix_extractor, skip_filters);
  CountBlockReads(misses_before, *get_context);
  if (is_filtered) {
    RecordPassed(segment, read_options, before, s, *get_context);
  } else {
    RecordPrefixPassed(before, s, *get_context);
  }
  return s;
}

Status ElasticTableReader::Verified(const ReadOptions& read_options, const Slice& internal_key, GetContext* get_context,
                                    const SliceTransform* prefix_extractor) {
  // A further operand of a merge does not change the state, and a lookup of memory alone does not find out.
  if (!units_.Family().Verifies() || get_context->State() != GetContext::kNotFound ||
      read_options.read_tier == rocksdb::kBlockCacheTier) {
    return Status::OK();
  }
  const Status s = Inner().Get(read_options, internal_key, get_context, prefix_extractor, /*skip_filters=*/true);
  const bool was_there = get_context->State() != GetContext::kNotFound;
  if (was_there || s.ok()) {
    units_.Family().CountVerified(was_there, RepOf(Inner()).file->file_name());
  }
  // What fails to verify fails nothing else.
  return was_there ? s : Status::OK();
}

template <typename OnRejected>
void ElasticTableReader::SkipRejected(MultiGetContext::Range* range, BatchKeys* passed, bool counts,
                                      const OnRejected& on_rejected) const {
  size_t count = 0;
  for (auto key = range->begin(); key != range->end(); ++key) {
    const Slice user_key = rocksdb::StripTimestampFromUserKey(key->ukey_with_ts, TimestampBytes());
    (*passed)[count++] = {Bytes(user_key), BatchDigest(user_key, key.index(), units_.Family()), 0, 1};
  }
  units_.MayMatch(units_.Family().core_comparator, passed->data(), count);
  size_t kept = 0;
  size_t asked = 0;
  for (auto key = range->begin(); key != range->end(); ++key) {
    const sb_batch_key& sought = (*passed)[asked++];
    if (sought.may_match != 0) {
      (*passed)[kept++] = sought;
    } else {
      on_rejected(&*key);
      range->SkipKey(key);
    }
  }
  if (counts) {
    CountAnswers(/*rejected=*/count - kept, /*passed=*/kept);
  }
}

Status ElasticTableReader::MultiGetFilter(const ReadOptions& read_options, const SliceTransform* prefix_extractor,
                                          MultiGetContext::Range* range) {
  if (!HasUnits()) {
    return Inner().MultiGetFilter(read_options, prefix_extractor, range);
  }
  BatchKeys passed;
  SkipRejected(range, &passed, /*counts=*/true, [](rocksdb::KeyContext*) {});
  return Status::OK();
}

void ElasticTableReader::MultiGet(const ReadOptions& read_options, const MultiGetContext::Range* range,
                                  const SliceTransform* prefix_extractor, bool skip_filters) {
  // RocksDB with coroutines calls MultiGetFilter first, and then wants no filters: the units are asked once more, as the policy learns by
  // segment. That they let a key pass is recorded when it is known how that ended, and so once.
  const bool are_filtered = (!skip_filters || rocksdb::using_coroutines()) && HasUnits();
  MultiGetContext::Range passed(*range, range->begin(), range->end());
  BatchKeys sought;
  if (are_filtered) {
    SkipRejected(&passed, &sought, /*counts=*/!skip_filters, [&](rocksdb::KeyContext* key) {
      if (Status s = Verified(read_options, key->ikey, key->get_context, prefix_extractor); !s.ok()) {
        *key->s = std::move(s);
      }
    });
  }
  if (passed.empty()) {
    return;
  }
  struct Asked {
    rocksdb::KeyContext* key;
    GetContext::GetState before;
    uint64_t misses_before;
  };
  // A copy, because reading marks the keys that it finds as done in every range over the batch.
  std::array<Asked, MultiGetContext::MAX_BATCH_SIZE> asked;
  size_t count = 0;
  for (auto key = passed.begin(); key != passed.end(); ++key) {
    asked[count++] = {&*key, key->get_context->State(), key->get_context->get_context_stats_.num_cache_miss};
  }
  Inner().MultiGet(read_options, &passed, prefix_extractor, skip_filters);
  for (size_t i = 0; i < count; ++i) {
    const auto& [key, before, misses_before] = asked[i];
    CountBlockReads(misses_before, *key->get_context);
    if (are_filtered) {
      RecordPassed(sought[i].segment, read_options, before, *key->s, *key->get_context);
    }
  }
}

}  // namespace springbloom
