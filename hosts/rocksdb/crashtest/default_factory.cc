// Makes Springbloom's table factory the one that RocksDB's stress tool and unit tests get when they ask for a block-based one, and its
// listener one of every database. The linker sends the wrapped functions here (build.mk).
//
//   SPRINGBLOOM_FACTORY  settings as an option string has them, "budget=64K;inherit_hotness=false"; "stock": RocksDB's own factory;
//                        "unfiltered": RocksDB's own factory, without the filters that were asked for
//   SPRINGBLOOM_BUDGETS  "SEED LARGEST": the budget changes several times a second, drawn from 0 to LARGEST bytes
//   SPRINGBLOOM_METRICS  a file for the metrics, written as often as the budget changes
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "db/db_impl/db_impl.h"
#include "install/elastic_table_factory.h"
#include "rocksdb/convenience.h"
#include "rocksdb/table.h"
#include "springbloom.h"
#include "install/level_change_listener.h"

namespace {

using rocksdb::BlockBasedTableOptions;
using rocksdb::ColumnFamilyOptions;
using rocksdb::DBOptions;
using rocksdb::Status;
using rocksdb::TableFactory;

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "default_factory: %s\n", message.c_str());
  std::abort();
}

const std::string& Settings() {
  static const std::string settings = [] {
    const char* given = std::getenv("SPRINGBLOOM_FACTORY");
    return std::string(given == nullptr ? "" : given);
  }();
  return settings;
}

bool Unfiltered() { return Settings() == "unfiltered"; }
bool Stock() { return Settings() == "stock" || Unfiltered(); }

// Moves the budget until the process ends.
class BudgetMover {
 public:
  BudgetMover(uint64_t seed, uint64_t largest) : random_(seed), largest_(largest), thread_([this] { Run(); }) {}
  ~BudgetMover() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

 private:
  void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::milliseconds(std::uniform_int_distribution<>(50, 1000)(random_)),
                           [this] { return ended_; })) {
      springbloom::SetBudget(Draw()).PermitUncheckedError();
      WriteMetrics();
    }
  }

  // As often of one magnitude as of another; 0 every eighth time.
  uint64_t Draw() {
    if (random_() % 8 == 0) {
      return 0;
    }
    uint64_t magnitude = 0;
    while (magnitude < 63 && (largest_ >> (magnitude + 1)) > 0) {
      ++magnitude;
    }
    const uint64_t below = uint64_t{2} << (random_() % (magnitude + 1));
    return std::min(largest_, random_() % below);
  }

  static void WriteMetrics() {
    std::string text;
    const char* path = std::getenv("SPRINGBLOOM_METRICS");
    if (path != nullptr && springbloom::GetMetrics(&text).ok()) {
      std::ofstream(path) << text;
    }
  }

  std::mt19937_64 random_;
  const uint64_t largest_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::thread thread_;
};

void MoveBudgetIfAsked() {
  const char* asked = std::getenv("SPRINGBLOOM_BUDGETS");
  if (asked == nullptr) {
    return;
  }
  unsigned long long seed = 0;
  unsigned long long largest = 0;
  if (std::sscanf(asked, "%llu %llu", &seed, &largest) != 2) {
    Fail(std::string("SPRINGBLOOM_BUDGETS: expected a seed and the largest budget in bytes, got ") + asked);
  }
  static BudgetMover mover(seed, largest);
}

TableFactory* NewElastic(const BlockBasedTableOptions& options) {
  auto* factory = new springbloom::ElasticTableFactory(options);
  rocksdb::ConfigOptions config;
  config.invoke_prepare_options = false;
  const Status s = factory->ConfigureFromString(config, Settings());
  if (!s.ok()) {
    Fail("SPRINGBLOOM_FACTORY: " + s.ToString());
  }
  return factory;
}

// Column families that their options' constructor gave a factory: `options` was just constructed.
void Replace(ColumnFamilyOptions* options) {
  if (!Stock()) {
    options->table_factory.reset(NewElastic(BlockBasedTableOptions()));
  }
}

}  // namespace

// The names are those of the linker: rocksdb::NewBlockBasedTableFactory, both forms of the constructor of ColumnFamilyOptions, and
// rocksdb::SanitizeOptions, through which the options of every database that is opened go.
TableFactory* RealNew(const BlockBasedTableOptions&) asm(
    "__real__ZN7rocksdb25NewBlockBasedTableFactoryERKNS_22BlockBasedTableOptionsE");
TableFactory* WrapNew(const BlockBasedTableOptions&) asm(
    "__wrap__ZN7rocksdb25NewBlockBasedTableFactoryERKNS_22BlockBasedTableOptionsE");
void RealComplete(ColumnFamilyOptions*) asm("__real__ZN7rocksdb19ColumnFamilyOptionsC1Ev");
void WrapComplete(ColumnFamilyOptions*) asm("__wrap__ZN7rocksdb19ColumnFamilyOptionsC1Ev");
void RealBase(ColumnFamilyOptions*) asm("__real__ZN7rocksdb19ColumnFamilyOptionsC2Ev");
void WrapBase(ColumnFamilyOptions*) asm("__wrap__ZN7rocksdb19ColumnFamilyOptionsC2Ev");
DBOptions RealSanitize(const std::string&, const DBOptions&, bool, Status*) asm(
    "__real__ZN7rocksdb15SanitizeOptionsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKNS_9DBOptionsEbPNS_6StatusE");
DBOptions WrapSanitize(const std::string&, const DBOptions&, bool, Status*) asm(
    "__wrap__ZN7rocksdb15SanitizeOptionsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKNS_9DBOptionsEbPNS_6StatusE");

TableFactory* WrapNew(const BlockBasedTableOptions& options) {
  if (Unfiltered()) {
    BlockBasedTableOptions unfiltered(options);
    unfiltered.filter_policy.reset();
    return RealNew(unfiltered);
  }
  if (Stock()) {
    return RealNew(options);
  }
  MoveBudgetIfAsked();
  return NewElastic(options);
}

void WrapComplete(ColumnFamilyOptions* options) {
  RealComplete(options);
  Replace(options);
}

void WrapBase(ColumnFamilyOptions* options) {
  RealBase(options);
  Replace(options);
}

DBOptions WrapSanitize(const std::string& name, const DBOptions& options, bool read_only, Status* logger_status) {
  DBOptions with_listener(options);
  if (!Stock()) {
    with_listener.listeners.push_back(std::make_shared<springbloom::LevelChangeListener>(nullptr));
  }
  return RealSanitize(name, with_listener, read_only, logger_status);
}
