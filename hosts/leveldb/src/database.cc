#include "database.h"

#include <cstring>
#include <utility>

#include "file_access.h"
#include "internals.h"
#include "lookup_digest.h"
#include "unit_block.h"

namespace springbloom {

using leveldb::Slice;

namespace {

Slice UserKey(const Slice& internal_key) { return Slice(internal_key.data(), internal_key.size() - leveldb::kKeyTrailerSize); }

// Finds a table's units and reads their head: SB_OPENED, or why there is none, in the words of springbloom_abi.h.
int ReadHeadOf(const OpenTable* table, UnitBlock* block, std::string* head) {
  UnitBlock::Outcome outcome = UnitBlock::Find(table->file.get(), table->file_size, block);
  if (outcome == UnitBlock::kFound) {
    outcome = block->ReadHead(*table->file, head);
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

// Callbacks of springbloom_abi.h; `file` is a std::shared_ptr<OpenTable>*.
OpenTable* TableOf(const void* file) { return static_cast<const std::shared_ptr<OpenTable>*>(file)->get(); }

int Read(const void* file, uint64_t offset, size_t size, int verify, uint8_t* into) noexcept {
  Slice result;
  // No file system of LevelDB can reconstruct what is corrupt.
  if (verify != 0 || !TableOf(file)->file->Read(offset, size, &result, reinterpret_cast<char*>(into)).ok() || result.size() != size) {
    return 1;
  }
  // A mapped file gives its own memory.
  std::memmove(into, result.data(), size);
  return 0;
}

int ReadHead(const void* file, int32_t, void* context, void (*take)(void*, const sb_head*) noexcept) noexcept {
  UnitBlock block;
  std::string head;
  const int why = ReadHeadOf(TableOf(file), &block, &head);
  if (why == SB_OPENED) {
    const sb_head read = HeadIn(block, head);
    take(context, &read);
  }
  return why;
}

void Free(void* file) noexcept { delete static_cast<std::shared_ptr<OpenTable>*>(file); }

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
  sb_column_family_close(selected_.filters.get(), family_, /*may_wait=*/1);
}

std::string Database::PathOf(const OpenTable& table) const {
  return table.has_older_name ? leveldb::SSTTableFileName(folder_, table.number) : leveldb::TableFileName(folder_, table.number);
}

void Database::Open(const std::shared_ptr<OpenTable>& table) {
  UnitBlock block;
  std::string head;
  int why = ReadHeadOf(table.get(), &block, &head);
  if (why != SB_NO_SUCH_UNITS) {
    const std::string path = PathOf(*table);
    sb_table_spec spec{};
    spec.path = Bytes(path);
    spec.level = -1;
    spec.contents = SB_KEYS;
    spec.comparator = OrderOf(*selected_.user_comparator);
    const sb_head read = HeadIn(block, head);
    why = sb_table_open(selected_.filters.get(), family_, &spec, why == SB_OPENED ? &read : nullptr, why,
                        sb_file{new std::shared_ptr<OpenTable>(table), &Read, &ReadHead, &Free}, &table->units);
  }
  if (why == SB_OPENED) {
    return;
  }
  if (why == SB_NO_SUCH_UNITS) {
    sb_filters_count_table_without_units(selected_.filters.get());
  } else if (why == SB_CORRUPT) {
    // What was read may be damaged, and not the file: it is read again later.
    leveldb::Log(log_, "springbloom: %s is read without filter units: its filter block is damaged or of a newer version",
                 PathOf(*table).c_str());
  } else if (!has_told_of_waiting_.exchange(true)) {
    leveldb::Log(log_, "springbloom: %s is read without filter units for now: %s; others are not told of here",
                 PathOf(*table).c_str(),
                 why == SB_NO_ROOM ? "the budget has no room for its bookkeeping" : "they cannot be read");
  }
}

void Database::Close(OpenTable* table) {
  if (const sb_table* const units = std::exchange(table->units, nullptr)) {
    sb_table_close(selected_.filters.get(), units, table->is_obsolete.load(std::memory_order_relaxed) ? 1 : 0);
  }
}

Database::Lookup::Lookup(const Database& database, const OpenTable& table, const Slice& internal_key)
    : table_(table),
      order_(OrderOf(*database.selected_.user_comparator)),
      user_key_(UserKey(internal_key)),
      digest_(LookupDigest(user_key_, *database.family_)) {}

bool Database::Lookup::MayMatch() {
  return sb_table_may_match(table_.units, &order_, digest_, Bytes(user_key_), &segment_) != 0;
}

void Database::Lookup::Record(bool is_found) const {
  if (is_found) {
    sb_table_record_found(table_.units, segment_);
  } else {
    sb_table_record_missing(table_.units, segment_);
  }
}

}  // namespace springbloom
