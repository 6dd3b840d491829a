#include "read/deferred_tables.h"

#include "options/cf_options.h"
#include "read/elastic_table_reader.h"
#include "read/open_files.h"
#include "read/prefix_filter.h"
#include "read/unit_table.h"
#include "rocksdb/options.h"

namespace springbloom {

namespace {

// Reads that fail before others have their turn.
constexpr int kUnreadableAtOnce = 16;

// The options that UnitTable::Find uses. RocksDB's own may be gone: a reader outlives its column family for a moment.
rocksdb::ImmutableOptions OptionsToRead(const ColumnFamily& family) {
  static const auto* defaults = new rocksdb::ImmutableOptions(rocksdb::Options());
  rocksdb::ImmutableOptions options(*defaults);
  options.fs = family.file_system;
  options.stats = family.statistics;
  options.logger = family.log.get();
  return options;
}

}  // namespace

template <typename Reader>
DeferredTables<Reader>::~DeferredTables() {
  sb_deferred_remove(family_.filters.get(), this);
}

template <typename Reader>
void DeferredTables<Reader>::Add(Reader* reader) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (next_ == nullptr) {
      next_ = reader;
      reader->Links() = {reader, reader};
    } else {
      auto* last = static_cast<Reader*>(next_->Links().previous);
      reader->Links() = {last, next_};
      last->Links().next = reader;
      next_->Links().previous = reader;
    }
  }
  sb_deferred_add(family_.filters.get(), this, &Retry);
}

template <typename Reader>
void DeferredTables<Reader>::Unlink(Reader* reader) {
  const DeferredLinks links = reader->Links();
  static_cast<Reader*>(links.previous)->Links().next = links.next;
  static_cast<Reader*>(links.next)->Links().previous = links.previous;
  if (next_ == reader) {
    next_ = links.next == reader ? nullptr : static_cast<Reader*>(links.next);
  }
  reader->Links() = DeferredLinks{};
}

template <typename Reader>
void DeferredTables<Reader>::Remove(Reader* reader) {
  std::unique_lock<std::mutex> lock(mutex_);
  ends_round_ = true;
  try_ended_.wait(lock, [&] { return tried_ != reader; });
  if (!reader->HasUnits() && reader->Links().next != nullptr) {
    Unlink(reader);
    sb_deferred_closed(family_.filters.get());
  }
}

template <typename Reader>
int DeferredTables<Reader>::Retry(void* context) noexcept {
  auto* self = static_cast<DeferredTables*>(context);
  std::unique_lock<std::mutex> lock(self->mutex_);
  const Reader* first = self->next_;
  self->ends_round_ = false;
  for (int unreadable = 0; self->next_ != nullptr && unreadable < kUnreadableAtOnce && !self->ends_round_; ++unreadable) {
    if (unreadable > 0 && self->next_ == first) {
      break;
    }
    const int why = self->TryNext(&lock);
    if (why != SB_UNREADABLE) {
      return why;
    }
  }
  return self->next_ == nullptr ? SB_NONE_LEFT : SB_UNREADABLE;
}

// Tries the next one without the lock: a read may take long, and other tables are opened and closed meanwhile.
template <typename Reader>
int DeferredTables<Reader>::TryNext(std::unique_lock<std::mutex>* lock) {
  Reader* const reader = next_;
  tried_ = reader;
  lock->unlock();
  OpenedUnits opened;
  const int why = TryOne(reader, &opened);
  lock->lock();
  tried_ = nullptr;
  try_ended_.notify_all();
  if (why == SB_NO_ROOM) {
    return why;
  }
  if (why == SB_UNREADABLE) {
    next_ = After(reader);
    return why;
  }
  Unlink(reader);
  if (why == SB_OPENED) {
    reader->Open(opened);
  }
  return SB_OPENED;
}

template <typename Reader>
int DeferredTables<Reader>::TryOne(Reader* reader, OpenedUnits* opened) const {
  const rocksdb::BlockBasedTable::Rep& rep = RepOf(reader->Inner());
  const rocksdb::ReadOptions read_options;
  rocksdb::RandomAccessFileReader file = ReaderOf(rep.file->file(), rep.file->file_name());
  auto unit_table = UnitTable::Find(read_options, OptionsToRead(family_), /*tail_size=*/0, &file, rep.file_size);
  if (!unit_table) {
    return UnitTable::IsIn(*rep.table_properties) ? SB_UNREADABLE : SB_CORRUPT;
  }
  const int why = unit_table->Open(read_options, Reader::kContents, family_, rep, &file, opened);
  // What was read may be damaged, and not the file.
  return why == SB_CORRUPT ? SB_UNREADABLE : why;
}

template class DeferredTables<ElasticTableReader>;
template class DeferredTables<PrefixFilter>;

}  // namespace springbloom
