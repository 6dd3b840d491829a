plugin/springbloom/read/lookup_digest.cc.d \
 plugin/springbloom/read/lookup_digest.o \
 plugin/springbloom/read/lookup_digest.o: \
 plugin/springbloom/read/lookup_digest.cc \
 plugin/springbloom/read/lookup_digest.h plugin/springbloom/abi.h \
 plugin/springbloom/springbloom_abi.h include/rocksdb/slice.h \
 include/rocksdb/cleanable.h include/rocksdb/rocksdb_namespace.h \
 table/multiget_context.h db/dbformat.h include/rocksdb/comparator.h \
 include/rocksdb/customizable.h include/rocksdb/configurable.h \
 include/rocksdb/status.h include/rocksdb/slice_transform.h \
 include/rocksdb/types.h util/coding.h port/port.h port/port_posix.h \
 include/rocksdb/port_defs.h util/cast_util.h util/coding_lean.h \
 util/user_comparator_wrapper.h monitoring/perf_context_imp.h \
 monitoring/perf_step_timer.h monitoring/perf_level_imp.h \
 include/rocksdb/perf_level.h monitoring/statistics_impl.h \
 monitoring/histogram.h include/rocksdb/statistics.h port/likely.h \
 util/core_local.h util/math.h port/lang.h util/random.h util/mutexlock.h \
 util/fastrange.h util/hash.h include/rocksdb/system_clock.h \
 include/rocksdb/perf_context.h util/stop_watch.h db/lookup_key.h \
 db/merge_context.h include/rocksdb/db.h \
 include/rocksdb/attribute_groups.h include/rocksdb/iterator_base.h \
 include/rocksdb/wide_columns.h \
 include/rocksdb/block_cache_trace_writer.h include/rocksdb/options.h \
 include/rocksdb/advanced_options.h \
 include/rocksdb/blob_file_partition_strategy.h include/rocksdb/cache.h \
 include/rocksdb/compression_type.h include/rocksdb/data_structure.h \
 include/rocksdb/memory_allocator.h include/rocksdb/memtablerep.h \
 include/rocksdb/universal_compaction.h include/rocksdb/env.h \
 include/rocksdb/functor_wrapper.h include/rocksdb/thread_status.h \
 include/rocksdb/file_checksum.h include/rocksdb/listener.h \
 include/rocksdb/compaction_job_stats.h include/rocksdb/io_status.h \
 include/rocksdb/table_properties.h include/rocksdb/sst_partitioner.h \
 include/rocksdb/version.h include/rocksdb/write_buffer_manager.h \
 include/rocksdb/table_reader_caller.h \
 include/rocksdb/trace_reader_writer.h include/rocksdb/trace_record.h \
 include/rocksdb/iterator.h include/rocksdb/metadata.h \
 include/rocksdb/multi_scan.h include/rocksdb/snapshot.h \
 include/rocksdb/sst_file_writer.h include/rocksdb/transaction_log.h \
 include/rocksdb/write_batch.h include/rocksdb/write_batch_base.h \
 include/rocksdb/user_write_callback.h \
 include/rocksdb/utilities/table_properties_collectors.h \
 include/rocksdb/utilities/write_batch_with_index.h \
 util/async_file_reader.h util/autovector.h util/single_thread_executor.h
