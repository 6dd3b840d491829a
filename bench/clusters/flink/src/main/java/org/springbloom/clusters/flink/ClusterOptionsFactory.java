package org.springbloom.clusters.flink;

import java.util.Collection;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.state.rocksdb.RocksDBOptionsFactory;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.springbloom.clusters.Filters;
import org.springbloom.clusters.StoreMeter;
import org.springbloom.clusters.TableOptions;
import org.springbloom.flink.SpringbloomOptionsFactory;

/** The same for all filters: no page cache beside the block cache, and the meter. */
public class ClusterOptionsFactory extends SpringbloomOptionsFactory {
  /** An option of the configuration. */
  static final String FILTERS = "cluster.filters";

  /** Flink does not tell whose options these are: one meter for both stores. In a measured phase, only one is read. */
  static final String METER = "stores";

  private static final long serialVersionUID = 1;

  private Filters filters;

  @Override
  public RocksDBOptionsFactory configure(ReadableConfig configuration) {
    filters = Filters.valueOf(configuration.toMap().get(FILTERS));
    return super.configure(configuration);
  }

  @Override
  public DBOptions createDBOptions(DBOptions current, Collection<AutoCloseable> handlesToClose) {
    return current
        .setUseDirectReads(true)
        .setUseDirectIoForFlushAndCompaction(true)
        .setStatistics(StoreMeter.of(METER).statistics());
  }

  @Override
  public ColumnFamilyOptions createColumnOptions(ColumnFamilyOptions current, Collection<AutoCloseable> handlesToClose) {
    BlockBasedTableConfig tables =
        current.tableFormatConfig() == null ? new BlockBasedTableConfig() : (BlockBasedTableConfig) current.tableFormatConfig();
    TableOptions.configure(filters, tables);
    current.setTableFormatConfig(tables);
    return filters == Filters.SPRINGBLOOM ? super.createColumnOptions(current, handlesToClose) : current;
  }
}
