// Looks a key up in one table file as RocksDB does, but without its database, filters and block cache, and counts the blocks.
#include "abi.h"
#include "db/range_tombstone_fragmenter.h"
#include "options/cf_options.h"
#include "owners.h"
#include "rocksdb/comparator.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/table.h"
#include "rocksdb_release.h"

namespace {

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

// Takes the versions of the key, which are newer than `deleted_up_to`, until one of them is no operand of a merge.
Status TakeVersions(rocksdb::InternalIterator& versions, const rocksdb::Comparator& order, const Slice& key,
                    SequenceNumber deleted_up_to, springbloom_lookup* found) {
  for (; versions.Valid(); versions.Next()) {
    rocksdb::ParsedInternalKey version;
    if (const Status s = rocksdb::ParseInternalKey(versions.key(), &version, /*log_err_key=*/false); !s.ok()) {
      return s;
    }
    if (order.Compare(version.user_key, key) != 0 || version.sequence < deleted_up_to) {
      break;
    }
    const springbloom_entry entry = EntryOf(version.type);
    if (found->newest == SPRINGBLOOM_NOTHING) {
      found->newest = entry;
    }
    if (entry != SPRINGBLOOM_OPERAND) {
      found->ends_lookup = 1;
      break;  // the next version may be in another block
    }
  }
  if (deleted_up_to != 0) {
    found->newest = found->newest == SPRINGBLOOM_NOTHING ? SPRINGBLOOM_RANGE_DELETION : found->newest;
    found->ends_lookup = 1;
  }
  return versions.status();
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
  const std::unique_ptr<rocksdb::InternalIterator> versions(table->NewIterator(read_options, /*prefix_extractor=*/nullptr,
                                                                               /*arena=*/nullptr, /*skip_filters=*/true,
                                                                               rocksdb::TableReaderCaller::kSSTFileReader));
  const rocksdb::PerfLevel perf_level = rocksdb::GetPerfLevel();
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  const rocksdb::PerfContext& reads = *rocksdb::get_perf_context();
  const uint64_t all_before = reads.block_read_count;
  const uint64_t index_before = reads.index_block_read_count;
  versions->Seek(rocksdb::InternalKey(key, rocksdb::kMaxSequenceNumber, rocksdb::kValueTypeForSeek).Encode());
  s = TakeVersions(*versions, *options.comparator, key, deleted_up_to, found);
  // The reader holds an index, or the upper part of a partitioned one, as it would in a block cache.
  const uint64_t of_index = reads.index_block_read_count - index_before;
  found->index_blocks = 1 + of_index;
  found->data_blocks = reads.block_read_count - all_before - of_index;
  rocksdb::SetPerfLevel(perf_level);
  return s;
}

}  // namespace

extern "C" int springbloom_look_up(sb_bytes path, sb_bytes key, bool reversed, springbloom_lookup* found, char* error,
                                   size_t error_size) noexcept {
  *found = {};
  const Status s = LookUp(springbloom::ToSlice(path).ToString(), springbloom::ToSlice(key), reversed, found);
  return springbloom::Told(s, error, error_size);
}
