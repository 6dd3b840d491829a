// An Env that counts reads of table files, and can be told to fail them or to bring other bytes.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <string>

#include "leveldb/env.h"

class CountingEnv : public leveldb::EnvWrapper {
 public:
  CountingEnv() : EnvWrapper(leveldb::Env::Default()) {}

  leveldb::Status NewRandomAccessFile(const std::string& path, leveldb::RandomAccessFile** file) override {
    if (fails) {
      return leveldb::Status::IOError(path, "the test says so");
    }
    leveldb::RandomAccessFile* opened = nullptr;
    const leveldb::Status s = target()->NewRandomAccessFile(path, &opened);
    *file = s.ok() ? new File(opened, this) : nullptr;
    return s;
  }

  std::atomic<uint64_t> reads = 0;
  static thread_local uint64_t reads_of_thread;
  std::atomic<bool> fails = false;
  std::atomic<bool> damages_heads_of_units = false;

 private:
  class File : public leveldb::RandomAccessFile {
   public:
    File(leveldb::RandomAccessFile* file, CountingEnv* env) : file_(file), env_(env) {}
    leveldb::Status Read(uint64_t offset, size_t size, leveldb::Slice* result, char* scratch) const override {
      if (env_->fails) {
        return leveldb::Status::IOError("a table", "the test says so");
      }
      env_->reads += 1;
      ++reads_of_thread;
      const leveldb::Status s = file_->Read(offset, size, result, scratch);
      if (s.ok() && env_->damages_heads_of_units && result->starts_with("SpgBloom")) {
        std::memmove(scratch, result->data(), result->size());
        scratch[20] ^= 1;
        *result = leveldb::Slice(scratch, result->size());
      }
      return s;
    }

   private:
    const std::unique_ptr<leveldb::RandomAccessFile> file_;
    CountingEnv* const env_;
  };
};

inline thread_local uint64_t CountingEnv::reads_of_thread = 0;
