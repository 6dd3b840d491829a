// The block-based table factory with filter units: what a column family's options hold.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>

#include "install/connection.h"
#include "owners.h"
#include "read/stock_readers.h"
#include "rocksdb_release.h"

namespace springbloom {

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
  bool Uses(const sb_filters* filters) const { return Connected().get() == filters; }
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
  // Null if the options are wrong, which ValidateOptions reports, and no instance is in force.
  FiltersRef Connected(rocksdb::Logger* log = nullptr) const;
  void CountWithoutUnits(const sb_filters* filters, rocksdb::Logger* log, const std::string& path) const;
  bool Filterable(const FiltersRef& filters, const rocksdb::Comparator* comparator) const;
  const rocksdb::BlockBasedTableOptions& TableOptions() const;

  ElasticOptions options_;
  mutable Connection connection_;
  // Options are validated for a database that is opened to write, and for no other.
  mutable std::atomic<bool> is_for_writing_{false};
  mutable std::atomic<bool> told_of_table_without_units_{false};
  mutable StockReaders stock_readers_;
};

}  // namespace springbloom
