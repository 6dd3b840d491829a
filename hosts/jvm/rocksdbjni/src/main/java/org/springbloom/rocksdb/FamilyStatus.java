package org.springbloom.rocksdb;

/** Whether a column family uses elastic filters. */
public final class FamilyStatus {
  private final long[] values;

  /** As {@link Native#status} gives them. */
  FamilyStatus(long[] values) {
    this.values = values;
  }

  /** Whether new tables get filter units, and tables with units are read with them. */
  public boolean isActive() {
    return values[0] == 1;
  }

  public long tablesWithUnits() {
    return values[1];
  }

  /** Written by stock RocksDB: a compaction gives them units. */
  public long tablesWithoutUnits() {
    return values[2];
  }

  /** Of new tables; 0 if they are stock RocksDB's. 16 where the block cache pays for the budget. */
  public long indexBlockRestartInterval() {
    return values[3];
  }

  @Override
  public String toString() {
    return (isActive() ? "active" : "inactive") + ", tables with filter units: " + tablesWithUnits() + ", without: " + tablesWithoutUnits();
  }
}
