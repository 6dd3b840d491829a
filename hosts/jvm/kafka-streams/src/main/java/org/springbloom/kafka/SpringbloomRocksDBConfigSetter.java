package org.springbloom.kafka;

import java.util.Map;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.apache.kafka.streams.state.internals.BlockBasedTableConfigWithAccessibleCache;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Cache;
import org.rocksdb.Options;
import org.rocksdb.TableFormatConfig;
import org.springbloom.rocksdb.SpringbloomSettings;
import org.springbloom.rocksdb.TableFormat;

/**
 * Elastic filters in all RocksDB stores of a Kafka Streams application, under one budget: the value of {@code rocksdb.config.setter}.
 * Properties of the application whose names begin with {@value SpringbloomSettings#PREFIX} are the settings.
 *
 * <p>For options of your own, extend this class, and call {@code super.setConfig} last.
 */
public class SpringbloomRocksDBConfigSetter implements RocksDBConfigSetter {
  @Override
  public void setConfig(String storeName, Options options, Map<String, Object> configs) {
    TableFormatConfig given = options.tableFormatConfig();
    if (!(given instanceof BlockBasedTableConfig)) {
      throw new IllegalStateException(
          "Springbloom needs the block-based table format, and the options of the store " + storeName + " have " + given);
    }
    options.setTableFormatConfig(new TableConfig(SpringbloomSettings.of(configs), (BlockBasedTableConfig) given));
    // Kafka Streams sets it to save memory for filters. It leaves the last level without: a lookup of an absent key reads it.
    options.setOptimizeFiltersForHits(false);
  }

  @Override
  public void close(String storeName, Options options) {}

  /** A subclass of the class from which Kafka Streams takes the block cache for its metrics. */
  private static final class TableConfig extends BlockBasedTableConfigWithAccessibleCache {
    private final SpringbloomSettings settings;

    TableConfig(SpringbloomSettings settings, BlockBasedTableConfig given) {
      this.settings = settings;
      TableFormat.copyOptions(given, this);
      Cache cache = TableFormat.blockCacheOf(given);
      if (cache != null) {
        setBlockCache(cache);
      }
    }

    @Override
    protected long newTableFactoryHandle() {
      return TableFormat.withFilters(super.newTableFactoryHandle(), settings);
    }
  }
}
