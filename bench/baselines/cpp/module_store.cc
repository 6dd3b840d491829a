#include "module_store.h"

#include <cstdlib>
#include <cstring>

#include "rocksdb/filter_policy.h"
#include "rocksdb/perf_context.h"

namespace springbloom {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

// Direct reads begin and end at multiples of it.
constexpr uint64_t kPageBytes = 4096;

uint64_t RoundUp(uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

ModuleStore::ModuleStore(std::shared_ptr<rocksdb::FileSystem> fs, std::string path, bool direct_reads,
                         std::shared_ptr<rocksdb::Cache> cache)
    : fs_(std::move(fs)),
      path_(std::move(path)),
      direct_reads_(direct_reads),
      cache_(std::move(cache)),
      cache_id_(cache_.get()->NewId()) {}

// At the first use: the folder of a new database is made after its options.
Status ModuleStore::Open() {
  if (reading_ != nullptr) {
    return Status::OK();
  }
  rocksdb::FileOptions options;
  // Direct writes take whole pages only from aligned memory; buffered ones are seen by direct reads.
  Status status = fs_->ReopenWritableFile(path_, options, &writing_, nullptr);
  if (status.ok()) {
    end_ = RoundUp(writing_->GetFileSize(options.io_options, nullptr));
    options.use_direct_reads = direct_reads_;
    status = fs_->NewRandomAccessFile(path_, options, &reading_, nullptr);
  }
  return status;
}

Status ModuleStore::Append(const Slice& module, uint64_t* offset) {
  std::lock_guard<std::mutex> lock(mutex_);
  Status status = Open();
  if (!status.ok()) {
    return status;
  }
  // A whole number of pages, so that a direct read does not go beyond the end.
  std::string pages(module.data(), module.size());
  pages.resize(RoundUp(pages.size()));
  const rocksdb::IOOptions options;
  status = writing_->Append(pages, options, nullptr);
  if (status.ok()) {
    status = writing_->Flush(options, nullptr);
  }
  *offset = end_;
  end_ += pages.size();
  return status;
}

std::unique_ptr<Module> ModuleStore::Read(uint64_t offset, uint32_t size) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!Open().ok()) {
      return nullptr;
    }
  }
  const uint64_t bytes = RoundUp(size);
  std::unique_ptr<char, Free> pages(static_cast<char*>(std::aligned_alloc(kPageBytes, bytes)));
  Slice read;
  if (!reading_->Read(offset, bytes, rocksdb::IOOptions(), &read, pages.get(), nullptr).ok() || read.size() < size) {
    return nullptr;
  }
  rocksdb::PerfContext& context = *rocksdb::get_perf_context();
  context.block_read_count += 1;
  context.filter_block_read_count += 1;
  auto module = std::make_unique<Module>();
  module->bytes.reset(new char[size]);
  std::memcpy(module->bytes.get(), read.data(), size);
  module->filter.reset(rocksdb::BuiltinFilterPolicy::GetBuiltinFilterBitsReader(Slice(module->bytes.get(), size)));
  return module;
}

bool ModuleStore::MayMatch(uint64_t offset, uint32_t size, const Slice& key) {
  // As long as the keys of RocksDB's own blocks.
  char id[16];
  std::memcpy(id, &cache_id_, 8);
  std::memcpy(id + 8, &offset, 8);
  const Slice place(id, sizeof id);
  ModuleCache::TypedHandle* handle = cache_.Lookup(place);
  if (handle == nullptr) {
    std::unique_ptr<Module> read = Read(offset, size);
    if (read == nullptr) {
      return true;
    }
    if (!cache_.Insert(place, read.get(), size, &handle, rocksdb::Cache::Priority::HIGH).ok()) {
      return read->filter->MayMatch(key);
    }
    read.release();
  }
  const bool may_match = cache_.Value(handle)->filter->MayMatch(key);
  cache_.Release(handle);
  return may_match;
}

}  // namespace springbloom
