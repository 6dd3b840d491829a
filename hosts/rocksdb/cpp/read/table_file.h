// The file of an open table, as the core reads units and directories from it.
#pragma once

#include <atomic>
#include <memory>

#include "abi.h"
#include "read/file_reader.h"
#include "rocksdb_release.h"
#include "table/table_reader.h"

namespace springbloom {

// Owns the stock reader, which has the file open, and has a share in what reading uses: units are read with no descriptor more, and though
// the file may have lost its name (a secondary instance whose primary compacted, a folder that was renamed). The table's reader and the
// core have shares.
class TableFile final : public sb_file {
 public:
  struct Release {
    void operator()(const TableFile* file) const { Unshare(file); }
  };
  using Ref = std::unique_ptr<const TableFile, Release>;

  static Ref Of(std::unique_ptr<rocksdb::TableReader> stock, std::shared_ptr<const ReadObjects> objects) {
    return Ref(new TableFile(std::move(stock), std::move(objects)));
  }

  // Another share, which the caller owns.
  const sb_file* Share() const {
    AddShare(this);
    return this;
  }
  bool IsShared() const { return shares_.load(std::memory_order_acquire) > 1; }

 private:
  TableFile(std::unique_ptr<rocksdb::TableReader> stock, std::shared_ptr<const ReadObjects> objects)
      : sb_file{&kCalls}, stock_(std::move(stock)), objects_(std::move(objects)) {}

  // Callbacks of springbloom_abi.h; `file` is a TableFile*.
  static int Read(const sb_file* file, uint64_t offset, size_t size, int verify, uint8_t* into) noexcept;
  static int ReadHead(const sb_file* file, int32_t contents, void* context,
                      void (*take)(void*, const sb_head*) noexcept) noexcept;
  static int ReadIndex(const sb_file* file, void* context, void (*take)(void*, const sb_index_entry*) noexcept) noexcept;
  static void AddShare(const sb_file* file) noexcept;
  static void Unshare(const sb_file* file) noexcept;
  static const sb_file_calls kCalls;

  mutable std::atomic<uint32_t> shares_{1};
  const std::unique_ptr<rocksdb::TableReader> stock_;
  const std::shared_ptr<const ReadObjects> objects_;
};

}  // namespace springbloom
