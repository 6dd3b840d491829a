// Looks a key up in one table file as RocksDB does, but without its database, filters and block cache, and counts the blocks.
#include "abi.h"
#include "db/merge_context.h"
#include "db/range_tombstone_fragmenter.h"
#include "options/cf_options.h"
#include "owners.h"
#include "rocksdb/comparator.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/table.h"
#include "rocksdb_release.h"
#include "table/get_context.h"
#include "utilities/merge_operators.h"

namespace {

using GetState = rocksdb::GetContext::GetState;
using rocksdb::SequenceNumber;
using rocksdb::Slice;
using rocksdb::Status;

springbloom_entry EntryOf(rocksdb::ValueType type) {
  switch (type) {
    case rocksdb::kTypeMerge:
      return SPRINGBLOOM_OPERAND;
    case rocksdb::kTypeDeletion:
    case rocksdb::kTypeSingleDeletion:
    case rocksdb::kTypeDeletionWithTimestamp:
      return SPRINGBLOOM_DELETION;
    default:
      return SPRINGBLOOM_VALUE;
  }
}

// What a lookup found that ended in this state; `log` lists the versions that it took, as a row cache keeps them.
void Tell(GetState state, const std::string& log, bool has_operands, bool is_range_deleted, springbloom_lookup* found) {
  if (!log.empty()) {
    found->newest = EntryOf(static_cast<rocksdb::ValueType>(log.front()));
  }
  const bool is_covered = state == GetState::kDeleted && !has_operands && found->newest != SPRINGBLOOM_DELETION;
  if (is_covered || (log.empty() && is_range_deleted)) {
    found->newest = SPRINGBLOOM_RANGE_DELETION;
  }
  found->ends_lookup = is_range_deleted || (state != GetState::kNotFound && state != GetState::kMerge) ? 1 : 0;
}

Status LookUp(const std::string& path, const Slice& key, bool reversed, springbloom_lookup* found) {
  rocksdb::Options options;
  options.comparator = reversed ? rocksdb::ReverseBytewiseComparator() : rocksdb::BytewiseComparator();
  rocksdb::BlockBasedTableOptions uncached;
  uncached.no_block_cache = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(uncached));
  const rocksdb::ImmutableOptions fixed(options);
  const rocksdb::MutableCFOptions changing{rocksdb::ColumnFamilyOptions(options)};
  const rocksdb::EnvOptions env_options(options);
  std::unique_ptr<rocksdb::RandomAccessFileReader> file;
  uint64_t file_bytes = 0;
  std::unique_ptr<rocksdb::TableReader> table;
  Status s = fixed.fs->GetFileSize(path, rocksdb::IOOptions(), &file_bytes, nullptr);
  if (s.ok()) {
    s = springbloom::release::OpenTableFile(fixed.fs, path, rocksdb::FileOptions(), &file);
  }
  if (s.ok()) {
    s = options.table_factory->NewTableReader(springbloom::release::OnItsOwn(fixed, changing, env_options), std::move(file),
                                              file_bytes, &table);
  }
  if (!s.ok()) {
    return s;
  }
  const rocksdb::ReadOptions read_options;
  SequenceNumber deleted_up_to = 0;
  const std::unique_ptr<rocksdb::FragmentedRangeTombstoneIterator> deletions(table->NewRangeTombstoneIterator(read_options));
  if (deletions != nullptr) {
    deleted_up_to = deletions->MaxCoveringTombstoneSeqnum(key);
  }
  // Nothing is merged, and a value in a blob file is not fetched. Stock code asks for an operator all the same.
  const std::shared_ptr<rocksdb::MergeOperator> merge_operator = rocksdb::MergeOperators::CreatePutOperator();
  rocksdb::MergeContext operands;
  rocksdb::PinnableSlice value;
  std::string log;
  rocksdb::GetContext lookup(options.comparator, merge_operator.get(), /*logger=*/nullptr, /*statistics=*/nullptr,
                             GetState::kNotFound, key, &value, /*columns=*/nullptr, /*value_found=*/nullptr, &operands,
                             /*do_merge=*/false, &deleted_up_to,
                             /*clock=*/nullptr);
  lookup.SetReplayLog(&log);
  const rocksdb::PerfLevel perf_level = rocksdb::GetPerfLevel();
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  const rocksdb::PerfContext& reads = *rocksdb::get_perf_context();
  const uint64_t all_before = reads.block_read_count;
  const uint64_t index_before = reads.index_block_read_count;
  // As of a lookup, which has a lower number than the separators that RocksDB shortens.
  const rocksdb::InternalKey newest(key, rocksdb::kMaxSequenceNumber - 1, rocksdb::kValueTypeForSeek);
  // There are no filters. Told to skip them, stock code would not look at the first keys in an index either.
  s = table->Get(read_options, newest.Encode(), &lookup, /*prefix_extractor=*/nullptr, /*skip_filters=*/false);
  // The reader holds an index, or the upper part of a partitioned one, as it would in a block cache.
  const uint64_t of_index = reads.index_block_read_count - index_before;
  found->index_blocks = 1 + of_index;
  found->data_blocks = reads.block_read_count - all_before - of_index;
  rocksdb::SetPerfLevel(perf_level);
  Tell(lookup.State(), log, operands.GetNumOperands() > 0, deleted_up_to != 0, found);
  return s;
}

}  // namespace

extern "C" int springbloom_look_up(sb_bytes path, sb_bytes key, bool reversed, springbloom_lookup* found, char* error,
                                   size_t error_size) noexcept {
  *found = {};
  const Status s = LookUp(springbloom::ToSlice(path).ToString(), springbloom::ToSlice(key), reversed, found);
  return springbloom::Told(s, error, error_size);
}
