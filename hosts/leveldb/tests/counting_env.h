// An Env that counts reads of table files, and can be told to fail them.
#pragma once

#include <atomic>
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
      return file_->Read(offset, size, result, scratch);
    }

   private:
    const std::unique_ptr<leveldb::RandomAccessFile> file_;
    CountingEnv* const env_;
  };
};

inline thread_local uint64_t CountingEnv::reads_of_thread = 0;
