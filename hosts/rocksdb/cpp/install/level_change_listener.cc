#include "install/level_change_listener.h"

#include <algorithm>

#include "rocksdb/db.h"
#include "rocksdb/system_clock.h"
#include "write/elastic_table_builder.h"

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

void LevelChangeListener::TellDataBytes(rocksdb::DB* db) {
  // Sums may take one part in this many of a core.
  constexpr uint64_t kSumParts = 200;
  // What a sum may take at any time.
  constexpr uint64_t kSumNanos = 50'000;
  const FiltersRef filters = Filters();
  // Not the database's own clock, which may stand still.
  rocksdb::SystemClock& clock = *rocksdb::SystemClock::Default();
  const uint64_t now = clock.NowNanos();
  if (filters == nullptr || sb_filters_host_settings(filters.get())->shrinks_index == 0 ||
      now < next_sum_.load(std::memory_order_relaxed)) {
    return;
  }
  uint64_t bytes = 0;
  std::string session;
  const uint64_t begun = clock.CPUNanos();
  const bool is_known = db->GetAggregatedIntProperty(rocksdb::DB::Properties::kLiveSstFilesSize, &bytes);
  const uint64_t took = clock.CPUNanos() - begun;
  if (took > kSumNanos) {
    next_sum_.store(now + took * kSumParts, std::memory_order_relaxed);
  }
  if (is_known && db->GetDbSessionId(session).ok()) {
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
  if (filters == nullptr || !sb_filters_host_settings(filters.get())->creates_filters) {
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
