// Lists the tables of a database from its MANIFEST alone: no comparator is needed, no table and no write-ahead log is read.
#include <map>

#include "abi.h"
#include "db/version_edit_handler.h"
#include "file/sequence_file_reader.h"
#include "owners.h"
#include "rocksdb/env.h"
#include "rocksdb_release.h"

namespace {

struct Table {
  int level;
  uint64_t epoch;
  rocksdb::SequenceNumber newest_sequence;
  std::string smallest;
  std::string largest;
};

struct Family {
  std::string name;
  std::string comparator;
  std::map<uint64_t, Table> tables;  // by file number
};

class ListTablesHandler : public rocksdb::VersionEditHandlerBase {
 public:
  explicit ListTablesHandler(const rocksdb::ReadOptions& read_options) : VersionEditHandlerBase(read_options) {}

  // RocksDB refuses a MANIFEST without it, such as one that another program wrote.
  bool HasNextFile() const { return has_next_file_; }
  const std::map<uint32_t, Family>& Families() const { return families_; }

 protected:
  rocksdb::Status ApplyVersionEdit(rocksdb::VersionEdit& edit, rocksdb::ColumnFamilyData**) override {
    has_next_file_ |= edit.HasNextFile();
    if (edit.IsColumnFamilyDrop()) {
      families_.erase(edit.GetColumnFamily());
      return rocksdb::Status::OK();
    }
    if (edit.IsColumnFamilyAdd()) {
      families_[edit.GetColumnFamily()].name = edit.GetColumnFamilyName();
    }
    const auto family = families_.find(edit.GetColumnFamily());
    if (family == families_.end()) {
      return rocksdb::Status::Corruption("the MANIFEST names a column family that it did not add");
    }
    if (const std::string& comparator = edit.GetComparatorName(); !comparator.empty()) {
      family->second.comparator = comparator;
    }
    // In this order: a table that moves to another level is deleted and added.
    std::map<uint64_t, Table>& tables = family->second.tables;
    for (const auto& [level, number] : edit.GetDeletedFiles()) {
      tables.erase(number);
    }
    for (const auto& [level, file] : edit.GetNewFiles()) {
      tables[file.fd.GetNumber()] = {level, file.epoch_number, file.fd.largest_seqno, file.smallest.user_key().ToString(),
                                     file.largest.user_key().ToString()};
    }
    return rocksdb::Status::OK();
  }

 private:
  // The default one need not be added.
  std::map<uint32_t, Family> families_{{0, {rocksdb::kDefaultColumnFamilyName, {}, {}}}};
  bool has_next_file_ = false;
};

rocksdb::Status Read(const std::string& path, ListTablesHandler* tables) {
  std::unique_ptr<rocksdb::SequentialFileReader> file;
  const rocksdb::Status s = rocksdb::SequentialFileReader::Create(rocksdb::FileSystem::Default(), path, rocksdb::FileOptions(),
                                                                  &file, nullptr, /*rate_limiter=*/nullptr);
  if (!s.ok()) {
    return s;
  }
  springbloom::release::LogFault fault;
  rocksdb::log::Reader reader(nullptr, std::move(file), &fault, /*checksum=*/true, /*log_num=*/0);
  tables->Iterate(reader, &fault.status);
  if (tables->status().ok() && !tables->HasNextFile()) {
    return rocksdb::Status::Corruption("it is no MANIFEST, or an empty one", path);
  }
  return tables->status();
}

}  // namespace

extern "C" int springbloom_list_tables(sb_bytes path, void* context,
                                       void (*take)(void* context, const springbloom_listed_table* table), char* error,
                                       size_t error_size) noexcept {
  const rocksdb::ReadOptions read_options;
  ListTablesHandler tables(read_options);
  const rocksdb::Status s = Read(springbloom::ToSlice(path).ToString(), &tables);
  for (const auto& [id, family] : tables.Families()) {
    for (const auto& [number, table] : family.tables) {
      const springbloom_listed_table listed{springbloom::Bytes(family.name),
                                            springbloom::Bytes(family.comparator),
                                            springbloom::Bytes(table.smallest),
                                            springbloom::Bytes(table.largest),
                                            number,
                                            table.epoch,
                                            table.newest_sequence,
                                            table.level};
      take(context, &listed);
    }
  }
  return springbloom::Told(s, error, error_size);
}
