// The block of filter units in a table file: where it is, and whose it is.
//
// The metaindex block has an entry for it, which stock LevelDB does not look up. Its value: the block's handle, 16 random bytes that tell
// the table from all others, and 8 bytes that are ignored.
#pragma once

#include <cstdint>
#include <string>

#include "internals.h"
#include "leveldb/env.h"
#include "leveldb/slice.h"

namespace springbloom {

constexpr char kUnitBlockName[] = "springbloom.units";
constexpr size_t kIdentityBytes = 16;

std::string NewIdentity();

// `size` bytes of a file; false on a failure. `into` may be left untouched: then `result` is elsewhere.
bool ReadAt(const leveldb::RandomAccessFile& file, uint64_t offset, size_t size, std::string* into);

struct UnitBlock {
  leveldb::BlockHandle handle;
  std::string identity;

  // The value of the metaindex entry.
  std::string Encode() const;

  enum Outcome { kFound, kNone, kUnreadable, kDamaged };
  // Looks for it in a table file of `file_size` bytes. kNone: the table has no units.
  static Outcome Find(leveldb::RandomAccessFile* file, uint64_t file_size, UnitBlock* found);
  // Reads header and directory of the units.
  Outcome ReadHead(const leveldb::RandomAccessFile& file, std::string* head) const;

 private:
  bool Decode(leveldb::Slice value, uint64_t file_size);
};

}  // namespace springbloom
