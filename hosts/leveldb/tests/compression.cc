// Built twice: tables are compressed where LevelDB reads Snappy, and are not where LevelDB was built without it. The second program has
// the library all the same, as the other parts of a program may.
#include "check.h"
#include "contents.h"

namespace snappy {
size_t MaxCompressedLength(size_t source_bytes);
#ifdef SPRINGBLOOM_WITHOUT_SNAPPY
// LevelDB asks it first. One that was built without Snappy has the same answer.
bool GetUncompressedLength(const char*, size_t, size_t*) { return false; }
#endif
}  // namespace snappy

namespace {

#ifdef SPRINGBLOOM_WITHOUT_SNAPPY
constexpr bool kCompresses = false;
#else
constexpr bool kCompresses = true;
#endif

uint64_t TableBytes(const std::string& path) {
  uint64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(path)) {
    bytes += file.path().extension() == ".ldb" ? file.file_size() : 0;
  }
  return bytes;
}

}  // namespace

int main() {
  CHECK(snappy::MaxCompressedLength(100) >= 100);
  const Folder folder;
  const PolicyPtr policy = NewPolicy("budget=100000");
  leveldb::Options options;
  options.create_if_missing = true;
  options.paranoid_checks = true;
  options.filter_policy = policy.get();
  options.compression = leveldb::kSnappyCompression;
  Contents contents = NoContents();
  uint64_t value_bytes = 0;
  {
    const DbPtr db = Open(options, folder / "db");
    for (int number = 0; number < 5000; ++number) {
      const std::string key = "key" + std::to_string(number);
      contents[key] = std::string(200, 'v');
      value_bytes += contents[key].size();
      CHECK_OK(db->Put(leveldb::WriteOptions(), key, contents[key]));
    }
    db->CompactRange(nullptr, nullptr);
    CheckAll(db.get(), contents);
  }
  const uint64_t table_bytes = TableBytes(folder / "db");
  CHECK(kCompresses ? table_bytes < value_bytes / 2 : table_bytes > value_bytes, "%llu bytes of tables, %llu of values",
        static_cast<unsigned long long>(table_bytes), static_cast<unsigned long long>(value_bytes));
  const DbPtr db = Open(options, folder / "db");
  CheckAll(db.get(), contents);
  std::printf("%llu answers, none wrong; %llu bytes of values in %llu of tables\n", static_cast<unsigned long long>(answers),
              static_cast<unsigned long long>(value_bytes), static_cast<unsigned long long>(table_bytes));
  return 0;
}
