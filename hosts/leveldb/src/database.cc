#include "database.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "internals.h"
#include "lookup_digest.h"
#include "unit_block.h"

namespace springbloom {

using leveldb::Slice;

namespace {

// Reads that fail before other databases have their turn.
constexpr size_t kUnreadableAtOnce = 16;

Slice UserKey(const Slice& internal_key) { return Slice(internal_key.data(), internal_key.size() - leveldb::kKeyTrailerSize); }

}  // namespace

Database::Database(const Selected& selected, const std::string& folder, const leveldb::Options& options)
    : selected_(selected),
      folder_(folder),
      env_(options.env),
      log_(options.info_log),
      session_(NewIdentity()),
      family_(sb_column_family_open(selected_.filters.get(), Bytes(session_), Bytes(folder_), /*is_for_writing=*/1,
                                    MakeFileAccess(options))) {
  sb_filters_settings_text(selected_.filters.get(), log_, [](void* log, sb_bytes text) noexcept {
    leveldb::Log(static_cast<leveldb::Logger*>(log), "springbloom: filter units are in use: %s", Text(text).c_str());
  });
}

Database::~Database() {
  sb_deferred_remove(selected_.filters.get(), this);
  for (TableUnits* table : tables_.All()) {
    if (table->is_deferred) {
      sb_deferred_closed(selected_.filters.get());
    }
    if (table->are_open) {
      CloseUnits(table, /*is_obsolete=*/false);
    }
  }
  sb_column_family_close(selected_.filters.get(), family_);
}

const TableUnits* Database::UnitsOf(uint64_t number) const {
  const TableUnits* table = tables_.Find(number);
  return table != nullptr && table->are_open.load(std::memory_order_acquire) ? table : nullptr;
}

int Database::TryToOpen(const OpenedFile& file, TableUnits* table) {
  UnitBlock block;
  std::string head;
  UnitBlock::Outcome outcome = UnitBlock::Find(file.file.get(), table->file_size, &block);
  if (outcome == UnitBlock::kNone) {
    return SB_NONE_LEFT;
  }
  if (outcome == UnitBlock::kFound) {
    outcome = block.ReadHead(*file.file, &head);
  }
  if (outcome == UnitBlock::kUnreadable) {
    return SB_UNREADABLE;
  }
  sb_table_spec spec{};
  spec.path = Bytes(file.path);
  spec.session = Bytes(block.identity);
  spec.level = -1;
  spec.comparator = OrderOf(*selected_.user_comparator);
  spec.head = Bytes(head);
  spec.block_offset = block.handle.offset();
  return outcome == UnitBlock::kFound ? sb_table_open(selected_.filters.get(), family_, &spec, &table->units) : SB_CORRUPT;
}

void Database::Learn(uint64_t number, uint64_t file_size, const OpenedFile& file) {
  TableUnits* table = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    // Two threads may have opened the file.
    if (Knows(number) || number >= KnownTables::kNumbersEnd) {
      return;
    }
    auto inserted = std::make_unique<TableUnits>(number, file_size);
    table = inserted.get();
    tables_.Insert(std::move(inserted));
  }
  const int why = TryToOpen(file, table);
  if (why == SB_OPENED) {
    table->are_open.store(true, std::memory_order_release);
  } else if (why == SB_NONE_LEFT) {
    sb_filters_count_table_without_units(selected_.filters.get());
    if (!has_told_of_none_.exchange(true)) {
      leveldb::Log(log_,
                   "springbloom: %s has no filter units, and lookups read it unfiltered; others are not told of here, the metric "
                   "springbloom_tables_without_units_total counts them",
                   file.path.c_str());
    }
  } else if (why == SB_CORRUPT) {
    leveldb::Log(log_, "springbloom: %s is read without filter units: its filter block is damaged or of a newer version",
                 file.path.c_str());
    // What was read may be damaged, and not the file: it is read again later.
    Defer(table);
  } else {
    if (!has_told_of_deferral_.exchange(true)) {
      leveldb::Log(log_, "springbloom: %s is read without filter units for now: %s; others are not told of here",
                   file.path.c_str(), why == SB_NO_ROOM ? "the budget has no room for its bookkeeping" : "they cannot be read");
    }
    Defer(table);
  }
}

