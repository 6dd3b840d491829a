#include "read/file_access.h"

#include <cstring>
#include <string>

#include "options/cf_options.h"
#include "read/open_files.h"
#include "rocksdb/env.h"
#include "rocksdb_release.h"

namespace springbloom {

namespace {

std::string Text(sb_bytes bytes) { return std::string(reinterpret_cast<const char*>(bytes.data), bytes.size); }

}  // namespace

FileAccess::FileAccess(const rocksdb::TableReaderOptions& options)
    : fs_(options.ioptions.fs),
      session_(options.cur_db_session_id),
      log_(options.ioptions.logger),
      statistics_(options.ioptions.stats),
      options_(options.env_options) {
  // A mapping would be made and torn down for each unit.
  options_.use_mmap_reads = false;
  release::SayChecksumIsUnknown(&options_);
}

sb_file_access FileAccess::Make(const rocksdb::TableReaderOptions& options) {
  return sb_file_access{new FileAccess(options), &Read, &Exists, &Log, &Free, reinterpret_cast<uintptr_t>(options.ioptions.fs.get())};
}

int FileAccess::Read(const void* access, sb_bytes path, uint64_t offset, size_t size, int verify, uint8_t* into) noexcept {
  auto* self = static_cast<const FileAccess*>(access);
  rocksdb::IOOptions io_options;
  if (verify != 0) {
    if (!release::CanVerifyAndReconstruct(self->fs_.get())) {
      return 1;
    }
    release::VerifyAndReconstruct(&io_options);
    release::CountCorruptionRetry(self->statistics_);
  }
  const std::string name = Text(path);
  char* scratch = reinterpret_cast<char*>(into);
  bool is_read = false;
  OpenFiles::OfProcess().Read({self->session_, name}, [&](rocksdb::FSRandomAccessFile* opened) {
    const rocksdb::RandomAccessFileReader file = ReaderOf(opened, name);
    is_read = self->ReadFrom(file, io_options, offset, size, scratch);
  });
  if (!is_read) {
    // Also where an open file fails: after a network folder was mounted again, only its name leads to it.
    std::unique_ptr<rocksdb::RandomAccessFileReader> file;
    is_read = rocksdb::RandomAccessFileReader::Create(self->fs_, name, self->options_, &file, nullptr).ok() &&
              self->ReadFrom(*file, io_options, offset, size, scratch);
  }
  if (is_read && verify != 0) {
    release::CountCorruptionRetrySuccess(self->statistics_);
  }
  return is_read ? 0 : 1;
}

bool FileAccess::ReadFrom(const rocksdb::RandomAccessFileReader& file, const rocksdb::IOOptions& io_options, uint64_t offset,
                          size_t size, char* into) const {
  rocksdb::Slice result;
  const rocksdb::IOStatus s = release::ReadAt(file, io_options, offset, size, &result, into);
  if (!s.ok() || result.size() != size) {
    return false;
  }
  if (result.data() != into) {
    std::memcpy(into, result.data(), size);
  }
  return true;
}

int FileAccess::Exists(const void* access, sb_bytes path) noexcept {
  auto* self = static_cast<const FileAccess*>(access);
  // Anything but a clear "no such file" keeps the state: forgetting it for a passing fault would be a cold start.
  return self->fs_->FileExists(Text(path), rocksdb::IOOptions(), nullptr).IsNotFound() ? 0 : 1;
}

void FileAccess::Log(const void* access, int is_warning, sb_bytes text) noexcept {
  const auto level = is_warning != 0 ? rocksdb::InfoLogLevel::WARN_LEVEL : rocksdb::InfoLogLevel::INFO_LEVEL;
  rocksdb::Log(level, static_cast<const FileAccess*>(access)->log_, "springbloom: %s", Text(text).c_str());
}

void FileAccess::Free(void* access) noexcept { delete static_cast<FileAccess*>(access); }

}  // namespace springbloom
