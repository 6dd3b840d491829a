#include "file_access.h"

#include <cstring>
#include <memory>
#include <utility>

#include "filters.h"
#include "internals.h"

namespace springbloom {

namespace {

struct Access {
  leveldb::Env* env;
  leveldb::Logger* log;
};

const Access& Of(const void* access) { return *static_cast<const Access*>(access); }

int Read(const void* access, sb_bytes path, uint64_t offset, size_t size, int verify, uint8_t* into) noexcept {
  leveldb::RandomAccessFile* opened = nullptr;
  // No file system of LevelDB can reconstruct what is corrupt.
  if (verify != 0 || !Of(access).env->NewRandomAccessFile(Text(path), &opened).ok()) {
    return 1;
  }
  const std::unique_ptr<leveldb::RandomAccessFile> file(opened);
  return ReadInto(*file, offset, size, into) ? 0 : 1;
}

int Exists(const void* access, sb_bytes path) noexcept { return Of(access).env->FileExists(Text(path)) ? 1 : 0; }

void Log(const void* access, int is_warning, sb_bytes text) noexcept {
  leveldb::Log(Of(access).log, "springbloom: %s%s", is_warning != 0 ? "warning: " : "", Text(text).c_str());
}

class WithFooter : public leveldb::RandomAccessFile {
 public:
  WithFooter(std::unique_ptr<leveldb::RandomAccessFile> file, uint64_t at)
      : file_(std::move(file)), at_(at), status_(file_->Read(at, sizeof(bytes_), &footer_, bytes_)) {}

  leveldb::Status Read(uint64_t offset, size_t size, leveldb::Slice* result, char* scratch) const override {
    if (offset == at_ && size == sizeof(bytes_)) {
      *result = footer_;
      return status_;
    }
    return file_->Read(offset, size, result, scratch);
  }

 private:
  const std::unique_ptr<leveldb::RandomAccessFile> file_;
  const uint64_t at_;
  char bytes_[leveldb::Footer::kEncodedLength];
  leveldb::Slice footer_;
  const leveldb::Status status_;
};

void Free(void* access) noexcept { delete static_cast<Access*>(access); }

}  // namespace

leveldb::Status OpenTableFile(leveldb::Env* env, const std::string& folder, uint64_t number, OpenedFile* opened) {
  leveldb::RandomAccessFile* file = nullptr;
  opened->path = leveldb::TableFileName(folder, number);
  leveldb::Status s = env->NewRandomAccessFile(opened->path, &file);
  if (!s.ok()) {
    const std::string older = leveldb::SSTTableFileName(folder, number);
    if (env->NewRandomAccessFile(older, &file).ok()) {
      opened->path = older;
      s = leveldb::Status::OK();
    }
  }
  if (s.ok()) {
    opened->file.reset(file);
  }
  return s;
}

bool ReadInto(const leveldb::RandomAccessFile& file, uint64_t offset, size_t size, void* into) {
  leveldb::Slice result;
  if (!file.Read(offset, size, &result, static_cast<char*>(into)).ok() || result.size() != size) {
    return false;
  }
  // A mapped file gives its own memory.
  std::memmove(into, result.data(), size);
  return true;
}

std::unique_ptr<leveldb::RandomAccessFile> WithFooterRead(std::unique_ptr<leveldb::RandomAccessFile> file, uint64_t file_size) {
  // What is shorter is no table, and the stock reader says so.
  if (file_size < leveldb::Footer::kEncodedLength) {
    return file;
  }
  return std::make_unique<WithFooter>(std::move(file), file_size - leveldb::Footer::kEncodedLength);
}

sb_file_access MakeFileAccess(const leveldb::Options& options) {
  return sb_file_access{new Access{options.env, options.info_log}, &Read, &Exists, &Log, &Free,
                        reinterpret_cast<uintptr_t>(options.env)};
}

}  // namespace springbloom
