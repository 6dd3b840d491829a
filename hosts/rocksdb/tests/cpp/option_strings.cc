// What a C++ program does with option strings and springbloom.h.
#include "springbloom.h"

#include <chrono>
#include <thread>

#include "check.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/convenience.h"
#include "rocksdb/env.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/table.h"

using namespace springbloom_test;
using rocksdb::ReadOptions;
using rocksdb::Status;

namespace {

constexpr int kKeys = 4000;

rocksdb::Options FromString(const std::string& text) {
  springbloom::Register();
  rocksdb::Options base;
  base.create_if_missing = true;
  base.write_buffer_size = 64 << 10;
  rocksdb::Options options;
  CheckOk(rocksdb::GetOptionsFromString(rocksdb::ConfigOptions(), base, text, &options), text);
  return options;
}

void CheckRefused(const std::string& text, const std::string& path, const std::string& word) {
  const rocksdb::Options options = FromString(text);
  std::unique_ptr<rocksdb::DB> db;
  const Status s = TryToOpen(&db, options, path);
  Check(s.IsInvalidArgument() && s.ToString().find(word) != std::string::npos, text + ": " + s.ToString());
}

// Where the string is parsed.
void CheckNotParsed(const std::string& text, const std::vector<std::string>& words) {
  rocksdb::Options options;
  const Status s = rocksdb::GetOptionsFromString(rocksdb::ConfigOptions(), rocksdb::Options(), text, &options);
  Check(s.IsInvalidArgument(), text + ": " + s.ToString());
  for (const std::string& word : words) {
    Check(s.ToString().find(word) != std::string::npos, text + ": no " + word + " in " + s.ToString());
  }
}

double Metric(const std::string& name) {
  std::string text;
  CheckOk(springbloom::GetMetrics(&text), "GetMetrics");
  const size_t at = text.find("\n" + name + " ");
  Check(at != std::string::npos, "no " + name + " in\n" + text);
  return std::stod(text.substr(at + name.size() + 2));
}

// A program that is configured again: each opening has a cache of its own.
void CheckCachesGo(const std::string& path) {
  for (const char* budget_text : {"auto", "auto", "1M"}) {
    std::weak_ptr<rocksdb::Cache> cache;
    {
      const rocksdb::Options options = FromString(std::string("table_factory={id=springbloom;budget=") + budget_text +
                                                  ";charge_to_block_cache=true;block_cache=8M};listeners=springbloom");
      cache = options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>()->block_cache;
      auto db = Open(options, path);
      CheckOk(db->Put(rocksdb::WriteOptions(), Key(0), "value"), "Put");
      CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
      std::string value;
      CheckOk(db->Get(ReadOptions(), Key(0), &value), "Get");
      uint64_t budget = 0;
      CheckOk(springbloom::GetBudget(&budget), "GetBudget");
      Check(budget > 0 && cache.lock()->GetPinnedUsage() >= budget, "the cache in use pays " + std::to_string(budget));
      cache.lock()->SetCapacity(64 << 10);
      for (int tries = 0; budget > 56 << 10 && tries < 6000; ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        CheckOk(springbloom::GetBudget(&budget), "GetBudget");
      }
      Check(budget <= 56 << 10, "the budget follows the cache in use");
    }
    Check(cache.expired(), "a cache goes with the database and the options that have it");
  }
}

// All keys from one on, found by an iterator that knows nothing of prefixes, in a database whose options have an extractor.
size_t KeysFrom(const rocksdb::Options& given, const std::string& path) {
  rocksdb::Options options = given;
  options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(4));
  options.disable_auto_compactions = true;
  auto db = Open(options, path);
  for (int table = 0; table < 10; ++table) {
    for (int number = table; number < 10000; number += 10) {
      char key[32];
      std::snprintf(key, sizeof(key), "%04d/%04d", number / 100 * 2 + table % 2, number);
      CheckOk(db->Put(rocksdb::WriteOptions(), key, "value"), "Put");
    }
    CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
  }
  springbloom::WaitIdle(std::chrono::minutes(1)).PermitUncheckedError();
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(ReadOptions()));
  size_t keys = 0;
  for (it->Seek("0051"); it->Valid(); it->Next()) {
    ++keys;
  }
  CheckOk(it->status(), "the iterator");
  return keys;
}

