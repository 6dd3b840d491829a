plugin/springbloom/install/springbloom.cc.d \
 plugin/springbloom/install/springbloom.o \
 plugin/springbloom/install/springbloom.o: \
 plugin/springbloom/install/springbloom.cc \
 plugin/springbloom/springbloom.h include/rocksdb/db.h \
 include/rocksdb/attribute_groups.h include/rocksdb/iterator_base.h \
 include/rocksdb/cleanable.h include/rocksdb/rocksdb_namespace.h \
 include/rocksdb/slice.h include/rocksdb/status.h \
 include/rocksdb/wide_columns.h \
 include/rocksdb/block_cache_trace_writer.h include/rocksdb/options.h \
 include/rocksdb/advanced_options.h \
 include/rocksdb/blob_file_partition_strategy.h include/rocksdb/cache.h \
 include/rocksdb/compression_type.h include/rocksdb/types.h \
 include/rocksdb/data_structure.h include/rocksdb/comparator.h \
 include/rocksdb/customizable.h include/rocksdb/configurable.h \
 include/rocksdb/memory_allocator.h include/rocksdb/memtablerep.h \
 include/rocksdb/universal_compaction.h include/rocksdb/env.h \
 include/rocksdb/functor_wrapper.h include/rocksdb/port_defs.h \
 include/rocksdb/thread_status.h include/rocksdb/file_checksum.h \
 include/rocksdb/listener.h include/rocksdb/compaction_job_stats.h \
 include/rocksdb/io_status.h include/rocksdb/table_properties.h \
 include/rocksdb/sst_partitioner.h include/rocksdb/version.h \
 include/rocksdb/write_buffer_manager.h include/rocksdb/system_clock.h \
 include/rocksdb/table_reader_caller.h \
 include/rocksdb/trace_reader_writer.h include/rocksdb/trace_record.h \
 include/rocksdb/iterator.h include/rocksdb/metadata.h \
 include/rocksdb/multi_scan.h include/rocksdb/snapshot.h \
 include/rocksdb/sst_file_writer.h include/rocksdb/transaction_log.h \
 include/rocksdb/write_batch.h include/rocksdb/write_batch_base.h \
 include/rocksdb/user_write_callback.h \
 include/rocksdb/utilities/table_properties_collectors.h \
 include/rocksdb/utilities/write_batch_with_index.h \
 plugin/springbloom/handle.h plugin/springbloom/abi.h \
 plugin/springbloom/springbloom_abi.h
