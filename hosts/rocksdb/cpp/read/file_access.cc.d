plugin/springbloom/read/file_access.cc.d \
 plugin/springbloom/read/file_access.o \
 plugin/springbloom/read/file_access.o: \
 plugin/springbloom/read/file_access.cc \
 plugin/springbloom/read/file_access.h plugin/springbloom/abi.h \
 plugin/springbloom/springbloom_abi.h include/rocksdb/file_system.h \
 include/rocksdb/customizable.h include/rocksdb/configurable.h \
 include/rocksdb/rocksdb_namespace.h include/rocksdb/status.h \
 include/rocksdb/slice.h include/rocksdb/cleanable.h \
 include/rocksdb/env.h include/rocksdb/functor_wrapper.h \
 include/rocksdb/port_defs.h include/rocksdb/thread_status.h \
 include/rocksdb/types.h include/rocksdb/io_status.h \
 include/rocksdb/options.h include/rocksdb/advanced_options.h \
 include/rocksdb/blob_file_partition_strategy.h \
 include/rocksdb/wide_columns.h include/rocksdb/cache.h \
 include/rocksdb/compression_type.h include/rocksdb/data_structure.h \
 include/rocksdb/comparator.h include/rocksdb/memory_allocator.h \
 include/rocksdb/memtablerep.h include/rocksdb/universal_compaction.h \
 include/rocksdb/file_checksum.h include/rocksdb/listener.h \
 include/rocksdb/compaction_job_stats.h \
 include/rocksdb/table_properties.h include/rocksdb/sst_partitioner.h \
 include/rocksdb/version.h include/rocksdb/write_buffer_manager.h \
 include/rocksdb/table.h include/rocksdb/statistics.h \
 table/table_builder.h db/dbformat.h include/rocksdb/slice_transform.h \
 util/coding.h port/port.h port/port_posix.h util/cast_util.h \
 util/coding_lean.h util/user_comparator_wrapper.h \
 monitoring/perf_context_imp.h monitoring/perf_step_timer.h \
 monitoring/perf_level_imp.h include/rocksdb/perf_level.h \
 monitoring/statistics_impl.h monitoring/histogram.h port/likely.h \
 util/core_local.h util/math.h port/lang.h util/random.h util/mutexlock.h \
 util/fastrange.h util/hash.h include/rocksdb/system_clock.h \
 include/rocksdb/perf_context.h util/stop_watch.h \
 db/seqno_to_time_mapping.h db/table_properties_collector.h \
 file/writable_file_writer.h db/version_edit.h \
 db/blob/blob_file_addition.h db/blob/blob_constants.h \
 db/blob/blob_file_garbage.h db/wal_edit.h logging/event_logger.h \
 logging/log_buffer.h memory/arena.h memory/allocator.h port/mmap.h \
 port/sys_time.h util/autovector.h port/malloc.h \
 include/rocksdb/advanced_cache.h table/table_reader.h \
 db/range_tombstone_fragmenter.h db/pinned_iterators_manager.h \
 table/internal_iterator.h file/readahead_file_info.h \
 include/rocksdb/advanced_iterator.h include/rocksdb/iterator.h \
 include/rocksdb/iterator_base.h table/format.h \
 file/file_prefetch_buffer.h file/random_access_file_reader.h \
 env/file_system_tracer.h trace_replay/io_tracer.h \
 monitoring/instrumented_mutex.h include/rocksdb/trace_record.h \
 trace_replay/trace_replay.h include/rocksdb/utilities/replayer.h \
 include/rocksdb/rate_limiter.h util/aligned_buffer.h util/coro_utils.h \
 file/file_util.h file/filename.h options/db_options.h \
 include/rocksdb/transaction_log.h include/rocksdb/write_batch.h \
 include/rocksdb/write_batch_base.h include/rocksdb/attribute_groups.h \
 include/rocksdb/sst_file_writer.h memory/memory_allocator_impl.h \
 options/cf_options.h util/compression.h \
 include/rocksdb/advanced_compression.h table/block_based/block_type.h \
 util/compression_context_cache.h include/rocksdb/table_reader_caller.h \
 table/get_context.h db/read_callback.h table/multiget_context.h \
 db/lookup_key.h db/merge_context.h include/rocksdb/db.h \
 include/rocksdb/block_cache_trace_writer.h \
 include/rocksdb/trace_reader_writer.h include/rocksdb/metadata.h \
 include/rocksdb/multi_scan.h include/rocksdb/snapshot.h \
 include/rocksdb/user_write_callback.h \
 include/rocksdb/utilities/table_properties_collectors.h \
 include/rocksdb/utilities/write_batch_with_index.h \
 util/async_file_reader.h util/single_thread_executor.h \
 table/unique_id_impl.h include/rocksdb/unique_id.h \
 test_util/sync_point.h monitoring/thread_status_util.h \
 monitoring/thread_status_updater.h util/thread_operation.h \
 table/embedded_blob_sst.h db/blob/blob_gen2_format.h cache/cache_key.h \
 trace_replay/block_cache_tracer.h plugin/springbloom/rocksdb_release.h \
 table/block_based/block_based_table_factory.h \
 cache/cache_reservation_manager.h cache/cache_entry_roles.h \
 cache/typed_cache.h cache/cache_helpers.h \
 include/rocksdb/flush_block_policy.h \
 table/block_based/filter_policy_internal.h \
 include/rocksdb/filter_policy.h
