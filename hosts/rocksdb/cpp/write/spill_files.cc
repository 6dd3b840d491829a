#include "write/spill_files.h"

#include <cstring>
#include <new>
#include <utility>

#include "options/cf_options.h"
#include "rocksdb/env.h"
#include "rocksdb_release.h"

namespace springbloom {

namespace {

rocksdb::FileOptions ForReading(bool is_mapped) {
  rocksdb::FileOptions options;
  options.use_mmap_reads = is_mapped;
  release::SayChecksumIsUnknown(&options);
  return options;
}

}  // namespace

class SpillFiles::File {
 public:
  File(SpillFiles* files, std::string name) : files_(*files), name_(std::move(name)) {}

  ~File() {
    reader_.reset();
    writer_.reset();
    // RocksDB may have deleted it: it looks for temporary files now and then.
    files_.fs_->DeleteFile(name_, rocksdb::IOOptions(), nullptr).PermitUncheckedError();
  }

  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Opens it for reading too: its name may be gone by then.
  rocksdb::IOStatus Create() {
    rocksdb::IOStatus s = files_.fs_->NewWritableFile(name_, rocksdb::FileOptions(), &writer_, nullptr);
    return s.ok() ? files_.fs_->NewRandomAccessFile(name_, ForReading(/*is_mapped=*/false), &reader_, nullptr) : s;
  }

  rocksdb::IOStatus Append(const rocksdb::Slice& bytes) { return writer_->Append(bytes, rocksdb::IOOptions(), nullptr); }

  rocksdb::IOStatus Read(uint64_t offset, size_t size, char* into) {
    rocksdb::IOStatus s = Close();
    rocksdb::Slice got;
    if (s.ok()) {
      s = reader_->Read(offset, size, rocksdb::IOOptions(), &got, into, nullptr);
    }
    if (s.ok() && got.size() != size) {
      return rocksdb::IOStatus::Corruption("the file ends early");
    }
    if (s.ok() && got.data() != into) {
      std::memcpy(into, got.data(), size);
    }
    return s;
  }

  rocksdb::IOStatus Map(size_t size, const char** mapped) {
    rocksdb::IOStatus s = Close();
    if (s.ok()) {
      s = files_.fs_->NewRandomAccessFile(name_, ForReading(/*is_mapped=*/true), &reader_, nullptr);
    }
    // Not touched by a file system that maps: then it takes no memory.
    const std::unique_ptr<char[]> scratch(new (std::nothrow) char[size]);
    if (s.ok() && scratch == nullptr) {
      return rocksdb::IOStatus::IOError("no memory");
    }
    rocksdb::Slice got;
    if (s.ok()) {
      s = reader_->Read(0, size, rocksdb::IOOptions(), &got, scratch.get(), nullptr);
    }
    if (s.ok() && (got.size() != size || got.data() == scratch.get())) {
      return rocksdb::IOStatus::NotSupported("the file system maps no files");
    }
    *mapped = got.data();
    return s;
  }

  const SpillFiles& files() const { return files_; }

 private:
  // The last bytes may be in a buffer of the file's until then.
  rocksdb::IOStatus Close() {
    const std::unique_ptr<rocksdb::FSWritableFile> writer = std::move(writer_);
    return writer == nullptr ? rocksdb::IOStatus::OK() : writer->Close(rocksdb::IOOptions(), nullptr);
  }

  SpillFiles& files_;
  const std::string name_;
  std::unique_ptr<rocksdb::FSWritableFile> writer_;
  std::unique_ptr<rocksdb::FSRandomAccessFile> reader_;
};

SpillFiles::SpillFiles(const rocksdb::TableBuilderOptions& options, std::string table)
    : fs_(options.ioptions.fs),
      log_(options.ioptions.logger),
      table_(std::move(table)),
      is_of_database_(options.reason != rocksdb::TableFileCreationReason::kMisc) {}

// Each file's is another: RocksDB reads 000123.dbtmp and 0000123.dbtmp as temporary files with the table's number, which no other file has.
std::string SpillFiles::NextName() {
  const int file = files_++;
  if (!is_of_database_) {
    return table_ + "." + std::to_string(file) + ".dbtmp";
  }
  const size_t folder_end = table_.rfind('/') + 1;
  const std::string number = table_.substr(folder_end, table_.rfind('.') - folder_end);
  return table_.substr(0, folder_end) + std::string(static_cast<size_t>(file), '0') + number + ".dbtmp";
}

int SpillFiles::Told(const rocksdb::IOStatus& s, const char* what) const {
  if (s.ok()) {
    return 0;
  }
  rocksdb::Warn(log_, "springbloom: filter units of %s %s: %s", table_.c_str(), what, s.ToString().c_str());
  return 1;
}

void* SpillFiles::Create(void* context) noexcept {
  auto* files = static_cast<SpillFiles*>(context);
  auto file = std::make_unique<File>(files, files->NextName());
  return files->Told(file->Create(), "stay in memory, as no temporary file can be made") == 0 ? file.release() : nullptr;
}

int SpillFiles::Append(void* file, sb_bytes bytes) noexcept {
  auto* self = static_cast<File*>(file);
  const rocksdb::Slice slice(reinterpret_cast<const char*>(bytes.data), bytes.size);
  return self->files().Told(self->Append(slice), "stay in memory, as the temporary file cannot be written");
}

int SpillFiles::Read(void* file, uint64_t offset, size_t size, uint8_t* into) noexcept {
  auto* self = static_cast<File*>(file);
  return self->files().Told(self->Read(offset, size, reinterpret_cast<char*>(into)),
                            "are lost, as the temporary file cannot be read; lookups in it pass unfiltered until a compaction");
}

const uint8_t* SpillFiles::Map(void* file, size_t size) noexcept {
  auto* self = static_cast<File*>(file);
  const char* mapped = nullptr;
  const bool is_mapped =
      self->files().Told(self->Map(size, &mapped), "come into memory, as the temporary file cannot be mapped") == 0;
  return is_mapped ? reinterpret_cast<const uint8_t*>(mapped) : nullptr;
}

void SpillFiles::Free(void* file) noexcept { delete static_cast<File*>(file); }

}  // namespace springbloom
