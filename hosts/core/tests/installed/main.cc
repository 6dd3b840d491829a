// The smallest engine: a table is a file with nothing but a filter block. Writes one, opens it, looks keys up. Built against the installed
// core by scripts/test-core-library.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "springbloom_abi.h"

namespace {

constexpr int kKeys = 20000;

sb_bytes Bytes(const std::string& text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

std::string Key(int number) {
  char text[16];
  std::snprintf(text, sizeof(text), "%010d", number);
  return text;
}

void Require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
  }
}

int Read(const void*, sb_bytes path, uint64_t offset, size_t size, int, uint8_t* into) noexcept {
  const int file = open(std::string(reinterpret_cast<const char*>(path.data), path.size).c_str(), O_RDONLY);
  const ssize_t got = file < 0 ? -1 : pread(file, into, size, static_cast<off_t>(offset));
  close(file);
  return got == static_cast<ssize_t>(size) ? 0 : 1;
}
int Exists(const void*, sb_bytes path) noexcept {
  return access(std::string(reinterpret_cast<const char*>(path.data), path.size).c_str(), F_OK) == 0 ? 1 : 0;
}
std::atomic<std::thread::id> may_not_log{};
void Log(const void*, int /*is_warning*/, sb_bytes text) noexcept {
  Require(std::this_thread::get_id() != may_not_log.load(), "a thread that may not wait does not wait for a log");
  std::printf("%.*s\n", static_cast<int>(text.size), reinterpret_cast<const char*>(text.data));
}
int ReadOpen(const sb_file*, uint64_t, size_t, int, uint8_t*) noexcept { return 1; }
int ReadHead(const sb_file*, int32_t, void*, void (*)(void*, const sb_head*) SB_NOEXCEPT) noexcept { return 1; }
std::atomic<int> file_shares{0};
void Share(const sb_file*) noexcept { ++file_shares; }
void Release(const sb_file*) noexcept { --file_shares; }
void Free(void*) noexcept {}

const sb_engine kEngine = {
    .table_extension = "table",
    .older_table_extension = nullptr,
    .database_file = "DATABASE",
    .lock_file = "LOCK",
    .hotness_file = "HOTNESS",
    .hotness_file_new = "HOTNESS.new",
    .reader_bytes = sizeof(sb_file),
    .cache = nullptr,
};

