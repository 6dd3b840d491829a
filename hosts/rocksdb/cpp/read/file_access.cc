#include "read/file_access.h"

#include <string>

#include "options/cf_options.h"
#include "read/file_reader.h"
#include "rocksdb/env.h"
#include "rocksdb_release.h"

namespace springbloom {

namespace {

std::string Text(sb_bytes bytes) { return std::string(reinterpret_cast<const char*>(bytes.data), bytes.size); }

}  // namespace

FileAccess::FileAccess(const rocksdb::TableReaderOptions& options) : objects_(options), options_(options.env_options) {
  // A mapping would be made and torn down for each unit.
  options_.use_mmap_reads = false;
  release::SayChecksumIsUnknown(&options_);
}

sb_file_access FileAccess::Make(const rocksdb::TableReaderOptions& options) {
  return sb_file_access{
      new FileAccess(options), &Read, &Exists, &Log, &Free, reinterpret_cast<uintptr_t>(options.ioptions.fs.get())};
}

int FileAccess::Read(const void* access, sb_bytes path, uint64_t offset, size_t size, int verify, uint8_t* into) noexcept {
  auto* self = static_cast<const FileAccess*>(access);
  rocksdb::IOOptions io_options;
  if (verify != 0) {
    if (!release::CanVerifyAndReconstruct(self->objects_.file_system.get())) {
      return 1;
    }
    release::VerifyAndReconstruct(&io_options);
    release::CountCorruptionRetry(self->objects_.statistics.get());
  }
  std::unique_ptr<rocksdb::RandomAccessFileReader> file;
  if (!rocksdb::RandomAccessFileReader::Create(self->objects_.file_system, Text(path), self->options_, &file, nullptr).ok() ||
      !ReadInto(*file, io_options, offset, size, into)) {
    return 1;
  }
  if (verify != 0) {
    release::CountCorruptionRetrySuccess(self->objects_.statistics.get());
  }
  return 0;
}

int FileAccess::Exists(const void* access, sb_bytes path) noexcept {
  auto* self = static_cast<const FileAccess*>(access);
  // Anything but a clear "no such file" keeps the state: forgetting it for a passing fault would be a cold start.
  return self->objects_.file_system->FileExists(Text(path), rocksdb::IOOptions(), nullptr).IsNotFound() ? 0 : 1;
}

void FileAccess::Log(const void* access, int is_warning, sb_bytes text) noexcept {
  const auto level = is_warning != 0 ? rocksdb::InfoLogLevel::WARN_LEVEL : rocksdb::InfoLogLevel::INFO_LEVEL;
  rocksdb::Log(level, static_cast<const FileAccess*>(access)->objects_.log, "springbloom: %s", Text(text).c_str());
}

void FileAccess::Free(void* access) noexcept { delete static_cast<FileAccess*>(access); }

}  // namespace springbloom
