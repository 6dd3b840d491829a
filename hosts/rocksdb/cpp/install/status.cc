// Whether elastic filters are in use where they are expected.
#include "install/elastic_table_factory.h"
#include "read/unit_table.h"
#include "springbloom.h"

// As the C interface of the pinned release has them.
struct rocksdb_t {
  rocksdb::DB* rep;
};
struct rocksdb_column_family_handle_t {
  rocksdb::ColumnFamilyHandle* rep;
};

namespace springbloom {

// `filters` null: of any.
static rocksdb::Status FamilyStatusOf(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, const sb_filters* filters,
                                      FamilyStatus* status) {
  const auto factory = db->GetOptions(family).table_factory;
  const auto* ours = factory == nullptr ? nullptr : factory->CheckedCast<ElasticTableFactory>();
  *status = FamilyStatus();
  status->is_active = ours != nullptr && (filters == nullptr || ours->Uses(filters));
  if (status->is_active) {
    status->index_block_restart_interval = static_cast<uint64_t>(ours->NewTableOptions().index_block_restart_interval);
  }
  rocksdb::TablePropertiesCollection tables;
  const rocksdb::Status s = db->GetPropertiesOfAllTables(family, &tables);
  for (const auto& table : tables) {
    ++(UnitTable::IsIn(*table.second) ? status->tables_with_units : status->tables_without_units);
  }
  return s;
}

rocksdb::Status GetStatus(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, FamilyStatus* status) {
  return FamilyStatusOf(db, family, nullptr, status);
}

}  // namespace springbloom

extern "C" int springbloom_status(void* rocksdb_db, void* rocksdb_family, const sb_filters* filters,
                                  springbloom_family_status* status, char* error, size_t error_size) noexcept {
  rocksdb::DB* db = static_cast<rocksdb_t*>(rocksdb_db)->rep;
  rocksdb::ColumnFamilyHandle* family =
      rocksdb_family == nullptr ? db->DefaultColumnFamily() : static_cast<rocksdb_column_family_handle_t*>(rocksdb_family)->rep;
  springbloom::FamilyStatus found;
  const rocksdb::Status s = springbloom::FamilyStatusOf(db, family, filters, &found);
  *status = {found.is_active, found.tables_with_units, found.tables_without_units, found.index_block_restart_interval};
  return springbloom::Told(s, error, error_size);
}