// facebook/rocksdb#11718: where nothing filtered prefixes, nothing does after the installation, either.
void CheckPrefixes(const std::string& path) {
  rocksdb::Options stock;
  stock.create_if_missing = true;
  const size_t before = KeysFrom(stock, path + "/before");
  const char* elastic = "table_factory={id=springbloom;budget=8M};listeners=springbloom";
  const size_t after = KeysFrom(FromString(elastic), path + "/after");
  Check(after == before, "found " + std::to_string(after) + " keys of " + std::to_string(before));
  const char* with_policy = "table_factory={id=springbloom;budget=8M;filter_policy=bloomfilter:10};listeners=springbloom";
  const size_t filtered = KeysFrom(FromString(with_policy), path + "/filtered");
  Check(filtered < before, "a filter policy asks for filters over prefixes");
  // Tables that have units over prefixes do not use them with other options.
  Check(KeysFrom(FromString(elastic), path + "/filtered") == before, "found fewer keys in tables that have units over prefixes");
}

}  // namespace

// The only test of its process that uses option strings: they share one instance.
extern "C" int springbloom_test_option_strings(void*, const char* path, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    const std::string first = std::string(path) + "/first";
    const std::string second = std::string(path) + "/second";
    uint64_t budget = 0;
    double wasted_reads = 0;
    Check(springbloom::GetBudget(&budget).IsNotFound(), "nobody yet");
    {
      const rocksdb::Options options = FromString(
          "table_factory={id=springbloom;budget=4M;segment_size=16K;units=ribbon:8;"
          "inherit_hotness=false;warm_start_seconds=0;charge_to_block_cache=true;block_cache=32M;block_size=2048};listeners="
          "springbloom");
      Check(options.listeners.size() == 1, "the listener is there");
      const auto* table_options = options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
      Check(table_options != nullptr && table_options->block_size == 2048, "options of the format stand next to ours");
      Check(options.table_factory->GetPrintableOptions().find("units ribbon:8") != std::string::npos,
            "the log tells the settings");
      auto db = Open(options, first);
      CheckOk(springbloom::GetBudget(&budget), "GetBudget");
      Check(budget == 4 << 20, "the budget of the string is in force");
      Check(table_options->block_cache->GetPinnedUsage() >= 4 << 20, "the budget is charged to the block cache");
      Check(springbloom::GetWastedReadsPerLookup(budget, &wasted_reads).IsNotFound(), "nothing was looked up");
      for (int number = 0; number < kKeys; ++number) {
        // Ascending: tables are moved from level to level.
        CheckOk(db->Put(rocksdb::WriteOptions(), Key(2 * number), std::string(50, 'v')), "Put");
      }
      CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
      CheckOk(db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr), "CompactRange");
      CheckOk(springbloom::WaitIdle(std::chrono::minutes(1)), "WaitIdle");
      for (int number = 0; number < kKeys; ++number) {
        std::string value;
        CheckOk(db->Get(ReadOptions(), Key(2 * number), &value), "Get");
        Check(db->Get(ReadOptions(), Key(2 * number + 1), &value).IsNotFound(), "an odd number is absent");
      }
      CheckOk(springbloom::WaitIdle(std::chrono::minutes(1)), "WaitIdle");
      Check(Metric("springbloom_visits_total{outcome=\"rejected\"}") > kKeys / 2, "lookups are rejected");
      Check(Metric("springbloom_tables") > 0, "tables are known");
      CheckOk(springbloom::GetWastedReadsPerLookup(0, &wasted_reads), "GetWastedReadsPerLookup");
      Check(wasted_reads > 0.1, "without filters, reads are wasted");
      springbloom::FamilyStatus status;
      CheckOk(springbloom::GetStatus(db.get(), db->DefaultColumnFamily(), &status), "GetStatus");
      Check(status.is_active && status.tables_with_units > 0 && status.tables_without_units == 0, "every table has units");
      CheckOk(springbloom::SetBudget(2 << 20), "SetBudget");
      Check(springbloom::SetBudget(UINT64_MAX).IsInvalidArgument(), "a budget beyond what can be is refused");
      Check(Metric("springbloom_budget_bytes") == 2 << 20, "a smaller budget is in force");

      // Others share the instance: what they name must agree, but for the budget.
      CheckRefused("table_factory={id=springbloom;inherit_hotness=true}", second, "inherit_hotness: got true");
      CheckRefused("table_factory={id=springbloom;units=ribbon:9}", second, "ribbon:8");
      auto other = Open(FromString("table_factory={id=springbloom;inherit_hotness=false}"), second);
      CheckOk(springbloom::GetBudget(&budget), "GetBudget");
      Check(budget == 2 << 20, "a string without a budget leaves it alone");
      other.reset();
      other = Open(FromString("table_factory={id=springbloom;budget=3M}"), second);
      CheckOk(springbloom::GetBudget(&budget), "GetBudget");
      Check(budget == 3 << 20, "a string with a budget changes it");
    }
    // Nobody uses the instance: another one may take its place.
    auto db = Open(FromString("table_factory={id=springbloom;assume_bytewise_equality=true}"), second);
    CheckOk(springbloom::GetBudget(&budget), "GetBudget");
    Check(budget > 0 && budget <= 28 << 20, "a part of RocksDB's own block cache of 32 MiB: " + std::to_string(budget));
    db.reset();
    // It passes nothing on: what the next string leaves out is as in a new process.
    db = Open(FromString("table_factory={id=springbloom;budget=8M;create_filters=false}"), second);
    db.reset();
    db = Open(FromString("table_factory={id=springbloom;no_block_cache=true}"), second);
    CheckOk(springbloom::GetBudget(&budget), "GetBudget");
    Check(budget == 64 << 20, "without a cache the default is a budget of its own");
    CheckOk(db->Put(rocksdb::WriteOptions(), Key(0), "value"), "Put");
    CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
    springbloom::FamilyStatus status;
    CheckOk(springbloom::GetStatus(db.get(), db->DefaultColumnFamily(), &status), "GetStatus");
    Check(status.tables_with_units == 1 && status.tables_without_units == 0, "tables have units again");
    using Change = std::unordered_map<std::string, std::string>;
    Check(db->SetOptions({{"table_factory.budget", "zz"}}).IsInvalidArgument(), "a budget that is none is refused");
    for (const Change& wrong : {Change{{"table_factory.budget", "zz"}}, Change{{"table_factory", "{id=springbloom;budget=zz}"}},
                                Change{{"table_factory.inherit_hotness", "false"}}, Change{{"table_factory.units", "ribbon:99"}},
                                Change{{"table_factory", "{id=springbloom;budget=1M;inherit_hotness=false}"}}}) {
      db->SetOptions(wrong).PermitUncheckedError();  // RocksDB takes some of them
      CheckOk(db->Put(rocksdb::WriteOptions(), Key(1), "value"), "Put");
      CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
      CheckOk(springbloom::GetStatus(db.get(), db->DefaultColumnFamily(), &status), "GetStatus");
      Check(status.tables_without_units == 0, "a wrong setting takes no units: " + wrong.begin()->second);
    }
    const bool can_set = ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 908;  // table factories of open databases
    if (can_set) {
      CheckOk(db->SetOptions({{"table_factory", "{id=springbloom;budget=4M}"}}), "SetOptions");
      CheckOk(db->SetOptions({{"table_factory.budget", "5M"}}), "SetOptions");
    }
    CheckOk(db->Put(rocksdb::WriteOptions(), Key(2), "value"), "Put");
    CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
    CheckOk(springbloom::GetBudget(&budget), "GetBudget");
    Check(!can_set || budget == 5 << 20, "SetOptions changes the budget");
    db.reset();
    CheckRefused("table_factory={id=springbloom;charge_to_block_cache=true;no_block_cache=true}", first, "block cache");
    db = Open(FromString("table_factory={id=springbloom;budget=1M;charge_to_block_cache=true;"
                         "block_cache={capacity=300000;num_shard_bits=0;strict_capacity_limit=true}}"),
              second);
    CheckOk(springbloom::GetBudget(&budget), "GetBudget");
    Check(budget > 100'000 && budget <= 150'000, "half of a strict cache is left to blocks: " + std::to_string(budget));
    for (int number = 0; number < kKeys; ++number) {
      CheckOk(db->Put(rocksdb::WriteOptions(), Key(number), std::string(200, 'v')), "Put");
    }
    CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
    for (int number = 0; number < kKeys; ++number) {
      std::string value;
      CheckOk(db->Get(ReadOptions(), Key(number), &value), "Get");
    }
    db.reset();
    db = Open(FromString("table_factory={id=springbloom;budget=1M}"), second);
    CheckRefused("table_factory={id=springbloom;budget=auto}", first, "budget: got auto, expected bytes");
    db.reset();
    db = Open(FromString("table_factory={id=springbloom;block_cache=8M}"), second);
    const auto settings_text = [&] { return db->GetOptions().table_factory->GetPrintableOptions(); };
    Check(settings_text().find("chosen by measuring") != std::string::npos, "the log tells that the budget is measured");
    CheckOk(springbloom::GetBudget(&budget), "GetBudget");
    Check(budget > 0 && budget <= 7 << 20, "a part of the cache: " + std::to_string(budget));
    CheckOk(springbloom::SetBudget(3 << 20), "SetBudget");
    Check(Metric("springbloom_budget_bytes") == 3 << 20 && settings_text().find("chosen by") == std::string::npos,
          "a budget that is set stays");
    if (can_set) {
      for (const char* budget_text : {"0", "2M", "auto"}) {
        CheckOk(db->SetOptions({{"table_factory.budget", budget_text}}), "SetOptions");
        CheckOk(db->Put(rocksdb::WriteOptions(), Key(3), "value"), "Put");
        CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
      }
      Check(settings_text().find("chosen by measuring") != std::string::npos, "SetOptions lets it be measured again");
      // Longer than keys and refused tables are not counted.
      std::this_thread::sleep_for(std::chrono::milliseconds(1200));
      CheckOk(springbloom::GetBudget(&budget), "GetBudget");
      Check(budget < 1 << 20, "tables that had no room at 0 lift no other budget: " + std::to_string(budget));
    }
    db.reset();
    CheckNotParsed("table_factory={id=springbloom;budget=}", {"budget: got nothing"});
    CheckNotParsed("table_factory={id=springbloom;nonsense=1}",
                   {"unknown setting nonsense", "budget, segment_size, units", "charge_to_block_cache", "block-based"});
    CheckNotParsed("table_factory={id=springbloom;budget=4M;block_size=2048;Units=ribbon:9}", {"unknown setting Units"});
    {
      rocksdb::ConfigOptions lenient;
      lenient.ignore_unknown_options = true;
      rocksdb::Options options;
      const char* text = "table_factory={id=springbloom;nonsense=1;block_size=2048}";
      CheckOk(rocksdb::GetOptionsFromString(lenient, rocksdb::Options(), text, &options), text);
      Check(options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>()->block_size == 2048, "the known option stands");
    }
    CheckCachesGo(std::string(path) + "/caches");
    CheckPrefixes(path);
    CheckRefused("table_factory={id=springbloom;units=bloom:6x0}", first, "units: got bloom:6x0");
    CheckRefused("table_factory={id=springbloom;segment_size=1}", first, "segment_size");
  });
}
