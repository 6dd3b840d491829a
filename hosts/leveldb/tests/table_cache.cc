// More tables than LevelDB holds open. A table that its units reject is not opened; errors of one that must be are stock LevelDB's.
#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include "check.h"
#include "counting_env.h"
#include "leveldb/cache.h"

namespace {

// Even keys are there.
constexpr int kKeys = 50000;

std::string Key(int number) {
  char text[32];
  std::snprintf(text, sizeof(text), "key%08d", number);
  return text;
}

std::string Value(int number) { return std::to_string(number) + std::string(2000, 'v'); }

struct TableFile {
  std::string path;
  // Of its keys.
  int first = 0;
  int last = 0;
};

class Database {
 public:
  Database(const std::string& path, PolicyPtr policy) : path_(path), policy_(std::move(policy)) {
    Reopen();
    for (int number = 0; number < kKeys; ++number) {
      CHECK_OK(db->Put(leveldb::WriteOptions(), Key(2 * number), Value(number)));
    }
    db->CompactRange(nullptr, nullptr);
    Reopen();
  }

  leveldb::Options Options() {
    leveldb::Options options;
    options.create_if_missing = true;
    options.paranoid_checks = true;
    options.env = &env_;
    options.block_cache = cache_.get();
    options.compression = leveldb::kNoCompression;
    options.max_file_size = 1 << 20;
    options.write_buffer_size = 1 << 20;
    options.max_open_files = 74;  // 64 tables: less is not possible
    options.filter_policy = policy_.get();
    return options;
  }

  void Reopen() {
    db.reset();
    db = Open(Options(), path_);
  }

  leveldb::Status Get(int number) {
    leveldb::ReadOptions options;
    options.fill_cache = false;
    std::string value;
    const leveldb::Status s = db->Get(options, Key(number), &value);
    CHECK(!s.ok() || (number % 2 == 0 && value == Value(number / 2)), "%d", number);
    return s;
  }

  // As `leveldb.sstables` tells of them: " NUMBER:SIZE['FIRST' @ ... .. 'LAST' @ ...]".
  std::vector<TableFile> Tables() {
    std::vector<TableFile> tables;
    std::string text;
    CHECK(db->GetProperty("leveldb.sstables", &text));
    for (size_t at = 0; (at = text.find("['key", at)) != text.npos; ++at) {
      const size_t number = text.rfind(' ', at) + 1;
      char name[32];
      std::snprintf(name, sizeof(name), "/%06d.ldb", std::atoi(text.c_str() + number));
      const size_t last = text.find(".. 'key", at);
      tables.push_back({path_ + name, std::atoi(text.c_str() + at + 5), std::atoi(text.c_str() + last + 7)});
    }
    return tables;
  }

  // Reads and openings per lookup of an absent key.
  std::pair<double, double> Absent(Random* random, int lookups) {
    const uint64_t reads = CountingEnv::reads_of_thread;
    const uint64_t opens = CountingEnv::opens_of_thread;
    for (int at = 0; at < lookups; ++at) {
      CHECK(Get(2 * static_cast<int>(random->Below(kKeys - 1)) + 1).IsNotFound());
    }
    return {static_cast<double>(CountingEnv::reads_of_thread - reads) / lookups,
            static_cast<double>(CountingEnv::opens_of_thread - opens) / lookups};
  }

  // The table cache forgets the table, as others are needed.
  void PushOut(const TableFile& table) {
    for (int round = 0; round < 2; ++round) {
      for (const TableFile& other : Tables()) {
        CHECK(other.first == table.first || Get(other.first).ok());
      }
    }
  }

  // Of a lookup, without the names of files.
  std::string Error(int number) {
    std::string text = Get(number).ToString();
    if (const size_t at = text.find(path_); at != text.npos) {
      text.replace(at, text.find(':', at) - at, "TABLE");
    }
    return text;
  }

  DbPtr db;

