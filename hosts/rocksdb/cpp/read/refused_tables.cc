#include "read/refused_tables.h"

#include <sys/mman.h>

#include <atomic>
#include <new>

#include "options/cf_options.h"
#include "read/elastic_table_reader.h"
#include "read/unit_table.h"
#include "rocksdb/options.h"

namespace springbloom {

namespace {

// A reader, and the pointer to the other one.
constexpr size_t kSlotBytes = sizeof(RefusedTableReader) + sizeof(uint32_t) + sizeof(uint16_t);
// A page from the system, so that a reader leads to its slab by masking. Memory so aligned from malloc would leave a hole before each.
constexpr size_t kSlabBytes = 4096;

// A pointer is a multiple of 8 below 2^47, as Linux gives them to programs on x86-64: 31 bits are in the low part, 13 in the high one.
// Bit 0 of both tells which reader it leads to; who reads the parts of two different ones sees that and reads again.
constexpr uint32_t kOpened = 1;
// Further bits of the high part.
constexpr uint16_t kUsed = 2;
constexpr uint16_t kTried = 4;

bool CanBePacked(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  return address % 8 == 0 && address >> 47 == 0;
}

uint32_t LowPart(const void* pointer) { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pointer) >> 3 << 1); }
uint16_t HighPart(const void* pointer) { return static_cast<uint16_t>(reinterpret_cast<uintptr_t>(pointer) >> 34 << 3); }

}  // namespace

struct RefusedTables::Slab {
  static constexpr size_t kSlots = (kSlabBytes - sizeof(RefusedTables*)) / kSlotBytes;

  explicit Slab(RefusedTables* tables) : of(tables) {}

  RefusedTables* const of;
  alignas(RefusedTableReader) char readers[kSlots * sizeof(RefusedTableReader)];
  std::atomic<uint32_t> low[kSlots]{};
  std::atomic<uint16_t> high[kSlots]{};
};

struct RefusedTables::Slot {
  Slab& slab;
  size_t index;

  static Slot Of(const void* reader) {
    auto* slab = reinterpret_cast<Slab*>(reinterpret_cast<uintptr_t>(reader) & ~uintptr_t{kSlabBytes - 1});
    return {*slab, (static_cast<const char*>(reader) - slab->readers) / sizeof(RefusedTableReader)};
  }

  void* Reader() const { return slab.readers + index * sizeof(RefusedTableReader); }
  std::atomic<uint32_t>& Low() const { return slab.low[index]; }
  std::atomic<uint16_t>& High() const { return slab.high[index]; }
  bool Has(uint16_t flag) const { return (High().load(std::memory_order_relaxed) & flag) != 0; }
  void Set(uint16_t flag) const { High().fetch_or(flag, std::memory_order_relaxed); }
  void Clear(uint16_t flag) const { High().fetch_and(static_cast<uint16_t>(~flag), std::memory_order_relaxed); }

  rocksdb::TableReader* Inner() const {
    for (;;) {
      const uint64_t high_part = High().load(std::memory_order_acquire);
      const uint64_t low_part = Low().load(std::memory_order_relaxed);
      if (((high_part ^ low_part) & kOpened) == 0) {
        return reinterpret_cast<rocksdb::TableReader*>(high_part >> 3 << 34 | low_part >> 1 << 3);
      }
    }
  }
};

RefusedTables::~RefusedTables() {
  sb_refused_remove(family_.filters.get(), this);
  for (Slab* slab : slabs_) {
    munmap(slab, kSlabBytes);
  }
}

void* RefusedTables::Allocate(rocksdb::TableReader* inner) {
  static_assert(kSlotBytes == 14 && sizeof(Slab) == kSlabBytes);
  std::lock_guard<std::mutex> lock(mutex_);
  const auto take = [inner](Slot slot) {
    slot.Low().store(LowPart(inner), std::memory_order_relaxed);
    slot.High().store(HighPart(inner) | kUsed, std::memory_order_relaxed);
    return slot.Reader();
  };
  // The newest first: those before it are full, unless tables were closed.
  for (auto slab = slabs_.rbegin(); slab != slabs_.rend(); ++slab) {
    for (size_t index = 0; index < Slab::kSlots; ++index) {
      const Slot slot{**slab, index};
      if (!slot.Has(kUsed)) {
        return take(slot);
      }
    }
  }
  void* memory = mmap(nullptr, kSlabBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  slabs_.push_back(new (memory) Slab(this));
  return take(Slot{*slabs_.back(), 0});
}

void RefusedTables::Free(void* reader) {
  std::lock_guard<std::mutex> lock(mutex_);
  Slot::Of(reader).High().store(0, std::memory_order_relaxed);
}

void RefusedTables::StartTrying(RefusedTableReader* reader) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Slot::Of(reader).Set(kTried);
  }
  sb_refused_add(family_.filters.get(), family_.family_, this, &Retry);
}

