#include "read/table_file.h"

#include "owners.h"
#include "read/file_reader.h"
#include "read/unit_table.h"
#include "read/whole_index.h"

namespace springbloom {

namespace {

// The options that reading uses. RocksDB's own may be gone.
rocksdb::ImmutableOptions OptionsToRead(const ReadObjects& objects) {
  static const auto* defaults = new rocksdb::ImmutableOptions(rocksdb::Options());
  rocksdb::ImmutableOptions options(*defaults);
  options.fs = objects.file_system;
  options.stats = objects.statistics.get();
  options.logger = objects.log.get();
  options.allow_mmap_reads = objects.are_mapped;
  return options;
}

}  // namespace

constinit const sb_file_calls TableFile::kCalls = {&Read, &ReadHead, &ReadIndex, &AddShare, &Unshare};

void TableFile::AddShare(const sb_file* file) noexcept {
  static_cast<const TableFile*>(file)->shares_.fetch_add(1, std::memory_order_relaxed);
}

void TableFile::Unshare(const sb_file* file) noexcept {
  const auto* self = static_cast<const TableFile*>(file);
  if (self->shares_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete self;
  }
}

int TableFile::Read(const sb_file* file, uint64_t offset, size_t size, int verify, uint8_t* into) noexcept {
  const auto* self = static_cast<const TableFile*>(file);
  rocksdb::RandomAccessFileReader& opened = *RepOf(*self->stock_).file;
  return ReadUnits(*self->objects_, ReaderOf(opened.file(), opened.file_name()), offset, size, verify, into);
}

int TableFile::ReadHead(const sb_file* file, int32_t contents, void* context,
                        void (*take)(void*, const sb_head*) noexcept) noexcept {
  const auto* self = static_cast<const TableFile*>(file);
  const rocksdb::BlockBasedTable::Rep& rep = RepOf(*self->stock_);
  rocksdb::RandomAccessFileReader reader = ReaderOf(rep.file->file(), rep.file->file_name());
  const rocksdb::ReadOptions read_options;
  // Without it, to find the block costs two more reads.
  const uint64_t tail_start = rep.table_properties->tail_start_offset;
  const uint64_t tail_size = tail_start == 0 || tail_start > rep.file_size ? 0 : rep.file_size - tail_start;
  auto unit_table = UnitTable::Find(read_options, OptionsToRead(*self->objects_), tail_size, &reader, rep.file_size);
  if (!unit_table) {
    return UnitTable::IsIn(*rep.table_properties) ? SB_UNREADABLE : SB_NO_SUCH_UNITS;
  }
  const UnitTable::Head head = unit_table->ReadHeadOf(contents, *self->objects_, &reader);
  if (head.why == SB_OPENED) {
    const sb_head read{Bytes(head.bytes), head.block_offset, Bytes(rep.table_properties->db_session_id)};
    take(context, &read);
  }
  return head.why;
}

int TableFile::ReadIndex(const sb_file* file, void* context, TakeIndexEntry take) noexcept {
  const auto* self = static_cast<const TableFile*>(file);
  return ReadWholeIndex(RepOf(*self->stock_), OptionsToRead(*self->objects_), context, take) ? 0 : SB_UNREADABLE;
}

}  // namespace springbloom
