// Counts of block reads by kind, which the C interface has in a text report alone.
#include <cstdint>

#include "rocksdb/perf_context.h"

extern "C" void springbloom_baselines_block_reads(uint64_t* data, uint64_t* index, uint64_t* filter) noexcept {
  const rocksdb::PerfContext& context = *rocksdb::get_perf_context();
  *index = context.index_block_read_count;
  *filter = context.filter_block_read_count;
  *data = context.block_read_count - *index - *filter - context.compression_dict_block_read_count;
}
