#include "unit_source.h"

#include <cstring>

#include "file/random_access_file_reader.h"

namespace springbloom {

UnitSource::UnitSource(std::shared_ptr<rocksdb::FileSystem> fs, std::string path, const rocksdb::FileOptions& options,
                       uint64_t block_offset, uint64_t block_bytes)
    : fs_(std::move(fs)),
      path_(std::move(path)),
      options_(options),
      block_offset_(block_offset),
      block_bytes_(block_bytes) {
  // A mapping would be made and torn down for each unit.
  options_.use_mmap_reads = false;
}

sb_file UnitSource::Make(std::shared_ptr<rocksdb::FileSystem> fs, std::string path, const rocksdb::FileOptions& options,
                         uint64_t block_offset, uint64_t block_bytes) {
  return sb_file{new UnitSource(std::move(fs), std::move(path), options, block_offset, block_bytes), &Read, &Exists,
                 &Free};
}

int UnitSource::Read(void* source, uint64_t offset, size_t size, uint8_t* into) {
  auto* self = static_cast<UnitSource*>(source);
  if (offset > self->block_bytes_ || size > self->block_bytes_ - offset) {
    return 1;
  }
  std::unique_ptr<rocksdb::RandomAccessFileReader> file;
  rocksdb::IOStatus s =
      rocksdb::RandomAccessFileReader::Create(self->fs_, self->path_, self->options_, &file, nullptr);
  if (!s.ok()) {
    return 1;
  }
  rocksdb::Slice result;
  char* scratch = reinterpret_cast<char*>(into);
  s = file->Read(rocksdb::IOOptions(), self->block_offset_ + offset, size, &result, scratch);
  if (!s.ok() || result.size() != size) {
    return 1;
  }
  if (result.data() != scratch) {
    std::memcpy(scratch, result.data(), size);
  }
  return 0;
}

int UnitSource::Exists(void* source) {
  auto* self = static_cast<UnitSource*>(source);
  // Anything but a clear "no such file" keeps the state: forgetting it for a passing fault would be a cold start.
  return self->fs_->FileExists(self->path_, rocksdb::IOOptions(), nullptr).IsNotFound() ? 0 : 1;
}

void UnitSource::Free(void* source) { delete static_cast<UnitSource*>(source); }

}  // namespace springbloom
