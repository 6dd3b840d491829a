#include "read/file_reader.h"

#include "options/cf_options.h"
#include "owners.h"
#include "rocksdb/env.h"

namespace springbloom {

namespace {

struct FileAccess {
  explicit FileAccess(const rocksdb::TableReaderOptions& reader_options)
      : objects(reader_options), options(reader_options.env_options) {
    // A mapping would be made and torn down for each unit.
    options.use_mmap_reads = false;
  }

  const ReadObjects objects;
  rocksdb::FileOptions options;
};

// Callbacks of springbloom_abi.h; `access` is a FileAccess*.
int Read(const void* access, sb_bytes path, uint64_t offset, size_t size, int verify, uint8_t* into) noexcept {
  const auto& [objects, options] = *static_cast<const FileAccess*>(access);
  std::unique_ptr<rocksdb::RandomAccessFileReader> file;
  const auto s = release::OpenTableFile(objects.file_system, ToSlice(path).ToString(), options, &file);
  return s.ok() ? ReadUnits(objects, *file, offset, size, verify, into) : 1;
}

int Exists(const void* access, sb_bytes path) noexcept {
  const auto& file_system = static_cast<const FileAccess*>(access)->objects.file_system;
  // Anything but a clear "no such file" keeps the state: forgetting it for a passing fault would be a cold start.
  return file_system->FileExists(ToSlice(path).ToString(), rocksdb::IOOptions(), nullptr).IsNotFound() ? 0 : 1;
}

void Log(const void* access, int is_warning, sb_bytes text) noexcept {
  const auto level = is_warning != 0 ? rocksdb::InfoLogLevel::WARN_LEVEL : rocksdb::InfoLogLevel::INFO_LEVEL;
  rocksdb::Log(level, static_cast<const FileAccess*>(access)->objects.log, "springbloom: %s", ToSlice(text).ToString().c_str());
}

void Free(void* access) noexcept { delete static_cast<FileAccess*>(access); }

}  // namespace

sb_file_access FileAccessFor(const rocksdb::TableReaderOptions& options) {
  return sb_file_access{
      new FileAccess(options), &Read, &Exists, &Log, &Free, reinterpret_cast<uintptr_t>(options.ioptions.fs.get())};
}

}  // namespace springbloom
