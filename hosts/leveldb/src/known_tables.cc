#include "known_tables.h"

#include <utility>

namespace springbloom {

KnownTables::~KnownTables() {
  for (TableUnits* table : All()) {
    delete table;
  }
}

KnownTables::Slot* KnownTables::WindowOf(uint64_t number, size_t array) const {
  // Successive numbers, which tables often have, go to slots far from each other.
  const uint64_t hash = number * 0x9E3779B97F4A7C15;
  return &slots_[array][hash >> (64 - 6 - array)];
}

template <typename Is>
KnownTables::Slot* KnownTables::FirstSlot(uint64_t number, Is is_wanted) const {
  // The longest array has most of the tables.
  for (size_t array = arrays_.load(std::memory_order_acquire); array-- > 0;) {
    Slot* const window = WindowOf(number, array);
    for (Slot* slot = window; slot != window + kWindow; ++slot) {
      const uint64_t found = slot->number.load(std::memory_order_acquire);
      if (is_wanted(found)) {
        return slot;
      }
      if (found == kNeverUsed) {
        break;
      }
    }
  }
  return nullptr;
}

KnownTables::Slot* KnownTables::SlotOf(uint64_t number) const {
  return number < kNumbersEnd ? FirstSlot(number, [number](uint64_t found) { return found == number; }) : nullptr;
}

TableUnits* KnownTables::Find(uint64_t number) const {
  const Slot* slot = SlotOf(number);
  return slot == nullptr ? nullptr : slot->table.load(std::memory_order_relaxed);
}

void KnownTables::Insert(std::unique_ptr<TableUnits> table) {
  const uint64_t number = table->number;
  Slot* slot = FirstSlot(number, [](uint64_t found) { return found >= kNumbersEnd; });
  if (slot == nullptr) {
    const size_t array = arrays_.load(std::memory_order_relaxed);
    slots_[array] = std::make_unique<Slot[]>(SlotsOf(array));
    arrays_.store(array + 1, std::memory_order_release);
    slot = WindowOf(number, array);
  }
  slot->table.store(table.release(), std::memory_order_relaxed);
  slot->number.store(number, std::memory_order_release);
}

std::unique_ptr<TableUnits> KnownTables::Erase(uint64_t number) {
  Slot* slot = SlotOf(number);
  if (slot == nullptr) {
    return nullptr;
  }
  slot->number.store(kErased, std::memory_order_relaxed);
  return std::unique_ptr<TableUnits>(slot->table.exchange(nullptr, std::memory_order_relaxed));
}

std::vector<TableUnits*> KnownTables::All() const {
  std::vector<TableUnits*> all;
  for (size_t array = arrays_.load(std::memory_order_relaxed); array-- > 0;) {
    for (size_t at = 0; at < SlotsOf(array); ++at) {
      if (slots_[array][at].number.load(std::memory_order_relaxed) < kNumbersEnd) {
        all.push_back(slots_[array][at].table.load(std::memory_order_relaxed));
      }
    }
  }
  return all;
}

}  // namespace springbloom
