// Reads per lookup on LevelDB, with its Bloom filters and with elastic filters of the same memory. The databases have the same options but
// for the filter. Prints a table.
//
//   compare FOLDER [keys=1000000] [value=100] [lookups=400000] [bits=4] [updates=20] [cache=0]
//
// `keys` are loaded in random order. Then operations come: `updates` of a hundred overwrite a key, the others look one up, half of them an
// absent one. Counted are reads of table files by lookups, in the second half of `lookups` operations.
#include <time.h>

#include <cmath>
#include <cstring>
#include <map>
#include <sstream>
#include <vector>

#include "../tests/check.h"
#include "../tests/counting_env.h"
#include "internals.h"
#include "leveldb/cache.h"
#include "leveldb/iterator.h"

namespace {

std::map<std::string, uint64_t> flags = {{"keys", 1000000}, {"value", 100},  {"lookups", 400000},
                                         {"bits", 4},       {"updates", 20}, {"cache", 0}};

// Numbers of keys by popularity.
class Popularity {
 public:
  Popularity(const std::string& name, uint64_t keys) : keys_(keys) {
    if (name == "uniform") {
      return;
    }
    // Ranges of neighbours share theirs, or each key has its own.
    ranks_ = name == "ranges" ? 1000 : keys;
    double sum = 0;
    for (uint64_t rank = 1; rank <= ranks_; ++rank) {
      sum += std::pow(static_cast<double>(rank), -.99);
      sums_.push_back(sum);
    }
  }

  uint64_t Next(Random* random) const {
    if (sums_.empty()) {
      return random->Below(keys_);
    }
    const double at = sums_.back() * static_cast<double>(random->Below(1ULL << 53)) / static_cast<double>(1ULL << 53);
    const uint64_t rank = static_cast<uint64_t>(std::lower_bound(sums_.begin(), sums_.end(), at) - sums_.begin());
    const uint64_t width = keys_ / ranks_;
    return rank * 7919 % ranks_ * width + random->Below(width);
  }

 private:
  const uint64_t keys_;
  uint64_t ranks_ = 0;
  std::vector<double> sums_;
};

// In the order of their numbers. They end in what looks random: of neighbours that differ in the last byte alone, LevelDB's Bloom filter
// takes ten times as many for present as it should.
std::string Key(uint64_t number) {
  char text[32];
  const uint64_t mixed = (number + 1) * 0x9e3779b97f4a7c15 ^ number << 17;
  std::snprintf(text, sizeof(text), "%012llu%08x", static_cast<unsigned long long>(number), static_cast<unsigned>(mixed >> 29));
  return text;
}

std::string Value(Random* random) {
  std::string value;
  while (value.size() < flags["value"]) {
    value.push_back(static_cast<char>(random->Below(256)));
  }
  return value;
}

// Of a table's Bloom filters: what LevelDB keeps in memory, or in the page cache, while it is open.
uint64_t BloomBytes(const std::string& path) {
  leveldb::RandomAccessFile* opened = nullptr;
  CHECK_OK(leveldb::Env::Default()->NewRandomAccessFile(path, &opened));
  const std::unique_ptr<leveldb::RandomAccessFile> file(opened);
  char scratch[leveldb::Footer::kEncodedLength];
  leveldb::Slice footer_bytes;
  CHECK_OK(file->Read(std::filesystem::file_size(path) - sizeof(scratch), sizeof(scratch), &footer_bytes, scratch));
  leveldb::Footer footer;
  CHECK_OK(footer.DecodeFrom(&footer_bytes));
  leveldb::BlockContents contents;
  CHECK_OK(leveldb::ReadBlock(file.get(), leveldb::ReadOptions(), footer.metaindex_handle(), &contents));
  leveldb::Block metaindex(contents);
  const std::unique_ptr<leveldb::Iterator> filter(metaindex.NewIterator(leveldb::BytewiseComparator()));
  filter->Seek("filter.");
  leveldb::BlockHandle handle;
  leveldb::Slice value = filter->value();
  CHECK_OK(handle.DecodeFrom(&value));
  return handle.size();
}

uint64_t CpuNanos() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

class Database {
 public:
  Database(const std::string& path, PolicyPtr policy) : path_(path), policy_(std::move(policy)) {
    leveldb::Options options;
    options.create_if_missing = true;
    options.env = &env_;
    options.block_cache = cache_.get();
    options.filter_policy = policy_.get();
    options.max_open_files = 5000;
    options.compression = leveldb::kNoCompression;
    db_ = Open(options, path);
  }

  void Load(Random* random) {
    const uint64_t keys = flags["keys"];
    // A prime number that is none of its factors: each key comes once.
    const uint64_t start = random->Below(keys);
    for (uint64_t at = 0; at < keys; ++at) {
      CHECK_OK(db_->Put(leveldb::WriteOptions(), Key(2 * ((start + at * 1000000007) % keys)), Value(random)));
    }
  }

