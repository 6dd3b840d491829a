#include "read/deferred_tables.h"

#include <sys/mman.h>

#include <atomic>
#include <new>

#include "options/cf_options.h"
#include "read/elastic_table_reader.h"
#include "read/give_way.h"
#include "read/open_files.h"
#include "read/unit_table.h"
#include "rocksdb/options.h"

namespace springbloom {

namespace {

// A reader and its pointer. With the pointer in 8 bytes, a slot and its share of the slab's header would take 16.06.
constexpr size_t kSlotBytes = sizeof(DeferredTableReader) + sizeof(uint32_t) + sizeof(uint16_t);
// A page: masking a reader's address gives its slab. From the system, as malloc would leave a hole before memory with this alignment.
constexpr size_t kSlabBytes = 4096;

// Linux on x86-64 gives a program addresses below 2^47, and readers are aligned to 8 bytes: 44 bits remain, 31 in the low part and 13 in
// the high one. A pointer changes once, from the stock reader to the ElasticTableReader. Bit 0 of both parts tells which it is: a lookup
// that reads the parts of two pointers sees that, and reads again.
constexpr uint32_t kOpened = 1;
// Flags in the high part.
constexpr uint16_t kUsed = 2;
constexpr uint16_t kTried = 4;

// Reads that fail before others have their turn.
constexpr int kUnreadableAtOnce = 16;

bool CanBePacked(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  return address % 8 == 0 && address >> 47 == 0;
}

uint32_t LowPart(const void* pointer) { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pointer) >> 3 << 1); }
uint16_t HighPart(const void* pointer) { return static_cast<uint16_t>(reinterpret_cast<uintptr_t>(pointer) >> 34 << 3); }

}  // namespace

struct DeferredTables::Slab {
  static constexpr size_t kSlots = (kSlabBytes - sizeof(DeferredTables*)) / kSlotBytes;

  explicit Slab(DeferredTables* tables) : of(tables) {}

  DeferredTables* const of;
  alignas(DeferredTableReader) char readers[kSlots * sizeof(DeferredTableReader)];
  std::atomic<uint32_t> low[kSlots]{};
  std::atomic<uint16_t> high[kSlots]{};
};

struct DeferredTables::Slot {
  Slab& slab;
  size_t index;

  static Slot Of(const void* reader) {
    auto* slab = reinterpret_cast<Slab*>(reinterpret_cast<uintptr_t>(reader) & ~uintptr_t{kSlabBytes - 1});
    return {*slab, (static_cast<const char*>(reader) - slab->readers) / sizeof(DeferredTableReader)};
  }

  void* Reader() const { return slab.readers + index * sizeof(DeferredTableReader); }
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

DeferredTables::~DeferredTables() {
  sb_deferred_remove(family_.filters.get(), this);
  for (Slab* slab : slabs_) {
    munmap(slab, kSlabBytes);
  }
}

void* DeferredTables::Allocate(rocksdb::TableReader* inner) {
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

void DeferredTables::Free(void* reader) {
  std::lock_guard<std::mutex> lock(mutex_);
  Slot::Of(reader).High().store(0, std::memory_order_relaxed);
}

void DeferredTables::StartTrying(DeferredTableReader* reader) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Slot::Of(reader).Set(kTried);
  }
  sb_deferred_add(family_.filters.get(), family_.family_, this, &Retry);
}

bool DeferredTables::StopTrying(DeferredTableReader* reader) {
  const Slot slot = Slot::Of(reader);
  std::lock_guard<std::mutex> lock(mutex_);
  if (slot.Has(kTried)) {
    slot.Clear(kTried);
    sb_deferred_closed(family_.filters.get());
  }
  return slot.Has(kOpened);
}

int DeferredTables::Retry(void* context) noexcept {
  auto* self = static_cast<DeferredTables*>(context);
  // Held so that the reader is not destroyed meanwhile.
  std::lock_guard<std::mutex> lock(self->mutex_);
  const size_t slots = self->slabs_.size() * Slab::kSlots;
  int unreadable = 0;
  for (size_t n = 0, first = self->next_try_; n < slots && unreadable < kUnreadableAtOnce; ++n) {
    const size_t at = (first + n) % slots;
    const Slot slot{*self->slabs_[at / Slab::kSlots], at % Slab::kSlots};
    if (!slot.Has(kTried)) {
      continue;
    }
    self->next_try_ = at;
    const int why = self->TryOne(static_cast<DeferredTableReader*>(slot.Reader()));
    if (why == SB_NO_ROOM) {
      return SB_NO_ROOM;
    }
    self->next_try_ = at + 1;
    if (why == SB_UNREADABLE) {
      ++unreadable;
      continue;
    }
    slot.Clear(kTried);
    // A damaged table is not tried again either.
    return SB_OPENED;
  }
  return unreadable != 0 ? SB_UNREADABLE : SB_NONE_LEFT;
}

