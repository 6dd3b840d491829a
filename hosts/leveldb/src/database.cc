#include "database.h"

#include <memory>
#include <utility>

#include "internals.h"
#include "lookup_digest.h"
#include "unit_block.h"

namespace springbloom {

using leveldb::Slice;

namespace {

Slice UserKey(const Slice& internal_key) { return Slice(internal_key.data(), internal_key.size() - leveldb::kKeyTrailerSize); }

// Finds a table's units and reads their head: SB_OPENED, or why there is none, in the words of springbloom_abi.h.
int ReadHeadOf(leveldb::RandomAccessFile* file, uint64_t file_size, UnitBlock* block, std::string* head) {
  UnitBlock::Outcome outcome = UnitBlock::Find(file, file_size, block);
  if (outcome == UnitBlock::kFound) {
    outcome = block->ReadHead(*file, head);
  }
  switch (outcome) {
    case UnitBlock::kNone:
      return SB_NO_SUCH_UNITS;
    case UnitBlock::kUnreadable:
      return SB_UNREADABLE;
    case UnitBlock::kDamaged:
      return SB_CORRUPT;
    case UnitBlock::kFound:
      break;
  }
  return SB_OPENED;
}

sb_head HeadIn(const UnitBlock& block, const std::string& head) {
  return sb_head{Bytes(head), block.handle.offset(), Bytes(block.identity)};
}

}  // namespace

// By its name: no reader has it open for the core. The end of the database waits for reads.
struct Database::NamedFile : sb_file {
  const Database* database;
  uint64_t number;
  uint64_t file_size;
  mutable std::atomic<int> shares = 1;
};

// The core reads units by the file's path.
int Database::Read(const sb_file*, uint64_t, size_t, int, uint8_t*) noexcept { return 1; }

int Database::ReadHead(const sb_file* file, int32_t, void* context, void (*take)(void*, const sb_head*) noexcept) noexcept {
  const auto* self = static_cast<const NamedFile*>(file);
  OpenedFile opened;
  if (!OpenTableFile(self->database->env_, self->database->folder_, self->number, &opened).ok()) {
    return SB_UNREADABLE;
  }
  UnitBlock block;
  std::string head;
  const int why = ReadHeadOf(opened.file.get(), self->file_size, &block, &head);
  if (why == SB_OPENED) {
    const sb_head read = HeadIn(block, head);
    take(context, &read);
  }
  return why;
}

void Database::Share(const sb_file* file) noexcept { ++static_cast<const NamedFile*>(file)->shares; }

void Database::Release(const sb_file* file) noexcept {
  const auto* self = static_cast<const NamedFile*>(file);
  if (--self->shares == 0) {
    delete self;
  }
}

Database::Database(const Selected& selected, const std::string& folder, const leveldb::Options& options)
    : selected_(selected),
      folder_(folder),
      env_(options.env),
      log_(options.info_log),
      session_(NewIdentity()),
      family_(sb_column_family_open(selected_.filters.get(), Bytes(session_), Bytes(folder_), /*is_for_writing=*/1,
                                    sb_row_cache{}, MakeFileAccess(options))) {
  sb_filters_settings_text(selected_.filters.get(), log_, [](void* log, sb_bytes text) noexcept {
    leveldb::Log(static_cast<leveldb::Logger*>(log), "springbloom: filter units are in use: %s", Text(text).c_str());
  });
}

Database::~Database() {
  for (const TableUnits* table : tables_.All()) {
    Close(*table, /*is_obsolete=*/false);
  }
  sb_column_family_close(selected_.filters.get(), family_, /*may_wait=*/1);
}

const TableUnits* Database::UnitsOf(uint64_t number) const {
  const TableUnits* table = tables_.Find(number);
  return table != nullptr && table->AreOpen() ? table : nullptr;
}

int Database::OpenUnits(uint64_t number, uint64_t file_size, const OpenedFile& file, const sb_table** units) {
  UnitBlock block;
  std::string head;
  const int why = ReadHeadOf(file.file.get(), file_size, &block, &head);
  if (why == SB_NO_SUCH_UNITS) {
    return why;
  }
  sb_table_spec spec{};
  spec.path = Bytes(file.path);
  spec.level = -1;
  spec.contents = SB_KEYS;
  spec.comparator = OrderOf(*selected_.user_comparator);
  static_assert(sizeof(NamedFile) + 8 <= TableUnits::kFileBytes);
  static constexpr sb_file_calls kFileCalls = {&Read, &ReadHead, /*read_index=*/nullptr, &Share, &Release};
  const sb_head read = HeadIn(block, head);
  return sb_table_open(selected_.filters.get(), family_, &spec, why == SB_OPENED ? &read : nullptr, why,
                       new NamedFile{{&kFileCalls}, this, number, file_size}, units);
}

void Database::Learn(uint64_t number, uint64_t file_size, const OpenedFile& file) {
  if (Knows(number) || number >= KnownTables::kNumbersEnd) {
    return;
  }
  const sb_table* units = nullptr;
  const int why = OpenUnits(number, file_size, file, &units);
  auto table = std::make_unique<TableUnits>(TableUnits{number, units});
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!Knows(number)) {
      tables_.Insert(std::move(table));
    }
  }
  if (table != nullptr) {
    // Another thread has opened the file, too.
    Close(*table, /*is_obsolete=*/false);
    return;
  }
  if (why == SB_NO_SUCH_UNITS) {
    sb_filters_count(selected_.filters.get(), SB_WITHOUT_UNITS, 1);
    if (!has_told_of_none_.exchange(true)) {
      leveldb::Log(log_,
                   "springbloom: %s has no filter units, and lookups read it unfiltered; others are not told of here, the metric "
                   "springbloom_tables_without_units_total counts them",
                   file.path.c_str());
    }
  } else if (why == SB_CORRUPT) {
    // What was read may be damaged, and not the file: it is read again later.
    leveldb::Log(log_, "springbloom: %s is read without filter units: its filter block is damaged or of a newer version",
                 file.path.c_str());
  } else if (why != SB_OPENED && !has_told_of_waiting_.exchange(true)) {
    leveldb::Log(log_, "springbloom: %s is read without filter units for now: %s; others are not told of here", file.path.c_str(),
                 why == SB_NO_ROOM ? "the budget has no room for its bookkeeping" : "they cannot be read");
  }
}

void Database::Forget(uint64_t number) {
  std::unique_ptr<TableUnits> table;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    table = tables_.Erase(number);
  }
  if (table != nullptr) {
    Close(*table, /*is_obsolete=*/true);
  }
}

void Database::Close(const TableUnits& table, bool is_obsolete) {
  if (table.units != nullptr) {
    sb_table_close(selected_.filters.get(), table.units, is_obsolete ? 1 : 0);
  }
}

Database::Lookup::Lookup(const Database& database, const TableUnits& table, const Slice& internal_key)
    : table_(table),
      order_(OrderOf(*database.selected_.user_comparator)),
      user_key_(UserKey(internal_key)),
      digest_(LookupDigest(user_key_, *database.family_)) {}

bool Database::Lookup::MayMatch() { return sb_table_may_match(table_.units, &order_, digest_, Bytes(user_key_), &segment_) != 0; }

void Database::Lookup::Record(bool is_found) const {
  if (is_found) {
    sb_table_record(table_.units, segment_, SB_FOUND);
  } else {
    sb_table_record(table_.units, segment_, SB_MISSING);
  }
}

}  // namespace springbloom
