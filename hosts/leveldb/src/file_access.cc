#include "file_access.h"

#include <cstring>
#include <memory>
#include <string>

#include "filters.h"
#include "leveldb/env.h"
#include "unit_block.h"

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
  leveldb::Slice result;
  if (!file->Read(offset, size, &result, reinterpret_cast<char*>(into)).ok() || result.size() != size) {
    return 1;
  }
  // A mapped file gives its own memory.
  std::memmove(into, result.data(), size);
  return 0;
}

int Exists(const void* access, sb_bytes path) noexcept { return Of(access).env->FileExists(Text(path)) ? 1 : 0; }

void Log(const void* access, int is_warning, sb_bytes text) noexcept {
  leveldb::Log(Of(access).log, "springbloom: %s%s", is_warning != 0 ? "warning: " : "", Text(text).c_str());
}

void Free(void* access) noexcept { delete static_cast<Access*>(access); }

}  // namespace

sb_file_access MakeFileAccess(const leveldb::Options& options) {
  return sb_file_access{new Access{options.env, options.info_log}, &Read, &Exists, &Log, &Free, reinterpret_cast<uintptr_t>(options.env)};
}

}  // namespace springbloom