namespace {

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

int DeferredTables::TryOne(DeferredTableReader* reader) const {
  const Slot slot = Slot::Of(reader);
  const rocksdb::BlockBasedTable::Rep& rep = RepOf(*slot.Inner());
  // With units, the table's slot is paid for too.
  if (!sb_reserve(family_.filters.get(), kSlotBytes)) {
    return SB_NO_ROOM;
  }
  void* memory = ::operator new(sizeof(ElasticTableReader));
  const rocksdb::ReadOptions read_options;
  rocksdb::RandomAccessFileReader file = ReaderOf(rep.file->file(), rep.file->file_name());
  auto unit_table = UnitTable::Find(read_options, OptionsToRead(family_), /*tail_size=*/0, &file, rep.file_size);
  sb_table table;
  int why = UnitTable::IsIn(*rep.table_properties) ? SB_UNREADABLE : SB_CORRUPT;
  if (unit_table) {
    why = CanBePacked(memory) ? unit_table->Open(read_options, family_, rep, &file, &table) : SB_CORRUPT;
  }
  if (why != SB_OPENED) {
    ::operator delete(memory);
    sb_give_back(family_.filters.get(), kSlotBytes);
    return why;
  }
  // The entries of an ingested table do not have their sequence number.
  const bool is_ingested = rep.global_seqno != rocksdb::kDisableGlobalSequenceNumber;
  std::unique_ptr<rocksdb::TableReader> stock(slot.Inner());
  auto* opened = new (memory) ElasticTableReader(std::move(stock), TableFilter(ColumnFamilyRef(family_), table),
                                                 is_ingested ? rep.global_seqno : 0, rep.level);
  // Lookups may go on in either reader. The low part first: a lookup that sees the new high part sees the new low part.
  slot.Low().store(LowPart(opened) | kOpened, std::memory_order_relaxed);
  const uint16_t flags = slot.High().load(std::memory_order_relaxed) & (kUsed | kTried);
  slot.High().store(HighPart(opened) | flags | kOpened, std::memory_order_release);
  return SB_OPENED;
}

std::unique_ptr<rocksdb::TableReader> DeferredTableReader::Make(ColumnFamilyRef family,
                                                                std::unique_ptr<rocksdb::TableReader> stock) {
  if (!CanBePacked(stock.get())) {
    return stock;
  }
  DeferredTables& tables = family->Deferred();
  auto* reader = new (tables.Allocate(stock.release())) DeferredTableReader();
  family.Release();  // adopted by operator delete
  tables.StartTrying(reader);
  return std::unique_ptr<rocksdb::TableReader>(reader);
}

rocksdb::TableReader& DeferredTableReader::Inner() const { return *DeferredTables::Slot::Of(this).Inner(); }

rocksdb::Status DeferredTableReader::Get(const rocksdb::ReadOptions& read_options, const rocksdb::Slice& internal_key,
                                         rocksdb::GetContext* get_context, const rocksdb::SliceTransform* prefix_extractor,
                                         bool skip_filters) {
  const rocksdb::GetContext::GetState before = get_context->State();
  rocksdb::Status s = Inner().Get(read_options, internal_key, get_context, prefix_extractor, skip_filters);
  if (s.IsMemoryLimit()) {
    GetWhileFiltersGiveWay(DeferredTables::Slot::Of(this).slab.of->family_.filters.get(), before, *get_context, &s,
                           [&] { return Inner().Get(read_options, internal_key, get_context, prefix_extractor, skip_filters); });
  }
  return s;
}

rocksdb::InternalIterator* DeferredTableReader::NewIterator(const rocksdb::ReadOptions& read_options,
                                                            const rocksdb::SliceTransform* prefix_extractor,
                                                            rocksdb::Arena* arena, bool skip_filters,
                                                            rocksdb::TableReaderCaller caller, size_t compaction_readahead_size,
                                                            bool allow_unprepared_value) {
  return IterateWhileFiltersGiveWay(DeferredTables::Slot::Of(this).slab.of->family_.filters.get(), arena, [&] {
    return ForwardingTableReader::NewIterator(read_options, prefix_extractor, arena, skip_filters, caller,
                                              compaction_readahead_size, allow_unprepared_value);
  });
}

DeferredTableReader::~DeferredTableReader() {
  DeferredTables& tables = *DeferredTables::Slot::Of(this).slab.of;
  if (tables.StopTrying(this)) {
    sb_give_back(tables.family_.filters.get(), kSlotBytes);
  }
  delete &Inner();
}

void DeferredTableReader::operator delete(void* reader) {
  DeferredTables& tables = *DeferredTables::Slot::Of(reader).slab.of;
  const ColumnFamilyRef last = ColumnFamilyRef::Adopt(&tables.family_);
  tables.Free(reader);
}

void DeferredTableReader::MarkObsolete(uint32_t uncache_aggressiveness) {
  // The file is going away: do not open it any more.
  DeferredTables::Slot::Of(this).slab.of->StopTrying(this);
  ForwardingTableReader::MarkObsolete(uncache_aggressiveness);
}

}  // namespace springbloom
