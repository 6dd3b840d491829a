// Reads a block cache trace (DB::StartBlockCacheTrace): which blocks the lookups of each column family asked for, and which were missing.
#include <map>
#include <set>

#include "abi.h"
#include "owners.h"
#include "rocksdb/env.h"
#include "rocksdb/trace_reader_writer.h"
#include "trace_replay/block_cache_tracer.h"

namespace {

struct TracedFamily {
  std::set<uint64_t> lookups;
  springbloom_cache_trace found{};
};

springbloom_traced_blocks* BlocksOf(springbloom_cache_trace* family, rocksdb::TraceType type) {
  switch (type) {
    case rocksdb::TraceType::kBlockTraceDataBlock:
      return &family->data;
    case rocksdb::TraceType::kBlockTraceIndexBlock:
      return &family->index;
    case rocksdb::TraceType::kBlockTraceFilterBlock:
      return &family->filters;
    default:
      return nullptr;
  }
}

rocksdb::Status ReadTrace(const std::string& path, std::map<std::string, TracedFamily>* families) {
  std::unique_ptr<rocksdb::TraceReader> file;
  rocksdb::Status s = rocksdb::NewFileTraceReader(rocksdb::Env::Default(), rocksdb::EnvOptions(), path, &file);
  if (!s.ok()) {
    return s;
  }
  rocksdb::BlockCacheTraceReader trace(std::move(file));
  rocksdb::BlockCacheTraceHeader header{};
  s = trace.ReadHeader(&header);
  while (s.ok()) {
    rocksdb::BlockCacheTraceRecord access;
    s = trace.ReadAccess(&access);
    if (s.IsIncomplete()) {
      return rocksdb::Status::OK();  // the end, which may be torn
    }
    if (!s.ok() || !rocksdb::BlockCacheTraceHelper::IsGetOrMultiGet(access.caller)) {
      continue;
    }
    TracedFamily& family = (*families)[access.cf_name];
    family.lookups.insert(access.get_id);
    if (springbloom_traced_blocks* const blocks = BlocksOf(&family.found, access.block_type)) {
      ++blocks->asked;
      blocks->missing += access.is_cache_hit ? 0 : 1;
      blocks->missing_bytes += access.is_cache_hit ? 0 : access.block_size;
    }
  }
  return s;
}

}  // namespace

extern "C" int springbloom_read_cache_trace(sb_bytes path, void* context,
                                            void (*take)(void* context, const springbloom_cache_trace* family), char* error,
                                            size_t error_size) noexcept {
  std::map<std::string, TracedFamily> families;
  const rocksdb::Status s = ReadTrace(springbloom::ToSlice(path).ToString(), &families);
  for (auto& [name, family] : families) {
    family.found.family = springbloom::Bytes(name);
    family.found.lookups = family.lookups.size();
    take(context, &family.found);
  }
  return springbloom::Told(s, error, error_size);
}
