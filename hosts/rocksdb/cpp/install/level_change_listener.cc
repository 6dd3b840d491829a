#include "install/level_change_listener.h"

#include <algorithm>

#include "rocksdb/db.h"
#include "write/unit_block_policy.h"

namespace springbloom {

void LevelChangeListener::OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo& job) {
  if (!job.status.ok()) {
    return;
  }
  for (size_t i = 0; i < job.output_files.size() && i < job.output_file_infos.size(); ++i) {
    const std::string& path = job.output_files[i];
    // An output that was an input has not been written.
    if (std::find(job.input_files.begin(), job.input_files.end(), path) == job.input_files.end()) {
      continue;
    }
    const int level = job.output_file_infos[i].level;
    if (filters_ != nullptr) {
      sb_table_moved(filters_.get(), path.data(), path.size(), level);
    } else if (const sb_filters* shared_instance = sb_filters_shared_instance_if_any()) {
      sb_table_moved(shared_instance, path.data(), path.size(), level);
      sb_filters_release(shared_instance);
    }
  }
}

void LevelChangeListener::OnFlushCompleted(rocksdb::DB* db, const rocksdb::FlushJobInfo& job) {
  if (job.table_properties.filter_policy_name == kUnitBlockPolicyName || job.table_properties.num_entries == 0) {
    return;
  }
  if (filters_ != nullptr && !sb_filters_writes_units(filters_.get())) {
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!told_.emplace(db->GetName(), job.cf_id).second) {
      return;
    }
  }
  rocksdb::Warn(db->GetDBOptions().info_log,
                "springbloom: column family %s writes tables without filter units, although elastic filters were installed into "
                "options of this database: its options have another table factory (set_block_based_table_factory and "
                "optimize_for_point_lookup replace it: install after them), or nothing may filter its keys (see its comparator)",
                job.cf_name.c_str());
}

}  // namespace springbloom
