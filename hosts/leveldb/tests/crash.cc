// Processes that write and read are killed at any moment; the next one must find what was acknowledged, and nothing half.
// SPRINGBLOOM_KILLS: how many.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "contents.h"
#include "leveldb/write_batch.h"

namespace {

constexpr char kCount[] = "batches";
constexpr uint64_t kKeys = 5000;

std::string Key(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "key%08llu", static_cast<unsigned long long>(number));
  return text;
}

// What the batch with this number writes, which is all that is known of it.
void Fill(uint64_t number, leveldb::WriteBatch* batch, Contents* contents) {
  Random random(number);
  for (int at = 0; at < 20; ++at) {
    const std::string key = Key(2 * random.Below(kKeys));
    if (random.OneIn(5)) {
      batch->Delete(key);
      contents->erase(key);
    } else {
      const std::string value = std::to_string(number) + std::string(random.Below(200), 'v');
      batch->Put(key, value);
      (*contents)[key] = value;
    }
  }
  batch->Put(kCount, std::to_string(number));
  (*contents)[kCount] = std::to_string(number);
}

leveldb::Options NewOptions(const leveldb::FilterPolicy* policy) {
  leveldb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 64 << 10;
  options.max_file_size = 1 << 20;
  options.filter_policy = policy;
  return options;
}

// The state after `last` batches.
Contents After(uint64_t last) {
  Contents contents = NoContents();
  leveldb::WriteBatch ignored;
  for (uint64_t number = 1; number <= last; ++number) {
    Fill(number, &ignored, &contents);
    ignored.Clear();
  }
  return contents;
}

// Looks at all that is there, given how many batches were acknowledged; then writes and reads until it is killed, and acknowledges.
[[noreturn]] void Live(const std::string& path, uint64_t acknowledged, int to) {
  const PolicyPtr policy = NewPolicy("budget=60000;warm_start_seconds=1");
  const DbPtr db = Open(NewOptions(policy.get()), path);
  std::string count = "0";
  const leveldb::Status s = db->Get(leveldb::ReadOptions(), kCount, &count);
  CHECK(s.ok() || (s.IsNotFound() && acknowledged == 0), "%s", s.ToString().c_str());
  uint64_t number = std::stoull(count);
  CHECK(number >= acknowledged, "%llu of %llu batches", static_cast<unsigned long long>(number),
        static_cast<unsigned long long>(acknowledged));
  Contents contents = After(number);
  CheckAll(db.get(), contents);
  const uint64_t ready = 0;
  CHECK(write(to, &ready, sizeof(ready)) == sizeof(ready));
  for (Random random(number);;) {
    leveldb::WriteBatch batch;
    Fill(++number, &batch, &contents);
    CHECK_OK(db->Write(leveldb::WriteOptions(), &batch));
    CHECK(write(to, &number, sizeof(number)) == sizeof(number));
    for (int at = 0; at < 50; ++at) {
      CheckGet(db.get(), leveldb::ReadOptions(), contents, Key(random.Below(2 * kKeys)));
    }
    if (random.OneIn(300)) {
      CHECK_OK(springbloom::SetBudget(random.Below(200000)));
    }
    if (random.OneIn(2000)) {
      db->CompactRange(nullptr, nullptr);
    }
  }
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Random random;
  const Folder folder;
  const uint64_t kills = FromEnvironment("SPRINGBLOOM_KILLS", 12);
  uint64_t acknowledged = 0;
  for (uint64_t kill_number = 0; kill_number < kills; ++kill_number) {
    // From an empty database now and then: the model is replayed each time.
    if (acknowledged > 60000) {
      std::filesystem::remove_all(folder / "db");
      acknowledged = 0;
    }
    int ends[2];
    CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      close(ends[0]);
      Live(folder / "db", acknowledged, ends[1]);
    }
    close(ends[1]);
    uint64_t number = 0;
    // It is killed a number of batches after it began, and within a moment more.
    const uint64_t batches = random.Below(1000);
    for (uint64_t at = 0; at <= batches && read(ends[0], &number, sizeof(number)) == sizeof(number); ++at) {
      acknowledged = std::max(acknowledged, number);
    }
    usleep(static_cast<useconds_t>(random.Below(3000)));
    kill(child, SIGKILL);
    while (read(ends[0], &number, sizeof(number)) == sizeof(number)) {
      acknowledged = std::max(acknowledged, number);
    }
    close(ends[0]);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "it ended by itself: %d", status);
  }
  std::printf("%llu kills, %llu batches acknowledged last\n", static_cast<unsigned long long>(kills),
              static_cast<unsigned long long>(acknowledged));
  return 0;
}
