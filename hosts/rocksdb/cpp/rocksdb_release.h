// All that differs between the supported releases of RocksDB. The rest of the host is written for the newest one, and takes from here what
// an older one lacks or calls otherwise. docs/guide.md says what works less well where.
#pragma once

#include <memory>

#include "db/log_reader.h"
#include "file/file_prefetch_buffer.h"
#include "file/file_util.h"
#include "file/random_access_file_reader.h"
#include "monitoring/statistics_impl.h"
#include "rocksdb/file_checksum.h"
#include "rocksdb/file_system.h"
#include "rocksdb/version.h"
#include "table/block_based/block.h"
#include "table/block_based/block_based_table_factory.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/block_based/filter_block_reader_common.h"
#include "table/block_based/filter_policy_internal.h"
#include "table/block_based/parsed_full_filter_block.h"
#include "table/block_fetcher.h"
#include "table/internal_iterator.h"
#include "table/persistent_cache_options.h"
#include "table/table_builder.h"
#include "table/table_reader.h"

#define SPRINGBLOOM_ROCKSDB (ROCKSDB_MAJOR * 10000 + ROCKSDB_MINOR * 100 + ROCKSDB_PATCH)
// The internal headers change without notice. scripts/check-releases compiles against releases of the whole range.
#if SPRINGBLOOM_ROCKSDB != 81000 && (SPRINGBLOOM_ROCKSDB < 90703 || SPRINGBLOOM_ROCKSDB > 111200)
#error "Springbloom supports RocksDB 8.10.0 and 9.7.3 to 11.12.0: these headers are of another release"
#endif

namespace springbloom::release {

// ---- classes to derive from -----------------------------------------------------------------------------------------

// From 9.8 on RocksDB copies table factories.
#if SPRINGBLOOM_ROCKSDB >= 90800
using BlockBasedTableFactory = rocksdb::BlockBasedTableFactory;
#else
class BlockBasedTableFactory : public rocksdb::BlockBasedTableFactory {
 public:
  using rocksdb::BlockBasedTableFactory::BlockBasedTableFactory;
  BlockBasedTableFactory(const BlockBasedTableFactory& other)
      : rocksdb::BlockBasedTableFactory(*other.GetOptions<rocksdb::BlockBasedTableOptions>()) {}
  virtual std::unique_ptr<rocksdb::TableFactory> Clone() const = 0;
};
#endif

// A table reader that answers as another one, which outlives it, all that is neither a lookup nor an iterator. Six of these have bodies in
// TableReader, so that a forgotten one would compile.
class ForwardingTableReader : public rocksdb::TableReader {
 public:
  explicit ForwardingTableReader(rocksdb::TableReader* inner) : inner_(*inner) {}

  uint64_t ApproximateOffsetOf(const rocksdb::ReadOptions& read_options, const rocksdb::Slice& key,
                               rocksdb::TableReaderCaller caller) override {
    return inner_.ApproximateOffsetOf(read_options, key, caller);
  }
  uint64_t ApproximateSize(const rocksdb::ReadOptions& read_options, const rocksdb::Slice& start, const rocksdb::Slice& end,
                           rocksdb::TableReaderCaller caller) override {
    return inner_.ApproximateSize(read_options, start, end, caller);
  }
  rocksdb::Status ApproximateKeyAnchors(const rocksdb::ReadOptions& read_options, std::vector<Anchor>& anchors) override {
    return inner_.ApproximateKeyAnchors(read_options, anchors);
  }
  void SetupForCompaction() override { inner_.SetupForCompaction(); }
  std::shared_ptr<const rocksdb::TableProperties> GetTableProperties() const override { return inner_.GetTableProperties(); }
  void Prepare(const rocksdb::Slice& target) override { inner_.Prepare(target); }
  rocksdb::Status Prefetch(const rocksdb::ReadOptions& read_options, const rocksdb::Slice* begin,
                           const rocksdb::Slice* end) override {
    return inner_.Prefetch(read_options, begin, end);
  }
#if SPRINGBLOOM_ROCKSDB >= 101000
  rocksdb::Status DumpTable(rocksdb::WritableFile* out_file, bool show_sequence_number_type) override {
    return inner_.DumpTable(out_file, show_sequence_number_type);
  }
#else
  rocksdb::Status DumpTable(rocksdb::WritableFile* out_file) override { return inner_.DumpTable(out_file); }
#endif
#if SPRINGBLOOM_ROCKSDB >= 100800
  rocksdb::Status VerifyChecksum(const rocksdb::ReadOptions& read_options, rocksdb::TableReaderCaller caller,
                                 bool meta_blocks_only) override {
    return inner_.VerifyChecksum(read_options, caller, meta_blocks_only);
  }
#else
  rocksdb::Status VerifyChecksum(const rocksdb::ReadOptions& read_options, rocksdb::TableReaderCaller caller) override {
    return inner_.VerifyChecksum(read_options, caller);
  }
#endif
#if SPRINGBLOOM_ROCKSDB >= 90500
  void MarkObsolete(uint32_t uncache_aggressiveness) override { inner_.MarkObsolete(uncache_aggressiveness); }
#else
  // RocksDB never calls it.
  virtual void MarkObsolete(uint32_t) {}
#endif

