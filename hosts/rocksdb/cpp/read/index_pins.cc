#include "read/index_pins.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "rocksdb/file_system.h"

namespace springbloom {

using rocksdb::BlockBasedTable;
using rocksdb::BlockBasedTableOptions;
using rocksdb::Cache;
using rocksdb::PinningTier;

namespace {

// Of a cache, that indexes may keep. By the model of `springbloom map`, staying reads less up to this part, and more from two thirds on.
constexpr double kPartForIndexes = 0.5;
// Behind the index of a table lie its properties, the metaindex and the footer.
constexpr uint64_t kBytesBehindIndex = 1280;

// Bytes of the indexes of open tables.
struct Indexes {
  uint64_t all = 0;
  // Of them, those that stay.
  uint64_t kept = 0;
};

// By cache. A reader that is counted keeps its cache. Never destroyed: a database that outlives the statics of this file can still close.
std::unordered_map<const Cache*, Indexes>& AllIndexes() {
  static auto* all = new std::unordered_map<const Cache*, Indexes>;
  return *all;
}

std::mutex& AllIndexesMutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

Indexes IndexesIn(const Cache* cache) {
  std::lock_guard<std::mutex> lock(AllIndexesMutex());
  const auto found = AllIndexes().find(cache);
  return found == AllIndexes().end() ? Indexes() : found->second;
}

// What a reader adds to its cache.
Indexes IndexOf(const BlockBasedTable::Rep& reader) {
  const BlockBasedTableOptions& options = reader.table_options;
  if (options.block_cache == nullptr || !options.cache_index_and_filter_blocks || reader.table_properties == nullptr) {
    return Indexes();
  }
  const auto& pinning = options.metadata_cache_options;
  const bool is_partitioned = reader.index_type == BlockBasedTableOptions::kTwoLevelIndexSearch;
  const bool is_kept = (is_partitioned ? pinning.partition_pinning : pinning.unpartitioned_pinning) == PinningTier::kAll;
  const uint64_t bytes = reader.table_properties->index_size;
  return Indexes{bytes, is_kept ? bytes : 0};
}

}  // namespace

uint64_t TableBytes::Of(const rocksdb::ImmutableOptions& ioptions, const std::string& path) {
  std::call_once(once_, [&] {
    constexpr char kEnding[] = ".sst";
    std::vector<rocksdb::FileAttributes> files;
    const std::string folder = path.substr(0, path.find_last_of('/'));
    ioptions.fs->GetChildrenFileAttributes(folder, rocksdb::IOOptions(), &files, nullptr).PermitUncheckedError();
    for (const auto& file : files) {
      const bool is_table = file.name.size() > sizeof(kEnding) && file.name.ends_with(kEnding);
      bytes_ += is_table ? file.size_bytes : 0;
    }
  });
  return bytes_;
}

bool IndexMayStay(const BlockBasedTableOptions& options, uint64_t index_bytes, uint64_t file_bytes, uint64_t table_bytes) {
  const Cache* const cache = options.block_cache.get();
  // Where a cache with a strict limit is full of what stays, it fails reads.
  if (cache == nullptr || !options.cache_index_and_filter_blocks || cache->HasStrictCapacityLimit()) {
    return false;
  }
  index_bytes -= std::min(index_bytes, kBytesBehindIndex);
  const double of_database = static_cast<double>(index_bytes) * std::max(1.0, static_cast<double>(table_bytes) / file_bytes);
  const double most = kPartForIndexes * static_cast<double>(cache->GetCapacity());
  return of_database <= most && static_cast<double>(IndexesIn(cache).kept + index_bytes) <= most;
}

void KeepIndex(BlockBasedTableOptions* options) {
  auto& pinning = options->metadata_cache_options;
  for (PinningTier* tier : {&pinning.partition_pinning, &pinning.unpartitioned_pinning}) {
    if (*tier == PinningTier::kFallback) {
      *tier = PinningTier::kAll;
    }
  }
}

void CountIndex(const BlockBasedTable::Rep& reader) {
  if (const Indexes more = IndexOf(reader); more.all != 0) {
    std::lock_guard<std::mutex> lock(AllIndexesMutex());
    Indexes& sum = AllIndexes()[reader.table_options.block_cache.get()];
    sum.all += more.all;
    sum.kept += more.kept;
  }
}

void ForgetIndex(const BlockBasedTable::Rep& reader) {
  if (const Indexes less = IndexOf(reader); less.all != 0) {
    std::lock_guard<std::mutex> lock(AllIndexesMutex());
    const auto found = AllIndexes().find(reader.table_options.block_cache.get());
    found->second.all -= less.all;
    found->second.kept -= less.kept;
    if (found->second.all == 0) {
      AllIndexes().erase(found);
    }
  }
}

uint64_t IndexBytesIn(const Cache* cache) { return IndexesIn(cache).all; }

}  // namespace springbloom
