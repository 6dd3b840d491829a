#include "install/level_change_listener.h"

#include <algorithm>

#include "rocksdb/db.h"
#include "write/unit_block_policy.h"

namespace springbloom {

void LevelChangeListener::OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo& job) {
  if (!job.status.ok()) {
    return;
  }
  TellDataBytes(db);
  for (size_t i = 0; i < job.output_files.size() && i < job.output_file_infos.size(); ++i) {
    const std::string& path = job.output_files[i];
    const auto written = job.table_properties.find(path);
    if (written != job.table_properties.end()) {
      CheckWritten(db, job.cf_id, job.cf_name, *written->second);
    }
    // An output that was an input has not been written.
    if (std::find(job.input_files.begin(), job.input_files.end(), path) == job.input_files.end()) {
      continue;
    }
    if (const FiltersRef filters = Filters()) {
      sb_table_moved(filters.get(), Bytes(path), job.output_file_infos[i].level);
    }
  }
}

void LevelChangeListener::OnFlushCompleted(rocksdb::DB* db, const rocksdb::FlushJobInfo& job) {
  TellDataBytes(db);
  CheckWritten(db, job.cf_id, job.cf_name, job.table_properties);
}

void LevelChangeListener::TellDataBytes(rocksdb::DB* db) const {
  const FiltersRef filters = Filters();
  uint64_t bytes = 0;
  std::string session;
  // To ask costs a look at all files.
  if (filters != nullptr && sb_filters_host_settings(filters.get())->shrinks_index != 0 &&
      db->GetAggregatedIntProperty(rocksdb::DB::Properties::kLiveSstFilesSize, &bytes) && db->GetDbSessionId(session).ok()) {
    sb_filters_set_data_bytes(filters.get(), Bytes(session), bytes);
  }
}

// Among the outputs of compactions are those of workers (DB::OpenAndCompact), whose options are others.
void LevelChangeListener::CheckWritten(rocksdb::DB* db, uint32_t family, const std::string& name,
                                       const rocksdb::TableProperties& table) {
  if (table.filter_policy_name == kUnitBlockPolicyName || table.num_entries == 0) {
    return;
  }
  const FiltersRef filters = Filters();
  if (filters == nullptr || !sb_filters_host_settings(filters.get())->writes_units) {
    return;
  }
  sb_filters_count(filters.get(), SB_WRITTEN_WITHOUT_UNITS, 1);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!told_.emplace(db->GetName(), family).second) {
      return;
    }
  }
  rocksdb::Warn(
      db->GetDBOptions().info_log,
      "springbloom: a table of column family %s was written without filter units, although elastic filters were installed into "
      "options of this database. Its options have another table factory (set_block_based_table_factory and "
      "optimize_for_point_lookup replace it, and options from an OPTIONS file have a stock one: install after them), or those "
      "of a remote compaction's worker have, or optimize_filters_for_hits is set, or nothing may filter its keys (see its "
      "comparator). The metric springbloom_tables_written_without_units_total counts such tables; others of this column "
      "family are not told of here",
      name.c_str());
}

}  // namespace springbloom
