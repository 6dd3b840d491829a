// The known tables of an open database, by the numbers of their files.
//
// LevelDB gives no number twice while a database is open. It evicts a number when no version of the database has the table any more, and a
// lookup holds a version. So a table that a lookup finds by its number stays until the lookup ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "springbloom_abi.h"

namespace springbloom {

// The filter units of a table, whether the table cache has the table open or not.
struct TableUnits {
  // By malloc, of what the core has of a table's file.
  static constexpr size_t kFileBytes = 48;

  const uint64_t number;
  // Null: it has none.
  const sb_table* const units;
};

class KnownTables {
 public:
  KnownTables() = default;
  ~KnownTables();
  KnownTables(const KnownTables&) = delete;
  KnownTables& operator=(const KnownTables&) = delete;

  // Null: not known. Any thread may call it at any time. Takes no lock.
  TableUnits* Find(uint64_t number) const;

  // One caller at a time of what follows.

  // The number is not known yet, and below this one.
  static constexpr uint64_t kNumbersEnd = UINT64_MAX - 1;
  void Insert(std::unique_ptr<TableUnits> table);
  // Null: the number was not known. No lookup has the table.
  std::unique_ptr<TableUnits> Erase(uint64_t number);
  std::vector<TableUnits*> All() const;

  // What a table takes here, at most: then an array was just added.
  static constexpr size_t kTableBytes = sizeof(TableUnits) + 56;

 private:
  static constexpr uint64_t kNeverUsed = UINT64_MAX;
  static constexpr uint64_t kErased = kNumbersEnd;
  struct Slot {
    std::atomic<uint64_t> number = kNeverUsed;
    std::atomic<TableUnits*> table = nullptr;
  };

  // A number is in one of this many successive slots of an array.
  static constexpr size_t kWindow = 16;
  // Arrays of slots, each twice as long as the one before it. None moves or goes away: lookups read them.
  static constexpr size_t kArraysMax = 48;
  static size_t SlotsOf(size_t array) { return (size_t{64} << array) + kWindow - 1; }
  Slot* WindowOf(uint64_t number, size_t array) const;
  // The first slot for a number whose own `is_wanted`; null: there is none.
  template <typename Is>
  Slot* FirstSlot(uint64_t number, Is is_wanted) const;
  Slot* SlotOf(uint64_t number) const;

  std::atomic<size_t> arrays_ = 0;
  std::unique_ptr<Slot[]> slots_[kArraysMax];
};

}  // namespace springbloom