  // Of all tables that lookups ask.
  uint64_t BloomBytesOfAll() {
    std::string text;
    CHECK(db_->GetProperty("leveldb.sstables", &text));
    uint64_t bytes = 0;
    std::istringstream lines(text);
    // NUMBER:SIZE[...
    for (std::string line; std::getline(lines, line);) {
      if (const uint64_t number = std::strtoull(line.c_str(), nullptr, 10); number != 0) {
        bytes += BloomBytes(leveldb::TableFileName(path_, number));
      }
    }
    return bytes;
  }

  void Measure(const std::string& filter, uint64_t memory, const std::string& popularity) {
    Random random(1);
    const Popularity keys(popularity, flags["keys"]);
    Reads absent;
    Reads present;
    uint64_t nanos = 0;
    for (uint64_t at = 0; at < flags["lookups"]; ++at) {
      const uint64_t number = keys.Next(&random);
      if (random.Below(100) < flags["updates"]) {
        CHECK_OK(db_->Put(leveldb::WriteOptions(), Key(2 * random.Below(flags["keys"])), Value(&random)));
        continue;
      }
      const bool is_absent = random.OneIn(2);
      const uint64_t before = CountingEnv::reads_of_thread;
      const uint64_t nanos_before = CpuNanos();
      std::string value;
      const leveldb::Status s = db_->Get(leveldb::ReadOptions(), Key(2 * number + (is_absent ? 1 : 0)), &value);
      CHECK(is_absent ? s.IsNotFound() : s.ok(), "%s", s.ToString().c_str());
      if (at >= flags["lookups"] / 2) {
        nanos += CpuNanos() - nanos_before;
        Reads& of = is_absent ? absent : present;
        of.reads += CountingEnv::reads_of_thread - before;
        ++of.lookups;
      }
    }
    std::printf("| %s | %s | %.2f | %.4f | %.4f | %.2f | %s |\n", popularity.c_str(), filter.c_str(),
                8. * static_cast<double>(memory) / static_cast<double>(flags["keys"]), absent.PerLookup(), present.PerLookup(),
                static_cast<double>(nanos) / 1000 / static_cast<double>(absent.lookups + present.lookups), Levels().c_str());
  }

 private:
  struct Reads {
    uint64_t reads = 0;
    uint64_t lookups = 0;
    double PerLookup() const { return static_cast<double>(reads) / static_cast<double>(lookups); }
  };

  // Files of each.
  std::string Levels() {
    std::string levels;
    for (int level = 0; level < 7; ++level) {
      std::string files;
      db_->GetProperty("leveldb.num-files-at-level" + std::to_string(level), &files);
      levels += (level == 0 ? "" : " ") + files;
    }
    return levels;
  }

  const std::string path_;
  CountingEnv env_;
  const PolicyPtr policy_;
  const std::unique_ptr<leveldb::Cache> cache_{leveldb::NewLRUCache(flags["cache"])};
  DbPtr db_;
};

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc < 2) {
    std::fprintf(stderr, "usage: compare FOLDER [keys=N] [value=BYTES] [lookups=N] [bits=N] [updates=PERCENT] [cache=BYTES]\n");
    return 2;
  }
  for (int at = 2; at < argc; ++at) {
    const char* equals = std::strchr(argv[at], '=');
    const auto flag = flags.find(std::string(argv[at], equals == nullptr ? std::strlen(argv[at]) : equals - argv[at]));
    char* end = nullptr;
    if (equals == nullptr || flag == flags.end() || (flag->second = std::strtoull(equals + 1, &end, 10), *end != '\0')) {
      std::fprintf(stderr, "got %s, expected one of keys, value, lookups, bits, updates, cache, then = and a number\n", argv[at]);
      return 2;
    }
  }
  const std::string folder = argv[1];
  const std::string bits = std::to_string(flags["bits"]);
  std::filesystem::create_directories(folder);
  std::printf(
      "| popularity | filter | bits of memory per key | reads per absent key | reads per present key | CPU us per lookup | files "
      "|\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  for (const char* popularity : {"uniform", "zipf", "ranges"}) {
    std::map<std::string, uint64_t> memory;
    for (const std::string& filter :
         {std::string("none 0"), std::string("Bloom 10"), "Bloom " + bits, std::string("elastic 10"), "elastic " + bits}) {
      const std::string path = folder + "/db";
      std::filesystem::remove_all(path);
      const bool is_bloom = filter.starts_with("Bloom");
      const uint64_t of = std::strtoull(filter.c_str() + filter.find(' '), nullptr, 10);
      // As much as the Bloom filter of so many bits.
      const uint64_t bytes = is_bloom ? 0 : memory["Bloom " + std::to_string(of)];
      PolicyPtr policy;
      if (is_bloom) {
        policy.reset(leveldb::NewBloomFilterPolicy(static_cast<int>(of)));
      } else if (of != 0) {
        policy = NewPolicy("budget=" + std::to_string(bytes));
      }
      Random random(7);
      Database database(path, std::move(policy));
      database.Load(&random);
      memory[filter] = is_bloom ? database.BloomBytesOfAll() : bytes;
      database.Measure(filter, memory[filter], popularity);
    }
  }
  std::filesystem::remove_all(folder + "/db");
  return 0;
}
