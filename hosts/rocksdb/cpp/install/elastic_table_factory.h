// The block-based table factory with filter units: what a column family's options hold.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "install/cache_charge.h"
#include "owners.h"
#include "rocksdb_release.h"

namespace springbloom {

// Settings that option strings can give, as text, in the order of sb_setting_name; empty where none was given. Not written to
// OPTIONS files, so that a stock engine reads those too.
struct ElasticOptions {
  static const char* kName() { return "SpringbloomOptions"; }

  std::string values[SB_SETTINGS];
};

// A subclass, not a wrapper: `ttl`, SetOptions, record-count verification and RocksDB's checked casts ask for the class
// BlockBasedTableFactory and get it. Writes tables with units; opens tables with and without.
class ElasticTableFactory final : public release::BlockBasedTableFactory {
 public:
  // The id in option strings.
  static constexpr const char* kId = "springbloom";
  // For RocksDB's checked casts, which need no run-time type information: a release build of RocksDB has none.
  static const char* kClassName() { return kId; }

  // `filters` null: the shared instance, made from the option string's settings when it is first needed.
  explicit ElasticTableFactory(const rocksdb::BlockBasedTableOptions& table_options, FiltersRef filters = nullptr);
  ElasticTableFactory(const ElasticTableFactory& other);

  using TableFactory::NewTableReader;
  rocksdb::Status NewTableReader(const rocksdb::ReadOptions& read_options, const rocksdb::TableReaderOptions& reader_options,
                                 std::unique_ptr<rocksdb::RandomAccessFileReader>&& file, uint64_t file_size,
                                 std::unique_ptr<rocksdb::TableReader>* table_reader,
                                 bool prefetch_index_and_filter_in_cache) const override;
  rocksdb::TableBuilder* NewTableBuilder(const rocksdb::TableBuilderOptions& builder_options,
                                         rocksdb::WritableFileWriter* file) const override;
  rocksdb::Status ValidateOptions(const rocksdb::DBOptions& db_options,
                                  const rocksdb::ColumnFamilyOptions& cf_options) const override;
  std::string GetPrintableOptions() const override;
  bool IsInstanceOf(const std::string& name) const override {
    return name == kClassName() || BlockBasedTableFactory::IsInstanceOf(name);
  }
  // Finds its instance and its cache, which it does by itself when it is first used. An error if they do not go together.
  rocksdb::Status Connect() const;
  // Whether these are the units that it writes and reads.
  bool Uses(const sb_filters* filters) const;
  // The options of the tables that it writes.
  rocksdb::BlockBasedTableOptions NewTableOptions() const;
  // What it was given to use, if it was; null otherwise.
  const sb_filters* Given() const { return connection_.Given(); }
  std::unique_ptr<rocksdb::TableFactory> Clone() const override { return std::make_unique<ElasticTableFactory>(*this); }

 protected:
  // Refuses names that are no option, in words of its own: of RocksDB's answer only that "table_factory" is wrong reaches the user.
  rocksdb::Status ConfigureOptions(const rocksdb::ConfigOptions& config_options,
                                   const std::unordered_map<std::string, std::string>& given,
                                   std::unordered_map<std::string, std::string>* unused) override;
  // Refuses settings that would have no effect.
  rocksdb::Status ParseOption(const rocksdb::ConfigOptions& config_options, const rocksdb::OptionTypeInfo& type,
                              const std::string& name, const std::string& value, void* option) override;
  const void* GetOptionsPtr(const std::string& name) const override;

 private:
  // Where a factory gets its instance from. A copy starts with what the original has.
  class Connection {
   public:
    explicit Connection(FiltersRef filters) : given_(filters != nullptr), filters_(std::move(filters)) {}
    Connection(const Connection& other);

    // Makes or finds the shared instance, and applies a budget that the options have newly got, unless an instance was
    // given. Has the options' block cache pay, if the budget is charged.
    rocksdb::Status Get(const ElasticOptions& options, const rocksdb::BlockBasedTableOptions& table_options, FiltersRef* filters);

    const sb_filters* Given() const { return given_ ? filters_.get() : nullptr; }
    // Whether the options have made or found an instance.
    bool IsMade() const {
      std::lock_guard<std::mutex> lock(mutex_);
      return filters_ != nullptr;
    }

   private:
    const bool given_;
    mutable std::mutex mutex_;
    FiltersRef filters_;
    std::string applied_budget_;
    CacheUse cache_use_;
    const rocksdb::Cache* used_cache_ = nullptr;  // alive while there is a use
  };

  // Opens stock readers. Stock code asks no filter of a table, and none that was planted, unless it was opened with a filter policy.
  std::shared_ptr<const rocksdb::BlockBasedTableFactory> StockReaders() const;
  // A stock reader, with tries while filters give way to what it puts into the block cache.
  rocksdb::Status NewStockReader(const FiltersRef& filters, const rocksdb::ReadOptions& read_options,
                                 const rocksdb::TableReaderOptions& reader_options,
                                 std::unique_ptr<rocksdb::RandomAccessFileReader>&& file, uint64_t file_size,
                                 std::unique_ptr<rocksdb::TableReader>* table_reader,
                                 bool prefetch_index_and_filter_in_cache) const;
  // Null if the options are wrong, which ValidateOptions reports, and no instance is in force.
  FiltersRef Connected(rocksdb::Logger* log = nullptr) const;
  bool Filterable(const FiltersRef& filters, const rocksdb::Comparator* comparator) const;
  const rocksdb::BlockBasedTableOptions& TableOptions() const;

  ElasticOptions options_;
  mutable Connection connection_;
  // Options are validated for a database that is opened to write, and for no other.
  mutable std::atomic<bool> is_for_writing_{false};
  mutable std::atomic<bool> told_of_table_without_units_{false};
  // Made when the first table is opened after the options changed.
  mutable std::mutex stock_readers_mutex_;
  mutable std::shared_ptr<const rocksdb::BlockBasedTableFactory> stock_readers_;
};

}  // namespace springbloom