 protected:
  rocksdb::TableReader& Inner() const { return inner_; }

 private:
  rocksdb::TableReader& inner_;
};

// A filter of prefixes that stock code asks, which has no block of its own.
class PrefixBlockReader : public rocksdb::FilterBlockReaderCommon<rocksdb::ParsedFullFilterBlock> {
 public:
  explicit PrefixBlockReader(const rocksdb::BlockBasedTable* table)
      : FilterBlockReaderCommon(table, rocksdb::CachableEntry<rocksdb::ParsedFullFilterBlock>()) {}

  virtual bool MayHold(const rocksdb::Slice& prefix) = 0;

#if SPRINGBLOOM_ROCKSDB >= 90703
  bool KeyMayMatch(const rocksdb::Slice&, const rocksdb::Slice*, rocksdb::GetContext*, rocksdb::BlockCacheLookupContext*,
                   const rocksdb::ReadOptions&) override {
    return true;
  }
  bool PrefixMayMatch(const rocksdb::Slice& prefix, const rocksdb::Slice*, rocksdb::GetContext*,
                      rocksdb::BlockCacheLookupContext*, const rocksdb::ReadOptions&) override {
    return MayHold(prefix);
  }
  void EraseFromCacheBeforeDestruction(uint32_t) override {}
#else
  bool KeyMayMatch(const rocksdb::Slice&, bool, const rocksdb::Slice*, rocksdb::GetContext*, rocksdb::BlockCacheLookupContext*,
                   const rocksdb::ReadOptions&) override {
    return true;
  }
  bool PrefixMayMatch(const rocksdb::Slice& prefix, bool, const rocksdb::Slice*, rocksdb::GetContext*,
                      rocksdb::BlockCacheLookupContext*, const rocksdb::ReadOptions&) override {
    return MayHold(prefix);
  }
#endif
};

// An index reader that forwards to another one, which it owns.
class ForwardingIndexReader : public rocksdb::BlockBasedTable::IndexReader {
 public:
  using IndexReader = rocksdb::BlockBasedTable::IndexReader;
  explicit ForwardingIndexReader(std::unique_ptr<IndexReader> inner) : inner_(std::move(inner)) {}

  rocksdb::Status CacheDependencies(const rocksdb::ReadOptions& read_options, bool pin,
                                    rocksdb::FilePrefetchBuffer* tail_prefetch_buffer) override {
    return inner_->CacheDependencies(read_options, pin, tail_prefetch_buffer);
  }
#if SPRINGBLOOM_ROCKSDB >= 90500
  void EraseFromCacheBeforeDestruction(uint32_t uncache_aggressiveness) override {
    inner_->EraseFromCacheBeforeDestruction(uncache_aggressiveness);
  }
#endif

 protected:
  IndexReader& Inner() const { return *inner_; }

 private:
  const std::unique_ptr<IndexReader> inner_;
};

template <typename Class, typename Argument>
Argument ArgumentOf(void (Class::*function)(Argument));

// An iterator that forwards everything but seeks to another one. Most of these have bodies in the base class, so that a forgotten one
// would compile.
class ForwardingIterator : public rocksdb::InternalIterator {
 public:
  explicit ForwardingIterator(rocksdb::InternalIterator* inner) : inner_(*inner) {}

