#include "install/connection.h"

#include <utility>
#include <vector>

namespace springbloom {

using rocksdb::Status;

namespace {

std::vector<sb_setting> SettingsIn(const ElasticOptions& options) {
  std::vector<sb_setting> given;
  for (size_t i = 0; i < SB_SETTINGS; ++i) {
    if (!options.values[i].empty()) {
      given.push_back(sb_setting{sb_setting_name(i), Bytes(options.values[i])});
    }
  }
  return given;
}

// Has the block cache of these options pay for the budget, if it is charged, while `use` lives. An error if none can pay.
Status UseCache(const sb_filters* filters, const rocksdb::BlockBasedTableOptions& options, CacheUse* use) {
  const auto* cache = options.no_block_cache || options.block_cache == nullptr ? nullptr : &options.block_cache;
  sb_cache_use* share = nullptr;
  char error[512] = "";
  if (!sb_filters_use_cache(filters, cache, options.block_cache.get(), &share, error, sizeof(error))) {
    return Status::InvalidArgument("springbloom", error);
  }
  use->reset(share, FreeBy<sb_cache_use_release>());
  if (share != nullptr) {
    YieldingCache::AddPayment(options.block_cache, *use);
  }
  return Status::OK();
}

}  // namespace

Connection::Connection(const Connection& other) : given_(other.given_) {
  std::lock_guard<std::mutex> lock(other.mutex_);
  filters_ = other.filters_;
  cache_use_ = other.cache_use_;
  used_cache_ = other.used_cache_;
  applied_budget_ = other.applied_budget_;
}

Status Connection::Get(const ElasticOptions& options, const rocksdb::BlockBasedTableOptions& table_options, FiltersRef* filters) {
  const std::string& budget = options.values[SB_SETTING_BUDGET];
  const rocksdb::Cache* const cache = table_options.block_cache.get();
  FiltersRef connected;
  // What is left goes without the lock: an instance waits for its threads, and with a use may go a cache.
  FiltersRef left;
  CacheUse use;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!given_ && applied_budget_ != budget) {
      left.swap(filters_);
    } else if (cache_use_ != nullptr && used_cache_ == cache) {
      *filters = filters_;
      return Status::OK();
    }
    connected = filters_;
  }
  if (connected == nullptr) {
    const std::vector<sb_setting> given = SettingsIn(options);
    // The next one has to find it unused if this connection alone uses it.
    left.reset();
    char error[512] = "";
    connected.reset(sb_filters_shared_instance(&springbloom_engine, given.data(), given.size(), error, sizeof(error)),
                    FiltersRelease());
    if (connected == nullptr) {
      return Status::InvalidArgument("springbloom", error);
    }
  }
  *filters = connected;
  const Status s = UseCache(connected.get(), table_options, &use);
  std::lock_guard<std::mutex> lock(mutex_);
  use.swap(cache_use_);
  used_cache_ = cache;
  applied_budget_ = budget;
  if (s.ok() || given_) {
    left.swap(connected);
  }
  left.swap(filters_);
  return s;
}

}  // namespace springbloom
