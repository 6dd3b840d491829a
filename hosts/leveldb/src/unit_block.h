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
#include "springbloom_abi.h"

namespace springbloom {

constexpr char kUnitBlockName[] = "springbloom.units";
constexpr size_t kIdentityBytes = 16;

std::string NewIdentity();

struct UnitBlock {
  leveldb::BlockHandle handle;
  std::string identity;

  // The value of the metaindex entry.
  std::string Encode() const;

  // Looks for it in a table file of `file_size` bytes: SB_OPENED, or why there is none, in the words of springbloom_abi.h.
  int Find(leveldb::RandomAccessFile* file, uint64_t file_size);
  // Finds it, and reads header and directory of its units.
  int ReadHead(leveldb::RandomAccessFile* file, uint64_t file_size, std::string* head);

 private:
  bool Decode(leveldb::Slice value, uint64_t file_size);
};

}  // namespace springbloom