  void SetRangeDelReadSeqno(rocksdb::SequenceNumber read_seqno) override { inner_.SetRangeDelReadSeqno(read_seqno); }
  bool Valid() const override { return inner_.Valid(); }
  void SeekToFirst() override { inner_.SeekToFirst(); }
  void SeekToLast() override { inner_.SeekToLast(); }
  void Next() override { inner_.Next(); }
  bool NextAndGetResult(rocksdb::IterateResult* result) override { return inner_.NextAndGetResult(result); }
  void Prev() override { inner_.Prev(); }
  rocksdb::Slice key() const override { return inner_.key(); }
  rocksdb::Slice user_key() const override { return inner_.user_key(); }
  rocksdb::Slice value() const override { return inner_.value(); }
  rocksdb::Status status() const override { return inner_.status(); }
  bool PrepareValue() override { return inner_.PrepareValue(); }
  bool MayBeOutOfLowerBound() override { return inner_.MayBeOutOfLowerBound(); }
  rocksdb::IterBoundCheck UpperBoundCheckResult() override { return inner_.UpperBoundCheckResult(); }
  void SetPinnedItersMgr(rocksdb::PinnedIteratorsManager* manager) override { inner_.SetPinnedItersMgr(manager); }
  bool IsKeyPinned() const override { return inner_.IsKeyPinned(); }
  bool IsValuePinned() const override { return inner_.IsValuePinned(); }
  rocksdb::Status GetProperty(std::string name, std::string* value) override { return inner_.GetProperty(name, value); }
  void GetReadaheadState(rocksdb::ReadaheadFileInfo* state) override { inner_.GetReadaheadState(state); }
  void SetReadaheadState(rocksdb::ReadaheadFileInfo* state) override { inner_.SetReadaheadState(state); }
  bool IsDeleteRangeSentinelKey() const override { return inner_.IsDeleteRangeSentinelKey(); }
#if SPRINGBLOOM_ROCKSDB >= 90703
  uint64_t write_unix_time() const override { return inner_.write_unix_time(); }
#endif
#if SPRINGBLOOM_ROCKSDB >= 100100
  void Prepare(decltype(ArgumentOf(&rocksdb::InternalIterator::Prepare)) ranges) override { inner_.Prepare(ranges); }
#endif

 protected:
  rocksdb::InternalIterator& Inner() const { return inner_; }

