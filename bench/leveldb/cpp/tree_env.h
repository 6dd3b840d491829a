// An Env under which LevelDB leaves a tree as it is.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../../../hosts/leveldb/tests/counting_env.h"

// Knows when background work has ended. It can hold that work back: LevelDB would merge the files that are left in L0, and those that many
// lookups asked. Held work is let go when the database closes, and finds that nothing can be written.
class TreeEnv : public CountingEnv {
 public:
  explicit TreeEnv(bool holds) : holds_(holds) {}

  void Schedule(void (*work)(void*), void* argument) override {
    std::lock_guard<std::mutex> lock(mutex_);
    Job* job = new Job{this, work, argument};
    if (holds_) {
      held_.push_back(job);
    } else {
      Start(job);
    }
  }

  // Waits until no work is running. LevelDB schedules what follows before a piece of work ends.
  void WaitForWork() {
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait(lock, [&] { return running_ == 0; });
  }

  // The database is about to close.
  void LetGo() {
    std::lock_guard<std::mutex> lock(mutex_);
    refuses_ = holds_;
    holds_ = false;
    for (Job* job : held_) {
      Start(job);
    }
    held_.clear();
  }

  leveldb::Status NewWritableFile(const std::string& path, leveldb::WritableFile** file) override {
    *file = nullptr;
    leveldb::WritableFile* opened = nullptr;
    const leveldb::Status s = refuses_ ? Refusal(path) : target()->NewWritableFile(path, &opened);
    if (s.ok()) {
      *file = new File(opened, this);
    }
    return s;
  }

 private:
  struct Job {
    TreeEnv* env;
    void (*work)(void*);
    void* argument;
  };

  // Where a move of a table to another level would be written down.
  class File : public leveldb::WritableFile {
   public:
    File(leveldb::WritableFile* file, TreeEnv* env) : file_(file), env_(env) {}
    leveldb::Status Append(const leveldb::Slice& data) override {
      return env_->refuses_ ? Refusal("a file") : file_->Append(data);
    }
    leveldb::Status Close() override { return file_->Close(); }
    leveldb::Status Flush() override { return file_->Flush(); }
    leveldb::Status Sync() override { return file_->Sync(); }

   private:
    const std::unique_ptr<leveldb::WritableFile> file_;
    TreeEnv* const env_;
  };

  static leveldb::Status Refusal(const std::string& path) { return leveldb::Status::IOError(path, "the tree stays as it is"); }

  void Start(Job* job) {
    ++running_;
    target()->Schedule(&Run, job);
  }

  static void Run(void* argument) {
    const std::unique_ptr<Job> job(static_cast<Job*>(argument));
    job->work(job->argument);
    // With the mutex, because the thread that waits may destroy this.
    std::lock_guard<std::mutex> lock(job->env->mutex_);
    --job->env->running_;
    job->env->ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  bool holds_;
  std::vector<Job*> held_;
  size_t running_ = 0;
  std::atomic<bool> refuses_ = false;
};
