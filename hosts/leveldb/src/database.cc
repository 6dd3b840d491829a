#include "database.h"

#include <algorithm>
#include <utility>

#include "file_access.h"
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

Database::Database(Selected selected, const std::string& folder, const leveldb::Options& options)
    : selected_(std::move(selected)),
      folder_(folder),
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
  sb_column_family_close(selected_.filters.get(), family_);
}

std::string Database::PathOf(const OpenTable& table) const {
  return table.has_older_name ? leveldb::SSTTableFileName(folder_, table.number) : leveldb::TableFileName(folder_, table.number);
}

int Database::TryToOpen(OpenTable* table) {
  UnitBlock block;
  std::string head;
  UnitBlock::Outcome outcome = UnitBlock::Find(table->file.get(), table->file_size, &block);
  if (outcome == UnitBlock::kNone) {
    return SB_NONE_LEFT;
  }
  if (outcome == UnitBlock::kFound) {
    outcome = block.ReadHead(*table->file, &head);
  }
  if (outcome == UnitBlock::kUnreadable) {
    return SB_UNREADABLE;
  }
  const std::string path = PathOf(*table);
  sb_table_spec spec{};
  spec.path = Bytes(path);
  spec.session = Bytes(block.identity);
  spec.level = -1;
  spec.comparator = OrderOf(*selected_.user_comparator);
  spec.head = Bytes(head);
  spec.block_offset = block.handle.offset();
  return outcome == UnitBlock::kFound ? sb_table_open(selected_.filters.get(), family_, &spec, &table->units) : SB_CORRUPT;
}

void Database::Open(const std::shared_ptr<OpenTable>& table) {
  const int why = TryToOpen(table.get());
  if (why == SB_OPENED) {
    table->has_units.store(true, std::memory_order_release);
  } else if (why == SB_NONE_LEFT) {
    sb_filters_count_table_without_units(selected_.filters.get());
  } else if (why == SB_CORRUPT) {
    leveldb::Log(log_, "springbloom: %s is read without filter units: its filter block is damaged or of a newer version",
                 PathOf(*table).c_str());
    // What was read may be damaged, and not the file: it is read again later.
    Defer(table);
  } else {
    if (!has_told_of_deferral_.exchange(true)) {
      leveldb::Log(log_, "springbloom: %s is read without filter units for now: %s; others are not told of here",
                   PathOf(*table).c_str(),
                   why == SB_NO_ROOM ? "the budget has no room for its bookkeeping" : "they cannot be read");
    }
    Defer(table);
  }
}

void Database::Defer(const std::shared_ptr<OpenTable>& table) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    table->deferred = deferred_.insert(deferred_.end(), table);
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
    if (why != SB_UNREADABLE && why != kClosed) {
      return why == SB_BUSY && failed > 0 ? SB_UNREADABLE : why;
    }
  }
  return left() == 0 ? SB_NONE_LEFT : SB_UNREADABLE;
}

// Tries one without the lock: a read may take long, and other tables are opened, tried and closed meanwhile.
int Database::TryNext() {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto next = std::ranges::find(deferred_, false, &OpenTable::is_tried);
  if (next == deferred_.end()) {
    return deferred_.empty() ? SB_NONE_LEFT : SB_BUSY;
  }
  const std::shared_ptr<OpenTable> table = *next;
  deferred_.splice(deferred_.end(), deferred_, next);
  table->is_tried = true;
  lock.unlock();
  const int why = TryToOpen(table.get());
  lock.lock();
  table->is_tried = false;
  if (!table->deferred) {
    lock.unlock();
    if (why == SB_OPENED) {
      CloseUnits(table.get());
    }
    return kClosed;
  }
  // What was read may be damaged, and not the file.
  if (why == SB_UNREADABLE || why == SB_CORRUPT) {
    return SB_UNREADABLE;
  }
  if (why == SB_NO_ROOM) {
    deferred_.splice(deferred_.begin(), deferred_, *table->deferred);
    return why;
  }
  if (why == SB_OPENED) {
    table->has_units.store(true, std::memory_order_release);
  }
  Undefer(table.get());
  return SB_OPENED;
}

void Database::Close(OpenTable* table) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (table->deferred) {
      Undefer(table);
      sb_deferred_closed(selected_.filters.get());
    }
  }
  if (table->has_units.load(std::memory_order_acquire)) {
    CloseUnits(table);
  }
}

void Database::Undefer(OpenTable* table) {
  deferred_.erase(*table->deferred);
  table->deferred.reset();
}

void Database::CloseUnits(OpenTable* table) {
  sb_table_close(selected_.filters.get(), &table->units, table->is_obsolete.load(std::memory_order_relaxed) ? 1 : 0);
}

Database::Lookup::Lookup(const Database& database, const OpenTable& table, const Slice& internal_key)
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
