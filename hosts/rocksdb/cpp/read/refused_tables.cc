#include "read/refused_tables.h"

#include <bit>
#include <cstdlib>
#include <new>

#include "read/elastic_table_reader.h"
#include "read/unit_table.h"

namespace springbloom {

namespace {

// Also its alignment: from a slot to its slab by masking.
constexpr size_t kSlabBytes = 4096;
constexpr size_t kWords = 4;

}  // namespace

struct RefusedTables::Slab {
  RefusedTables* of;
  // Bits by slot.
  uint64_t used[kWords];
  uint64_t tried[kWords];
  uint64_t opened[kWords];

  static constexpr size_t kHeaderBytes = sizeof(RefusedTables*) + 3 * kWords * sizeof(uint64_t);
  static constexpr size_t kSlots = (kSlabBytes - kHeaderBytes) / sizeof(RefusedTableReader);
  void* At(size_t index) { return reinterpret_cast<char*>(this) + kHeaderBytes + index * sizeof(RefusedTableReader); }
  static_assert(kSlots <= kWords * 64 && kHeaderBytes % alignof(RefusedTableReader) == 0);
};

RefusedTables::RefusedTables(const ColumnFamily& family, const rocksdb::ImmutableOptions& ioptions)
    : family_(family), ioptions_(ioptions) {}

RefusedTables::~RefusedTables() {
  sb_refused_remove(family_.filters.get(), this);
  for (Slab* slab : slabs_) {
    std::free(slab);
  }
}

RefusedTables::Slab& RefusedTables::SlabOf(void* slot) {
  return *reinterpret_cast<Slab*>(reinterpret_cast<uintptr_t>(slot) & ~uintptr_t{kSlabBytes - 1});
}

size_t RefusedTables::IndexIn(const Slab& slab, const void* slot) {
  return (static_cast<const char*>(slot) - reinterpret_cast<const char*>(&slab) - Slab::kHeaderBytes) /
         sizeof(RefusedTableReader);
}

void* RefusedTables::Allocate() {
  std::lock_guard<std::mutex> lock(mutex_);
  // The newest first: those before it are full, unless tables were closed.
  for (auto slab = slabs_.rbegin(); slab != slabs_.rend(); ++slab) {
    for (size_t word = 0; word < kWords; ++word) {
      const size_t index = word * 64 + std::countr_one((*slab)->used[word]);
      if (index < (word + 1) * 64 && index < Slab::kSlots) {
        (*slab)->used[word] |= uint64_t{1} << (index % 64);
        return (*slab)->At(index);
      }
    }
  }
  void* memory = std::aligned_alloc(kSlabBytes, kSlabBytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  slabs_.push_back(new (memory) Slab{this, {1}, {}, {}});
  return slabs_.back()->At(0);
}

void RefusedTables::Free(void* slot) {
  Slab& slab = SlabOf(slot);
  const size_t index = IndexIn(slab, slot);
  std::lock_guard<std::mutex> lock(mutex_);
  slab.used[index / 64] &= ~(uint64_t{1} << (index % 64));
  slab.opened[index / 64] &= ~(uint64_t{1} << (index % 64));
}

void RefusedTables::StartTrying(RefusedTableReader* reader) {
  {
    Slab& slab = SlabOf(reader);
    const size_t index = IndexIn(slab, reader);
    std::lock_guard<std::mutex> lock(mutex_);
    slab.tried[index / 64] |= uint64_t{1} << (index % 64);
  }
  sb_refused_add(family_.filters.get(), family_.family_, this, &Retry);
}

bool RefusedTables::StopTrying(RefusedTableReader* reader) {
  Slab& slab = SlabOf(reader);
  const size_t index = IndexIn(slab, reader);
  const uint64_t bit = uint64_t{1} << (index % 64);
  std::lock_guard<std::mutex> lock(mutex_);
  slab.tried[index / 64] &= ~bit;
  return (slab.opened[index / 64] & bit) != 0;
}

int RefusedTables::Retry(void* context) noexcept {
  auto* self = static_cast<RefusedTables*>(context);
  // Held while the reader is tried, so that it does not go away.
  std::lock_guard<std::mutex> lock(self->mutex_);
  for (Slab* slab : self->slabs_) {
    for (size_t word = 0; word < kWords; ++word) {
      if (slab->tried[word] == 0) {
        continue;
      }
      const size_t index = word * 64 + std::countr_zero(slab->tried[word]);
      const uint64_t bit = uint64_t{1} << (index % 64);
      const int why = self->TryOne(static_cast<RefusedTableReader*>(slab->At(index)));
      if (why == SB_NO_ROOM) {
        return SB_NO_ROOM;
      }
      slab->tried[word] &= ~bit;
      slab->opened[word] |= why == SB_OPENED ? bit : 0;
      // One that cannot be opened for another reason is not tried again.
      return SB_OPENED;
    }
  }
  return SB_NONE_LEFT;
}

int RefusedTables::TryOne(RefusedTableReader* reader) const {
  const rocksdb::BlockBasedTable::Rep& rep = RepOf(reader->Inner());
  // For what this reader takes from then on.
  if (!sb_reserve(family_.filters.get(), sizeof(*reader))) {
    return SB_NO_ROOM;
  }
  const rocksdb::ReadOptions read_options;
  auto unit_table = UnitTable::Find(read_options, ioptions_, /*tail_size=*/0, rep.file.get(), rep.file_size);
  sb_table table;
  const int why = unit_table ? unit_table->Open(read_options, family_, rep, &table) : SB_CORRUPT;
  if (why != SB_OPENED) {
    sb_give_back(family_.filters.get(), sizeof(*reader));
    return why;
  }
  // Of an ingested table, whose entries do not say it themselves.
  const bool is_ingested = rep.global_seqno != rocksdb::kDisableGlobalSequenceNumber;
  reader->Replace([&](std::unique_ptr<rocksdb::TableReader> owned) {
    return std::make_unique<ElasticTableReader>(std::move(owned), TableFilter(ColumnFamilyRef(family_), table),
                                                is_ingested ? rep.global_seqno : 0, rep.level);
  });
  return SB_OPENED;
}

std::unique_ptr<rocksdb::TableReader> RefusedTableReader::Make(ColumnFamilyRef family,
                                                               std::unique_ptr<rocksdb::TableReader> stock,
                                                               const rocksdb::TableReaderOptions& options) {
  RefusedTables& tables = family->Refused(options.ioptions);
  auto* reader = new (tables.Allocate()) RefusedTableReader(std::move(stock));
  family.Release();  // adopted by operator delete
  tables.StartTrying(reader);
  return std::unique_ptr<rocksdb::TableReader>(reader);
}

RefusedTableReader::~RefusedTableReader() {
  RefusedTables& tables = *RefusedTables::SlabOf(this).of;
  if (tables.StopTrying(this)) {
    sb_give_back(tables.family_.filters.get(), sizeof(*this));
  }
}

void RefusedTableReader::operator delete(void* reader) {
  RefusedTables& tables = *RefusedTables::SlabOf(reader).of;
  const ColumnFamilyRef last = ColumnFamilyRef::Adopt(&tables.family_);
  tables.Free(reader);
}

void RefusedTableReader::MarkObsolete(uint32_t uncache_aggressiveness) {
  // From here on nobody tries.
  RefusedTables::SlabOf(this).of->StopTrying(this);
  Inner().MarkObsolete(uncache_aggressiveness);
}

}  // namespace springbloom
