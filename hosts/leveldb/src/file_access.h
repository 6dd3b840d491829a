// How table files of a database are opened, and how the core reads them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "leveldb/env.h"
#include "leveldb/options.h"
#include "leveldb/status.h"
#include "springbloom_abi.h"

namespace springbloom {

struct OpenedFile {
  std::string path;
  std::unique_ptr<leveldb::RandomAccessFile> file;
};

// A table's file, which may have a name that an older version gave it. Errors as stock LevelDB does.
leveldb::Status OpenTableFile(leveldb::Env* env, const std::string& folder, uint64_t number, OpenedFile* opened);

// Reads `size` bytes at `offset` into `into`. Whether it could.
bool ReadInto(const leveldb::RandomAccessFile& file, uint64_t offset, size_t size, void* into);

// The file, whose footer is read now, for all who ask for it later: the stock reader, and the search for units.
std::unique_ptr<leveldb::RandomAccessFile> WithFooterRead(std::unique_ptr<leveldb::RandomAccessFile> file, uint64_t file_size);

// Reads through the options' Env and tells their log, which both outlive it.
sb_file_access MakeFileAccess(const leveldb::Options& options);

}  // namespace springbloom
