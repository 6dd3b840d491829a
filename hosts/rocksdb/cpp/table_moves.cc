#include "table_moves.h"

#include <algorithm>

namespace springbloom {

void TableMoves::OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo& job) {
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
    if (elastic_ != nullptr) {
      sb_table_moved(elastic_.get(), path.data(), path.size(), level);
    } else if (const sb_elastic* process_wide = sb_elastic_process_wide_if_any()) {
      sb_table_moved(process_wide, path.data(), path.size(), level);
      sb_elastic_release(process_wide);
    }
  }
}

}  // namespace springbloom
