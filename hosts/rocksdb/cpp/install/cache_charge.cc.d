plugin/springbloom/install/cache_charge.cc.d \
 plugin/springbloom/install/cache_charge.o \
 plugin/springbloom/install/cache_charge.o: \
 plugin/springbloom/install/cache_charge.cc \
 plugin/springbloom/install/cache_charge.h plugin/springbloom/abi.h \
 plugin/springbloom/springbloom_abi.h cache/cache_key.h \
 include/rocksdb/rocksdb_namespace.h include/rocksdb/slice.h \
 include/rocksdb/cleanable.h table/unique_id_impl.h \
 include/rocksdb/unique_id.h include/rocksdb/table_properties.h \
 include/rocksdb/customizable.h include/rocksdb/configurable.h \
 include/rocksdb/status.h include/rocksdb/types.h cache/typed_cache.h \
 cache/cache_helpers.h include/rocksdb/advanced_cache.h \
 include/rocksdb/cache.h include/rocksdb/compression_type.h \
 include/rocksdb/data_structure.h include/rocksdb/comparator.h \
 include/rocksdb/memory_allocator.h include/rocksdb/options.h \
 include/rocksdb/advanced_options.h \
 include/rocksdb/blob_file_partition_strategy.h \
 include/rocksdb/wide_columns.h include/rocksdb/memtablerep.h \
 include/rocksdb/universal_compaction.h include/rocksdb/env.h \
 include/rocksdb/functor_wrapper.h include/rocksdb/port_defs.h \
 include/rocksdb/thread_status.h include/rocksdb/file_checksum.h \
 include/rocksdb/listener.h include/rocksdb/compaction_job_stats.h \
 include/rocksdb/io_status.h include/rocksdb/sst_partitioner.h \
 include/rocksdb/version.h include/rocksdb/write_buffer_manager.h \
 plugin/springbloom/install/c_options.h include/rocksdb/table.h
