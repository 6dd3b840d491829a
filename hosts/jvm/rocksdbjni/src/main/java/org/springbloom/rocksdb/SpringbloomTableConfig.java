package org.springbloom.rocksdb;

import java.util.Objects;
import org.rocksdb.BlockBasedTableConfig;

/**
 * The block-based table format with elastic filters, for {@code options.setTableFormatConfig(...)}. All options of the block-based format
 * are kept. A filter policy is not needed for new tables; it keeps the filters of tables in use that stock RocksDB wrote.
 *
 * <p>All stores of a process share one instance of Springbloom, and its budget. The first settings create it; while a store is open,
 * later ones may change the budget, and must otherwise agree.
 */
public class SpringbloomTableConfig extends BlockBasedTableConfig {
  private final SpringbloomSettings settings;

  /** All options of the format have their defaults. */
  public SpringbloomTableConfig(SpringbloomSettings settings) {
    this.settings = Objects.requireNonNull(settings, "springbloom: the settings are null");
  }

  /** The options of the format are those of another configuration at this moment. */
  public SpringbloomTableConfig(SpringbloomSettings settings, BlockBasedTableConfig options) {
    this(settings);
    TableFormat.copyOptions(options, this);
  }

  /**
   * RocksDB's classes call it when options take this configuration.
   *
   * @throws IllegalArgumentException if a setting is wrong
   * @throws SpringbloomException if Springbloom cannot run in this process
   */
  @Override
  protected long newTableFactoryHandle() {
    return TableFormat.withFilters(super.newTableFactoryHandle(), settings);
  }
}
