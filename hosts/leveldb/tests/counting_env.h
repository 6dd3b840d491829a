// An Env that counts openings and reads of table files, and can be told to fail them, to let them hang or to bring other bytes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "leveldb/env.h"

class CountingEnv : public leveldb::EnvWrapper {
 public:
  CountingEnv() : EnvWrapper(leveldb::Env::Default()) {}

  leveldb::Status NewRandomAccessFile(const std::string& path, leveldb::RandomAccessFile** file) override {
    if (fails) {
      return leveldb::Status::IOError(path, "the test says so");
    }
    ++opens_of_thread;
    leveldb::RandomAccessFile* opened = nullptr;
    const leveldb::Status s = target()->NewRandomAccessFile(path, &opened);
    *file = s.ok() ? new File(opened, this) : nullptr;
    return s;
  }

  std::atomic<uint64_t> reads = 0;
  static thread_local uint64_t reads_of_thread;
  static thread_local uint64_t opens_of_thread;
  std::atomic<bool> fails = false;
  std::atomic<bool> damages_heads_of_units = false;
  // This many further reads of heads of units hang, each until this is negative.
  std::atomic<int> hangs = -1;

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
      const bool is_head = s.ok() && result->starts_with("SpgBloom");
      if (int left = env_->hangs; is_head && left > 0 && env_->hangs.compare_exchange_strong(left, left - 1)) {
        while (env_->hangs >= 0) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      }
      if (is_head && env_->damages_heads_of_units) {
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
inline thread_local uint64_t CountingEnv::opens_of_thread = 0;
