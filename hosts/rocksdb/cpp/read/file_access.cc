#include "read/file_access.h"

#include "options/cf_options.h"
#include "owners.h"
#include "read/file_reader.h"
#include "rocksdb/env.h"
#include "rocksdb_release.h"

namespace springbloom {

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
  std::unique_ptr<rocksdb::RandomAccessFileReader> file;
  const auto s = rocksdb::RandomAccessFileReader::Create(self->objects_.file_system, ToSlice(path).ToString(), self->options_,
                                                         &file, nullptr);
  return s.ok() ? ReadUnits(self->objects_, *file, offset, size, verify, into) : 1;
}

int FileAccess::Exists(const void* access, sb_bytes path) noexcept {
  auto* self = static_cast<const FileAccess*>(access);
  // Anything but a clear "no such file" keeps the state: forgetting it for a passing fault would be a cold start.
  return self->objects_.file_system->FileExists(ToSlice(path).ToString(), rocksdb::IOOptions(), nullptr).IsNotFound() ? 0 : 1;
}

void FileAccess::Log(const void* access, int is_warning, sb_bytes text) noexcept {
  const auto level = is_warning != 0 ? rocksdb::InfoLogLevel::WARN_LEVEL : rocksdb::InfoLogLevel::INFO_LEVEL;
  rocksdb::Log(level, static_cast<const FileAccess*>(access)->objects_.log, "springbloom: %s", ToSlice(text).ToString().c_str());
}

void FileAccess::Free(void* access) noexcept { delete static_cast<FileAccess*>(access); }

}  // namespace springbloom