 private:
  const std::string path_;
  CountingEnv env_;
  const std::unique_ptr<leveldb::Cache> cache_{leveldb::NewLRUCache(100)};
  const PolicyPtr policy_;
};

void CutOff(const TableFile& table) { std::filesystem::resize_file(table.path, 10); }
void Remove(const TableFile& table) { std::filesystem::remove(table.path); }
// Bytes from the end of the file: in the footer, or in the index before it.
template <int kFromEnd>
void Damage(const TableFile& table) {
  std::fstream file(table.path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(-kFromEnd, std::ios::end);
  file << "damage";
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Random random;
  const Folder folder;
  Database stock(folder / "stock", PolicyPtr(leveldb::NewBloomFilterPolicy(10)));
  // As much as the Bloom filter takes.
  Database ours(folder / "ours", NewPolicy("budget=100K;warm_start_seconds=0"));
  CHECK(ours.Tables().size() > 90 && stock.Tables().size() > 90, "%zu and %zu", ours.Tables().size(), stock.Tables().size());

  const auto of_stock = stock.Absent(&random, 5000);
  std::pair<double, double> of_ours = {};
  const auto start = std::chrono::steady_clock::now();
  do {
    of_ours = ours.Absent(&random, 5000);
    CHECK_OK(springbloom::WaitIdle(std::chrono::minutes(1)));
  } while (of_ours.first > .02 && std::chrono::steady_clock::now() - start < std::chrono::minutes(1));
  std::printf("reads and openings per absent key: stock %.3f %.3f, ours %.4f %.4f\n", of_stock.first, of_stock.second,
              of_ours.first, of_ours.second);
  CHECK(of_stock.first > 1 && of_ours.first < .1 && of_ours.second < .05);

  // Opening a table takes no more reads than with a Bloom filter: the first time, and when the table is known.
  for (const bool is_new : {true, false}) {
    double reads[2];
    for (Database* database : {&stock, &ours}) {
      if (is_new) {
        database->Reopen();
      }
      const std::vector<TableFile> tables = database->Tables();
      const uint64_t before = CountingEnv::reads_of_thread;
      for (const TableFile& table : tables) {
        CHECK_OK(database->Get(table.first));
      }
      reads[database == &ours] = static_cast<double>(CountingEnv::reads_of_thread - before) / static_cast<double>(tables.size());
    }
    std::printf("reads for a key of each table, %s: stock %.2f, ours %.2f\n", is_new ? "first opened" : "opened again", reads[0],
                reads[1]);
    CHECK(reads[1] < reads[0] + .1 && (is_new || reads[1] < reads[0] - 1));
  }
  // Until they reject again.
  ours.Absent(&random, 5000);
  CHECK_OK(springbloom::WaitIdle(std::chrono::minutes(1)));

  // Files that are lost or damaged while no reader has them open.
  struct Harm {
    const char* name;
    void (*harm)(const TableFile& table);
  };
  for (const Harm& harm : {Harm{"removed", &Remove}, Harm{"cut off", &CutOff}, Harm{"damaged footer", &Damage<6>},
                           Harm{"damaged index", &Damage<60>}}) {
    std::string errors[2];
    // Of 100 absent keys, which of them give the same error.
    int errors_of_absent[2] = {};
    for (Database* database : {&stock, &ours}) {
      const size_t which = database == &ours ? 1 : 0;
      const std::vector<TableFile> tables = database->Tables();
      const TableFile& table = tables[tables.size() / 2];
      const std::string kept = table.path + ".kept";
      std::filesystem::copy_file(table.path, kept);
      database->PushOut(table);
      harm.harm(table);
      errors[which] = database->Error(table.first);
      CHECK(database->Error(table.last) == errors[which]);
      for (int number = table.first + 1; number < table.first + 200; number += 2) {
        errors_of_absent[which] += database->Error(number) == errors[which] ? 1 : 0;
      }
      std::filesystem::rename(kept, table.path);
      CHECK_OK(database->Get(table.first));
      CHECK(database->Get(table.first + 1).IsNotFound());
    }
    std::printf("%s: %s; so say of 100 absent keys: stock %d, ours %d\n", harm.name, errors[1].c_str(), errors_of_absent[0],
                errors_of_absent[1]);
    // A missing file is NotFound, too, but with a text.
    CHECK(errors[0] == errors[1] && errors[0] != "OK" && errors[0] != "NotFound: ", "stock: %s", errors[0].c_str());
    // Some absent keys pass the units.
    CHECK(errors_of_absent[0] == 100 && errors_of_absent[1] < 50);
  }

  // Repair writes another table with the number of one whose data is damaged.
  {
    const TableFile table = ours.Tables()[40];
    ours.db.reset();
    std::fstream file(table.path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(100000);
    file << "damage";
    file.close();
    CHECK_OK(leveldb::RepairDB(std::filesystem::path(table.path).parent_path(), ours.Options()));
    CHECK(std::filesystem::exists(table.path), "the number is used again");
    ours.Reopen();
    ours.Absent(&random, 5000);
    CHECK_OK(springbloom::WaitIdle(std::chrono::minutes(1)));
    const std::unique_ptr<leveldb::Iterator> entry(ours.db->NewIterator(leveldb::ReadOptions()));
    int kept = 0;
    for (entry->SeekToFirst(); entry->Valid(); entry->Next(), ++kept) {
      CHECK_OK(ours.Get(std::atoi(entry->key().data() + 3)));
    }
    std::printf("%d of %d keys after a repair\n", kept, kKeys);
    CHECK(kept > kKeys - 100 && kept < kKeys);
  }

  // Tables that are deleted are known no more, whether they are open or not.
  CHECK(Metric("springbloom_tables") > 90);
  for (int number = 0; number < kKeys; ++number) {
    CHECK_OK(ours.db->Delete(leveldb::WriteOptions(), Key(2 * number)));
  }
  ours.db->CompactRange(nullptr, nullptr);
  CHECK(ours.Tables().empty());
  // Whether their files are gone is looked up in the background.
  uint64_t left = Metric("springbloom_tables");
  for (int tries = 0; left > 0 && tries < 6000; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    left = Metric("springbloom_tables");
  }
  CHECK(left == 0, "%llu", static_cast<unsigned long long>(left));
  const uint64_t bookkeeping = Metric("springbloom_used_bytes{kind=\"bookkeeping\"}");
  ours.db.reset();
  CHECK(Metric("springbloom_used_bytes{kind=\"bookkeeping\"}") == bookkeeping, "%llu",
        static_cast<unsigned long long>(bookkeeping));
  return 0;
}
