package org.springbloom.flink;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.state.rocksdb.ConfigurableRocksDBOptionsFactory;
import org.apache.flink.state.rocksdb.RocksDBOptionsFactory;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.TableFormatConfig;
import org.springbloom.rocksdb.SpringbloomSettings;
import org.springbloom.rocksdb.SpringbloomTableConfig;

/**
 * Elastic filters in Flink's RocksDB state backend, under one budget for each process: the value of {@code
 * state.backend.rocksdb.options-factory}. Options of the configuration whose names begin with {@value SpringbloomSettings#PREFIX} are the
 * settings.
 */
public class SpringbloomOptionsFactory implements ConfigurableRocksDBOptionsFactory {
  private static final long serialVersionUID = 1;

  private final HashMap<String, String> properties = new HashMap<>();

  @Override
  public RocksDBOptionsFactory configure(ReadableConfig configuration) {
    for (Map.Entry<String, String> property : configuration.toMap().entrySet()) {
      if (property.getKey().startsWith(SpringbloomSettings.PREFIX)) {
        properties.put(property.getKey(), property.getValue());
      }
    }
    return this;
  }

  @Override
  public DBOptions createDBOptions(DBOptions current, Collection<AutoCloseable> handlesToClose) {
    return current;
  }

  /** With managed memory, Flink sets its block cache on the configuration after this, and gives it to the options again. */
  @Override
  public ColumnFamilyOptions createColumnOptions(ColumnFamilyOptions current, Collection<AutoCloseable> handlesToClose) {
    TableFormatConfig given = current.tableFormatConfig();
    if (given == null) {
      given = new BlockBasedTableConfig();
    }
    if (!(given instanceof BlockBasedTableConfig)) {
      throw new IllegalStateException("Springbloom needs the block-based table format, and the options have " + given);
    }
    SpringbloomSettings settings = SpringbloomSettings.of(properties);
    return current.setTableFormatConfig(new SpringbloomTableConfig(settings, (BlockBasedTableConfig) given));
  }
}
