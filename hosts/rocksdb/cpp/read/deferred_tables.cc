#include "read/deferred_tables.h"

#include <algorithm>

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
  std::lock_guard<std::mutex> lock(mutex_);
  if (reader->HasUnits() || reader->Links().next == nullptr) {
    return;
  }
  if (Try* const under_way = TryOf(reader)) {
    under_way->is_removed = true;
  }
  Unlink(reader);
  sb_deferred_closed(family_.filters.get());
}

template <typename Reader>
void DeferredTables<Reader>::Close(const Reader* reader, const std::shared_ptr<rocksdb::TableReader>& stock) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (Try* const under_way = TryOf(reader)) {
    under_way->stock = stock;
    release::LeaveBlocksInCache(*stock);
    under_way->reader = nullptr;
  }
}

template <typename Reader>
bool DeferredTables<Reader>::HasTries() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return !tries_.empty();
}

template <typename Reader>
typename DeferredTables<Reader>::Try* DeferredTables<Reader>::TryOf(const Reader* reader) {
  const auto found = std::ranges::find(tries_, reader, &Try::reader);
  return found == tries_.end() ? nullptr : &*found;
}

template <typename Reader>
Reader* DeferredTables<Reader>::Next() {
  Reader* reader = next_;
  // As many may be tried as there are tries.
  for (size_t tried = 0; reader != nullptr && TryOf(reader) != nullptr; ++tried) {
    reader = tried == tries_.size() ? nullptr : After(reader);
  }
  return reader;
}

template <typename Reader>
int DeferredTables<Reader>::Retry(void* context) noexcept {
  auto* self = static_cast<DeferredTables*>(context);
  const auto next = [self] {
    std::lock_guard<std::mutex> lock(self->mutex_);
    return self->next_;
  };
  const Reader* const first = next();
  for (int unreadable = 0; unreadable < kUnreadableAtOnce; ++unreadable) {
    const int why = self->TryNext();
    if (why != SB_UNREADABLE && why != kRemoved) {
      return why == SB_BUSY && unreadable > 0 ? SB_UNREADABLE : why;
    }
    if (next() == first) {
      break;
    }
  }
  return next() == nullptr ? SB_NONE_LEFT : SB_UNREADABLE;
}

// Tries the next one without the lock: a read may take long, and other tables are opened, tried and closed meanwhile.
template <typename Reader>
int DeferredTables<Reader>::TryNext() {
  std::unique_lock<std::mutex> lock(mutex_);
  Reader* const reader = Next();
  if (reader == nullptr) {
    return next_ == nullptr ? SB_NONE_LEFT : SB_BUSY;
  }
  const auto under_way = tries_.insert(tries_.end(), Try{reader});
  next_ = After(reader);
  const rocksdb::BlockBasedTable::Rep& rep = RepOf(reader->Inner());
  lock.unlock();
  OpenedUnits opened;
  const int why = TryOne(rep, &opened);
  lock.lock();
  if (under_way->is_removed) {
    under_way->reader = nullptr;
    lock.unlock();
    if (why == SB_OPENED) {
      sb_table_close(family_.filters.get(), &opened.table, /*obsolete=*/0);
    }
    // Closes the file, which may take long: a part of the try.
    under_way->stock.reset();
    lock.lock();
    tries_.erase(under_way);
    return kRemoved;
  }
  tries_.erase(under_way);
  if (why == SB_NO_ROOM) {
    next_ = reader;
    return why;
  }
  if (why == SB_UNREADABLE) {
    return why;
  }
  Unlink(reader);
  if (why == SB_OPENED) {
    reader->Open(opened);
  }
  return SB_OPENED;
}

template <typename Reader>
int DeferredTables<Reader>::TryOne(const rocksdb::BlockBasedTable::Rep& rep, OpenedUnits* opened) const {
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