void Database::Defer(TableUnits* table) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    table->deferred = deferred_.insert(deferred_.end(), table);
    table->is_deferred = true;
  }
  sb_deferred_add(selected_.filters.get(), this, &Retry);
}

int Database::Retry(void* context) noexcept {
  auto* self = static_cast<Database*>(context);
  const auto left = [self] {
    std::lock_guard<std::mutex> lock(self->mutex_);
    return self->deferred_.size();
  };
  const size_t tries = std::min(left(), kUnreadableAtOnce);
  for (size_t failed = 0; failed < tries; ++failed) {
    const int why = self->TryNext();
    if (why != SB_UNREADABLE && why != kForgotten) {
      return why == SB_BUSY && failed > 0 ? SB_UNREADABLE : why;
    }
  }
  return left() == 0 ? SB_NONE_LEFT : SB_UNREADABLE;
}

// Tries one without the lock: a read may take long, and other tables are learnt, tried and forgotten meanwhile.
int Database::TryNext() {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto next = std::ranges::find(deferred_, false, &TableUnits::is_tried);
  if (next == deferred_.end()) {
    return deferred_.empty() ? SB_NONE_LEFT : SB_BUSY;
  }
  TableUnits* const table = *next;
  deferred_.splice(deferred_.end(), deferred_, next);
  table->is_tried = true;
  lock.unlock();
  OpenedFile file;
  const int why =
      OpenTableFile(env_, folder_, table->number, &file).ok() ? TryToOpen(file, table) : static_cast<int>(SB_UNREADABLE);
  lock.lock();
  table->is_tried = false;
  if (table->is_forgotten) {
    lock.unlock();
    const std::unique_ptr<TableUnits> forgotten(table);
    if (why == SB_OPENED) {
      CloseUnits(table, /*is_obsolete=*/true);
    }
    return kForgotten;
  }
  // What was read may be damaged, and not the file.
  if (why == SB_UNREADABLE || why == SB_CORRUPT) {
    return SB_UNREADABLE;
  }
  if (why == SB_NO_ROOM) {
    deferred_.splice(deferred_.begin(), deferred_, table->deferred);
    return why;
  }
  if (why == SB_OPENED) {
    table->are_open.store(true, std::memory_order_release);
  }
  Undefer(table);
  return SB_OPENED;
}

void Database::Forget(uint64_t number) {
  std::unique_lock<std::mutex> lock(mutex_);
  std::unique_ptr<TableUnits> table = tables_.Erase(number);
  if (table == nullptr) {
    return;
  }
  if (table->is_deferred) {
    Undefer(table.get());
    sb_deferred_closed(selected_.filters.get());
  }
  if (table->is_tried) {
    // Whoever tries it deletes it.
    table.release()->is_forgotten = true;
    return;
  }
  lock.unlock();
  if (table->are_open) {
    CloseUnits(table.get(), /*is_obsolete=*/true);
  }
}

void Database::Undefer(TableUnits* table) {
  deferred_.erase(table->deferred);
  table->is_deferred = false;
}

void Database::CloseUnits(TableUnits* table, bool is_obsolete) {
  sb_table_close(selected_.filters.get(), &table->units, is_obsolete ? 1 : 0);
}

Database::Lookup::Lookup(const Database& database, const TableUnits& table, const Slice& internal_key)
    : table_(table),
      order_(OrderOf(*database.selected_.user_comparator)),
      user_key_(UserKey(internal_key)),
      digest_(LookupDigest(user_key_, *database.family_)) {}

bool Database::Lookup::MayMatch() {
  return sb_table_may_match(&table_.units, &order_, digest_, Bytes(user_key_), &segment_) != 0;
}

void Database::Lookup::Record(bool is_found) const {
  if (is_found) {
    sb_table_record_found(&table_.units, segment_);
  } else {
    sb_table_record_missing(&table_.units, segment_);
  }
}

}  // namespace springbloom
