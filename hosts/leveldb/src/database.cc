#include "database.h"

#include <cstring>
#include <memory>
#include <utility>

#include "internals.h"
#include "unit_block.h"

namespace springbloom {

using leveldb::Slice;

namespace {

// The key that the thread looked up last, for a lookup asks several tables. Longer ones are rare, and hashed for each table.
struct LastKey {
  size_t size = SIZE_MAX;
  sb_digest digest = {};
  char bytes[488];
};
thread_local LastKey last;

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
  const int why = block.ReadHead(opened.file.get(), self->file_size, &head);
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

const sb_table* Database::UnitsOf(uint64_t number) const {
  const TableUnits* table = tables_.Find(number);
  return table != nullptr && table->units != nullptr && sb_table_is_open(table->units) != 0 ? table->units : nullptr;
}

int Database::OpenUnits(uint64_t number, uint64_t file_size, const OpenedFile& file, const sb_table** units) {
  UnitBlock block;
  std::string head;
  const int why = block.ReadHead(file.file.get(), file_size, &head);
  if (why == SB_NO_SUCH_UNITS) {
    return why;
  }
  sb_table_spec spec{};
  spec.path = Bytes(file.path);
  spec.level = -1;
  spec.contents = SB_KEYS;
  spec.comparator = ComparatorForCore(*selected_.user_comparator);
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

sb_digest Database::LookupDigest(const Slice& user_key) const {
  if (user_key.size() == last.size && std::memcmp(user_key.data(), last.bytes, last.size) == 0) {
    return last.digest;
  }
  // One lookup counts for as many, to keep threads off each other's cache line. A prime number, so that threads that ask databases in turn
  // do not count for the same one each time.
  constexpr uint64_t kStep = 61;
  thread_local uint64_t lookups = 0;
  if (++lookups % kStep == 0) {
    sb_column_family_count_lookups(family_, kStep);
  }
  const sb_digest digest = sb_digest_of(Bytes(user_key));
  if (user_key.size() <= sizeof(last.bytes)) {
    if (last.size == SIZE_MAX) {
      sb_set_host_bytes_of_thread(sizeof(last));
    }
    last.size = user_key.size();
    last.digest = digest;
    std::memcpy(last.bytes, user_key.data(), user_key.size());
  }
  return digest;
}

bool Database::MayMatch(const sb_table* units, const Slice& user_key, uint32_t* segment) const {
  const sb_comparator comparator = ComparatorForCore(*selected_.user_comparator);
  return sb_table_may_match(units, &comparator, LookupDigest(user_key), Bytes(user_key), segment) != 0;
}

}  // namespace springbloom
