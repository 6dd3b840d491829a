package org.springbloom.clusters.kafka;

import java.util.Map;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.springbloom.clusters.Filters;
import org.springbloom.clusters.StoreMeter;
import org.springbloom.clusters.TableOptions;
import org.springbloom.kafka.SpringbloomRocksDBConfigSetter;

/** The same for all filters: one bounded block cache for the stores of a process, small write buffers, and no page cache beside. */
public class StoreOptions extends SpringbloomRocksDBConfigSetter {
  /** Properties of the application. */
  static final String FILTERS = "cluster.filters";

  static final String CACHE_BYTES = "cluster.cache.bytes";

  static final String WRITE_BUFFER_BYTES = "cluster.write.buffer.bytes";

  private static LRUCache cache;

  /** All stores share it. */
  static synchronized LRUCache cache(long bytes) {
    if (cache == null) {
      cache = new LRUCache(bytes, 0, false, 0.5);
    }
    return cache;
  }

  @Override
  public void setConfig(String storeName, Options options, Map<String, Object> configs) {
    Filters filters = Filters.valueOf((String) configs.get(FILTERS));
    BlockBasedTableConfig tables = (BlockBasedTableConfig) options.tableFormatConfig();
    tables.setBlockCache(cache(bytes(configs, CACHE_BYTES)));
    TableOptions.configure(filters, tables);
    options.setTableFormatConfig(tables).setOptimizeFiltersForHits(false).setWriteBufferSize(bytes(configs, WRITE_BUFFER_BYTES));
    options.setUseDirectReads(true).setUseDirectIoForFlushAndCompaction(true);
    options.setStatistics(StoreMeter.of(storeName).statistics());
    if (filters == Filters.SPRINGBLOOM) {
      super.setConfig(storeName, options, configs);
    }
  }

  private static long bytes(Map<String, Object> configs, String name) {
    return Long.parseLong((String) configs.get(name));
  }
}
