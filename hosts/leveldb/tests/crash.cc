// Processes that write and read are killed at any moment; the next one must find what was acknowledged, and nothing half. Each database has
// a comparator, snapshots and iterators of earlier states, other policies after a kill, and now and then a repair, which is killed too.
// SPRINGBLOOM_KILLS: how many.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "check.h"
#include "comparators.h"
#include "contents.h"
#include "leveldb/write_batch.h"

namespace {

constexpr char kCount[] = "batches";
constexpr uint64_t kKeys = 5000;

const leveldb::Comparator* const kComparators[] = {leveldb::BytewiseComparator(), &backwards, &folds_case};

// What a process tells the one that kills it.
struct Report {
  uint64_t batches;
  uint64_t answers;
  // A repair that is killed is begun again: LevelDB cannot open what it leaves.
  bool is_repairing;
};

// As seen when it was taken.
struct Earlier {
  const leveldb::Snapshot* snapshot;
  std::unique_ptr<leveldb::Iterator> iterator;
  Contents contents;
};

std::string Key(uint64_t number, bool upper) {
  char text[32];
  std::snprintf(text, sizeof(text), upper ? "Key%08llu" : "key%08llu", static_cast<unsigned long long>(number));
  return text;
}

// What the batch with this number writes, which is all that is known of it.
void Fill(uint64_t number, leveldb::WriteBatch* batch, Contents* contents) {
  Random random(number);
  for (int at = 0; at < 20; ++at) {
    const std::string key = Key(2 * random.Below(kKeys), random.OneIn(4));
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

// The state after `last` batches.
Contents After(uint64_t last, const leveldb::Comparator* comparator) {
  Contents contents = NoContents(comparator);
  leveldb::WriteBatch ignored;
  for (uint64_t number = 1; number <= last; ++number) {
    Fill(number, &ignored, &contents);
    ignored.Clear();
  }
  return contents;
}

class Life {
 public:
  // `seed`: draws options and operations.
  Life(const std::string& path, const leveldb::Comparator* comparator, uint64_t seed, int to)
      : path_(path), comparator_(comparator), random_(seed), to_(to), contents_(NoContents(comparator)) {}

  // Looks at all that is there, given what was reported last; then writes and reads until it is killed, and reports.
  [[noreturn]] void Live(const Report& last) {
    is_repairing_ = last.is_repairing;
    if (is_repairing_) {
      Repair();
    }
    Reopen();
    std::string count = "0";
    const leveldb::Status s = db_->Get(leveldb::ReadOptions(), kCount, &count);
    CHECK(s.ok() || (s.IsNotFound() && last.batches == 0), "%s", s.ToString().c_str());
    number_ = std::stoull(count);
    CHECK(number_ >= last.batches, "%llu of %llu batches", static_cast<unsigned long long>(number_),
          static_cast<unsigned long long>(last.batches));
    contents_ = After(number_, comparator_);
    CheckAll(db_.get(), contents_);
    if (random_.OneIn(4)) {
      // LevelDB's repair keeps what it should if each key has one version.
      db_->CompactRange(nullptr, nullptr);
      Reopen();
      db_.reset();
      is_repairing_ = true;
      Tell();
      Repair();
      Reopen();
      CheckAll(db_.get(), contents_);
    }
    Tell();
    for (;;) {
      Operate();
    }
  }

 private:
  void Operate() {
    leveldb::WriteBatch batch;
    Fill(++number_, &batch, &contents_);
    CHECK_OK(db_->Write(leveldb::WriteOptions(), &batch));
    Tell();
    for (int at = 0; at < 50; ++at) {
      leveldb::ReadOptions options;
      options.verify_checksums = random_.OneIn(2);
      const Contents* expected = &contents_;
      if (!earlier_.empty() && random_.OneIn(4)) {
        const Earlier& state = earlier_[random_.Below(earlier_.size())];
        options.snapshot = state.snapshot;
        expected = &state.contents;
      }
      CheckGet(db_.get(), options, *expected, RandomKey());
    }
    if (random_.OneIn(100)) {
      const leveldb::Snapshot* snapshot = db_->GetSnapshot();
      leveldb::ReadOptions options;
      options.snapshot = snapshot;
      earlier_.push_back({snapshot, std::unique_ptr<leveldb::Iterator>(db_->NewIterator(options)), contents_});
    }
    if (earlier_.size() == 3 || (!earlier_.empty() && random_.OneIn(200))) {
      Release();
    }
    if (random_.OneIn(50)) {
      CheckScan(db_.get(), leveldb::ReadOptions(), contents_, RandomKey(), 200, random_.OneIn(2));
    }
    if (random_.OneIn(300)) {
      CHECK_OK(springbloom::SetBudget(random_.OneIn(4) ? 0 : random_.Below(200000)));
    }
    if (random_.OneIn(1000)) {
      db_->CompactRange(nullptr, nullptr);
    }
    if (random_.OneIn(500)) {
      Reopen();
      CheckAll(db_.get(), contents_);
    }
  }

  // The oldest.
  void Release() {
    CheckWalk(earlier_[0].iterator.get(), earlier_[0].contents, RandomKey(), 500, random_.OneIn(2));
    earlier_[0].iterator.reset();
    db_->ReleaseSnapshot(earlier_[0].snapshot);
    earlier_.erase(earlier_.begin());
  }

  std::string RandomKey() { return Key(random_.Below(2 * kKeys), random_.OneIn(4)); }

  leveldb::Options NewOptions() {
    leveldb::Options options;
    options.create_if_missing = true;
    options.comparator = comparator_;
    options.write_buffer_size = 64 << 10;
    options.max_file_size = 1 << 20;
    options.max_open_files = random_.OneIn(2) ? 74 : 1000;
    options.paranoid_checks = random_.OneIn(2);
    options.compression = random_.OneIn(2) ? leveldb::kSnappyCompression : leveldb::kNoCompression;
    // Now and then without ours.
    policy_.reset();
    const uint64_t kind = random_.Below(8);
    if (kind == 0 && comparator_ != &folds_case) {
      policy_.reset(leveldb::NewBloomFilterPolicy(10));
    } else if (kind != 1) {
      const std::string equality = comparator_ == &backwards && kind % 2 == 0 ? ";assume_bytewise_equality=true" : "";
      policy_ = NewPolicy("budget=60000;segment_size=64K;warm_start_seconds=1" + equality);
    }
    options.filter_policy = policy_.get();
    return options;
  }

  void Reopen() {
    while (!earlier_.empty()) {
      Release();
    }
    db_.reset();
    keeper_.reset();
    db_ = Open(NewOptions(), path_);
    // Calls of springbloom_leveldb.h need one.
    keeper_ = NewPolicy("");
  }

  void Repair() {
    keeper_.reset();
    CHECK_OK(leveldb::RepairDB(path_, NewOptions()));
    is_repairing_ = false;
  }

  void Tell() {
    const Report report{number_, answers, is_repairing_};
    CHECK(write(to_, &report, sizeof(report)) == sizeof(report));
  }

  const std::string path_;
  const leveldb::Comparator* const comparator_;
  Random random_;
  const int to_;
  PolicyPtr policy_;
  PolicyPtr keeper_;
  DbPtr db_;
  std::vector<Earlier> earlier_;
  Contents contents_;
  uint64_t number_ = 0;
  bool is_repairing_ = false;
};

// Of all processes.
struct Sum {
  uint64_t kills = 0;
  uint64_t during_repair = 0;
  uint64_t databases = 0;
  uint64_t answers = 0;

  void Print(uint64_t seed) const {
    std::printf("%llu kills (%llu during a repair), %llu databases, %llu answers, none wrong, seed %llu\n",
                static_cast<unsigned long long>(kills), static_cast<unsigned long long>(during_repair),
                static_cast<unsigned long long>(databases), static_cast<unsigned long long>(answers),
                static_cast<unsigned long long>(seed));
  }
};

// Kills `child` before its first report, or some reports later, perhaps at a repair, and within a moment more. Gives what it said last.
Report Kill(pid_t child, int from, const Report& before, Random* random) {
  Report last{before.batches, 0, before.is_repairing};
  Report said;
  const auto hear = [&] {
    const bool heard = read(from, &said, sizeof(said)) == sizeof(said);
    if (heard) {
      last = {std::max(last.batches, said.batches), said.answers, said.is_repairing};
    }
    return heard;
  };
  if (random->OneIn(5)) {
    usleep(static_cast<useconds_t>(random->Below(300000)));
  } else {
    const bool waits_for_repair = random->OneIn(2);
    for (uint64_t reports = random->Below(1000) + 1; reports > 0 && hear(); --reports) {
      if (last.is_repairing && waits_for_repair) {
        break;
      }
    }
    usleep(static_cast<useconds_t>(random->Below(3000)));
  }
  kill(child, SIGKILL);
  while (hear()) {
  }
  return last;
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Random random;
  const Folder folder;
  const uint64_t kills = FromEnvironment("SPRINGBLOOM_KILLS", 12);
  const leveldb::Comparator* comparator = nullptr;
  Report last{};
  Sum sum;
  while (sum.kills < kills) {
    // From an empty database now and then: the model is replayed each time.
    if (comparator == nullptr || random.OneIn(20) || last.batches > 30000) {
      std::filesystem::remove_all(folder / "db");
      last = {};
      comparator = kComparators[random.Below(std::size(kComparators))];
      ++sum.databases;
    }
    const uint64_t seed = random.Below(UINT64_MAX);
    int ends[2];
    CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      close(ends[0]);
      Life(folder / "db", comparator, seed, ends[1]).Live(last);
    }
    close(ends[1]);
    last = Kill(child, ends[0], last, &random);
    close(ends[0]);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "it ended by itself: %d", status);
    ++sum.kills;
    sum.during_repair += last.is_repairing ? 1 : 0;
    sum.answers += last.answers;
    if (sum.kills % 10 == 0 || sum.kills == kills) {
      sum.Print(Random::SeedOfProcess());
    }
  }
  return 0;
}
