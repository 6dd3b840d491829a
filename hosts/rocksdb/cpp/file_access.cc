#include "file_access.h"

#include <cstring>
#include <string>

#include "file/random_access_file_reader.h"
#include "rocksdb/file_checksum.h"

namespace springbloom {

namespace {

std::string Text(sb_bytes bytes) { return std::string(reinterpret_cast<const char*>(bytes.data), bytes.size); }

}  // namespace

FileAccess::FileAccess(std::shared_ptr<rocksdb::FileSystem> fs, const rocksdb::EnvOptions& options)
    : fs_(std::move(fs)), options_(options) {
  // A mapping would be made and torn down for each unit.
  options_.use_mmap_reads = false;
  // RocksDB asserts that whoever opens a table says what is known of its checksum.
  options_.file_checksum_func_name = rocksdb::kNoFileChecksumFuncName;
}

sb_file_access FileAccess::Make(std::shared_ptr<rocksdb::FileSystem> fs, const rocksdb::EnvOptions& options) {
  return sb_file_access{new FileAccess(std::move(fs), options), &Read, &Exists, &Free};
}

int FileAccess::Read(const void* access, sb_bytes path, uint64_t offset, size_t size, uint8_t* into) noexcept {
  auto* self = static_cast<const FileAccess*>(access);
  std::unique_ptr<rocksdb::RandomAccessFileReader> file;
  rocksdb::IOStatus s = rocksdb::RandomAccessFileReader::Create(self->fs_, Text(path), self->options_, &file, nullptr);
  if (!s.ok()) {
    return 1;
  }
  rocksdb::Slice result;
  char* scratch = reinterpret_cast<char*>(into);
  s = file->Read(rocksdb::IOOptions(), offset, size, &result, scratch);
  if (!s.ok() || result.size() != size) {
    return 1;
  }
  if (result.data() != scratch) {
    std::memcpy(scratch, result.data(), size);
  }
  return 0;
}

int FileAccess::Exists(const void* access, sb_bytes path) noexcept {
  auto* self = static_cast<const FileAccess*>(access);
  // Anything but a clear "no such file" keeps the state: forgetting it for a passing fault would be a cold start.
  return self->fs_->FileExists(Text(path), rocksdb::IOOptions(), nullptr).IsNotFound() ? 0 : 1;
}

void FileAccess::Free(void* access) noexcept { delete static_cast<FileAccess*>(access); }

}  // namespace springbloom
