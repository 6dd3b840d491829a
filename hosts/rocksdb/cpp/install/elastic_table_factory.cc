#include "install/elastic_table_factory.h"

#include <cstring>
#include <optional>

#include "write/elastic_table_builder.h"
#include "read/elastic_table_reader.h"
#include "file/writable_file_writer.h"
#include "rocksdb/env.h"
#include "rocksdb/utilities/options_type.h"
#include "read/unit_table.h"
#include "read/whole_index.h"

namespace springbloom {

using rocksdb::BlockBasedTableOptions;
using rocksdb::OptionType;
using rocksdb::OptionTypeFlags;
using rocksdb::OptionTypeInfo;
using rocksdb::OptionVerificationType;
using rocksdb::Status;

namespace {

std::string SettingName(size_t index) { return ToSlice(sb_setting_name(index)).ToString(); }

const std::unordered_map<std::string, OptionTypeInfo>& OptionMap() {
  static const std::unordered_map<std::string, OptionTypeInfo> map = [] {
    std::unordered_map<std::string, OptionTypeInfo> settings;
    for (size_t i = 0; i < SB_SETTINGS; ++i) {
      const size_t offset = offsetof(ElasticOptions, values) + i * sizeof(std::string);
      settings.emplace(SettingName(i), OptionTypeInfo(static_cast<int>(offset), OptionType::kString,
                                                      OptionVerificationType::kNormal, OptionTypeFlags::kDontSerialize));
    }
    return settings;
  }();
  return map;
}

// The usual distance between whole keys in a block: an index of numbered keys shrinks to a third.
constexpr int kSmallIndexRestartInterval = 16;

// Index and blocks of new tables where the block cache pays for filters: every byte of index takes one from data. Changes what the program
// left at RocksDB's default. `block_bytes`: of a block of data; 0: RocksDB's default.
void ShrinkIndex(uint32_t block_bytes, BlockBasedTableOptions* options) {
  const BlockBasedTableOptions defaults;
  if (options->no_block_cache || options->block_cache == nullptr) {
    return;
  }
  // A hash index can have no other.
  if (options->index_block_restart_interval == defaults.index_block_restart_interval &&
      options->index_type != BlockBasedTableOptions::kHashSearch) {
    options->index_block_restart_interval = kSmallIndexRestartInterval;
  }
  if (block_bytes != 0 && options->block_size == defaults.block_size) {
    options->block_size = block_bytes;
  }
}

}  // namespace

ElasticTableFactory::ElasticTableFactory(const BlockBasedTableOptions& table_options, FiltersRef filters)
    : BlockBasedTableFactory(table_options), connection_(std::move(filters)) {
  RegisterOptions(&options_, &OptionMap());
}

ElasticTableFactory::ElasticTableFactory(const ElasticTableFactory& other)
    : BlockBasedTableFactory(other),
      options_(other.options_),
      connection_(other.connection_),
      is_for_writing_(other.is_for_writing_.load(std::memory_order_relaxed)) {}

const BlockBasedTableOptions& ElasticTableFactory::TableOptions() const { return *GetOptions<BlockBasedTableOptions>(); }

BlockBasedTableOptions ElasticTableFactory::NewTableOptions() const {
  BlockBasedTableOptions options(TableOptions());
  const FiltersRef filters = Connected();
  if (filters != nullptr && sb_filters_host_settings(filters.get())->creates_filters != 0 &&
      sb_filters_host_settings(filters.get())->shrinks_index != 0) {
    ShrinkIndex(sb_filters_block_bytes(filters.get()), &options);
  }
  return options;
}

// RocksDB reads the OPTIONS file back into a stock factory and compares: what is not written must not be compared.
const void* ElasticTableFactory::GetOptionsPtr(const std::string& name) const {
  return name == ElasticOptions::kName() ? nullptr : BlockBasedTableFactory::GetOptionsPtr(name);
}

Status ElasticTableFactory::Connect() const {
  FiltersRef filters;
  return connection_.Get(options_, TableOptions(), &filters);
}

FiltersRef ElasticTableFactory::Connected(rocksdb::Logger* log) const {
  FiltersRef filters;
  const Status s = connection_.Get(options_, TableOptions(), &filters);
  if (!s.ok()) {
    // SetOptions makes a factory of any string, and nobody asks it whether that can work: what is in force goes on.
    rocksdb::Warn(log, "springbloom: options that were changed have no effect: %s", s.ToString().c_str());
    if (filters == nullptr) {
      filters = SharedInstance();
    }
  }
  return filters;
}

Status ElasticTableFactory::ConfigureOptions(const rocksdb::ConfigOptions& config_options,
                                             const std::unordered_map<std::string, std::string>& given,
                                             std::unordered_map<std::string, std::string>* unused) {
  stock_readers_.Forget();
  if (unused != nullptr || config_options.ignore_unknown_options) {
    return BlockBasedTableFactory::ConfigureOptions(config_options, given, unused);
  }
  std::unordered_map<std::string, std::string> unknown;
  Status s = BlockBasedTableFactory::ConfigureOptions(config_options, given, &unknown);
  if (!s.ok() || unknown.empty()) {
    return s;
  }
  std::string expected = SettingName(0);
  for (size_t i = 1; i < SB_SETTINGS; ++i) {
    expected += ", " + SettingName(i);
  }
  // RocksDB takes NotFound for an unknown "table_factory", and drops the message.
  return Status::InvalidArgument("springbloom", "unknown setting " + unknown.begin()->first + ", expected one of " + expected +
                                                    ", or an option of the block-based table format");
}

Status ElasticTableFactory::ParseOption(const rocksdb::ConfigOptions& config_options, const OptionTypeInfo& type,
                                        const std::string& name, const std::string& value, void* option) {
  if (OptionMap().count(name) == 0) {
    return BlockBasedTableFactory::ParseOption(config_options, type, name, value, option);
  }
  if (Given() != nullptr) {
    return Status::InvalidArgument("springbloom",
                                   name +
                                       ": these filters were installed by the program, which alone changes their settings "
                                       "(ElasticFilters::set_budget_bytes); an option string cannot");
  }
  if (connection_.IsMade()) {
    if (name != SettingName(SB_SETTING_BUDGET)) {
      return Status::InvalidArgument(
          "springbloom", name + ": it stays as it is while a database is open; SetOptions can change the budget alone");
    }
    char error[512] = "";
    if (!sb_setting_can_work(sb_setting{Bytes(name), Bytes(value)}, error, sizeof(error))) {
      return Status::InvalidArgument("springbloom", error);
    }
  }
  if (value.empty()) {
    return Status::InvalidArgument("springbloom", name + ": got nothing; give it a value, or leave it out");
  }
  return BlockBasedTableFactory::ParseOption(config_options, type, name, value, option);
}

Status ElasticTableFactory::ValidateOptions(const rocksdb::DBOptions& db_options,
                                            const rocksdb::ColumnFamilyOptions& cf_options) const {
  Status s = BlockBasedTableFactory::ValidateOptions(db_options, cf_options);
  FiltersRef filters;
  if (s.ok()) {
    s = connection_.Get(options_, TableOptions(), &filters);
  }
  if (!s.ok()) {
    return s;
  }
  is_for_writing_.store(true, std::memory_order_relaxed);
  rocksdb::Logger* log = db_options.info_log.get();
  if (sb_filters_budget_bytes(filters.get()) == 0) {
    rocksdb::Warn(log, "springbloom: the budget is 0 bytes: units are written but none is resident");
  }
  return Status::OK();
}

std::string ElasticTableFactory::GetPrintableOptions() const {
  std::string options = BlockBasedTableFactory::GetPrintableOptions();
  if (const FiltersRef filters = Connected()) {
    options += "  springbloom.budget: " + std::to_string(sb_filters_budget_bytes(filters.get())) + "\n";
    options += "  springbloom.settings: " + SettingsText(filters.get()) + "\n";
    options += "  springbloom.index_block_restart_interval_of_new_tables: " +
               std::to_string(NewTableOptions().index_block_restart_interval) + "\n";
    const bool holds_indexes =
        sb_filters_host_settings(filters.get())->has_indexes != 0 && ComesAndGoes(TableOptions(), TableOptions().index_type);
    options += "  springbloom.budget_holds_indexes: " + std::to_string(holds_indexes) + "\n";
  }
  return options;
}

// Keys that compare equal and differ in their bytes have different digests: a filter would hide one from the other.
bool ElasticTableFactory::Filterable(const FiltersRef& filters, const rocksdb::Comparator* comparator) const {
  if (!comparator->CanKeysWithDifferentByteContentsBeEqual() ||
      sb_filters_host_settings(filters.get())->assumes_bytewise_equality != 0) {
    return true;
  }
  // RocksDB's own timestamp comparators inherit the cautious default, but order the key itself bytewise.
  for (const char* bytewise : {"leveldb.BytewiseComparator.u64ts", "rocksdb.ReverseBytewiseComparator.u64ts"}) {
    if (std::strcmp(comparator->Name(), bytewise) == 0) {
      return true;
    }
  }
  // A stock filter policy asks the same of a comparator.
  return TableOptions().filter_policy != nullptr;
}

rocksdb::TableBuilder* ElasticTableFactory::NewTableBuilder(const rocksdb::TableBuilderOptions& builder_options,
                                                            rocksdb::WritableFileWriter* file) const {
  const FiltersRef filters = Connected(builder_options.ioptions.logger);
  if (filters == nullptr || sb_filters_host_settings(filters.get())->creates_filters == 0) {
    return BlockBasedTableFactory::NewTableBuilder(builder_options, file);
  }
  const rocksdb::Comparator* comparator = builder_options.internal_comparator.user_comparator();
  if (!Filterable(filters, comparator)) {
    // Not when options are validated: a database has no log by then.
    rocksdb::Warn(builder_options.ioptions.logger,
                  "springbloom: comparator %s may call keys equal that differ in their bytes, so %s gets no filter units; "
                  "if it never does, say so (assume_bytewise_equality, or CanKeysWithDifferentByteContentsBeEqual() == false)",
                  comparator->Name(), file->file_name().c_str());
    return BlockBasedTableFactory::NewTableBuilder(builder_options, file);
  }
  return NewElasticTableBuilder(filters, NewTableOptions(), builder_options, file);
}

Status ElasticTableFactory::NewTableReader(const rocksdb::ReadOptions& read_options,
                                           const rocksdb::TableReaderOptions& reader_options,
                                           std::unique_ptr<rocksdb::RandomAccessFileReader>&& file, uint64_t file_size,
                                           std::unique_ptr<rocksdb::TableReader>* table_reader,
                                           bool prefetch_index_and_filter_in_cache) const {
  const FiltersRef filters = Connected();
  if (filters == nullptr) {
    return BlockBasedTableFactory::NewTableReader(read_options, reader_options, std::move(file), file_size, table_reader,
                                                  prefetch_index_and_filter_in_cache);
  }
  const bool filterable = Filterable(filters, reader_options.internal_comparator.user_comparator());
  // Without one a table is opened as stock RocksDB opens it, and its units are not looked at until there is one.
  const bool has_budget = sb_filters_budget_bytes(filters.get()) != 0;
  const bool has_short_tail = UnitTable::IsShortTail(reader_options.tail_size);
  std::optional<UnitTable> unit_table;
  rocksdb::TableReaderOptions inner_options(reader_options);
  if (filterable && has_budget && !has_short_tail) {
    unit_table = UnitTable::Find(read_options, reader_options.ioptions, reader_options.tail_size, file.get(), file_size);
    if (unit_table) {
      // Without this the stock reader would prefetch every unit with the rest of the file's tail.
      inner_options.tail_size = unit_table->BytesBehind(file_size);
    }
  }
  const Status s = stock_readers_.Open(TableOptions(), read_options, inner_options, std::move(file), file_size, table_reader,
                                       prefetch_index_and_filter_in_cache);
  if (!s.ok()) {
    return s;
  }
  const rocksdb::BlockBasedTable::Rep& rep = RepOf(**table_reader);
  const bool is_of_database = ColumnFamily::IsOfDatabase(reader_options);
  const bool is_in = filterable && UnitTable::IsIn(*rep.table_properties);
  if (is_in && has_budget && has_short_tail) {
    unit_table = UnitTable::Find(read_options, reader_options.ioptions, reader_options.tail_size, rep.file.get(), file_size);
  }
  if (!unit_table && !is_in) {
    if (is_of_database) {
      CountWithoutUnits(filters.get(), reader_options.ioptions.logger, rep.file->file_name());
    }
    return s;
  }
  // Opened with skip_filters, the reader answers no lookup that a filter may answer. A table with units has no filter of RocksDB's.
  if (reader_options.skip_filters || !is_of_database || rep.filter != nullptr) {
    return s;
  }
  const ReadObjects objects(reader_options);
  const bool may_have_prefixes = UnitTable::MayHavePrefixes(*rep.table_properties) && FiltersPrefixes(TableOptions());
  const auto head_of = [&](int contents) {
    return unit_table ? unit_table->ReadHeadOf(contents, objects, rep.file.get())
                      : UnitTable::Head{has_budget ? SB_UNREADABLE : SB_NO_ROOM};
  };
  const UnitTable::Head keys = head_of(SB_KEYS);
  UnitTable::Head prefixes{SB_NO_SUCH_UNITS};
  if (may_have_prefixes) {
    // What failed is not tried once more.
    prefixes = keys.why == SB_OPENED || keys.why == SB_NO_SUCH_UNITS ? head_of(SB_PREFIXES) : UnitTable::Head{keys.why};
  }
  if (keys.why == SB_NO_SUCH_UNITS && prefixes.why == SB_NO_SUCH_UNITS) {
    return s;
  }
  ColumnFamilyRef family = ColumnFamily::Of(filters, reader_options, is_for_writing_.load(std::memory_order_relaxed));
  if (keys.why == SB_CORRUPT || prefixes.why == SB_CORRUPT) {
    rocksdb::Warn(objects.log, "springbloom: %s is read without filter units: its filter block is damaged or of a newer version",
                  rep.file->file_name().c_str());
  } else if (keys.why == SB_UNREADABLE || prefixes.why == SB_UNREADABLE) {
    family->WarnOfUnreadable(rep.file->file_name());
  }
  auto reader = std::make_unique<ElasticTableReader>(std::move(*table_reader), std::move(family), reader_options.level);
  reader->Open(SB_PREFIXES, prefixes);
  reader->Open(SB_KEYS, keys);
  *table_reader = std::move(reader);
  return s;
}

void ElasticTableFactory::CountWithoutUnits(const sb_filters* filters, rocksdb::Logger* log, const std::string& path) const {
  sb_filters_count(filters, SB_WITHOUT_UNITS, 1);
  if (!told_of_table_without_units_.exchange(true, std::memory_order_relaxed)) {
    rocksdb::Info(log,
                  "springbloom: %s has no filter units; lookups in it are filtered as stock RocksDB filters them, until a "
                  "compaction writes it again; the metric springbloom_tables_without_units_total counts such tables, and "
                  "others are not told of here",
                  path.c_str());
  }
}

}  // namespace springbloom
