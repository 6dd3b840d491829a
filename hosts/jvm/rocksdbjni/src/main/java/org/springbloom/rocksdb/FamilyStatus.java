package org.springbloom.rocksdb;

/** Whether a column family uses elastic filters. */
public final class FamilyStatus {
  private final boolean isActive;
  private final long tablesWithUnits;
  private final long tablesWithoutUnits;
  private final long indexBlockRestartInterval;

  FamilyStatus(boolean isActive, long tablesWithUnits, long tablesWithoutUnits, long indexBlockRestartInterval) {
    this.isActive = isActive;
    this.tablesWithUnits = tablesWithUnits;
    this.tablesWithoutUnits = tablesWithoutUnits;
    this.indexBlockRestartInterval = indexBlockRestartInterval;
  }

  /** Whether new tables get filter units, and tables with units are read with them. */
  public boolean isActive() {
    return isActive;
  }

  public long tablesWithUnits() {
    return tablesWithUnits;
  }

  /** Written by stock RocksDB: a compaction gives them units. */
  public long tablesWithoutUnits() {
    return tablesWithoutUnits;
  }

  /** Of new tables; 0 if they are stock RocksDB's. 16 where the block cache pays for the budget. */
  public long indexBlockRestartInterval() {
    return indexBlockRestartInterval;
  }

  @Override
  public String toString() {
    return (isActive ? "active" : "inactive")
        + ", tables with filter units: "
        + tablesWithUnits
        + ", without: "
        + tablesWithoutUnits;
  }
}