 private:
  rocksdb::InternalIterator& inner_;
};

// ---- reading files --------------------------------------------------------------------------------------------------

inline rocksdb::IOStatus ReadAt(const rocksdb::RandomAccessFileReader& file, const rocksdb::IOOptions& options, uint64_t offset,
                                size_t size, rocksdb::Slice* result, char* scratch) {
#if SPRINGBLOOM_ROCKSDB >= 111200
  return file.Read(offset, size, options, result, scratch, /*dbg=*/nullptr);
#else
  return file.Read(options, offset, size, result, scratch, /*aligned_buf=*/nullptr);
#endif
}

// Whether ReadIndexBlock can read the index of tables with these options.
template <typename TableOptions>
bool CanReadIndex([[maybe_unused]] const TableOptions& options) {
#if SPRINGBLOOM_ROCKSDB >= 100402
  if constexpr (requires { options.user_defined_index_factory; }) {
    return options.user_defined_index_factory == nullptr;
  }
  return true;
#else
  return false;
#endif
}

// Reads an index block, or a partition of one, from `buffer`, if that has it, or from the file. False where it cannot be read, or is
// damaged.
inline bool ReadIndexBlock([[maybe_unused]] const rocksdb::BlockBasedTable::Rep& table,
                           [[maybe_unused]] const rocksdb::ImmutableOptions& options,
                           [[maybe_unused]] rocksdb::RandomAccessFileReader* file,
                           [[maybe_unused]] rocksdb::FilePrefetchBuffer* buffer,
                           [[maybe_unused]] const rocksdb::BlockHandle& handle,
                           [[maybe_unused]] rocksdb::BlockContents* contents) {
#if SPRINGBLOOM_ROCKSDB >= 100402
  const rocksdb::PersistentCacheOptions no_cache;
  rocksdb::BlockFetcher fetcher(file, buffer, table.footer, rocksdb::ReadOptions(), handle, contents, options,
                                /*do_uncompress=*/true, /*maybe_compressed=*/table.decompressor != nullptr,
                                rocksdb::BlockType::kIndex, table.decompressor.get(), no_cache);
  return fetcher.ReadBlockContents().ok();
#else
  return false;
#endif
}

// An iterator over an index block of a table without first keys, in `iterator`, which walks and does not seek.
inline void IndexEntries(rocksdb::Block& block, const rocksdb::BlockBasedTable::Rep& table, rocksdb::IndexBlockIter* iterator) {
  block.NewIndexIterator(
      rocksdb::BytewiseComparator(), rocksdb::kDisableGlobalSequenceNumber, iterator, /*stats=*/nullptr,
      /*total_order_seek=*/true, /*have_first_key=*/false, table.index_key_includes_seq, table.index_value_is_full
#if SPRINGBLOOM_ROCKSDB >= 111200
      ,
      /*block_contents_pinned=*/false, /*user_defined_timestamps_persisted=*/true, /*prefix_index=*/nullptr,
      rocksdb::BlockBasedTableOptions::kBinary, rocksdb::FormatVersionUsesValueDeltaEscape(table.footer.format_version())
#endif
  );
}

// Keeps the first fault that a reader of a log finds.
class LogFault : public rocksdb::log::Reader::Reporter {
 public:
#if SPRINGBLOOM_ROCKSDB >= 100000
  void Corruption(size_t, const rocksdb::Status& fault, uint64_t) override {
#else
  void Corruption(size_t, const rocksdb::Status& fault) override {
#endif
    if (status.ok()) {
      status = fault;
    }
  }
  rocksdb::Status status;
};

// Opens a table's file. RocksDB asserts that the caller says what is known of its checksum; a table factory is not told it.
inline rocksdb::IOStatus OpenTableFile(const std::shared_ptr<rocksdb::FileSystem>& file_system, const std::string& path,
                                       rocksdb::FileOptions options, std::unique_ptr<rocksdb::RandomAccessFileReader>* file) {
#if SPRINGBLOOM_ROCKSDB >= 110100
  options.file_checksum_func_name = rocksdb::kNoFileChecksumFuncName;
#endif
  return rocksdb::RandomAccessFileReader::Create(file_system, path, options, file, /*dbg=*/nullptr);
}

// Asks the file system to verify and reconstruct what it reads, because it was corrupt. False: it cannot.
inline bool AskToReconstruct([[maybe_unused]] rocksdb::FileSystem* file_system, [[maybe_unused]] rocksdb::Statistics* statistics,
                             [[maybe_unused]] rocksdb::IOOptions* options) {
#if SPRINGBLOOM_ROCKSDB >= 90500
  options->verify_and_reconstruct_read = rocksdb::CheckFSFeatureSupport(file_system, rocksdb::kVerifyAndReconstructRead);
  if (options->verify_and_reconstruct_read) {
    rocksdb::RecordTick(statistics, rocksdb::FILE_READ_CORRUPTION_RETRY_COUNT);
  }
  return options->verify_and_reconstruct_read;
#else
  return false;
#endif
}

// Counts that it did.
inline void CountReconstructed([[maybe_unused]] rocksdb::Statistics* statistics) {
#if SPRINGBLOOM_ROCKSDB >= 90500
  rocksdb::RecordTick(statistics, rocksdb::FILE_READ_CORRUPTION_RETRY_SUCCESS_COUNT);
#endif
}

// ---- writing tables -------------------------------------------------------------------------------------------------

// Before 9.6 RocksDB writes no filter block to which it gave no key itself. Prefixes, which it gives too, are enough.
inline void GiveKeysToFilters([[maybe_unused]] rocksdb::BlockBasedTableOptions* options) {
#if SPRINGBLOOM_ROCKSDB < 90600
  options->whole_key_filtering = true;
#endif
}

// ---- opening tables -------------------------------------------------------------------------------------------------

// How to open a table without a database. What it is given must outlive the table.
template <typename Options = rocksdb::TableReaderOptions>
Options OnItsOwn(const rocksdb::ImmutableOptions& options, const rocksdb::MutableCFOptions& changing,
                 const rocksdb::EnvOptions& env_options) {
  const auto with = [&](auto... compression) {
    Options how(options, changing.prefix_extractor, compression..., env_options, options.internal_comparator,
                changing.block_protection_bytes_per_key);
    // Any number may have been given to an ingested table as a whole.
    how.largest_seqno = rocksdb::kMaxSequenceNumber;
    return how;
  };
  if constexpr (requires { Options(options, changing.prefix_extractor, nullptr, env_options, options.internal_comparator, 0); }) {
    return with(nullptr);
  } else {
    return with();
  }
}

// An object of the column family whose reader these options open, which tells it from others; null for readers that no database owns.
inline const void* ColumnFamilyOf(const rocksdb::TableReaderOptions& options) {
#if SPRINGBLOOM_ROCKSDB >= 110800
  return options.blob_source;
#else
  // Only a database has a tracer. These are the column family's own, as its TableCache has nothing but a reference to them.
  return options.block_cache_tracer == nullptr ? nullptr : &options.ioptions;
#endif
}

}  // namespace springbloom::release