bool RefusedTables::StopTrying(RefusedTableReader* reader) {
  const Slot slot = Slot::Of(reader);
  std::lock_guard<std::mutex> lock(mutex_);
  slot.Clear(kTried);
  return slot.Has(kOpened);
}

int RefusedTables::Retry(void* context) noexcept {
  auto* self = static_cast<RefusedTables*>(context);
  // Held while the reader is tried, so that it does not go away.
  std::lock_guard<std::mutex> lock(self->mutex_);
  for (size_t n = 0; n < self->slabs_.size(); ++n) {
    const size_t at = (self->last_tried_ + n) % self->slabs_.size();
    for (size_t index = 0; index < Slab::kSlots; ++index) {
      const Slot slot{*self->slabs_[at], index};
      if (!slot.Has(kTried)) {
        continue;
      }
      self->last_tried_ = at;
      const int why = self->TryOne(static_cast<RefusedTableReader*>(slot.Reader()));
      if (why == SB_NO_ROOM) {
        return SB_NO_ROOM;
      }
      slot.Clear(kTried);
      // One that cannot be opened for another reason is not tried again.
      return SB_OPENED;
    }
  }
  return SB_NONE_LEFT;
}

namespace {

// Those that finding a block asks for. RocksDB's own may be gone: a reader outlives its column family for a moment.
rocksdb::ImmutableOptions OptionsToRead(const ColumnFamily& family) {
  static const auto* defaults = new rocksdb::ImmutableOptions(rocksdb::Options());
  rocksdb::ImmutableOptions options(*defaults);
  options.fs = family.file_system;
  options.stats = family.statistics;
  options.logger = family.log.get();
  return options;
}

}  // namespace

int RefusedTables::TryOne(RefusedTableReader* reader) const {
  const Slot slot = Slot::Of(reader);
  const rocksdb::BlockBasedTable::Rep& rep = RepOf(*slot.Inner());
  // For what the slot takes from then on.
  if (!sb_reserve(family_.filters.get(), kSlotBytes)) {
    return SB_NO_ROOM;
  }
  void* memory = ::operator new(sizeof(ElasticTableReader));
  const rocksdb::ReadOptions read_options;
  auto unit_table = UnitTable::Find(read_options, OptionsToRead(family_), /*tail_size=*/0, rep.file.get(), rep.file_size);
  sb_table table;
  const int why = unit_table && CanBePacked(memory) ? unit_table->Open(read_options, family_, rep, &table) : SB_CORRUPT;
  if (why != SB_OPENED) {
    ::operator delete(memory);
    sb_give_back(family_.filters.get(), kSlotBytes);
    return why;
  }
  // Of an ingested table, whose entries do not say it themselves.
  const bool is_ingested = rep.global_seqno != rocksdb::kDisableGlobalSequenceNumber;
  std::unique_ptr<rocksdb::TableReader> stock(slot.Inner());
  auto* opened = new (memory) ElasticTableReader(std::move(stock), TableFilter(ColumnFamilyRef(family_), table),
                                                 is_ingested ? rep.global_seqno : 0, rep.level);
  // Lookups may go on in either. The low part first: who sees the high one of the new reader sees the new reader.
  slot.Low().store(LowPart(opened) | kOpened, std::memory_order_relaxed);
  const uint16_t flags = slot.High().load(std::memory_order_relaxed) & (kUsed | kTried);
  slot.High().store(HighPart(opened) | flags | kOpened, std::memory_order_release);
  return SB_OPENED;
}

std::unique_ptr<rocksdb::TableReader> RefusedTableReader::Make(ColumnFamilyRef family,
                                                               std::unique_ptr<rocksdb::TableReader> stock) {
  if (!CanBePacked(stock.get())) {
    return stock;
  }
  RefusedTables& tables = family->Refused();
  auto* reader = new (tables.Allocate(stock.release())) RefusedTableReader();
  family.Release();  // adopted by operator delete
  tables.StartTrying(reader);
  return std::unique_ptr<rocksdb::TableReader>(reader);
}

rocksdb::TableReader& RefusedTableReader::Inner() const { return *RefusedTables::Slot::Of(this).Inner(); }

RefusedTableReader::~RefusedTableReader() {
  RefusedTables& tables = *RefusedTables::Slot::Of(this).slab.of;
  if (tables.StopTrying(this)) {
    sb_give_back(tables.family_.filters.get(), kSlotBytes);
  }
  delete &Inner();
}

void RefusedTableReader::operator delete(void* reader) {
  RefusedTables& tables = *RefusedTables::Slot::Of(reader).slab.of;
  const ColumnFamilyRef last = ColumnFamilyRef::Adopt(&tables.family_);
  tables.Free(reader);
}

void RefusedTableReader::MarkObsolete(uint32_t uncache_aggressiveness) {
  // From here on nobody tries.
  RefusedTables::Slot::Of(this).slab.of->StopTrying(this);
  ForwardingTableReader::MarkObsolete(uncache_aggressiveness);
}

}  // namespace springbloom