// A thread that was joined may be listed for a moment.
bool IsAloneSoon() {
  for (int tries = 0; tries < 1000; ++tries) {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    if (std::distance(begin(tasks), end(tasks)) == 1) {
      return true;
    }
    usleep(10000);
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Require(argc == 2, "usage: FOLDER");
  const std::string folder = argv[1];
  const std::string path = folder + "/000001.table";
  const std::string session = "session";
  std::ofstream(folder + "/DATABASE") << "here";
  // Open as long as the database is.
  const std::ofstream lock(folder + "/LOCK");

  char error[256] = "";
  const std::string name = "budget";
  const std::string wrong = "much";
  const sb_setting bad{Bytes(name), Bytes(wrong)};
  Require(sb_filters_shared_instance(&kEngine, &bad, 1, error, sizeof(error)) == nullptr && error[0] != '\0',
          "a budget that is no number is refused with a message");
  const std::string value = "1M";
  const sb_setting budget{Bytes(name), Bytes(value)};
  sb_filters* filters = sb_filters_shared_instance(&kEngine, &budget, 1, error, sizeof(error));
  Require(filters != nullptr, error);

  sb_builder* builder = sb_builder_new(filters, /*bytewise=*/1, Bytes(session), /*file_number=*/1);
  for (int number = 0; number < kKeys; ++number) {
    const std::string key = Key(2 * number);
    sb_builder_add(builder, Bytes(key), /*entry_bytes=*/100);
  }
  const sb_bytes finished = sb_builder_finish(builder);
  const std::string block(reinterpret_cast<const char*>(finished.data), finished.size);
  sb_builder_free(builder);
  std::ofstream(path, std::ios::binary) << block;

  const sb_column_family* family = sb_column_family_open(filters, Bytes(session), Bytes(folder), /*is_for_writing=*/1,
                                                         /*rows=*/{}, {nullptr, &Read, &Exists, &Log, &Free, /*file_system=*/0});
  uint64_t head_bytes = 0;
  uint64_t block_bytes = 0;
  Require(sb_block_extent(Bytes(block), &head_bytes, &block_bytes) == 1 && block_bytes == block.size(),
          "the block is one of ours");
  sb_table_spec spec{};
  spec.path = Bytes(path);
  spec.file_number = 1;
  spec.contents = SB_KEYS;
  const std::string family_name = "default";
  spec.family = Bytes(family_name);
  const sb_head head{{Bytes(block).data, head_bytes}, /*block_offset=*/0, Bytes(session)};
  // Units are read through the folder's files where an open file cannot be read.
  const sb_file_calls calls{&ReadOpen, &ReadHead, /*read_index=*/nullptr, &Share, &Release};
  const sb_file file{&calls};
  Share(&file);  // which the table takes over
  const sb_table* table = nullptr;
  uint64_t units_at = 1;
  Require(sb_block_units(head.bytes, SB_KEYS, &units_at) == SB_OPENED && units_at == 0, "the head is sound");
  Require(sb_block_units(head.bytes, SB_PREFIXES, &units_at) == SB_NO_SUCH_UNITS, "it has no prefixes");
  Require(sb_table_open(filters, family, &spec, &head, SB_OPENED, &file, &table) == SB_OPENED, "the table opens");

  const sb_comparator bytewise{nullptr, nullptr};
  int passed = kKeys;
  for (int round = 0; round < 100 && passed > kKeys / 100; ++round) {
    passed = 0;
    for (int number = 0; number < kKeys; ++number) {
      uint32_t segment = 0;
      const std::string present = Key(2 * number);
      Require(sb_table_may_match(table, &bytewise, sb_digest_of(Bytes(present)), Bytes(present), &segment) == 1,
              "a present key may match");
      sb_table_record(table, segment, SB_FOUND);
      const std::string absent = Key(2 * number + 1);
      if (sb_table_may_match(table, &bytewise, sb_digest_of(Bytes(absent)), Bytes(absent), &segment) == 1) {
        sb_table_record(table, segment, SB_MISSING);
        ++passed;
      }
    }
    sb_filters_wait_idle(filters, /*timeout_ms=*/10000);
  }
  std::printf("%d of %d absent keys pass\n", passed, kKeys);

  std::vector<std::string> keys;
  for (int number = 0; number < 100; ++number) {
    keys.push_back(Key(number));
  }
  std::vector<sb_batch_key> batch;
  for (const std::string& key : keys) {
    batch.push_back({Bytes(key), sb_digest_of(Bytes(key)), 0, 0});
  }
  sb_table_may_match_batch(table, &bytewise, batch.data(), batch.size());
  for (size_t at = 0; at < batch.size(); ++at) {
    const sb_batch_key& sought = batch[at];
    uint32_t segment = 0;
    Require(sb_table_may_match(table, &bytewise, sought.digest, sought.key, &segment) == static_cast<int>(sought.may_match) &&
                segment == sought.segment,
            "a key of a batch is answered as alone");
    Require(at % 2 != 0 || sought.may_match == 1, "a present key of a batch may match");
  }
  sb_table_may_match_batch(table, &bytewise, nullptr, 0);

  Require(passed <= kKeys / 100, "units that are loaded reject absent keys");

  sb_table_close(filters, table, /*obsolete=*/0);
  sb_column_family_close(filters, family, /*may_wait=*/1);
  Require(file_shares == 0, "a closed table has no share in its file");

  const std::string next_session = "next";
  family = sb_column_family_open(filters, Bytes(next_session), Bytes(folder), /*is_for_writing=*/0, /*rows=*/{},
                                 {nullptr, &Read, &Exists, &Log, &Free, /*file_system=*/0});
  Share(&file);
  Require(sb_table_open(filters, family, &spec, &head, SB_OPENED, &file, &table) == SB_OPENED, "the table opens again");
  may_not_log = std::this_thread::get_id();
  Require(sb_filters_set_budget_bytes(filters, 10) == 1, "a budget that is too small for what is open is a line for the log");
  sb_table_close(filters, table, /*obsolete=*/0);
  sb_column_family_close(filters, family, /*may_wait=*/0);
  Require(sb_filters_set_budget_bytes(filters, 1 << 20) == 1, "the budget is what it was");
  sb_filters_give_up_shared_instance();
  Require(sb_filters_shared_instance_if_any() == nullptr, "an instance that was given up is not shared");
  Require(sb_filters_budget_bytes(filters) == 1 << 20, "an instance that was given up serves those who own it");
  sb_filters_release(filters);
  Require(IsAloneSoon(), "an instance ends its threads");
  Require(access((folder + "/HOTNESS").c_str(), F_OK) == 0, "a closed database remembers its hotness");
  return 0;
}
