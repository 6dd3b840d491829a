// What the tests share.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>

#include "leveldb/db.h"
#include "leveldb/filter_policy.h"
#include "springbloom_leveldb.h"

#define CHECK(condition, ...)                                                    \
  do {                                                                           \
    if (!(condition)) {                                                          \
      std::fprintf(stderr, "%s:%d: failed: %s", __FILE__, __LINE__, #condition); \
      std::fprintf(stderr, " " __VA_ARGS__);                                     \
      std::fprintf(stderr, "\n");                                                \
      std::exit(1);                                                              \
    }                                                                            \
  } while (false)

#define CHECK_OK(expression)                               \
  do {                                                     \
    const leveldb::Status status_ = (expression);          \
    CHECK(status_.ok(), "%s", status_.ToString().c_str()); \
  } while (false)

using PolicyPtr = std::unique_ptr<const leveldb::FilterPolicy>;
using DbPtr = std::unique_ptr<leveldb::DB>;

inline PolicyPtr NewPolicy(const std::string& settings) {
  const leveldb::FilterPolicy* policy = nullptr;
  CHECK_OK(springbloom::NewElasticFilterPolicy(settings, &policy));
  return PolicyPtr(policy);
}

inline DbPtr Open(const leveldb::Options& options, const std::string& path) {
  leveldb::DB* db = nullptr;
  CHECK_OK(leveldb::DB::Open(options, path, &db));
  return DbPtr(db);
}

// The sum of a metric over its labels, or with those that are given.
inline uint64_t Metric(const std::string& name) {
  std::string text;
  CHECK_OK(springbloom::GetMetrics(&text));
  uint64_t sum = 0;
  size_t found = 0;
  for (size_t at = 0; (at = text.find("\n" + name, at)) != text.npos; ++at, ++found) {
    const char behind = text[at + 1 + name.size()];
    if (behind != ' ' && behind != '{') {
      continue;  // another metric, whose name is longer
    }
    sum += std::strtoull(text.c_str() + text.find(' ', at + 1), nullptr, 10);
  }
  CHECK(found != 0, "no metric %s in %s", name.c_str(), text.c_str());
  return sum;
}

// A folder that goes away.
class Folder {
 public:
  Folder() {
    path_ = std::filesystem::temp_directory_path().string() + "/springbloom-leveldb.XXXXXX";
    CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Random numbers whose seed is printed; SPRINGBLOOM_SEED repeats a run.
class Random {
 public:
  Random() : Random(SeedOfProcess()) { std::printf("SPRINGBLOOM_SEED=%llu\n", static_cast<unsigned long long>(SeedOfProcess())); }
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t Below(uint64_t bound) { return engine_() % bound; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

  static uint64_t SeedOfProcess() {
    static const uint64_t seed =
        std::getenv("SPRINGBLOOM_SEED") ? std::strtoull(std::getenv("SPRINGBLOOM_SEED"), nullptr, 10) : std::random_device()();
    return seed;
  }

 private:
  std::mt19937_64 engine_;
};

inline uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}
